"""Samples over one coordinate, checked, and the trend below what repeats."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import integer_at_least, refuse

__all__ = ["Series", "as_float64", "check_samples", "check_weights"]

_MOST_TREND = 20


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
        degree = integer_at_least(0, "trend", trend, "Pass 0 for a constant, 1 for a line.")
        if degree > _MOST_TREND:
            remedy = "Higher ones follow the period itself."
            refuse(f"trend must be at most {_MOST_TREND}", f"trend={trend}", remedy)
        positions, values = check_samples(x, y)
        if positions.shape[1] != 1:
            got = f"{positions.shape[1]} columns"
            refuse("a period is sought in one column of positions", got, "Pass x[:, 0], say.")
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
        unit = self.times / (0.5 * self.span or 1.0)
        self.trend = self.root[:, None] * np.polynomial.legendre.legvander(unit, degree)

    def __len__(self) -> int:
        return len(self.times)


def check_samples(x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return positions ``(N, d)`` and values ``(N, D)`` as float64, checked.

    Args:
        x: ``(N,)`` or ``(N, d)``.
        y: ``(N,)`` or ``(N, D)``.

    Raises:
        InputError: other shapes, no samples, or numbers that are not finite.
    """
    positions, values = as_float64("x", x), as_float64("y", y)
    pair = [each[:, None] if each.ndim == 1 else each for each in (positions, values)]
    if any(each.ndim != 2 or not each.size for each in pair) or len(pair[0]) != len(pair[1]):
        refuse(
            "x of shape (N,) or (N, d) and y of shape (N,) or (N, D) must have one N, at least 1",
            f"shapes {positions.shape} and {values.shape}",
            "Pass one row of y for every position.",
        )
    for name, each in zip("xy", pair, strict=True):
        bad = np.flatnonzero(~np.isfinite(each).all(1))
        if bad.size:
            got = f"{each[bad[0]].tolist()} in sample {bad[0]}"
            refuse(f"{name} must be finite", got, "Drop or repair those samples.")
    return pair[0], pair[1]


def check_weights(weights: Any, number: int) -> np.ndarray:
    """Return ``(number,)`` weights as float64: ones for None.

    Raises:
        InputError: another shape, or weights that are not finite, below 0, or all 0.
    """
    if weights is None:
        return np.ones(number)
    found = as_float64("weights", weights)
    if found.shape != (number,):
        rule = f"weights must be one number for each of {number} samples"
        refuse(rule, f"shape {found.shape}", "Pass weights of shape (N,).")
    good = np.isfinite(found) & (found >= 0)
    if not good.all() or not found.any():
        got = f"{found[~good][0]}" if not good.all() else "zeros alone"
        refuse("weights must be finite, at least 0 and not all 0", got, "Drop those samples.")
    return found


def as_float64(name: str, values: Any) -> np.ndarray:
    """Return real numbers as a float64 array, from a tensor on any device too.

    Raises:
        InputError: what are no real numbers (dates, text, complex numbers).
    """
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        values = values.double().numpy() if not values.is_complex() else values.numpy()
    array = np.asarray(values)
    if array.dtype.kind == "O":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            refuse(f"{name} must be real numbers", f"dtype {array.dtype}", "Convert it first.")
    if array.dtype.kind not in "biuf":
        remedy = "Convert dates to hours or days since a date of your choice."
        refuse(f"{name} must be real numbers", f"dtype {array.dtype}", remedy)
    return array.astype(np.float64)
