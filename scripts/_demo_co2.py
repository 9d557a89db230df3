"""Weekly CO₂: a yearly cycle on a rising curve, carried on beyond the fitted weeks."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import coordnet as cn
from coordnet.plotting import COLORS, new_figure, save_figure, tidy
from coordnet.series import HarmonicModel, find_period, fit_harmonics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

YEAR = 365.2425
K, DEGREE = 4, 2
START, CUT = 1958, 1996  # x counts days from the one; weeks from the other on are not fitted
MIDDLE = 1980  # between the years whose cycles are compared
MONTHS = ("J", "F", "M", "A", "M", "J", "J", "A", "S", "O", "N", "D")


def show(table: Path, figure_path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Find the period, fit trend and cycle up to 1995, go on for six years, and draw.

    Returns:
        ``rows``, for the console: names and values.
    """
    del options
    read = cn.series.read_table(table)
    if str(read.time) != f"d since {START}-01-01T00:00:00":
        got = f"{str(read.time) or 'no dates'}"
        raise cn.InputError("the dates must count from 1958", got, "Pass data/co2.csv.")
    x, y = read.x, read.y[:, 0]
    year = START + x / YEAR
    fitted = year < CUT
    search = find_period(x[fitted], y[fitted], trend=DEGREE)
    model = fit_harmonics(x[fitted], y[fitted], YEAR, K, trend=DEGREE)
    guess = model.predict(x)[:, 0]
    trend = guess - _cycle(model, x)
    growth = np.interp([1960.0, 1995.0], year[1:], np.diff(trend) / np.diff(year))

    figure = new_figure(
        13.0, 6.4, "Weekly CO₂ at Mauna Loa: one least-squares fit, and six years on"
    )
    grid = figure.add_gridspec(2, 2, height_ratios=[3, 1], width_ratios=[8, 5])
    main = figure.add_subplot(grid[0, 0])
    rest = figure.add_subplot(grid[1, 0], sharex=main)
    main.axvspan(CUT, year[-1], color="#eef3f8", zorder=0)
    rest.axvspan(CUT, year[-1], color="#eef3f8", zorder=0)
    main.plot(year, y, ".", color=COLORS[6], markersize=2.2, label="weekly means")
    main.plot(year, guess, color=COLORS[1], linewidth=0.9, label="trend and cycle")
    main.plot(year, trend, color=COLORS[0], linewidth=1.4, label="trend, of degree 2")
    main.text(CUT + 0.2, y.min(), "not\nfitted", fontsize=9, va="bottom")
    tidy(main, y="CO₂ (ppm by volume)")
    main.legend(loc="upper left", fontsize=9, frameon=False)
    main.tick_params(labelbottom=False)
    rest.plot(year, y - guess, ".", color=COLORS[6], markersize=2.2)
    rest.axhline(0, color=COLORS[1], linewidth=0.9)
    tidy(rest, "year", "data - fit")
    rest.set_xlim(year[0], year[-1])
    grown = _season(figure.add_subplot(grid[:, 1]), x, y)
    save_figure(figure, figure_path)

    fine = np.linspace(0, YEAR, 1461)
    cycle = _cycle(model, fine)
    peak, trough = fine[cycle.argmax()], fine[cycle.argmin()]
    rows = [
        ("period found (days)", f"{search.period:.2f} ± {search.error:.2f}"),
        *grown,
        ("highest and lowest on day", f"{peak:.0f} and {trough:.0f} of the year"),
        ("growth in 1960 and 1995 (ppm a year)", f"{growth[0]:.2f} and {growth[1]:.2f}"),
        ("RMSE, fitted weeks (ppm)", f"{cn.rmse(guess[fitted], y[fitted]):.2f}"),
        ("RMSE, six years on (ppm)", f"{cn.rmse(guess[~fitted], y[~fitted]):.2f}"),
        ("of which by the trend", f"{(guess - y)[~fitted].mean():+.2f}"),
    ]
    return {
        "rows": rows,
        "k": K,
        "degree": DEGREE,
        "fitted": int(fitted.sum()),
        "period": search.period,
        "error": search.error,
    }


def _season(axes: Axes, x: np.ndarray, y: np.ndarray) -> list[tuple[str, str]]:
    """Draw the cycles of the early and of the late years, each beside its own trend.

    Returns:
        Rows for the console: how far each cycle goes from trough to peak.
    """
    rows = []
    fine = np.linspace(0, YEAR, 1461)
    late = START + x / YEAR >= MIDDLE
    for chosen, color, name in (
        (~late, COLORS[4], f"{START}-{MIDDLE - 1}"),
        (late, COLORS[0], f"{MIDDLE}-2001"),
    ):
        model = fit_harmonics(x[chosen], y[chosen], YEAR, K, trend=3)
        cycle, whole = _cycle(model, fine), _cycle(model, x[chosen])
        rest = y[chosen] - model.predict(x[chosen])[:, 0] + whole
        label = f"{name}: {np.ptp(cycle):.2f} ppm from trough to peak"
        axes.plot(np.mod(x[chosen], YEAR), rest, ".", color=color, markersize=2.5, alpha=0.6)
        axes.plot(fine, cycle, color=color, linewidth=2.2, label=label)
        rows.append((f"from trough to peak, {name} (ppm)", f"{np.ptp(cycle):.2f}"))
    tidy(axes, "month", "ppm", "the yearly cycle has grown: data without the trend")
    axes.set_xticks((np.arange(12) + 0.5) * YEAR / 12, MONTHS)
    axes.tick_params(axis="x", length=0)
    axes.set_xlim(0, YEAR)
    axes.legend(loc="lower left", fontsize=9, frameon=False)
    return rows


def _cycle(model: HarmonicModel, x: np.ndarray) -> np.ndarray:
    """Return the harmonics of a fit without its trend."""
    found = model.spectrum()
    angle = 2 * np.pi * np.outer(x, 1 / found.wavelength) - found.phase[:, 0]
    return np.cos(angle) @ found.amplitude[:, 0]
