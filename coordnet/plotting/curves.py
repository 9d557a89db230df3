"""The course of a fit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

import numpy as np

from .figures import COLORS, INK, PathLike, check_ending, new_figure, save_figure, span, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["save_curve"]


class Point(Protocol):
    """A point of a fit's history, as `coordnet.training.HistoryPoint` has them."""

    @property
    def step(self) -> int: ...
    @property
    def seconds(self) -> float: ...
    @property
    def loss(self) -> float: ...
    @property
    def psnr(self) -> float: ...


def save_curve(path: PathLike, history: Iterable[Point], *, title: str = "") -> None:
    """Write a figure of PSNR and loss over the steps of a fit, with the seconds on top.

    Args:
        path: the file to write: PNG, PDF or SVG.
        history: points with ``step``, ``seconds``, ``loss`` and ``psnr``, any number of them.
            An infinite PSNR is left out, as is a loss of 0, which a log scale lacks.
        title: a line above the panels.
    """
    check_ending(path)
    rows = [(float(p.step), p.seconds, p.loss, p.psnr) for p in history]
    step, seconds, loss, psnr = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    figure = new_figure(7.5, 5.2, title)
    above, below = figure.subplots(2, 1, sharex=True)
    for axes, values, color in ((above, psnr, COLORS[0]), (below, loss, COLORS[1])):
        good = np.isfinite(values) & ((values > 0) if axes is below else True)
        mark = "o" if good.sum() < 40 else ""
        axes.plot(step[good], values[good], color=color, marker=mark, markersize=3.5)
        if not good.any():
            axes.text(0.5, 0.5, "no points", transform=axes.transAxes, ha="center", color=INK)
            axes.set_yticks([])
    tidy(above, y="PSNR (dB)")
    tidy(below, x="steps", y="loss")
    if (np.isfinite(loss) & (loss > 0)).any():
        below.set_yscale("log")
    if not len(step):
        below.set_xticks([])
    else:
        below.set_xlim(*span(np.r_[0.0, step]))
        _seconds_on_top(above, step, seconds)
    save_figure(figure, path)


def _seconds_on_top(axes: Axes, step: np.ndarray, seconds: np.ndarray) -> None:
    """Show at the steps' ticks the seconds that had passed there."""
    from matplotlib.ticker import MaxNLocator

    low, high = axes.get_xlim()
    ticks = MaxNLocator(7, integer=True).tick_values(low, high)
    # steps are counted from 0 at 0 seconds
    steps, passed = np.r_[0.0, step], np.r_[0.0, seconds]
    ticks = [tick for tick in ticks if max(low, 0.0) <= tick <= min(high, steps[-1] + 1e-9)]
    axes.set_xticks(ticks)
    top = axes.secondary_xaxis("top")
    top.set_xticks(ticks, [f"{np.interp(tick, steps, passed):.3g}" for tick in ticks])
    top.set_xlabel("seconds")
    top.spines["top"].set_visible(False)
