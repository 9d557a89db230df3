"""Fitted models in other programs' formats: meshes of scenes, ONNX of fields."""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import refuse
from ..field import Field
from ..files import write_atomic
from ..scenes.radiance.model import RadianceModel
from ..scenes.radiance.mesh import extract_mesh
from ..scenes.radiance.ply import write_ply
from ..scenes.radiance.mesh import half_opaque
from ..training import choose_device
from .render import check_output, task_of_run
from .folder import open_model, writing
from ..kinds.sentences import plural, readable
from ..kinds.task import Say

__all__ = ["export_run"]


_OPSET = 18


def export_run(
    run: str | os.PathLike[str],
    output: Path,
    *,
    resolution: int | None = None,
    level: float | None = None,
    device: str = "auto",
    overwrite: bool = False,
    say: Say = print,
    progress: Callable[[int, int], object] | None = None,
) -> None:
    """Export the surface of a fitted scene as a mesh, or a fitted field as an ONNX model.

    Args:
        run: the run folder, or its model file.
        output: the .ply file (a mesh with colors) or the .onnx file to write.
        resolution: cells of the mesh along the longest side of the scene's box; None for 256.
        level: the density on the surface; None takes that at which a cell is half opaque.
        device: "auto" or a torch device.
        overwrite: whether an existing file may be replaced.
        say: takes sentences for the console.
        progress: called with the numbers of cells done since the last call and in all.

    Raises:
        InputError: no such run, or one whose kind has no such form; an output that exists or has
            another ending; nothing in the scene reaches the level; a missing package.
        RuntimeError: the output could not be written.
    """
    chosen = choose_device(device)
    suffix = output.suffix.lower()
    if suffix not in (".ply", ".onnx"):
        rule = "a mesh is exported to a .ply file, a field to an .onnx file"
        refuse(rule, f"{str(output)!r}", "Name it mesh.ply or model.onnx.")
    check_output(output, overwrite)
    model, settings = open_model(run, "cpu" if suffix == ".onnx" else str(chosen))
    kind: Any = task_of_run(model, settings)
    if suffix == ".onnx":
        if not isinstance(model, Field):
            rule, remedy = (
                "fields of pictures, tables and sounds are exported to ONNX",
                "Export a .ply.",
            )
            refuse(rule, f"a run of kind {kind.kind}", remedy)
        if resolution is not None or level is not None:
            refuse("--resolution and --level belong to meshes", "an .onnx file", "Leave them out.")
        _export_onnx(model, kind.kind, output, say)
        return
    if not isinstance(model, RadianceModel):
        rule, remedy = "only scenes are exported as meshes", "Name the output model.onnx."
        refuse(rule, f"a run of kind {kind.kind}", remedy)
    cells = 256 if resolution is None else resolution
    mesh = extract_mesh(model, resolution=cells, level=level, progress=progress)
    with writing(output):
        write_ply(output, mesh)
    density = half_opaque(model, cells) if level is None else level
    number, faces = len(mesh.vertices), plural(len(mesh.faces), "face")
    say(f"wrote {readable(output)}: {number:,} vertices, {faces}, at density {density:.4g}")


def _export_onnx(field: Field, kind: str, output: Path, say: Say) -> None:
    """Write a field as an ONNX model from ``x`` (n, in_dim) to ``values`` (n, out_dim).

    Times and positions of tables go in as float64, so that they keep their digits.
    """
    if importlib.util.find_spec("onnxscript") is None:
        refuse(
            "an .onnx file needs the packages onnx and onnxscript",
            "onnxscript is not installed",
            "Run: pip install 'coordnet[onnx]'",
        )
    import torch

    dtype = torch.float64 if kind == "table" else torch.float32
    low, high = field.domain or ([0.0] * field.in_dim, [1.0] * field.in_dim)
    ends = torch.tensor([low, high], dtype=torch.float64, device="cpu").to(dtype)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        torch.onnx.export(
            field.eval(),
            (ends,),
            path,
            input_names=["x"],
            output_names=["values"],
            opset_version=_OPSET,
            dynamo=True,
            dynamic_shapes=({0: torch.export.Dim("n")},),
            external_data=False,
            verbose=False,
        )
        data = path.read_bytes()
    with writing(output):
        write_atomic(output, data)
    width = f"{dtype}".removeprefix("torch.")
    say(
        f"wrote {readable(output)}: x ({width}, n x {field.in_dim}) to values "
        f"(n x {field.out_dim}), ONNX opset {_OPSET}, {len(data) / 1e6:.3g} MB"
    )
