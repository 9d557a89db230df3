"""Pictures for the benchmarks: averaged, thinned out, scored, interpolated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn

import coordnet as cn

Score = Callable[[nn.Module], float]


@dataclass(frozen=True)
class Picture:
    """A picture and the file that holds it.

    Attributes:
        name: for tables.
        path: a file with these values.
        values: ``(H, W, C)``, float32 in [0, 1].
    """

    name: str
    path: Path
    values: np.ndarray


def load_picture(
    path: Path, size: int | None, folder: Path, stride: int = 1, crop: int | None = None
) -> Picture:
    """Read a picture; crop its middle, average it to a longer side of ``size``, thin it out.

    What changes is written into ``folder`` as a PNG of the picture's own depth, so that every
    method fits the same values.
    """
    image = cn.read_image(path)
    values = image.values()
    if crop is not None:
        if not 1 <= crop <= min(values.shape[:2]):
            got = f"{crop} for {values.shape[1]} × {values.shape[0]}"
            raise cn.InputError("--crop must be from 1 to the shorter side", got, "Pass 512, say.")
        top, left = ((side - crop) // 2 for side in values.shape[:2])
        values = values[top : top + crop, left : left + crop]
    longest = max(values.shape[:2])
    if size is not None and not 1 <= size <= longest:
        got = f"{size} for {values.shape[1]} × {values.shape[0]}"
        raise cn.InputError("--size must be from 1 to the longer side", got, "Pass 256, say.")
    if size is None and stride == 1 and crop is None:
        return Picture(path.stem, path, values)
    if size is not None:
        sides = [max(1, round(side * size / longest)) for side in values.shape[:2]]
        values = box_average(values, *sides)
    values = values[::stride, ::stride]
    height, width = values.shape[:2]
    written = folder / f"{path.stem}_{width}x{height}.png"
    cn.write_image(written, values, bit_depth=8 if image.bit_depth <= 8 else 16)
    return Picture(path.stem, written, cn.read_image(written).values())


def box_average(values: np.ndarray, height: int, width: int) -> np.ndarray:
    """Return the means over equal boxes; pixels on an edge count in parts."""

    def overlaps(many: int, few: int) -> np.ndarray:
        edges = np.linspace(0, many, few + 1)
        upper = np.minimum(edges[1:, None], np.arange(many) + 1)
        lower = np.maximum(edges[:-1, None], np.arange(many))
        return np.clip(upper - lower, 0, None) * few / many

    rows, columns = overlaps(values.shape[0], height), overlaps(values.shape[1], width)
    wide = values.astype(np.float64)
    return np.einsum("ah,hwc,bw->abc", rows, wide, columns, optimize=True).astype(np.float32)


def score_all(picture: Picture, device: torch.device) -> Score:
    """Return the PSNR over the whole picture: peak 1, clamped, in float32 without autocast.

    This is the place for pictures too large to score whole: both pictures are held here.
    """
    height, width = picture.values.shape[:2]

    def score(model: nn.Module) -> float:
        found = cn.render_image(model, height, width, device=device)
        return cn.psnr(found, picture.values, peak=1.0, clamp=True)

    return score


def score_between(whole: np.ndarray, fitted: np.ndarray, device: torch.device) -> Score:
    """Return the PSNR at pixels [1::2, 1::2] of models fitted to [::2, ::2] as a picture.

    Of fitted pixels with centers (i + ½) / n, those between lie at (i + 1) / n.
    """
    target = whole[1::2, 1::2]
    (height, width), (rows, columns) = target.shape[:2], fitted.shape[:2]
    upper_left = (0.5 / columns, 0.5 / rows)
    lower_right = (upper_left[0] + width / columns, upper_left[1] + height / rows)

    def score(model: nn.Module) -> float:
        box = (upper_left, lower_right)
        found = cn.render_image(model, height, width, box=box, device=device)
        return cn.psnr(found, target, peak=1.0, clamp=True)

    return score


def bicubic_between(pixels: np.ndarray, height: int, width: int, a: float) -> np.ndarray:
    """Return the values half-way between pixels: pixel (i, j) is that at (i + ½, j + ½).

    Cubic convolution (Keys, 1981) with parameter ``a`` has four taps there, in each direction
    a/8, ½ - a/8, ½ - a/8, a/8. Pixels beyond the edge repeat the last one.

    Args:
        pixels: ``(H, W, C)``.
        height: rows to return, at most H.
        width: columns to return, at most W.
        a: -½ reproduces quadratics (Pillow's choice), -¾ is PyTorch's.
    """
    outer = a / 8
    for axis, number in enumerate((height, width)):
        last = pixels.shape[axis] - 1
        taps = [
            np.take(pixels, np.clip(np.arange(number) + shift, 0, last), axis)
            for shift in (-1, 0, 1, 2)
        ]
        pixels = outer * (taps[0] + taps[3]) + (0.5 - outer) * (taps[1] + taps[2])
    return pixels
