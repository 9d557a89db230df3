"""Structural similarity (SSIM) of pictures."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..errors import refuse
from .inputs import Values, peak_of, same_shape

__all__ = ["ssim"]

_K1, _K2 = 0.01, 0.03
_GAUSSIAN = [math.exp(-0.5 * (i / 1.5) ** 2) for i in range(-5, 6)]
_WINDOW = [weight / sum(_GAUSSIAN) for weight in _GAUSSIAN]  # along a side
_ROWS = 64  # rows of windows at a time


def ssim(
    prediction: Values,
    target: Values,
    *,
    peak: float | None = None,
    clamp: bool = False,
) -> float:
    """Return the mean structural similarity of two pictures, at most 1, which means equal.

    In every window of 11 x 11 pixels, weighted by a Gaussian of σ = 1.5 with the sum 1, with the
    means m, the variances s² and the covariance c of the two pictures a and b,

        SSIM = (2 m_a m_b + C1) (2 c + C2) / ((m_a² + m_b² + C1) (s_a² + s_b² + C2)),

    C1 = (0.01 peak)² and C2 = (0.03 peak)². The mean is over all windows that lie within the
    picture and over its channels, each of which is compared by itself; pictures are not made
    smaller first. Sums are in float64. Memory is that of bands of 74 rows: some 140 MB for
    pictures of 4000 x 3000 pixels in RGB.

    The formula and its constants are those of Z. Wang, A. C. Bovik, H. R. Sheikh and
    E. P. Simoncelli, "Image quality assessment: from error visibility to structural similarity",
    IEEE Transactions on Image Processing 13(4), 2004. scikit-image's `structural_similarity` gives
    the same number with ``gaussian_weights=True, use_sample_covariance=False``.

    Args:
        prediction: ``(H, W)`` or ``(H, W, C)``, H and W at least 11. Alpha is a channel like the
            others: composite pictures that have it first.
        target: the same shape.
        peak: the largest value the signal can take, 255 for bytes; None is 1.0, for images in
            [0, 1], and is refused for integers.
        clamp: clamp the prediction to [0, peak] first, as a written picture is.

    Raises:
        InputError: shapes that differ, no picture, one that is smaller than the window, or
            integers without a peak.

    Example:
        >>> import torch
        >>> picture = torch.rand(32, 48, 3)
        >>> ssim(picture, picture)
        1.0
    """
    peak = peak_of(peak, prediction, target)
    a, b = same_shape(prediction, target)
    if a.ndim not in (2, 3):
        rule = "pictures must have the shape (H, W) or (H, W, C)"
        refuse(rule, f"{tuple(a.shape)}", "Compare pictures one at a time, channels last.")
    if min(a.shape[:2]) < len(_WINDOW):
        rule = "pictures must have at least 11 x 11 pixels, the size of the window"
        refuse(rule, f"shape {tuple(a.shape)}", "Use psnr.")
    margin, total, count = len(_WINDOW) - 1, 0.0, 0
    for top in range(0, len(a) - margin, _ROWS):
        rows = slice(top, top + _ROWS + margin)
        p, q = a[rows].to(torch.float64), b[rows].to(torch.float64)
        values = _ssim_map((p.clamp(0, peak) if clamp else p) / peak, q / peak)
        total, count = total + float(values.sum()), count + values.numel()
    return total / count


def _blurred(picture: Tensor) -> Tensor:
    """Return the weighted means of all windows within ``(H, W, ...)``."""
    for axis in (0, 1):
        number = picture.shape[axis] - len(_WINDOW) + 1
        means = torch.zeros_like(picture.narrow(axis, 0, number))
        for i, weight in enumerate(_WINDOW):
            means.add_(picture.narrow(axis, i, number), alpha=weight)
        picture = means
    return picture


def _ssim_map(a: Tensor, b: Tensor) -> Tensor:
    """Return the SSIM of every window within two pictures of peak 1."""
    mean_a, mean_b = _blurred(a), _blurred(b)
    # in this order equal pictures give exactly 1
    spread = (_blurred(a * a) - mean_a**2) + (_blurred(b * b) - mean_b**2)
    shared = _blurred(a * b) - mean_a * mean_b
    c1, c2 = _K1**2, _K2**2
    similar_mean = (2 * mean_a * mean_b + c1) / (mean_a**2 + mean_b**2 + c1)
    return similar_mean * (2 * shared + c2) / (spread + c2)
