"""The file of a checkpoint: tensors in the safetensors format, and JSON; nothing in it is code."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from torch import Tensor

from .. import checks
from ..errors import InputError, refuse
from ..tensor_files import TensorFile, TensorFileKind, write_tensors

__all__ = ["CheckpointFile", "damaged", "group", "read_checkpoint", "write_checkpoint"]


def damaged(path: Path, what: str) -> NoReturn:
    """Raise the error of a checkpoint that does not hold what it should."""
    refuse(
        f"a checkpoint must hold the state of this fit: {str(path)!r}",
        " ".join(what.split())[:200],
        "It is damaged, or of another fit.",
    )


_CHECKPOINT_FILE = TensorFileKind(
    noun="a checkpoint",
    key="coordnet.checkpoint",
    number=1,
    damaged=damaged,
)


def write_checkpoint(path: Path, tensors: Mapping[str, Tensor], about: dict[str, Any]) -> int:
    """Write tensors and plain JSON values to a file, atomically; return its size in bytes.

    Raises:
        InputError: a tensor of a dtype that the format lacks.
        OSError: the file cannot be written.
    """
    text = json.dumps({"format": _CHECKPOINT_FILE.number, **about}, allow_nan=False)
    return write_tensors(path, tensors, {_CHECKPOINT_FILE.key: text})


class CheckpointFile(Mapping[str, Tensor]):
    """An open checkpoint: its tensors by name, each read from the file when it is asked for.

    Attributes:
        path: the file.
        about: its plain JSON values.
    """

    def __init__(self, path: Path, file: TensorFile) -> None:
        self.path, self.about, self._file = path, file.about, file
        self._names = set(file.names)

    def __getitem__(self, name: str) -> Tensor:
        """Return one tensor, on the CPU, in memory of its own."""
        if name not in self._names:
            raise KeyError(name)
        return self._file.tensor(name)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._names))

    def __len__(self) -> int:
        return len(self._names)

    def number(self, name: str) -> float:
        """Return a finite number of at least 0 of the JSON values."""
        try:
            return checks.number(name, self.about.get(name), least=0)
        except InputError as error:
            damaged(self.path, error.got)

    def integer(self, name: str) -> int:
        """Return an integer from 0 to 2^63 - 1 of the JSON values."""
        try:
            return checks.integer(name, self.about.get(name), least=0, below=1 << 63)
        except InputError as error:
            damaged(self.path, error.got)


def group(tensors: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    """Return the tensors whose names begin with ``name`` and a dot, under what follows."""
    prefix = f"{name}."
    return {key.removeprefix(prefix): tensors[key] for key in tensors if key.startswith(prefix)}


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
