"""Fields as ONNX models."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

from ..errors import refuse
from ..field import Field
from ..files import write_atomic, writing

__all__ = ["write_onnx"]

_OPSET = 18


def write_onnx(field: Field, output: Path, *, float64: bool = False) -> str:
    """Write a field as an ONNX model from ``x`` (n, in_dim) to ``values`` (n, out_dim).

    Args:
        field: the field, which is moved to the CPU.
        output: the file.
        float64: whether ``x`` is float64, so that times keep their digits, or float32.

    Returns:
        What was written, in words.

    Raises:
        InputError: onnxscript is not installed.
        RuntimeError: the file could not be written.
    """
    if importlib.util.find_spec("onnxscript") is None:
        refuse(
            "an .onnx file needs the packages onnx and onnxscript",
            "onnxscript is not installed",
            "Run: pip install 'coordnet[onnx]'",
        )
    import torch

    dtype = torch.float64 if float64 else torch.float32
    low, high = field.domain or ([0.0] * field.in_dim, [1.0] * field.in_dim)
    ends = torch.tensor([low, high], dtype=torch.float64, device="cpu").to(dtype)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        torch.onnx.export(
            field.cpu().eval(),
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
    return (
        f"x ({width}, n x {field.in_dim}) to values (n x {field.out_dim}), ONNX opset {_OPSET}, "
        f"{len(data) / 1e6:.3g} MB"
    )
