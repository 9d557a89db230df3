"""Figures: arrays in, files out. No display, no global state; matplotlib is imported when used.

`save_comparison` shows pictures, `save_curve` the course of a fit, `save_signal` samples and the
curve fitted to them. `new_figure` and `save_figure` are for figures of one's own.
"""

from __future__ import annotations

import io
import itertools
import math
import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from .errors import refuse
from .files import write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLOURS",
    "new_figure",
    "save_comparison",
    "save_curve",
    "save_figure",
    "save_signal",
    "tidy",
]

# Okabe and Ito's colours, which the colour-blind can tell apart
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444")
_INK = "#333333"
_FORMATS = {".png": {"Software": None}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
_MOST_PIXELS = 1024
_MOST_ROWS = 12
_MOST_DOTS = 100_000
_MOST_VERTICES = 20_000
_DPI = 150

PathLike = str | os.PathLike[str]


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


def new_figure(width: float, height: float, title: str = "") -> Figure:
    """Return an empty figure of ``width`` by ``height`` inches that needs no display."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    if title:  # names of files may hold a dollar sign
        figure.suptitle(title, fontsize=12, color=_INK, parse_math=False)
    return figure


def save_figure(figure: Figure, path: PathLike) -> None:
    """Write a figure as PNG, PDF or SVG, by its ending; it appears whole or not at all.

    Raises:
        InputError: another ending.
        OSError: the folder is missing or cannot be written to.
    """
    kind = _check_ending(path)
    data = io.BytesIO()
    with warnings.catch_warnings():  # a name in a script that the font lacks is no failure
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)
        figure.savefig(data, format=kind[1:], dpi=_DPI, metadata=_FORMATS[kind])
    write_atomic(path, data.getvalue())


def tidy(axes: Axes, x: str = "", y: str = "", title: str = "") -> None:
    """Label an axes, draw a faint grid and drop the frame's upper and right side."""
    axes.set_xlabel(x, parse_math=False)
    axes.set_ylabel(y, parse_math=False)
    if title:
        axes.set_title(title, fontsize=10, loc="left", parse_math=False)
    axes.grid(True, color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def save_comparison(
    path: PathLike, target: Any, fit: Any, *, title: str = "", peak: float = 1.0
) -> None:
    """Write a figure of target | fit | absolute error with the PSNR.

    The PSNR is that of all pixels, with the fit clamped to [0, peak] first. Pictures with more
    than 1024 pixels a side are averaged over blocks for the figure. Transparent pixels are
    shown over a checkerboard; the error is the mean over all channels, alpha among them.

    Args:
        path: the file to write: PNG, PDF or SVG.
        target: shape ``(H, W)`` or ``(H, W, C)`` with C from 1 to 4, values in [0, peak].
        fit: the same shape.
        title: a line above the panels.
        peak: the value that means white.
    """
    _check_ending(path)
    first, second = _array(target), _array(fit)
    if first.ndim == 2:
        first, second = first[..., None], second[..., None]
    if first.shape != second.shape or first.ndim != 3 or not 1 <= first.shape[2] <= 4:
        refuse(
            "target and fit must be pictures of one shape (H, W, C) with 1 to 4 channels",
            f"shapes {np.shape(target)} and {np.shape(fit)}",
            "Reshape them.",
        )
    if first.size == 0:
        refuse("a picture must have pixels", f"shape {first.shape}", "Pass at least one.")
    panels, error, mean_square, worst = _thinned(first, second, peak)
    height, width, channels = first.shape
    # panels side by side, or above each other for panoramas; slivers are stretched
    aspect = min(max(width / height, 0.25), 8.0)
    stacked = aspect > 2.2
    wide = 9.0 if stacked else min(4.6, 4.6 * aspect + 0.4)
    tall = wide / aspect + 0.55
    bar, top = 0.8, 0.35 if title else 0.0
    size = (wide + bar, 3 * tall + top) if stacked else (3 * wide + bar, tall + top)
    figure = new_figure(*size, title)
    axes = figure.subplots(*((3, 1) if stacked else (1, 3)), squeeze=False).ravel()
    stretch = "auto" if aspect != width / height else "equal"
    kind = ("grey", "grey with alpha", "RGB", "RGBA")[channels - 1]
    decibels = _decibels(mean_square, peak)
    captions = (
        f"target: {width} × {height}, {kind}",
        "fit: exact" if decibels == math.inf else f"fit: PSNR {decibels:.2f} dB",
        f"absolute error: mean {_short(_mean(error))}, largest {_short(worst)}",
    )
    for each, picture in zip(axes, panels, strict=False):
        each.imshow(picture, aspect=stretch)
    limit = float(np.quantile(error, 0.998)) or float(error.max()) or peak / 255
    shown = axes[2].imshow(error, cmap="magma", vmin=0.0, vmax=limit, aspect=stretch)
    for each, caption in zip(axes, captions, strict=True):
        each.set_title(caption, fontsize=9.5)
        each.set_xticks([])
        each.set_yticks([])
        each.spines[:].set_color("#bbbbbb")
    beyond = "max" if float(error.max()) > limit else "neither"
    bar_axes = axes[2].inset_axes((1.0 + 0.1 / wide, 0.0, 0.18 / wide, 1.0))
    figure.colorbar(shown, cax=bar_axes, extend=beyond)
    save_figure(figure, path)


def save_curve(path: PathLike, history: Iterable[Point], *, title: str = "") -> None:
    """Write a figure of PSNR and loss over the steps of a fit, with the seconds on top.

    Args:
        path: the file to write: PNG, PDF or SVG.
        history: points with ``step``, ``seconds``, ``loss`` and ``psnr``, any number of them.
            An infinite PSNR is left out, as is a loss of 0, which a log scale lacks.
        title: a line above the panels.
    """
    _check_ending(path)
    rows = [(float(p.step), p.seconds, p.loss, p.psnr) for p in history]
    step, seconds, loss, psnr = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    figure = new_figure(7.5, 5.2, title)
    above, below = figure.subplots(2, 1, sharex=True)
    for axes, values, colour in ((above, psnr, COLOURS[0]), (below, loss, COLOURS[1])):
        good = np.isfinite(values) & ((values > 0) if axes is below else True)
        mark = "o" if good.sum() < 40 else ""
        axes.plot(step[good], values[good], color=colour, marker=mark, markersize=3.5)
        if not good.any():
            axes.text(0.5, 0.5, "no points", transform=axes.transAxes, ha="center", color=_INK)
            axes.set_yticks([])
    tidy(above, y="PSNR (dB)")
    tidy(below, x="steps", y="loss")
    if (np.isfinite(loss) & (loss > 0)).any():
        below.set_yscale("log")
    if not len(step):
        below.set_xticks([])
    else:
        below.set_xlim(*_span(np.r_[0.0, step]))
        _seconds_on_top(above, step, seconds)
    save_figure(figure, path)


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
    """
    _check_ending(path)
    at, samples = _sorted(x, y)
    fine, curve = _sorted(x_fine, y_fine)
    dims = samples.shape[1]
    if len(names) != 1 + dims or curve.shape[1] != dims:
        refuse(
            "names must be x's and one per value, and the curve must have as many values",
            f"{len(names)} names, {dims} values in the samples, {curve.shape[1]} in the curve",
            "Pass (x_name, *y_names) and curves of one width.",
        )
    if fitted is None:
        guess = np.stack([np.interp(at, fine, column) for column in curve.T], 1)
    else:
        guess = _sorted(x, fitted)[1]
    rows = min(dims, _MOST_ROWS)
    if rows < dims:
        title = f"{title} (the first {rows} of {dims} values)".strip()
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
        _dots(main, at, samples[:, row], "samples")
        _line(main, fine, curve[:, row], label="fit")
        residual = samples[:, row] - guess[:, row]
        _dots(rest, at, residual)
        rest.axhline(0.0, color=COLOURS[1], linewidth=0.9)
        tidy(main, y=name)
        tidy(rest, x=names[0], y="residual")
        main.tick_params(labelbottom=False)
        main.margins(y=0.16)
        main.set_xlim(*_span(np.concatenate([at, fine])))
        root = math.sqrt(_mean(residual**2))
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


def _check_ending(path: PathLike) -> str:
    kind = Path(path).suffix.lower()
    if kind not in _FORMATS:
        known = ", ".join(_FORMATS)
        refuse(f"a figure's file must end in {known}", repr(str(path)), "Rename it to .png.")
    return kind


def _array(values: Any) -> np.ndarray:
    """Return a NumPy array, of a tensor on any device too."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if str(values.dtype) == "torch.bfloat16":
            values = values.float()
    return np.asarray(values)


def _mean(values: np.ndarray) -> float:
    return float(np.mean(values, dtype=np.float64)) if values.size else 0.0


def _decibels(mean_square: float, peak: float) -> float:
    return math.inf if mean_square == 0 else 10 * math.log10(peak**2 / mean_square)


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}"


def _span(x: np.ndarray) -> tuple[float, float]:
    """Return limits around ``x`` with a little room, also where all are equal."""
    low, high = (float(x.min()), float(x.max())) if x.size else (0.0, 1.0)
    room = 0.02 * (high - low) or 0.5 * max(abs(low) * 1e-6, 1.0)
    return low - room, high + room


def _thinned(
    target: np.ndarray, fit: np.ndarray, peak: float
) -> tuple[list[np.ndarray], np.ndarray, float, float]:
    """Return both pictures as RGB, the error, its mean square and its largest value.

    Works through bands of rows, so that a large picture is not copied.
    """
    height, width, channels = target.shape
    factor = -(-max(height, width) // _MOST_PIXELS)
    shown: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    errors: list[np.ndarray] = []
    total, worst = 0.0, 0.0
    for top in range(0, height, factor):
        band = [each[top : top + factor].astype(np.float64) / peak for each in (target, fit)]
        band[1] = np.clip(np.nan_to_num(band[1]), 0.0, 1.0)
        gap = np.abs(band[1] - band[0])
        total += float(np.square(gap).sum())
        worst = max(worst, float(gap.mean(-1).max()))
        errors.append(_block_mean(gap.mean(-1, keepdims=True), factor)[..., 0] * peak)
        for rows, pixels in zip(shown, band, strict=True):
            pixels = np.clip(pixels, 0.0, 1.0)
            if channels in (2, 4):  # averages weigh colours by their opacity
                pixels[..., :-1] *= pixels[..., -1:]
            rows.append(_block_mean(pixels, factor))
    pictures = [_over_checkerboard(np.concatenate(rows)) for rows in shown]
    mean_square = total / target.size * peak**2
    return pictures, np.concatenate(errors), mean_square, worst * peak


def _block_mean(band: np.ndarray, factor: int) -> np.ndarray:
    """Average a band of rows into one row of blocks ``factor`` columns wide."""
    width = band.shape[1]
    starts = np.arange(0, width, factor)
    counts = np.minimum(starts + factor, width) - starts
    sums = np.add.reduceat(band.mean(0), starts, axis=0)
    return (sums / counts[:, None])[None]


def _over_checkerboard(picture: np.ndarray) -> np.ndarray:
    """Return RGB of 1 to 4 channels whose colours are multiplied by alpha already."""
    height, width, channels = picture.shape
    if channels in (2, 4):
        side = max(1, max(height, width) // 32)
        rows, columns = np.arange(height)[:, None] // side, np.arange(width) // side
        board = np.where((rows + columns) % 2, 0.80, 0.95)[..., None]
        picture = picture[..., :-1] + board * (1.0 - picture[..., -1:])
    if picture.shape[2] == 1:
        picture = np.repeat(picture, 3, axis=2)
    return np.clip(picture, 0.0, 1.0)


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


def _sorted(x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return positions ``(N,)`` in ascending order and values ``(N, D)``, as float64."""
    at = _array(x).astype(np.float64).reshape(-1)
    values = _array(y).astype(np.float64)
    if values.ndim < 2:
        values = values.reshape(-1, 1)
    if values.ndim != 2 or len(values) != len(at) or not len(at):
        refuse(
            "positions (N,) and values (N,) or (N, D) must have one length, at least 1",
            f"shapes {np.shape(x)} and {np.shape(y)}",
            "Reshape them.",
        )
    order = np.argsort(at, kind="stable")
    return at[order], values[order]


def _dots(axes: Axes, x: np.ndarray, y: np.ndarray, label: str = "") -> None:
    """Draw samples: the more there are, the smaller and fainter."""
    size = float(np.interp(math.log10(len(x)), [1.5, 2.5, 3.5, 4.5], [4.5, 2.8, 1.6, 0.8]))
    alpha = float(np.interp(math.log10(len(x)), [2.5, 4.0], [0.9, 0.45]))
    skip = -(-len(x) // _MOST_DOTS)
    axes.plot(
        x[::skip],
        y[::skip],
        "o",
        color=COLOURS[-1],
        markersize=size,
        markeredgewidth=0,
        alpha=alpha,
        label=label,
        rasterized=len(x) > 2000,
    )


def _line(axes: Axes, x: np.ndarray, y: np.ndarray, label: str = "") -> None:
    """Draw a curve, faintly where its swings are too dense to be told apart."""
    swings = int(np.count_nonzero(np.diff(np.sign(np.diff(y))) != 0))
    if len(x) > _MOST_VERTICES:  # keep the extremes of each piece: it looks the same
        edges = np.linspace(0, len(x), _MOST_VERTICES // 4 + 1).astype(int)
        kept = {0, len(x) - 1}
        for start, end in itertools.pairwise(edges.tolist()):
            kept |= {start + int(np.argmin(y[start:end])), start + int(np.argmax(y[start:end]))}
        chosen = np.array(sorted(kept))
        x, y = x[chosen], y[chosen]
    width, alpha, order = (0.3, 0.5, 1.5) if swings > 400 else (1.2, 1.0, 2.0)
    axes.plot(x, y, color=COLOURS[1], label=label, linewidth=width, alpha=alpha, zorder=order)


def _folded_line(axes: Axes, x: np.ndarray, y: np.ndarray, period: float) -> None:
    """Draw a curve folded into one period, with no line from its end back to its start."""
    wraps = np.flatnonzero(np.diff(np.floor(x / period)) != 0) + 1
    phase = np.mod(x, period)
    if len(wraps) < 4:
        for part in np.split(np.arange(len(x)), wraps):
            _line(axes, phase[part], y[part])
    elif len(x) < 8 * len(wraps):  # too coarse for lines
        axes.plot(phase, y, ".", color=COLOURS[1], markersize=2, alpha=0.3, rasterized=True)
    else:
        alpha = max(0.12, min(1.0, 3.0 / len(wraps)))
        phase, y = np.insert(phase, wraps, np.nan), np.insert(y, wraps, np.nan)
        axes.plot(phase, y, color=COLOURS[1], linewidth=1.2, alpha=alpha)
