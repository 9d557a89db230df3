"""Figure of samples over one coordinate, and the curve fitted to them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import refuse
from ..plotting.figures import (
    COLORS,
    PathLike,
    as_array,
    check_ending,
    mark_dates,
    mean,
    new_figure,
    save_figure,
    span,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["save_signal"]

_MAX_ROWS = 12
_MAX_DOTS = 100_000
_MAX_VERTICES = 20_000
_FIRST_DAY, _LAST_DAY = -719_000, 2_932_000  # within the years 1 to 9999


def save_signal(
    path: PathLike,
    x: Any,
    y: Any,
    x_fine: Any,
    y_fine: Any,
    *,
    names: Sequence[str],
    periods: Sequence[float] = (),
    title: str = "",
    fitted: Any = None,
    calendar: tuple[str, Callable[[np.ndarray], np.ndarray]] | None = None,
) -> None:
    """Write a figure of samples, the curve fitted to them, and the residuals below.

    One row for each value (the first twelve), and beside it one panel for each period with
    samples and curve folded into one period.

    Args:
        path: the file to write: PNG, PDF or SVG.
        x: ``(N,)`` positions in any order, equal ones too.
        y: ``(N,)`` or ``(N, D)`` samples.
        x_fine: ``(M,)`` positions of the curve, close enough to draw lines between them.
        y_fine: ``(M,)`` or ``(M, D)`` values of the curve.
        names: the name of x, then those of the D values.
        periods: in the unit of x.
        title: a line above the panels.
        fitted: ``(N,)`` or ``(N, D)`` values of the curve at x, for the residuals; where None
            they are interpolated in the curve.
        calendar: for an axis of dates, its name, and what turns positions into days since
            1970-01-01; spans below ten seconds, and dates beyond the years 1 to 9999, stay numbers.
    """
    check_ending(path)
    at, samples = _sorted(x, y)
    fine, curve = _sorted(x_fine, y_fine)
    dims = samples.shape[1]
    if len(names) != 1 + dims or curve.shape[1] != dims:
        refuse(
            "names must be x's and one per value, and the curve must have as many values",
            f"{len(names)} names, {dims} values in the samples, {curve.shape[1]} in the curve",
        )
    if fitted is None:
        at_samples = np.stack([np.interp(at, fine, column) for column in curve.T], 1)
    else:
        at_samples = _sorted(x, fitted)[1]
    rows = min(dims, _MAX_ROWS)
    if rows < dims:
        title = f"{title} (the first {rows} of {dims} values)".strip()
    limits = np.array(span(np.concatenate([at, fine])))
    along, along_fine, name_x = at, fine, names[0]
    dated = calendar is not None and _can_be_dates(calendar[1](limits))
    if calendar is not None and dated:
        name_x, days = calendar
        along, along_fine, limits = days(at), days(fine), days(limits)
    figure = new_figure(8.0 + 3.4 * len(periods), 0.4 + 3.6 * rows, title)
    grid = figure.add_gridspec(
        2 * rows,
        1 + len(periods),
        height_ratios=[3, 1] * rows,
        width_ratios=[8] + [4] * len(periods),
    )
    for row in range(rows):
        name = names[1 + row]
        main = figure.add_subplot(grid[2 * row, 0])
        rest = figure.add_subplot(grid[2 * row + 1, 0], sharex=main)
        _dots(main, along, samples[:, row], "samples")
        _line(main, along_fine, curve[:, row], label="fit")
        residual = samples[:, row] - at_samples[:, row]
        _dots(rest, along, residual)
        rest.axhline(0.0, color=COLORS[1], linewidth=0.9)
        tidy(main, y=name)
        tidy(rest, x=name_x, y="residual")
        main.tick_params(labelbottom=False)
        main.margins(y=0.16)
        main.set_xlim(*limits)
        if dated:
            mark_dates(rest)
        root = math.sqrt(mean(residual**2))
        main.set_title(f"RMSE {root:.3g}", fontsize=9.5, loc="right")
        legend = main.legend(loc="upper left", ncols=2, fontsize=8.5, framealpha=0.85)
        for handle, width in zip(legend.get_lines(), (0.0, 1.5), strict=True):
            handle.set(alpha=1.0, linewidth=width, markersize=4.0)
        for column, period in enumerate(periods, start=1):
            folded = figure.add_subplot(grid[2 * row : 2 * row + 2, column])
            _dots(folded, np.mod(at, period), samples[:, row])
            _folded_line(folded, fine, curve[:, row], period)
            folded.set_xlim(0.0, period)
            tidy(folded, x=f"{names[0]} mod {period:.6g}")
            folded.set_title("folded", fontsize=9.5, loc="right")
    save_figure(figure, path)


def _can_be_dates(days: np.ndarray) -> bool:
    """Whether matplotlib can write dates from one to the other."""
    first, last = days.tolist()
    return first > _FIRST_DAY and last < _LAST_DAY and last - first > 10 / 86_400


def _sorted(x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return positions ``(N,)`` in ascending order and values ``(N, D)``, as float64."""
    at = as_array(x).astype(np.float64).reshape(-1)
    values = as_array(y).astype(np.float64)
    if values.ndim < 2:
        values = values.reshape(-1, 1)
    if values.ndim != 2 or len(values) != len(at) or not len(at):
        refuse(
            "positions (N,) and values (N,) or (N, D) must have one length, at least 1",
            f"shapes {np.shape(x)} and {np.shape(y)}",
        )
    order = np.argsort(at, kind="stable")
    return at[order], values[order]


def _dots(axes: Axes, x: np.ndarray, y: np.ndarray, label: str = "") -> None:
    """Draw samples: the more there are, the smaller and fainter."""
    size = float(np.interp(math.log10(len(x)), [1.5, 2.5, 3.5, 4.5], [4.5, 2.8, 1.6, 0.8]))
    alpha = float(np.interp(math.log10(len(x)), [2.5, 4.0], [0.9, 0.45]))
    skip = -(-len(x) // _MAX_DOTS)
    axes.plot(
        x[::skip],
        y[::skip],
        "o",
        color=COLORS[-1],
        markersize=size,
        markeredgewidth=0,
        alpha=alpha,
        label=label,
        rasterized=len(x) > 2000,
    )


def _line(axes: Axes, x: np.ndarray, y: np.ndarray, label: str = "") -> None:
    """Draw a curve, faintly where its swings are too dense to be told apart."""
    swings = int(np.count_nonzero(np.diff(np.sign(np.diff(y))) != 0))
    if len(x) > _MAX_VERTICES:  # keep the extremes of each piece: it looks the same
        edges = np.linspace(0, len(x), _MAX_VERTICES // 4 + 1).astype(int)
        extremes = {0, len(x) - 1}
        for start, end in itertools.pairwise(edges.tolist()):
            extremes |= {start + int(np.argmin(y[start:end])), start + int(np.argmax(y[start:end]))}
        vertices = sorted(extremes)
        x, y = x[vertices], y[vertices]
    width, alpha, order = (0.3, 0.5, 1.5) if swings > 400 else (1.2, 1.0, 2.0)
    axes.plot(x, y, color=COLORS[1], label=label, linewidth=width, alpha=alpha, zorder=order)


def _folded_line(axes: Axes, x: np.ndarray, y: np.ndarray, period: float) -> None:
    """Draw a curve folded into one period, with no line from its end back to its start."""
    wraps = np.flatnonzero(np.diff(np.floor(x / period)) != 0) + 1
    phase = np.mod(x, period)
    if len(wraps) < 4:
        for part in np.split(np.arange(len(x)), wraps):
            _line(axes, phase[part], y[part])
    elif len(x) < 8 * len(wraps):  # too coarse for lines
        axes.plot(phase, y, ".", color=COLORS[1], markersize=2, alpha=0.3, rasterized=True)
    else:
        alpha = max(0.12, min(1.0, 3.0 / len(wraps)))
        phase, y = np.insert(phase, wraps, np.nan), np.insert(y, wraps, np.nan)
        axes.plot(phase, y, color=COLORS[1], linewidth=1.2, alpha=alpha)
