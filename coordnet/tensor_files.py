"""Safetensors files: tensors, and a description of them as JSON; nothing in them is code."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import Tensor

from .checks import readable_file
from .errors import InputError, refuse
from .files import atomic, refuse_file

__all__ = ["TensorFile", "TensorFileKind", "write_tensors"]

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


def write_tensors(
    path: str | os.PathLike[str], tensors: Mapping[str, Tensor], metadata: Mapping[str, str]
) -> int:
    """Write a safetensors file, atomically; return its size in bytes.

    One tensor at a time goes through the CPU's memory, where safetensors' own writer needs all of
    them and the whole file.

    Args:
        path: the file, which is replaced where it exists.
        tensors: by name, on any device.
        metadata: texts to keep beside them.

    Raises:
        InputError: a tensor of a dtype that the format lacks.
        OSError: the file cannot be written.
    """
    # wide ones first: each then begins at a multiple of its own width
    names = sorted(tensors, key=lambda name: (-tensors[name].element_size(), name))
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name in names:
        tensor = tensors[name]
        if tensor.dtype not in _DTYPES:
            rule = f"a safetensors file holds {', '.join(sorted(_DTYPES.values()))}"
            refuse(rule, f"{tensor.dtype} in {name}")
        start, end = end, end + tensor.numel() * tensor.element_size()
        kind, shape = _DTYPES[tensor.dtype], list(tensor.shape)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [start, end]}
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    with atomic(path) as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for name in names:
            flat = tensors[name].detach().cpu().contiguous().reshape(-1)
            file.write(flat.view(torch.uint8).numpy().data)
    return 8 + len(head) + end


class TensorFile:
    """A safetensors file that is open to be read, a tensor at a time.

    Safetensors' own tensors are views of the file, mapped into memory: they change when the file
    is written over, end the process (SIGBUS) when it is cut short, and begin wherever the header
    ends, which changes the last bits of matrix products. Those returned here are copies.

    Attributes:
        about: the description, JSON values.
        names: the names of the tensors, as the file has them.
    """

    def __init__(self, file: Any, about: dict[str, Any]) -> None:
        self._file, self.about = file, about
        self.names: list[str] = list(file.keys())

    def tensor(self, name: str) -> Tensor:
        """Return one tensor, on the CPU, in aligned memory of its own."""
        return self._file.get_tensor(name).clone()


@dataclass(frozen=True)
class TensorFileKind:
    """A kind of such files: models, checkpoints.

    Attributes:
        noun: what a file is: "a model".
        key: name of its description among the metadata.
        number: number of the format, in the description.
        damaged: raises the error of a file that does not hold what it should; takes the file
            and what is wrong.
    """

    noun: str
    key: str
    number: int
    damaged: Callable[[Path, str], NoReturn]

    @contextlib.contextmanager
    def open(self, path: Path) -> Iterator[TensorFile]:
        """Open a file to read tensors from.

        Raises:
            InputError: no such file, or not of this kind and format.
        """
        from safetensors import SafetensorError, safe_open

        readable_file(path, self.noun)
        try:
            with safe_open(path, framework="pt", device="cpu") as file:
                yield TensorFile(file, self._description(path, file.metadata() or {}))
        except InputError:
            raise
        except (SafetensorError, OSError, ValueError) as error:
            remedy = "Only such files are read; nothing in this one was run."
            refuse_file(path, f"{self.noun} must be a safetensors file", str(error)[:120], remedy)

    def _description(self, path: Path, metadata: dict[str, str]) -> dict[str, Any]:
        try:
            about = json.loads(metadata[self.key])
            number = about["format"]
        except (LookupError, RecursionError, TypeError, ValueError):
            self.damaged(path, "no description")
        if number != self.number:
            rule = f"the format of {self.noun} must be {self.number}"
            refuse_file(path, rule, f"{number!r}", "Another version of coordnet wrote it.")
        return about
