"""Files from the field of a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import refuse
from ..training import choose_device
from ..kinds import KINDS
from .folder import open_model
from ..scenes.views import Views
from ..kinds.task import Say, Task

__all__ = ["check_output", "render_run", "task_of_run"]


def task_of_run(model: Any, settings: dict[str, Any]) -> type[Task]:
    """Return the task that fitted a run.

    Args:
        model: the run's model.
        settings: what is saved with it.

    Raises:
        InputError: settings that name no task of this version, or a model of another task.
    """
    kind = str(settings.get("task"))
    if kind not in KINDS or not isinstance(settings.get("input"), dict):
        refuse(
            "the model must come from coordnet fit",
            "a field that names no task" if settings.get("task") is None else f"task {kind!r}",
            "A field saved from Python is loaded with coordnet.load.",
        )
    found = KINDS[kind]
    in_dim = getattr(model, "in_dim", None)
    if in_dim != found.in_dim:
        got = f"{type(model).__name__} of {in_dim or 3} coordinates for task {kind!r}"
        refuse("a run's model must be of the kind that its task fits", got, "Fit the input again.")
    return found


def check_output(output: Path, overwrite: bool) -> None:
    """Refuse a file that cannot be written, or that exists and may not be replaced."""
    if output.is_dir():
        refuse("the output must be a file", f"{str(output)!r}, a folder", "Name a file in it.")
    if output.exists() and not overwrite:
        remedy = "Pass another name, or --overwrite to replace it."
        refuse("the output must not exist yet", f"{str(output)!r}", remedy)
    if not output.parent.is_dir():
        refuse("the output's folder must exist", f"{str(output.parent)!r}", "Make it first.")


def check_folder(output: Path, overwrite: bool) -> None:
    """Refuse a folder whose parent is missing, or that has files that may not be replaced."""
    if output.is_dir() and any(output.iterdir()) and not overwrite:
        remedy = "Pass another name, or --overwrite to replace it."
        refuse("the output must not exist yet", f"{str(output)!r}", remedy)
    if not output.parent.is_dir():
        refuse("the output's folder must exist", f"{str(output.parent)!r}", "Make it first.")


def render_run(
    run: str | os.PathLike[str],
    output: Path,
    *,
    size: int | tuple[int, int] | None = None,
    rate: int | None = None,
    views: Views | None = None,
    device: str = "auto",
    overwrite: bool = False,
    say: Say = print,
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """Render a run to a file: a picture or a table at any size, a sound at any rate, a scene.

    Args:
        run: the run folder, or its model file.
        output: the file to write; for a scene also a folder.
        size: (width, height) of a picture, number of positions of a table; None: as fitted.
        rate: samples a second of a sound; None: as fitted.
        views: of a scene, which and how; None: the default for the output's ending.
        device: "auto" or a torch device.
        overwrite: whether an existing file may be replaced.
        say: takes sentences for the console.
        progress: called with the numbers of pixels or samples done since the last call and in all.

    Raises:
        InputError: no such run, or an output that cannot hold it or exists.
        RuntimeError: the output could not be written.
    """
    chosen = choose_device(device)
    folder = output.suffix == "" and not output.is_file()
    if not folder:
        check_output(output, overwrite)
    field, settings = open_model(run, str(chosen))
    task: Any = task_of_run(field, settings)
    if folder:
        check = check_folder if task.kind == "scene" else check_output
        check(output, overwrite)
    if rate is not None and task.kind != "audio":
        got = f"--rate {rate} for a run of kind {task.kind}"
        refuse("--rate belongs to sounds", got, "Pass --size, or leave it away.")
    typed = views.given() if views is not None else {}
    if typed and task.kind != "scene":
        name, value = next(iter(typed.items()))
        got = f"--{name}" + ("" if value is True else f" {value}") + f" for a run of {task.kind}"
        refuse(f"--{name} belongs to scenes", got, "Leave it away.")
    given = {"size": size, "rate": rate, "views": views, "progress": progress}
    task.render(field, settings["input"], output, given, say)
