"""Safetensors files that coordnet wrote: tensors, and a description of them as JSON."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from .errors import InputError, refuse

__all__ = ["TensorFileKind"]


@dataclass(frozen=True)
class TensorFileKind:
    """What such files hold, and what is said where one cannot be read.

    Attributes:
        noun: what a file is.
        described: what its description is of.
        key: name of the description among the metadata.
        number: number of the format.
        instead: the remedy where there is no file.
        version: the remedy where the format has another number.
        damaged: raises the error of a file that does not hold what it should; takes the file
            and what is wrong.
    """

    noun: str
    described: str
    key: str
    number: int
    instead: str
    version: str
    damaged: Callable[[Path, str], NoReturn]

    @contextlib.contextmanager
    def open(self, path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Open a file; yields safetensors' own object, to ask for tensors, and the description.

        Raises:
            InputError: no such file, or not of this kind and format.
        """
        from safetensors import SafetensorError, safe_open

        if not path.is_file():
            kind = "a folder" if path.is_dir() else "no file"
            refuse(f"a {self.noun} must be a file: {str(path)!r}", kind, self.instead)
        try:
            with safe_open(path, framework="pt", device="cpu") as file:
                yield file, self._description(path, file.metadata() or {})
        except InputError:
            raise
        except (SafetensorError, OSError, ValueError) as error:
            refuse(
                f"a {self.noun} must be a safetensors file: {str(path)!r}",
                " ".join(str(error).split())[:120],
                "Only files that coordnet wrote are read; nothing in this one was run.",
            )

    def _description(self, path: Path, metadata: dict[str, str]) -> dict[str, Any]:
        try:
            about = json.loads(metadata[self.key])
            number = about["format"]
        except (LookupError, RecursionError, TypeError, ValueError):
            self.damaged(path, f"no description of {self.described}")
        if number != self.number:
            refuse(
                f"a {self.noun}'s format must be {self.number}: {str(path)!r}",
                f"format {number!r}",
                self.version,
            )
        return about
