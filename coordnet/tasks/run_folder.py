"""The folder of a run: its files, made before the fit and filled after it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..errors import InputError, refuse
from ..field import Field
from ..saving import load, load_settings, save

__all__ = ["RunFolder", "open_model", "writing"]

_MODEL = "model.safetensors"
# what a run may leave besides its model
_OUTPUTS = ("report.json", "reconstruction.*", "comparison.png", "curve.png")


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Write inside: what goes wrong then is a failed run, no longer a fault of the input.

    Raises:
        RuntimeError: where an `OSError` or an `InputError` is raised inside.
    """
    try:
        yield
    except OSError as error:
        raise RuntimeError(f"{path} could not be written: {error.strerror or error}") from error
    except InputError as error:
        raise RuntimeError(f"{path} could not be written: {error}") from error


class RunFolder:
    """A run folder that can be written to.

    As a context manager it goes away again, with the parents made for it, where an error leaves
    it empty.

    Args:
        path: the folder; it is made, with its parents.
        overwrite: whether an earlier run in it may be replaced.

    Attributes:
        path: the folder.
        replaces: whether it holds an earlier run.

    Raises:
        InputError: the path is a file, cannot be written to, or holds files already.
    """

    def __init__(self, path: Path, overwrite: bool) -> None:
        self.path = path
        self._made: list[Path] = []
        rule = "the run folder must be a folder that can be made and written to"
        try:
            if path.exists() and not path.is_dir():
                refuse(rule, f"{str(path)!r}, which is a file", "Pass another --out.")
            self._made = [each for each in (path, *path.parents) if not each.exists()]
            path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass
            taken = sorted(p.name for p in path.iterdir())
        except OSError as error:
            self._discard()
            refuse(rule, f"{str(path)!r}: {error.strerror}", "Pass another --out.")
        self.replaces = bool(taken)
        if taken and not self.model.exists():
            remedy = "Pass another --out."
            if overwrite:
                remedy = "It holds no run that --overwrite could replace: pass another --out."
            refuse("the run folder must be empty", f"{str(path)!r} with {taken[0]}", remedy)
        if taken and not overwrite:
            remedy = "Pass another --out, or --overwrite to replace it."
            refuse("the run folder must be empty", f"{str(path)!r} with an earlier run", remedy)

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        if kind is not None:
            self._discard()

    def _discard(self) -> None:
        """Remove the folders that were made, as far as they are empty."""
        with contextlib.suppress(OSError):
            for each in self._made:
                each.rmdir()

    def file(self, name: str) -> Path:
        """Return the path of a file in the folder."""
        return self.path / name

    @property
    def model(self) -> Path:
        """The saved field."""
        return self.file(_MODEL)

    def save(self, field: Field, settings: dict[str, Any]) -> None:
        """Save the model, then remove what an earlier run has left beside it."""
        with writing(self.model):
            save(field, self.model, settings)
            for pattern in _OUTPUTS if self.replaces else ():
                for path in self.path.glob(pattern):
                    path.unlink()


def open_model(run: str | os.PathLike[str], device: str) -> tuple[Field, dict[str, Any]]:
    """Return the field of a run (its folder, or the model file) and its settings.

    Raises:
        InputError: no such run, or a model file that is damaged.
    """
    path = Path(run)
    if path.is_dir():
        path = path / _MODEL
        if not path.is_file():
            refuse(
                f"a run folder must hold {_MODEL}",
                f"{str(run)!r} without it",
                "Pass the folder that coordnet fit wrote.",
            )
    elif not path.exists():
        refuse(
            "a run must be a folder that coordnet fit wrote, or the model in it",
            f"{str(run)!r}, which does not exist",
            "Check the path.",
        )
    return load(path, device), load_settings(path)
