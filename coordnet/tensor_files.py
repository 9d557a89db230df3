"""Safetensors files that coordnet wrote: tensors, and a description of them as JSON."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from torch import Tensor

from .checks import readable_file
from .errors import InputError
from .files import refuse_file

__all__ = ["TensorFile", "TensorFileKind"]


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
            remedy = "Only such files are read; nothing in it was run."
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
