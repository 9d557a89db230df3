"""What is told on the way of a fit, a rendering, an export."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

if TYPE_CHECKING:
    from ..training import FitConfig, FitResult

__all__ = ["Listener", "Start"]


@dataclass(frozen=True)
class Start:
    """What a fit begins with.

    Attributes:
        path: the input.
        summary: the input in a few words.
        notes: sentences about the input.
        warnings: such sentences where something is likely to be wrong.
        solved: whether the fit is a closed form, which takes no steps.
        model: what is fitted.
        config: the settings.
        device: what it runs on.
        precision: what it calculates in.
        note: what the preset says of itself, or nothing.
    """

    path: Path
    summary: str
    notes: Sequence[str]
    warnings: Sequence[str]
    solved: bool
    model: nn.Module
    config: FitConfig
    device: torch.device
    precision: str
    note: str


class Listener:
    """Is told how a run goes on. This one does nothing; subclasses show it."""

    def begins(self, start: Start) -> None:
        """A fit begins."""

    def notice(self, text: str) -> None:
        """A sentence about what is done."""

    def warning(self, text: str) -> None:
        """A sentence about what is likely to be wrong."""

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Some of what is under way was done.

        Args:
            what: "read", "render", "export".
            done: how much since the last call, in pixels, samples or cells.
            total: how much in all, None where that is not known yet.
        """

    def saved(self) -> None:
        """The model is saved; pictures of it are yet to be made."""

    def can_resume(self, folder: Path) -> None:
        """The fit has ended early, and can go on from the checkpoint in the run folder."""

    def measured(self, result: FitResult, metrics: dict[str, float], about: str) -> None:
        """A fit has ended.

        Args:
            result: its outcome.
            metrics: beside PSNR and RMSE.
            about: what is to be said of those.
        """

    def wrote(self, path: Path, what: str = "") -> None:
        """A file or folder was written.

        Args:
            path: the file.
            what: its content in words.
        """
