"""A run: the model that a fit from a file has left, with what is known of it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import nn

from ..errors import refuse
from ..files import JsonObject
from ..kinds import KINDS, AnyTask, Kind
from ..saving import load, load_settings
from ..training.checkpoint_file import read_checkpoint
from .record import model_of_checkpoint

__all__ = ["CHECKPOINT", "MODEL", "Run", "checkpoint_of"]

MODEL = "model.safetensors"
CHECKPOINT = "checkpoint.safetensors"


@dataclass(frozen=True)
class Run:
    """A run that is opened for reading.

    Attributes:
        path: its folder, or its model file.
        model: the fitted model, on its device.
        settings: what was saved with the model.
    """

    path: Path
    model: nn.Module
    settings: JsonObject

    @classmethod
    def open(cls, path: str | os.PathLike[str], device: str = "cpu") -> Run:
        """Open a run: its folder, or the model file in it.

        A run that was cut off before it saved its model has the one in its checkpoint.

        Raises:
            InputError: no such run, or a model file that is damaged.
        """
        path = Path(path)
        model = path / MODEL if path.is_dir() else path
        if path.is_dir() and not model.is_file():
            if (path / CHECKPOINT).is_file():
                unfinished, settings = model_of_checkpoint(path / CHECKPOINT)
                return cls(path, unfinished.to(device), settings)
            refuse(
                f"a run folder must hold {MODEL}",
                f"{str(path)!r} without it",
                "Pass the folder that coordnet fit wrote.",
            )
        if not path.exists():
            refuse(
                "a run must be a folder that coordnet fit wrote, or the model in it",
                f"{str(path)!r}, which does not exist",
                "Check the path.",
            )
        return cls(path, load(model, device), load_settings(model))

    @property
    def kind(self) -> Kind:
        """The kind of signal that was fitted.

        Raises:
            InputError: settings that name no kind, or a model of another kind.
        """
        name = self.settings.get("task")
        if not isinstance(name, str) or name not in KINDS or not isinstance(self.about, dict):
            refuse(
                "the model must come from coordnet fit",
                "a field that names no task" if name is None else f"task {name!r}",
                "A field saved from Python is loaded with coordnet.load.",
            )
        kind = KINDS[name]
        in_dim = getattr(self.model, "in_dim", None)
        if in_dim != kind.load().in_dim:
            got = f"{type(self.model).__name__} of {in_dim or 3} coordinates for task {name!r}"
            rule = "a run's model must be of the kind that its task fits"
            refuse(rule, got, "Fit the input again.")
        return kind

    @property
    def task(self) -> type[AnyTask]:
        """What renders, evaluates and exports the run."""
        return self.kind.load()

    @property
    def about(self) -> Any:
        """What the task described of the input."""
        return self.settings.get("input")

    def progress(self) -> tuple[int, float] | None:
        """Return the steps and the seconds of an unfinished fit, None where it has ended.

        Raises:
            InputError: a checkpoint that is damaged.
        """
        path = self.path / CHECKPOINT
        if not path.is_file():
            return None
        with read_checkpoint(path) as file:
            return file.integer("step"), file.number("seconds")


def checkpoint_of(run: Path) -> Path:
    """Return the checkpoint in a run folder.

    Raises:
        InputError: there is none.
    """
    path = run / CHECKPOINT
    if not path.is_file():
        finished = (run / MODEL).is_file()
        got = f"{str(run)!r}, " + ("a finished run" if finished else "without one")
        remedy = "Fit the input again, with more --steps, say."
        refuse("--resume needs a run folder with a checkpoint", got, remedy)
    return path
