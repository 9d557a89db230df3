"""Hourly temperatures: a day and a year, added up or in one network."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

import coordnet as cn
from coordnet.plotting import COLORS, new_figure, save_figure, tidy
from coordnet.series import evaluate, fit_harmonics

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DAY, YEAR = 24.0, 8760.0
# of a day, of a year; a network makes higher ones of them, and with more of a day, or with kinks,
# it swings between the hours
HARMONICS = (2, 2)
CYCLE, KEPT = 30, 23  # days: 23 are fitted, then 7 are held out
SHOWN = 203  # the first day of a week that is held out, in July
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
FIRSTS = np.cumsum([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30])


def network(x: np.ndarray, y: np.ndarray, steps: int, seed: int) -> cn.Field:
    """Fit a small network on the harmonics of a day and of a year.

    Args:
        x: (N,) hours.
        y: (N,) temperatures.
        steps: of the fit.
        seed: of the start values and of the order of samples.
    """
    day = cn.FourierFeatures(1, k=HARMONICS[0], period=DAY)
    year = cn.FourierFeatures(1, k=HARMONICS[1], period=YEAR)
    both = cn.Concat([day, year])
    field = cn.Field(both, cn.MLP(both.out_dim, 1, 64, 2, activation="tanh", seed=seed))
    settings = cn.FitConfig(steps=steps, seed=seed, precision="float32")
    cn.fit(field, torch.from_numpy(x)[:, None], torch.from_numpy(y)[:, None], settings)
    return field


def show(table: Path, figure_path: Path, options: argparse.Namespace) -> dict[str, Any]:
    """Fit both models to 23 days in thirty, compare them on the other 7, draw them.

    Returns:
        ``rows``, for the console: model, numbers fitted, and the two RMSE.
    """
    torch.set_num_threads(1)  # a network this small loses time in sharing the work out
    read = cn.series.read_table(table)
    x, y = read.x, read.y[:, 0]
    held = (x // 24) % CYCLE >= KEPT
    linear = fit_harmonics(x[~held], y[~held], [DAY, YEAR], HARMONICS)
    field = network(x[~held], y[~held], options.steps, options.seed)
    guesses = {
        "harmonics added up": (linear.predict(x)[:, 0], linear.coefficients.size),
        "network on them": (
            evaluate(field, x)[:, 0],
            sum(p.numel() for p in field.parameters()),
        ),
    }
    rows = [
        {
            "model": name,
            "numbers": number,
            "rmse_fitted": cn.rmse(guess[~held], y[~held]),
            "rmse_held_out": cn.rmse(guess[held], y[held]),
        }
        for name, (guess, number) in guesses.items()
    ]

    title = "A year of hourly temperatures in Seattle, a week in thirty days held out (blank)"
    figure = new_figure(13.0, 6.6, title)
    above, below = figure.subplots(2, 3)
    shared = {"cmap": "RdYlBu_r", "vmin": float(y.min()), "vmax": float(y.max())}
    picture = _map(above[0], x, np.where(held, np.nan, y), "what is fitted", **shared)
    for axes, (name, (guess, _)), row in zip(above[1:], guesses.items(), rows, strict=True):
        _map(axes, x, guess, f"{name}: {row['numbers']} numbers", **shared)
    figure.colorbar(picture, ax=above, label="°F", pad=0.01)
    for axes, (guess, _), row in zip(below[1:], guesses.values(), rows, strict=True):
        kind = {"cmap": "PuOr", "vmin": -5.0, "vmax": 5.0}
        said = f"its error: RMSE {row['rmse_fitted']:.2g} °F, held out {row['rmse_held_out']:.2g}"
        picture = _map(axes, x, guess - y, said, **kind)
    figure.colorbar(picture, ax=below, label="°F", pad=0.01, extend="both")
    _week(below[0], x, y, linear.predict, lambda at: evaluate(field, at))
    save_figure(figure, figure_path)
    return {"rows": rows, "harmonics": HARMONICS, "steps": options.steps}


def _map(axes: Axes, x: np.ndarray, values: np.ndarray, title: str, **kind: Any) -> Any:
    """Draw hours upward and days to the right."""
    grid = np.full((24, 365), np.nan)
    hour = x.astype(int)
    grid[hour % 24, hour // 24] = values
    picture = axes.imshow(
        grid, aspect="auto", origin="lower", extent=(0, 365, 0, 24), interpolation="none", **kind
    )
    axes.set_title(title, fontsize=10, loc="left")
    axes.set_xticks(FIRSTS + 15, MONTHS, fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.set_yticks([0, 6, 12, 18, 24])
    axes.set_ylabel("hour of the day")
    return picture


def _week(axes: Axes, x: np.ndarray, y: np.ndarray, linear: Any, field: Any) -> None:
    """Draw a week that was not fitted."""
    first, last = 24 * SHOWN, 24 * (SHOWN + 7)
    fine = np.linspace(first, last, 1500)
    chosen = (x >= first) & (x < last)
    axes.plot(x[chosen] / 24 - SHOWN, y[chosen], ".", color=COLORS[6], label="held out")
    for name, model, color in (
        ("added up", linear, COLORS[1]),
        ("network", field, COLORS[0]),
    ):
        axes.plot(fine / 24 - SHOWN, model(fine)[:, 0], color=color, linewidth=1.4, label=name)
    tidy(axes, "days from 23 July", "°F", "a week that neither has seen")
    axes.set_xlim(0, 7)
    axes.margins(y=0.2)
    axes.legend(loc="upper left", ncols=3, fontsize=8, frameon=False)
