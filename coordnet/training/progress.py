"""What a fit says on its way: a bar, sentences, warnings."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from types import TracebackType

from tqdm.auto import tqdm

from .config import FitConfig
from .result import HistoryPoint

__all__ = ["Bar", "Say", "warn"]

Say = Callable[[str], object]


def warn(say: Say | None, text: str) -> None:
    """Say that something is likely to be wrong; where nobody listens, as a `RuntimeWarning`."""
    if say is None:
        warnings.warn(text, RuntimeWarning, stacklevel=2)
    else:
        say(f"warning: {text}")


class _Tqdm(tqdm):
    """A tqdm without its thread: the bar is moved often enough."""

    monitor_interval = 0


class Bar:
    """A tqdm bar over steps, or over seconds where only the clock ends the fit.

    It stays away where stderr is no terminal, unless the settings ask for it.
    """

    def __init__(self, config: FitConfig, label: str) -> None:
        self.by_step = config.most_steps is not None
        total = config.most_steps if self.by_step else config.seconds
        shape = "{l_bar}{bar}| {n:.0f}/{total:.0f} {unit} [{elapsed}<{remaining}{postfix}]"
        self.bar = _Tqdm(
            total=total,
            desc=label,
            unit="steps" if self.by_step else "s",
            bar_format=shape,
            disable=None if config.progress is None else not config.progress,
            leave=True,
            dynamic_ncols=True,
        )

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.close()

    def show(self, point: HistoryPoint, status: str = "") -> None:
        """Move the bar and show the loss and the PSNR of the last batches, and ``status``."""
        if self.bar.disable:
            return
        psnr = f"{point.psnr:.2f} dB" if math.isfinite(point.psnr) else "exact"
        shown = [f"loss {point.loss:.3g}", psnr, *([status] if status else [])]
        self.bar.set_postfix_str(", ".join(shown), refresh=False)
        seconds = min(point.seconds, float(self.bar.total or point.seconds))
        self.bar.n = point.step if self.by_step else seconds
        self.bar.refresh()
