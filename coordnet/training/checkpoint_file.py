"""The file of a checkpoint: tensors in the safetensors format, and JSON; nothing in it is code."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor

from ..errors import InputError, refuse
from ..files import atomic
from ..tensor_files import TensorFile, TensorFileKind

__all__ = ["CheckpointFile", "damaged", "read_checkpoint", "write_checkpoint"]

_DTYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


def damaged(path: Path, what: str) -> NoReturn:
    """Raise the error of a checkpoint that does not hold what it should."""
    refuse(
        f"a checkpoint must hold the state of this fit: {str(path)!r}",
        " ".join(what.split())[:200],
        "It is damaged or of another fit: begin anew.",
    )


_CHECKPOINT_FILE = TensorFileKind(
    noun="a checkpoint",
    key="coordnet.checkpoint",
    number=1,
    damaged=damaged,
)


def write_checkpoint(path: Path, tensors: Mapping[str, Tensor], about: dict[str, Any]) -> int:
    """Write tensors and plain JSON values to a file, whole or not at all; return its bytes.

    One tensor at a time goes through the CPU's memory.

    Raises:
        InputError: a tensor of a dtype that the format lacks.
        OSError: the file cannot be written.
    """
    # wide ones first: each then begins at a multiple of its own width
    names = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    text = json.dumps({"format": _CHECKPOINT_FILE.number, **about}, allow_nan=False)
    header: dict[str, Any] = {"__metadata__": {_CHECKPOINT_FILE.key: text}}
    end = 0
    for name in names:
        tensor = tensors[name]
        if tensor.dtype not in _DTYPES:
            refuse(
                f"a checkpoint holds {', '.join(sorted(_DTYPES.values()))}",
                f"{tensor.dtype} in {name}",
                "Fit without a checkpoint.",
            )
        first, end = end, end + tensor.numel() * tensor.element_size()
        kind, shape = _DTYPES[tensor.dtype], list(tensor.shape)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [first, end]}
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with atomic(path) as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for name in names:
            flat = tensors[name].detach().cpu().contiguous().reshape(-1)
            file.write(flat.view(torch.uint8).numpy().data)
    return 8 + len(head) + end


class CheckpointFile:
    """A checkpoint that is open to be read, a tensor at a time.

    Attributes:
        path: the file.
        about: its plain JSON values.
        names: the names of its tensors.
    """

    def __init__(self, path: Path, file: TensorFile) -> None:
        self.path, self.about, self._file = path, file.about, file
        self.names = set(file.names)

    def tensor(self, name: str) -> Tensor:
        """Return one tensor, on the CPU, in memory of its own.

        Raises:
            InputError: there is none of this name.
        """
        if name not in self.names:
            damaged(self.path, f"no {name}")
        return self._file.tensor(name)

    def group(self, prefix: str) -> dict[str, Tensor]:
        """Return the tensors whose names begin with ``prefix`` and a dot, under what follows."""
        start = f"{prefix}."
        found = sorted(name for name in self.names if name.startswith(start))
        return {name.removeprefix(start): self.tensor(name) for name in found}

    def whole(self, name: str, least: int = 0) -> int:
        """Return a whole number of the JSON values."""
        value = self.about.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value < 1 << 63:
            damaged(self.path, f"no {name}")
        return value

    def number(self, name: str) -> float:
        """Return a finite number of at least 0 of the JSON values."""
        value = self.about.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            damaged(self.path, f"no {name}")
        if not (math.isfinite(value) and value >= 0):
            damaged(self.path, f"{value!r} as {name}")
        return float(value)


@contextlib.contextmanager
def read_checkpoint(path: Path) -> Iterator[CheckpointFile]:
    """Open a checkpoint.

    Raises:
        InputError: no checkpoint of this version; what is found wrong inside the block as a
            `ValueError`, `RuntimeError` or the like is a damaged file, too.
    """
    with _CHECKPOINT_FILE.open(path) as file:
        try:
            yield CheckpointFile(path, file)
        except (InputError, OSError):
            raise
        except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
            damaged(path, str(error))
