"""The bar of a fit."""

from __future__ import annotations

import math
from types import TracebackType

from tqdm.auto import tqdm

from .config import FitConfig

__all__ = ["Bar"]


class Bar:
    """A tqdm bar over steps, or over seconds where only the clock ends the fit.

    It stays away where stderr is no terminal, unless the settings ask for it.
    """

    def __init__(self, config: FitConfig, label: str) -> None:
        self.by_step = config.most_steps is not None
        total = config.most_steps if self.by_step else config.seconds
        shape = "{l_bar}{bar}| {n:.0f}/{total:.0f} {unit} [{elapsed}<{remaining}{postfix}]"
        self.bar = tqdm(
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

    def show(self, step: int, seconds: float, loss: float, psnr: float) -> None:
        """Move the bar and show the loss and the PSNR of the last batches."""
        if self.bar.disable:
            return
        shown = f"{psnr:.2f} dB" if math.isfinite(psnr) else "exact"
        self.bar.set_postfix_str(f"loss {loss:.3g}, {shown}", refresh=False)
        self.bar.n = step if self.by_step else min(seconds, float(self.bar.total or seconds))
        self.bar.refresh()
