"""The folder of a run: its files, made before the fit and filled after it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from ..errors import refuse
from ..field import Field
from ..saving import load, load_settings

__all__ = ["RunFolder", "open_model"]

_MODEL = "model.safetensors"


class RunFolder:
    """A run folder that can be written to.

    Args:
        path: the folder; it is made, with its parents.
        overwrite: whether an earlier run in it may be replaced.

    Raises:
        InputError: the path is a file, cannot be written to, or holds files already.
    """

    def __init__(self, path: Path, overwrite: bool) -> None:
        self.path = path
        rule = "the run folder must be a folder that can be made and written to"
        if path.exists() and not path.is_dir():
            refuse(rule, f"{str(path)!r}, which is a file", "Pass another --out.")
        try:
            path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass
        except OSError as error:
            refuse(rule, f"{str(path)!r}: {error.strerror}", "Pass another --out.")
        taken = sorted(p.name for p in path.iterdir())
        if taken and not (overwrite and self.file(_MODEL).exists()):
            remedy = "Pass another --out, or --overwrite to replace an earlier run."
            if overwrite:
                remedy = "It holds no run that --overwrite could replace: pass another --out."
            refuse("the run folder must be empty", f"{str(path)!r} with {taken[0]}", remedy)

    def file(self, name: str) -> Path:
        """Return the path of a file in the folder."""
        return self.path / name

    @property
    def model(self) -> Path:
        """The saved field."""
        return self.file(_MODEL)


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
    return load(path, device), load_settings(path)
