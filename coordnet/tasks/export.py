"""Meshes from the fields of scenes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import refuse
from ..radiance import RadianceModel, extract_mesh, write_ply
from ..radiance.mesh import half_opaque
from ..training import choose_device
from .render import check_output, task_of_run
from .run_folder import open_model, writing
from .sentences import plural, readable
from .task import Say

__all__ = ["export_run"]


def export_run(
    run: str | os.PathLike[str],
    output: Path,
    *,
    resolution: int = 256,
    level: float | None = None,
    device: str = "auto",
    overwrite: bool = False,
    say: Say = print,
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """Export the surface of a fitted scene as a mesh with colours.

    Args:
        run: the run folder, or its model file.
        output: the PLY file to write.
        resolution: cells along the longest side of the scene's box.
        level: the density on the surface; None takes that at which a cell is half opaque.
        device: "auto" or a torch device.
        overwrite: whether an existing file may be replaced.
        say: takes sentences for the console.
        progress: called with the numbers of cells done since the last call and in all.

    Raises:
        InputError: no such run, or one of no scene; an output that exists or is no .ply; nothing
            in the scene reaches the level.
        RuntimeError: the output could not be written.
    """
    chosen = choose_device(device)
    if output.suffix.lower() != ".ply":
        refuse("a mesh is exported to a .ply file", f"{str(output)!r}", "Name it mesh.ply.")
    check_output(output, overwrite)
    model, settings = open_model(run, str(chosen))
    kind: Any = task_of_run(model, settings)
    if not isinstance(model, RadianceModel):
        rule, remedy = "only scenes are exported as meshes", "coordnet render writes pictures."
        refuse(rule, f"a run of kind {kind.kind}", remedy)
    mesh = extract_mesh(model, resolution=resolution, level=level, progress=progress)
    with writing(output):
        write_ply(output, mesh)
    density = half_opaque(model, resolution) if level is None else level
    number, faces = len(mesh.vertices), plural(len(mesh.faces), "face")
    say(f"wrote {readable(output)}: {number:,} vertices, {faces}, at density {density:.4g}")
