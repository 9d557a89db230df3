"""Yearly sunspots: a period that nobody told, and how far it is from a clock."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import coordnet as cn
from coordnet.plotting import COLORS, new_figure, save_figure, tidy
from coordnet.series import PeriodSearch, find_period, fit_harmonics

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def show(table: Path, figure_path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Find the period and the runners-up, fit one and all of them, and draw.

    Returns:
        ``rows``, for the console: names and values.
    """
    del options
    read = cn.series.read_table(table)
    x, y = read.x, read.y[:, 0]
    search = find_period(x, y, candidates=8)
    others = [each for each in search.candidates if not each.relation][:5]
    one = fit_harmonics(x, y, search.period, search.k)
    several = fit_harmonics(x, y, [each.period for each in others], [each.k for each in others])

    figure = new_figure(13.0, 6.8, "Sunspots, 1700-2008: the period is found, not told")
    grid = figure.add_gridspec(2, 2, height_ratios=[1, 1], width_ratios=[8, 5])
    main = figure.add_subplot(grid[0, :])
    fine = np.linspace(x[0], x[-1], 4000)
    main.fill_between(x, y, color="#d9d9d9", linewidth=0)
    main.plot(x, y, color=COLORS[6], linewidth=0.8, label="sunspots in a year")
    main.plot(fine, one.predict(fine)[:, 0], color=COLORS[1], linewidth=1.2,
              label=f"one period: {100 * one.explained[0]:.0f} % of the variance")  # fmt: skip
    main.plot(fine, several.predict(fine)[:, 0], color=COLORS[0], linewidth=1.2,
              label=f"{len(others)} periods: {100 * several.explained[0]:.0f} %")  # fmt: skip
    tidy(main, "year", "sunspots")
    main.set_xlim(x[0], x[-1])
    main.set_ylim(-25, 1.3 * y.max())
    main.legend(loc="upper left", ncols=3, fontsize=9, frameon=False)
    _peaks(figure.add_subplot(grid[1, 0]), search, [each.period for each in others])
    _folded(figure.add_subplot(grid[1, 1]), x, y, one, search.period)
    save_figure(figure, figure_path)
    rows = [
        ("period found (years)", f"{search.period:.3f} ± {search.error:.3f}"),
        ("runners-up", ", ".join(f"{each.period:.2f}" for each in others[1:])),
        ("variance explained by it", f"{100 * one.explained[0]:.0f} %"),
        (f"by these {len(others)} together", f"{100 * several.explained[0]:.0f} %"),
    ]
    return {"rows": rows, "period": search.period, "error": search.error}


def _peaks(axes: Axes, search: PeriodSearch, periods: list[float]) -> None:
    """Draw the periodogram over the period, its best peaks named."""
    found = search.periodogram
    axes.plot(1 / found.frequencies, found.power, color=COLORS[6], linewidth=1.0)
    best, *others = periods
    heights = np.interp(1 / np.array(periods), found.frequencies, found.power)
    names = ", ".join(f"{each:.2f}" for each in others)
    label = f"the period: {best:.2f} ± {search.error:.2f} years"
    axes.plot(best, heights[0], "o", color=COLORS[1], markersize=6, label=label)
    axes.plot(others, heights[1:], "o", color=COLORS[0], markersize=5, label=f"others: {names}")
    axes.legend(loc="upper right", fontsize=9, frameon=False)
    axes.set_xscale("log")
    axes.set_xlim(4, 1 / found.frequencies[0])
    ticks = [4, 5, 7, 10, 15, 20, 30, 50, 100, 150]
    axes.set_xticks(ticks, [str(tick) for tick in ticks], minor=False)
    axes.minorticks_off()
    axes.set_ylim(0, None)
    axes.margins(y=0.15)
    tidy(axes, "period (years)", "part of the variance", "Lomb-Scargle periodogram")


def _folded(axes: Axes, x: np.ndarray, y: np.ndarray, model: Any, period: float) -> None:
    """Draw two periods of the samples by their phase, later years darker."""
    for shift in (0.0, 1.0):
        axes.scatter(np.mod(x, period) / period + shift, y, c=x, cmap="viridis_r", s=9,
                     linewidths=0)  # fmt: skip
    fine = np.linspace(0, 2 * period, 400)
    axes.plot(fine / period, model.predict(fine)[:, 0], color=COLORS[1], linewidth=2.0)
    tidy(axes, "phase (periods)", "sunspots", "folded: later years are darker")
    axes.set_xlim(0, 2)
