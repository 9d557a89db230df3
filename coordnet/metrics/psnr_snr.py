"""MSE, RMSE, PSNR and SNR: float64 sums, the peak always stated."""

from __future__ import annotations

import math

import torch

from .. import checks
from .inputs import Values, peak_of, same_shape

__all__ = ["mse", "psnr", "psnr_from_mse", "rmse", "snr", "snr_from_squares"]

_BLOCK = 1 << 20


def mse(prediction: Values, target: Values) -> float:
    """Return the mean of (prediction - target)² over all elements, summed in float64.

    Integers are widened first: 8-bit pixels do not wrap around.

    Raises:
        InputError: shapes that differ, or nothing to compare.
    """
    return _mean_square(prediction, target, clamp=False)


def rmse(prediction: Values, target: Values) -> float:
    """Return the square root of `mse`, in the values' own unit."""
    return math.sqrt(mse(prediction, target))


def psnr(
    prediction: Values,
    target: Values,
    *,
    peak: float | None = None,
    clamp: bool = False,
) -> float:
    """Return 10 log10(peak² / mse) in dB; infinity where the two are equal.

    This is the PSNR of the mean error: for MSEs of 1e-2 and 1e-4 in two halves it is 22.97 dB,
    while the mean of the two PSNRs would be 30 dB.

    Args:
        prediction: any shape.
        target: the same shape.
        peak: the largest value the signal can take, 255 for bytes; None is 1.0, for images in
            [0, 1], and is refused for integers.
        clamp: clamp the prediction to [0, peak] first, as a written picture is.

    Raises:
        InputError: shapes that differ, nothing to compare, or integers without a peak.
    """
    peak = peak_of(peak, prediction, target)
    error = _mean_square(prediction, target, clamp=clamp, peak=peak)
    return psnr_from_mse(error, peak)


def psnr_from_mse(error: float, peak: float = 1.0) -> float:
    """Return 10 log10(peak² / error) in dB; infinity where the error is 0."""
    peak = checks.positive("peak", peak)
    return math.inf if error == 0 else 20 * math.log10(peak) - 10 * math.log10(error)


def snr(prediction: Values, target: Values) -> float:
    """Return the signal-to-noise ratio 10 log10(Σ target² / Σ (prediction - target)²) in dB.

    Infinity where the two are equal; NaN where the target is zero throughout: silence has no
    ratio. The mean of the target is not subtracted.

    Raises:
        InputError: shapes that differ, or nothing to compare.

    Example:
        >>> snr(np.array([0.9, -0.9]), np.array([1.0, -1.0]))  # 20 dB: a tenth of the amplitude
    """
    error = _mean_square(prediction, target, clamp=False)
    values = same_shape(target, target)[0].reshape(-1)
    parts = (float(part.to(torch.float64).square().sum()) for part in values.split(_BLOCK))
    return snr_from_squares(sum(parts) / len(values), error)


def snr_from_squares(signal: float, error: float) -> float:
    """Return 10 log10(signal / error) in dB of two sums, or means, of squares; see `snr`."""
    if signal == 0:
        return math.nan
    return math.inf if error == 0 else 10 * (math.log10(signal) - math.log10(error))


def _mean_square(
    prediction: Values,
    target: Values,
    clamp: bool,
    peak: float = 1.0,
) -> float:
    a, b = same_shape(prediction, target)
    total = 0.0
    a, b = a.reshape(-1), b.reshape(-1)
    for start in range(0, len(a), _BLOCK):
        block = a[start : start + _BLOCK].to(torch.float64)
        if clamp:
            block = block.clamp(0, peak)
        total += float((block - b[start : start + _BLOCK].to(torch.float64)).square().sum())
    return total / a.numel()
