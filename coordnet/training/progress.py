"""Progress of a fit: a bar at the terminal or a callback, and notices on the way."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from tqdm.auto import tqdm

from .config import FitConfig
from .result import HistoryPoint

__all__ = ["Bar", "Notice", "Notify", "Progress", "tell"]

# called with each point of the history, and the objective's status in a few words
Progress = Callable[[HistoryPoint, str], object]


@dataclass(frozen=True)
class Notice:
    """A sentence on what happens on the way of a fit.

    Attributes:
        text: the sentence.
        warning: whether something is likely to be wrong.
    """

    text: str
    warning: bool = False


Notify = Callable[[Notice], object]


def tell(notify: Notify | None, text: str, *, warning: bool = False) -> None:
    """Pass a sentence on; where nobody listens a warning becomes a `RuntimeWarning`."""
    if notify is not None:
        notify(Notice(text, warning))
    elif warning:
        warnings.warn(text, RuntimeWarning, stacklevel=2)


class _Tqdm(tqdm):
    """A tqdm without its thread: the bar is moved often enough."""

    monitor_interval = 0


class Bar(AbstractContextManager["Bar"]):
    """A tqdm bar over steps, or over seconds where only the clock ends the fit.

    Args:
        progress: None shows the bar where stderr is a terminal, True everywhere, False nowhere; a
            callback is called in its place.
        config: the settings, with the budget.
        label: what stands before the bar.
    """

    def __init__(self, progress: Progress | bool | None, config: FitConfig, label: str) -> None:
        self.callback = progress if callable(progress) else None
        self.by_step = config.max_steps is not None
        self.bar = _Tqdm(
            total=config.max_steps if self.by_step else config.seconds,
            desc=label,
            unit="steps" if self.by_step else "s",
            bar_format="{l_bar}{bar}| {n:.0f}/{total:.0f} {unit} [{elapsed}<{remaining}{postfix}]",
            disable=None if progress is None else progress is not True,
            dynamic_ncols=True,
        )

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def show(self, point: HistoryPoint, status: str) -> None:
        """Show a point of the history: loss and PSNR of the last batches."""
        if self.callback is not None:
            self.callback(point, status)
        if self.bar.disable:
            return
        psnr = f"{point.psnr:.2f} dB" if math.isfinite(point.psnr) else "exact"
        self.bar.set_postfix_str(
            ", ".join(filter(None, [f"loss {point.loss:.3g}", psnr, status])), refresh=False
        )
        seconds = min(point.seconds, float(self.bar.total or point.seconds))
        self.bar.n = point.step if self.by_step else seconds
        self.bar.refresh()
