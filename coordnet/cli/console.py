"""The console: sentences on standard output, and a progress bar at a terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from ..kinds.listener import Listener, Start
from ..text import readable
from .signals import Signals, write_nowhere
from .words import describe_field, describe_machine, describe_result, describe_training

if TYPE_CHECKING:
    from tqdm import tqdm

    from ..training import FitResult

__all__ = ["Console"]


class Console(Listener):
    """Prints what it is told, above one progress bar; the bar needs a terminal on standard error.

    Args:
        signals: told when the model is saved, so that the next signal ends the process.
    """

    def __init__(self, signals: Signals | None = None) -> None:
        self.signals = signals
        self.model_saved = False
        self._bar: tqdm[NoReturn] | None = None
        self._what = ""

    def __enter__(self) -> Console:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def print(self, text: str) -> None:
        """Print a line above the bar."""
        from tqdm.auto import tqdm

        try:
            tqdm.write(text)
        except OSError:  # nobody reads it, or its disk is full: the fit is worth more
            if self.signals is None:
                raise
            write_nowhere(sys.stdout)

    def begins(self, start: Start) -> None:
        """Print the input, the notes on it, the model and how it is fitted."""
        self.print(f"{readable(start.path.name)}: {start.summary}")
        for note in start.notes:
            self.notice(note)
        for warning in start.warnings:
            self.warning(warning)
        if start.note:
            self.print(f"  {start.note}")
        self.print(f"  {describe_field(start.model)}")
        how = "solved exactly by least squares" if start.solved else describe_training(start.config)
        self.print(f"  on {describe_machine(start.device)} in {start.precision}, {how}")

    def notice(self, text: str) -> None:
        """Print a note."""
        self.print(f"  note: {text}")

    def warning(self, text: str) -> None:
        """Print a warning."""
        self.print(f"  warning: {text}")

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Move the bar on, and take it away at its end."""
        from tqdm.auto import tqdm

        if what != self._what:
            self.close()
        if self._bar is None:
            self._what = what
            self._bar = tqdm(unit="", unit_scale=True, desc=what, disable=None, leave=False)
        bar = self._bar
        bar.total = total
        bar.update(done)
        if total is not None and bar.n >= total:
            self.close()

    def saved(self) -> None:
        """Let the next signal end what is under way."""
        self.model_saved = True
        if self.signals is not None:
            self.signals.at_once()

    def can_resume(self, folder: Path) -> None:
        """Print how to go on."""
        self.print(f"  coordnet fit --resume {readable(folder)} goes on from the last checkpoint")

    def measured(self, result: FitResult, metrics: dict[str, float], about: str) -> None:
        """Print the errors and why the fit ended."""
        self.print(describe_result(result))
        if metrics:
            values = ", ".join(f"{name} {value:.4g}" for name, value in metrics.items())
            self.print(f"  {values}; {about}")

    def wrote(self, path: Path, what: str = "") -> None:
        """Print what was written."""
        self.print(f"wrote {readable(path)}" + (f": {what}" if what else ""))

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None
