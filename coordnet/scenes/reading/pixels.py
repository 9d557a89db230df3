"""Color multiplied by alpha, backgrounds behind it, and its average over areas.

Color must be multiplied by alpha before it is averaged: {opaque red, transparent black} is red at
half alpha, which over black is half as bright and over white is pink, never a darker red.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ...image_files.image import Image

__all__ = ["area_average", "composite", "premultiplied"]


def composite(color: Tensor, alpha: Tensor, background: Tensor | float) -> Tensor:
    """Put premultiplied color over a background: color + (1 − alpha) · background.

    Args:
        color: ``(..., 3)``, multiplied by alpha.
        alpha: ``(..., 1)``.
        background: a number (1.0 is white, 0.0 black), or ``(3,)``, or ``(..., 3)``.
    """
    return color + (1 - alpha) * background


def premultiplied(image: Image) -> Tensor:
    """Return a picture as red, green, blue times alpha, and alpha: ``(H, W, 4)`` float32.

    Gray becomes red = green = blue, and a picture without alpha is opaque. Of 8-bit samples the
    products are exact before the one division by 255².
    """
    samples = torch.from_numpy(image.pixels.astype(np.float32, copy=False))
    colors = 1 if image.channels <= 2 else 3
    out = torch.empty(image.height, image.width, 4, device="cpu")
    if image.channels in (2, 4):
        alpha = samples[..., colors:]
        torch.mul(samples[..., :colors], alpha, out=out[..., :colors])
        torch.mul(alpha, image.peak, out=out[..., 3:])
        out[..., colors:3] = out[..., :1]
        return out.div_(image.peak**2)
    out[..., :3] = samples
    out[..., 3] = image.peak
    return out.div_(image.peak)


def area_average(values: Tensor, height: int, width: int) -> Tensor:
    """Return a smaller picture whose every pixel is the mean of the area that it covers.

    Where the sides are divisible this is the mean of boxes of whole pixels; else the pixels on a
    border between two boxes count in each by the share of them that lies there.

    Args:
        values: ``(H, W, C)``, premultiplied where it has alpha.
        height: rows of the result, at most H.
        width: its columns, at most W.

    Returns:
        ``(height, width, C)``.
    """
    tall, wide = values.shape[:2]
    if tall % height == 0 and wide % width == 0:
        box = (tall // height, wide // width)
        pooled = torch.nn.functional.avg_pool2d(values.permute(2, 0, 1), box)
        return pooled.permute(1, 2, 0).contiguous()
    down, across = _shares(tall, height), _shares(wide, width)
    rows = torch.tensordot(down, values, dims=1)
    return torch.einsum("wv,hvc->hwc", across, rows).contiguous()


def _shares(size: int, number: int) -> Tensor:
    """Return the share ``(number, size)`` that every small pixel has of each large one."""
    edge = torch.arange(number + 1, dtype=torch.float64, device="cpu") * size / number
    start = torch.arange(size, dtype=torch.float64, device="cpu")
    low = torch.maximum(edge[:-1, None], start)
    high = torch.minimum(edge[1:, None], start + 1)
    return ((high - low).clamp(min=0) * number / size).float()
