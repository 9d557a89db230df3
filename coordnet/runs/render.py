"""Files from a run: renderings, and exports in other programs' formats."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..errors import refuse
from ..kinds import KINDS, Kind, Listener, RenderOptions
from ..training import choose_device
from .run import Run

__all__ = ["check_output", "export_run", "render_run"]


def render_run(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str],
    options: RenderOptions | Mapping[str, object] | None = None,
    *,
    device: str = "auto",
    overwrite: bool = False,
    listener: Listener | None = None,
) -> None:
    """Render a run to a file: a picture or a table at any size, a sound at any rate, a scene.

    Args:
        run: the run folder, or its model file.
        output: the file to write; for a scene also a folder.
        options: the kind's own, such as `coordnet.scenes.SceneRender`, or a mapping of them.
        device: "auto" or a torch device.
        overwrite: whether an existing file may be replaced.
        listener: told how it goes on.

    Raises:
        InputError: no such run, options of another kind, or an output that cannot hold it or
            exists.
        RuntimeError: the output could not be written.
    """
    chosen, output = choose_device(device), Path(output)
    folder = output.suffix == "" and not output.is_file()
    if not folder:
        check_output(output, overwrite)
    opened = Run.open(run, str(chosen))
    kind = opened.kind
    if folder:
        check_output(output, overwrite, folders=kind.folders)
    chosen_options = _options(kind, kind.render, options)
    task = opened.task
    task.render(opened.model, opened.about, output, chosen_options, listener or Listener())


def export_run(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str],
    options: RenderOptions | Mapping[str, object] | None = None,
    *,
    device: str = "auto",
    overwrite: bool = False,
    listener: Listener | None = None,
) -> None:
    """Export a run to another program's format, by the output's ending.

    The surface of a scene becomes a mesh (.ply), the field of another kind an ONNX model (.onnx).

    Args:
        run: the run folder, or its model file.
        output: the file to write.
        options: the kind's own, such as `coordnet.scenes.SceneExport`, or a mapping of them.
        device: "auto" or a torch device.
        overwrite: whether an existing file may be replaced.
        listener: told how it goes on.

    Raises:
        InputError: no such run, or one whose kind has no such form; an output that exists or has
            another ending; options that do not go together; a missing package.
        RuntimeError: the output could not be written.
    """
    chosen, output = choose_device(device), Path(output)
    suffix = output.suffix.lower()
    forms = {kind.name: kind.load().exports for kind in KINDS.values()}
    known = sorted({ending for endings in forms.values() for ending in endings})
    if suffix not in known:
        refuse(f"an export ends in {' or '.join(known)}", f"{str(output)!r}", "")
    check_output(output, overwrite)
    opened = Run.open(run, str(chosen))
    kind, task = opened.kind, opened.task
    if suffix not in task.exports:
        shown = " or ".join(task.exports) or "no file"
        refuse(f"a run of {kind.noun} is exported to {shown}", f"{str(output)!r}", "")
    chosen_options = _options(kind, kind.export, options)
    task.export(opened.model, opened.about, output, chosen_options, listener or Listener())


def _options(
    kind: Kind,
    declared: type[RenderOptions],
    given: RenderOptions | Mapping[str, object] | None,
) -> RenderOptions:
    """Return options as the kind declares them; one of another kind is refused."""
    plain = given.given() if isinstance(given, RenderOptions) else given or {}
    return kind.read(declared, plain, f"a run of {kind.noun}")


def check_output(output: Path, overwrite: bool, folders: bool = False) -> None:
    """Refuse an output that cannot be written, or that exists and may not be replaced.

    Args:
        output: the file or the folder.
        overwrite: whether what is there may be replaced.
        folders: whether it may be a folder.

    Raises:
        InputError: it cannot be written.
    """
    if output.is_dir() and not folders:
        refuse("the output must be a file", f"{str(output)!r}, a folder", "Name a file in it.")
    taken = any(output.iterdir()) if output.is_dir() else output.exists()
    if taken and not overwrite:
        remedy = "Pass another name, or --overwrite to replace it."
        refuse("the output must not exist yet", f"{str(output)!r}", remedy)
    if not output.parent.is_dir():
        refuse("the output's folder must exist", f"{str(output.parent)!r}", "Make it first.")
