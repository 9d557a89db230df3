"""Structural similarity (SSIM) of pictures."""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import refuse
from .inputs import Values, peak_of, same_shape

__all__ = ["ssim"]

_SIGMA = 1.5
_RADIUS = 5  # a window of 11 x 11
_K1, _K2 = 0.01, 0.03
_TILE = 256  # windows along a side that are held at a time: some 20 MB


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
    smaller first. Sums are in float64, and memory is that of a tile, however large the picture.

    The formula and its constants are those of Z. Wang, A. C. Bovik, H. R. Sheikh and
    E. P. Simoncelli, "Image quality assessment: from error visibility to structural similarity",
    IEEE Transactions on Image Processing 13(4), 2004. scikit-image's `structural_similarity` gives
    the same number with ``gaussian_weights=True, use_sample_covariance=False``.

    Args:
        prediction: ``(H, W)`` or ``(H, W, C)``, H and W at least 11. Alpha is compared as a
            channel like the others: composite pictures that have it first.
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
        refuse(
            "pictures must have the shape (H, W) or (H, W, C)",
            f"{tuple(a.shape)}",
            "Compare pictures one at a time, channels last.",
        )
    side = 2 * _RADIUS + 1
    if min(a.shape[:2]) < side:
        refuse(
            f"pictures must have at least {side} x {side} pixels, the size of the window",
            f"shape {tuple(a.shape)}",
            "Compare larger pictures, or use psnr.",
        )
    if a.ndim == 2:
        a, b = a[..., None], b[..., None]
    height, width, channels = a.shape
    number_down, number_along = height - side + 1, width - side + 1
    total = 0.0
    for top in range(0, number_down, _TILE):
        rows = slice(top, min(top + _TILE, number_down) + side - 1)
        down = _band(rows.stop - rows.start)
        for left in range(0, number_along, _TILE):
            columns = slice(left, min(left + _TILE, number_along) + side - 1)
            along = _band(columns.stop - columns.start)
            for channel in range(channels):
                p = a[rows, columns, channel].to(torch.float64)
                if clamp:
                    p = p.clamp(0, peak)
                q = b[rows, columns, channel].to(torch.float64)
                total += float(_map(p / peak, q / peak, down, along).sum())
    return total / (number_down * number_along * channels)


def _band(size: int) -> Tensor:
    """Return the matrix (size - 10, size) that weighs 11 neighbors by a Gaussian of sum 1."""
    offset = torch.arange(-_RADIUS, _RADIUS + 1, dtype=torch.float64, device="cpu")
    window = torch.exp(-0.5 * (offset / _SIGMA) ** 2)
    window /= window.sum()
    number = size - 2 * _RADIUS
    band = torch.zeros(number, size, dtype=torch.float64, device="cpu")
    for i, weight in enumerate(window.tolist()):
        band.diagonal(i).fill_(weight)
    return band


def _map(a: Tensor, b: Tensor, down: Tensor, along: Tensor) -> Tensor:
    """Return the SSIM of every window within two ``(h, w)`` tiles of peak 1."""
    moments = down @ torch.stack([a, b, a * a, b * b, a * b]) @ along.T
    mean_a, mean_b, square_a, square_b, product = moments
    # in this order equal pictures give exactly 1
    spread = (square_a - mean_a**2) + (square_b - mean_b**2)
    shared = product - mean_a * mean_b
    c1, c2 = _K1**2, _K2**2
    similar_mean = (2 * mean_a * mean_b + c1) / (mean_a**2 + mean_b**2 + c1)
    return similar_mean * (2 * shared + c2) / (spread + c2)
