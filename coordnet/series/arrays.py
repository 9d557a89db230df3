"""Samples over one coordinate, checked, and the trend below what repeats."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..checks import integer, weights as checked_weights
from ..errors import refuse

__all__ = ["Series", "as_float64", "check_samples", "check_weights"]

_MAX_DEGREE = 20  # higher ones follow the period itself


class Series:
    """Samples in ascending order of time, with the polynomial trend to be fitted beside a period.

    Attributes:
        times: ``(N,)``, float64, counted from the middle of the span: Julian days keep their
            digits.
        middle: what was subtracted from the times.
        span: the last time minus the first.
        root: ``(N,)`` square roots of the weights, whose mean is 1.
        values: ``(N, D)``, times root.
        trend: ``(N, trend + 1)`` Legendre polynomials of the times, times root.

    Args:
        x: positions in any order, equal ones too.
        y: values.
        weights: of the squared errors; samples of weight 0 are left out.
        trend: degree of the polynomial, 0 for a constant.

    Raises:
        InputError: as `check_samples`, or a trend that is no degree.
    """

    def __init__(self, x: Any, y: Any, weights: Any = None, trend: int = 0) -> None:
        degree = integer("trend", trend, least=0, most=_MAX_DEGREE)
        positions, values = check_samples(x, y)
        if positions.shape[1] != 1:
            rule = "a period is sought in one column of positions"
            refuse(rule, f"{positions.shape[1]} columns")
        times = positions[:, 0]
        weight = check_weights(weights, len(times))
        order = np.argsort(times, kind="stable")
        order = order[weight[order] > 0]
        times, values, weight = times[order], values[order], weight[order]
        self.middle = float(times[0] + 0.5 * (times[-1] - times[0]))
        self.span = float(times[-1] - times[0])
        self.times = times - self.middle
        self.root = np.sqrt(weight / weight.mean())
        self.values = self.root[:, None] * values
        self.trend = self.root[:, None] * self.polynomials(degree)

    def __len__(self) -> int:
        return len(self.times)

    def polynomials(self, degree: int) -> np.ndarray:
        """Return the Legendre polynomials of the times over the span, ``(N, degree + 1)``."""
        return np.polynomial.legendre.legvander(self.times / (0.5 * self.span or 1.0), degree)


def check_samples(x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return positions ``(N, d)`` and values ``(N, D)`` as float64, checked.

    Args:
        x: ``(N,)`` or ``(N, d)``.
        y: ``(N,)`` or ``(N, D)``.

    Raises:
        InputError: other shapes, no samples, or numbers that are not finite.
    """
    positions, values = as_float64("x", x), as_float64("y", y)
    pair = [array[:, None] if array.ndim == 1 else array for array in (positions, values)]
    if any(array.ndim != 2 or not array.size for array in pair) or len(pair[0]) != len(pair[1]):
        refuse(
            "x of shape (N,) or (N, d) and y of shape (N,) or (N, D) must have one N, at least 1",
            f"shapes {positions.shape} and {values.shape}",
        )
    for name, array in zip("xy", pair, strict=True):
        bad = np.flatnonzero(~np.isfinite(array).all(1))
        if bad.size:
            refuse(f"{name} must be finite", f"{array[bad[0]].tolist()} in sample {bad[0]}")
    return pair[0], pair[1]


def check_weights(weights: Any, number: int) -> np.ndarray:
    """Return ``(number,)`` weights as float64: ones for None.

    Raises:
        InputError: another shape, or weights that are not finite, below 0, or all 0.
    """
    if weights is None:
        return np.ones(number)
    array = as_float64("weights", weights)
    if array.shape != (number,):
        refuse(f"weights must be one number for each of {number} samples", f"shape {array.shape}")
    return checked_weights(array)


def as_float64(name: str, values: Any) -> np.ndarray:
    """Return real numbers as a float64 array, from a tensor on any device too.

    Raises:
        InputError: what are no real numbers (dates, text, complex numbers).
    """
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.double().numpy() if not values.is_complex() else values.numpy()
    array = np.asarray(values)
    try:
        if array.dtype.kind in "biufO":
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):  # objects that are no numbers
        pass
    remedy = "Convert dates to hours or days since a date of your choice."
    return refuse(f"{name} must be real numbers", f"dtype {array.dtype}", remedy)
