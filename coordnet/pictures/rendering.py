"""A fitted picture: its pixels in 8 or 16 bits, and its errors."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..field import Field
from ..metrics.psnr_snr import psnr_from_mse
from ..rendering.grids import image_blocks
from .samples import PixelSamples

__all__ = ["measure", "quantize"]


def measure(
    field: Field,
    samples: PixelSamples,
    *,
    out: np.ndarray | None = None,
    progress: Callable[[int], object] | None = None,
) -> dict[str, float]:
    """Return the PSNR (peak 1.0) and the RMSE of a field at the pixel centers of a picture.

    The field's values are clamped to [0, 1] first, and not rounded. Memory is one block.

    Args:
        field: from coordinates (x, y) in the unit square to values.
        samples: the picture.
        out: ``(H, W, C)`` uint8 or uint16: receives the field's picture in the same pass.
        progress: called with the number of pixels done since the last call.

    Raises:
        RuntimeError: values that are not finite.
    """
    device = next(field.parameters()).device
    start, squares = 0, 0.0
    for values in image_blocks(field, samples.height, samples.width, device=device):
        pixels = slice(start, start + len(values))
        target = samples.values(pixels).numpy()
        squares += float(np.square(np.clip(values, 0, 1).astype(np.float64) - target).sum())
        if out is None:
            _check_finite(values)
        else:
            out.reshape(-1, out.shape[-1])[pixels] = quantize(values, out.dtype)
        if progress is not None:
            progress(len(values))
        start = pixels.stop
    mse = squares / (len(samples) * samples.out_dim)
    return {"psnr": psnr_from_mse(mse, 1.0), "rmse": math.sqrt(mse)}


def quantize(values: np.ndarray, dtype: np.typing.DTypeLike) -> np.ndarray:
    """Clip values to [0, 1], scale them to uint8 or uint16 and round them.

    Raises:
        RuntimeError: values that are not finite.
    """
    _check_finite(values)
    return np.rint(np.clip(values, 0, 1) * np.iinfo(dtype).max).astype(dtype)


def _check_finite(values: np.ndarray) -> None:
    if not np.isfinite(values).all():
        raise RuntimeError("the model gives values that are not finite: its fit has diverged")
