"""Figure of a picture and its fit: target, fit and error side by side."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..errors import refuse
from ..plotting.figures import (
    PathLike,
    as_array,
    check_ending,
    decibels,
    mean,
    new_figure,
    save_figure,
    short,
)

__all__ = ["save_comparison"]

_MAX_SIDE = 1024


def save_comparison(
    path: PathLike,
    target: Any,
    fit: Any,
    *,
    title: str = "",
    peak: float = 1.0,
    psnr: float | None = None,
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
        psnr: the PSNR to show, where it was measured on something finer than ``fit``.
    """
    check_ending(path)
    first, second = as_array(target), as_array(fit)
    if first.ndim == 2:
        first, second = first[..., None], second[..., None]
    if first.shape != second.shape or first.ndim != 3 or not 1 <= first.shape[2] <= 4:
        rule = "target and fit must be pictures of one shape (H, W, C) with 1 to 4 channels"
        refuse(rule, f"shapes {np.shape(target)} and {np.shape(fit)}")
    if first.size == 0:
        refuse("a picture must have pixels", f"shape {first.shape}")
    pictures, error, mean_square, worst = _thinned(first, second, peak)
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
    kind = ("gray", "gray with alpha", "RGB", "RGBA")[channels - 1]
    score = decibels(mean_square, peak) if psnr is None else psnr
    captions = (
        f"target: {width} × {height}, {kind}",
        "fit: exact" if score == math.inf else f"fit: PSNR {score:.2f} dB",
        f"absolute error: mean {short(mean(error))}, largest {short(worst)}",
    )
    for panel, picture in zip(axes, pictures, strict=False):
        panel.imshow(picture, aspect=stretch)
    limit = float(np.quantile(error, 0.998)) or float(error.max()) or peak / 255
    heat = axes[2].imshow(error, cmap="magma", vmin=0.0, vmax=limit, aspect=stretch)
    for panel, caption in zip(axes, captions, strict=True):
        panel.set_title(caption, fontsize=9.5)
        panel.set_xticks([])
        panel.set_yticks([])
        panel.spines[:].set_color("#bbbbbb")
    beyond = "max" if float(error.max()) > limit else "neither"
    bar_axes = axes[2].inset_axes((1.0 + 0.1 / wide, 0.0, 0.18 / wide, 1.0))
    figure.colorbar(heat, cax=bar_axes, extend=beyond)
    save_figure(figure, path)


def _thinned(
    target: np.ndarray, fit: np.ndarray, peak: float
) -> tuple[list[np.ndarray], np.ndarray, float, float]:
    """Return both pictures as RGB, the error, its mean square and its largest value.

    Works through bands of rows, so that a large picture is not copied.
    """
    height, width, channels = target.shape
    factor = -(-max(height, width) // _MAX_SIDE)
    pictures: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    errors: list[np.ndarray] = []
    total, worst = 0.0, 0.0
    for top in range(0, height, factor):
        band = [x[top : top + factor].astype(np.float64) / peak for x in (target, fit)]
        band[1] = np.clip(np.nan_to_num(band[1]), 0.0, 1.0)
        gap = np.abs(band[1] - band[0])
        total += float(np.square(gap).sum())
        worst = max(worst, float(gap.mean(-1).max()))
        errors.append(_block_mean(gap.mean(-1, keepdims=True), factor)[..., 0] * peak)
        for rows, pixels in zip(pictures, band, strict=True):
            pixels = np.clip(pixels, 0.0, 1.0)
            if channels in (2, 4):  # averages weigh colors by their opacity
                pixels[..., :-1] *= pixels[..., -1:]
            rows.append(_block_mean(pixels, factor))
    mean_square = total / target.size * peak**2
    panels = [_over_checkerboard(np.concatenate(rows)) for rows in pictures]
    return panels, np.concatenate(errors), mean_square, worst * peak


def _block_mean(band: np.ndarray, factor: int) -> np.ndarray:
    """Average a band of rows into one row of blocks ``factor`` columns wide."""
    width = band.shape[1]
    starts = np.arange(0, width, factor)
    counts = np.minimum(starts + factor, width) - starts
    sums = np.add.reduceat(band.mean(0), starts, axis=0)
    return (sums / counts[:, None])[None]


def _over_checkerboard(picture: np.ndarray) -> np.ndarray:
    """Return RGB of 1 to 4 channels whose colors are multiplied by alpha already."""
    height, width, channels = picture.shape
    if channels in (2, 4):
        side = max(1, max(height, width) // 32)
        rows, columns = np.arange(height)[:, None] // side, np.arange(width) // side
        board = np.where((rows + columns) % 2, 0.80, 0.95)[..., None]
        picture = picture[..., :-1] + board * (1.0 - picture[..., -1:])
    if picture.shape[2] == 1:
        picture = np.repeat(picture, 3, axis=2)
    return np.clip(picture, 0.0, 1.0)
