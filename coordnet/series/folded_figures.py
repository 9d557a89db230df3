"""Figures of periodic data: folded onto a period, the error of every k, the periodogram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import refuse
from ..plotting.figures import (
    COLORS,
    INK,
    PathLike,
    as_array,
    check_ending,
    new_figure,
    save_figure,
    tidy,
)

__all__ = ["save_folded", "save_k_curve", "save_periodogram"]

_MAX_POINTS = 20_000


def save_folded(
    path: PathLike,
    x: Any,
    y: Any,
    fit: Any,
    periods: Sequence[float],
    *,
    levels: Sequence[Any] | None = None,
    names: Sequence[str] = (),
    title: str = "",
) -> None:
    """Write a figure of samples and fit against the phase of each period.

    With several periods, or a trend, the fit at one phase takes several values: it is drawn as
    points too, and what is left of both above a level can be drawn in place of their values.
    Beyond 20,000 samples every n-th is drawn.

    Args:
        path: the file to write: PNG, PDF or SVG.
        x: positions ``(N,)``.
        y: values ``(N, D)``.
        fit: fitted values ``(N, D)``.
        periods: one or several, in the unit of ``x``.
        levels: for each period ``(N, D)``, what is subtracted from samples and fit, such as the
            mean of the fit over one period around each sample.
        names: of the positions, then of the columns.
        title: a line above the panels.
    """
    check_ending(path)
    at, values, fitted = _arrays(x, y, fit)
    if values.ndim != 2 or fitted.shape != values.shape or at.shape != values.shape[:1]:
        rule = "positions (N,), values and fit (N, D) must have one N"
        refuse(rule, f"shapes {at.shape}, {values.shape}, {fitted.shape}")
    if not periods:
        refuse("folding needs a period", "none")
    step = -(-len(at) // _MAX_POINTS)
    at, values, fitted = at[::step], values[::step], fitted[::step]
    base = [np.zeros(1)] * len(periods) if levels is None else [e[::step] for e in _arrays(*levels)]
    rows, columns = values.shape[1], len(periods)
    figure = new_figure(max(6.0, 4.6 * columns), 2.6 * rows + 0.8, title)
    grid = figure.subplots(rows, columns, squeeze=False)
    labels = [*names, *[""] * (rows + 1 - len(names))]
    if levels is not None:
        labels[1:] = [f"{name} less its mean over a period".strip() for name in labels[1:]]
    for j, period in enumerate(periods):
        phase = np.mod(at, period)
        # equal phases in any order but that of time, along which the fit is smooth
        order = np.lexsort((np.random.default_rng(0).permutation(len(phase)), phase))
        samples, curve = values - base[j], fitted - base[j]
        for i in range(rows):
            axes = grid[i, j]
            axes.plot(phase, samples[:, i], ".", color=COLORS[0], markersize=2.5, alpha=0.5)
            jump = np.abs(np.diff(curve[order, i])).mean() if len(order) > 1 else 0.0
            single = jump < 0.02 * (np.ptp(curve[:, i]) or 1.0)
            style = "-" if single else "."
            axes.plot(phase[order], curve[order, i], style, color=COLORS[1], markersize=2.5,
                      linewidth=1.5)  # fmt: skip
            axes.set_xlim(0, period)
            tidy(axes, x=f"{labels[0]} modulo {period:.6g}".strip(), y=labels[i + 1])
    legend = grid[0, 0].legend(["samples", "fit"], fontsize=8, loc="best")
    for handle in legend.get_lines():
        handle.set(alpha=1.0, markersize=5.0)
    save_figure(figure, path)


def save_k_curve(
    path: PathLike, k: Any, error: Any, standard_error: Any, chosen: int, *, title: str = ""
) -> None:
    """Write a figure of the hold-out error over the number of harmonics.

    Args:
        path: the file to write: PNG, PDF or SVG.
        k: ``(K,)``, numbers of harmonics.
        error: ``(K,)``.
        standard_error: ``(K,)``, of the errors' differences to the least.
        chosen: the k that was taken.
        title: a line above.
    """
    from matplotlib.ticker import MaxNLocator

    check_ending(path)
    at, height, spread = _arrays(k, error, standard_error)
    figure = new_figure(6.5, 3.8, title)
    axes = figure.subplots()
    axes.fill_between(at, height - spread, height + spread, color=COLORS[0], alpha=0.2, lw=0)
    axes.plot(at, height, "o-", color=COLORS[0], markersize=3.5, linewidth=1.2)
    axes.axvline(chosen, color=COLORS[1], linewidth=1.2)
    axes.annotate(f" k = {chosen}", (chosen, axes.get_ylim()[1]), color=INK, va="top", fontsize=9)
    finite = height[np.isfinite(height)]
    if len(finite) and finite.max() > 30 * finite.min() > 0:
        axes.set_yscale("log")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    tidy(axes, x="harmonics k", y="RMSE on held-out blocks")
    save_figure(figure, path)


def save_periodogram(
    path: PathLike,
    frequency: Any,
    power: Any,
    candidates: Sequence[float],
    *,
    unit: str = "",
    title: str = "",
) -> None:
    """Write a figure of a periodogram over the period, with the candidates marked.

    Args:
        path: the file to write: PNG, PDF or SVG.
        frequency: ``(F,)``, ascending, above 0, in cycles per unit of the positions.
        power: ``(F,)``, the share of the variance explained, from 0 to 1.
        candidates: periods, the best first.
        unit: of the positions.
        title: a line above.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    check_ending(path)
    at, height = _arrays(frequency, power)
    figure = new_figure(8.0, 3.8, title)
    axes = figure.subplots()
    # the highest in each of some thousand stretches: no peak is lost
    starts = np.arange(0, len(at), max(1, len(at) // 4000))
    top = np.maximum.reduceat(height, starts)
    axes.fill_between(1 / at[starts], 0, top, color=COLORS[0], lw=0, alpha=0.85)
    for i, period in enumerate(candidates):
        best = {"color": COLORS[1], "linewidth": 1.4, "label": f"{period:.6g}"}
        axes.axvline(
            period, **best if i == 0 else {"color": COLORS[6], "linewidth": 0.8, "ls": ":"}
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_ylim(0, None)
    if len(candidates):
        axes.legend(fontsize=9)
    tidy(axes, x=f"period ({unit})" if unit else "period", y="share of variance explained")
    save_figure(figure, path)


def _arrays(*values: Any) -> list[np.ndarray]:
    return [as_array(value).astype(np.float64) for value in values]
