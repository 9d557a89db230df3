"""The generalized Lomb-Scargle periodogram, on an even grid of frequencies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import integer_at_least, positive_number, refuse
from ..arrays import Series
from ..sampling import grid_step
from .sums import trigonometric_sums

__all__ = ["Periodogram", "frequency_range", "lomb_scargle", "power_at"]

OVERSAMPLING = 16
_MOST = 1 << 23
_USUAL_MOST = 1 << 21
_BLOCK = 1 << 18


@dataclass(frozen=True)
class Periodogram:
    """The part of the variance about the trend that one sine explains, over its frequency.

    Attributes:
        start: the first frequency, in cycles per unit of the positions.
        step: between two frequencies: 1 / (16 · span) by default.
        power: ``(F,)``, from 0 to 1. Of several columns of values it is 1 minus the geometric
            mean of what is left, which ranks frequencies by their likelihood.
    """

    start: float
    step: float
    power: np.ndarray

    @property
    def frequencies(self) -> np.ndarray:
        """The frequencies, ``(F,)``, in cycles per unit of the positions."""
        return self.start + self.step * np.arange(len(self.power))


def lomb_scargle(
    x: Any,
    y: Any,
    weights: Any = None,
    *,
    trend: int = 0,
    min_period: float | None = None,
    max_period: float | None = None,
    oversampling: int = OVERSAMPLING,
) -> Periodogram:
    """Return the periodogram of samples at any times.

    At every frequency a sine, a cosine and a polynomial trend are fitted together by weighted least
    squares, in float64: with a constant as trend this is the generalized periodogram of Zechmeister
    and Kürster (2009; a floating mean), of which scipy's ``lombscargle(…, floating_mean=True,
    normalize=True)`` and astropy's ``LombScargle`` give the same numbers. It takes
    N + F log F work and memory for F numbers, not for N · F.

    Args:
        x: positions ``(N,)`` in any order; `find_period` says how the frequencies are chosen.
        y: values ``(N,)`` or ``(N, D)``.
        weights: ``(N,)``, 1/σ² where errors σ are known; None for 1.
        trend: degree of the polynomial, 0 for a constant.
        min_period: the shortest period.
        max_period: the longest period.
        oversampling: frequencies per 1 / span.

    Raises:
        InputError: samples that are no numbers, too few or constant; no frequency in the range, or
            more than 2^23.
    """
    oversampling = integer_at_least(1, "oversampling", oversampling, "5 to 20 are usual.")
    series = Series(x, y, weights, trend)
    low, high, _ = frequency_range(series, min_period, max_period)
    step = 1.0 / (oversampling * series.span)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if last < first:
        got = f"periods from {1 / high:.6g} to {1 / low:.6g} over a span of {series.span:.6g}"
        refuse("the range of periods must hold a frequency of the grid", got, "Widen the range.")
    number = last - first + 1
    if number > _MOST:
        refuse(
            f"a periodogram has at most {_MOST:,} frequencies",
            f"{number:,} from 1/{1 / low:.6g} to 1/{1 / high:.6g}",
            "Pass a longer min_period, or a smaller oversampling.",
        )
    basis, values = _projected(series)
    return Periodogram(first * step, step, power_at(series, basis, values, first, step, number))


def frequency_range(
    series: Series, min_period: float | None, max_period: float | None
) -> tuple[float, float, str]:
    """Return the lowest and the highest frequency to look at, and how they were chosen.

    Where nothing is stated: periods from half the span, the step behind the last sample counted
    (two cycles must be seen), down to two steps
    of the grid that the positions lie on (Nyquist). Irregular positions have no such limit; there
    it is the shorter of a fifth of two mean gaps, and two of the gaps that a tenth of all are
    below; at most 2^21 frequencies.
    """
    times = np.unique(series.times)
    if len(times) < 4 or len(times) < series.trend.shape[1] + 3:
        got = f"{len(times)} distinct positions, trend={series.trend.shape[1] - 1}"
        refuse("a period needs at least trend + 4 distinct positions", got, "Pass more samples.")
    remedy = "Give it in the unit of the positions."
    longest = 0.5 * series.span * len(times) / (len(times) - 1)
    if max_period is not None:
        longest = positive_number("max_period", max_period, remedy)
    nyquist = nyquist_frequency(series)
    if min_period is not None:
        shortest = positive_number("min_period", min_period, remedy)
        why = "as given"
    elif nyquist is not None:
        shortest, why = 1.0 / nyquist, "down to two steps of the regular grid"
    else:
        gaps = np.diff(times)
        shortest = 2.0 * min(gaps.mean() / 5.0, float(np.quantile(gaps, 0.1)))
        why = "down to a fifth of two mean gaps"
        if gaps.mean() / 5.0 > np.quantile(gaps, 0.1):
            why = "down to two of the shortest gaps"
        finest = OVERSAMPLING * series.span / _USUAL_MOST
        if shortest < finest:
            shortest, why = finest, f"down to where they would be more than {_USUAL_MOST:,}"
    if shortest > longest:
        got = f"min_period={shortest:.6g}, max_period={longest:.6g}"
        refuse("min_period must not be above max_period", got, "The longest is half the span.")
    return 1.0 / longest, 1.0 / shortest, why


def nyquist_frequency(series: Series) -> float | None:
    """Return half the rate of the grid that the positions lie on, or None where there is none."""
    step = grid_step(series.times)
    return None if step is None else 0.5 / step


def power_at(
    series: Series, basis: np.ndarray, values: np.ndarray, first: int, step: float, number: int
) -> np.ndarray:
    """Return the power at frequencies (first + m) · step for m = 0 … number-1.

    Args:
        series: the samples.
        basis: ``(N, P)``, orthonormal: what is fitted beside, times root.
        values: ``(N, D)``, orthogonal to the basis, of length 1 each.
        first: number of the first frequency.
        step: between two.
        number: how many.
    """
    rows = np.concatenate([basis.T, values.T]) * series.root
    squares = np.square(series.root)[None]
    total, beside = squares.sum(), basis.shape[1]
    power = np.empty(number)
    for start in range(0, number, _BLOCK):
        count = min(_BLOCK, number - start)
        at = (first + start) * step
        sums = trigonometric_sums(series.times, rows, at, step, count)
        twice = trigonometric_sums(series.times, squares, 2 * at, 2 * step, count)[0]
        trend, found = sums[:beside], sums[beside:]
        cos, sin = np.real(trend), np.imag(trend)
        cos2 = (total + np.real(twice)) / 2 - np.square(cos).sum(0)
        sin2 = (total - np.real(twice)) / 2 - np.square(sin).sum(0)
        both = np.imag(twice) / 2 - (cos * sin).sum(0)
        share = _explained(cos2, sin2, both, found, total)
        power[start : start + count] = -np.expm1(np.log1p(-share).mean(0))
    return power


def _explained(
    cos2: np.ndarray, sin2: np.ndarray, both: np.ndarray, found: np.ndarray, total: float
) -> np.ndarray:
    """Return what a cosine and a sine explain, given their products with each other and the values.

    Args:
        cos2: ``(F,)`` product of the cosine with itself, beside the trend.
        sin2: of the sine.
        both: of the two.
        found: ``(D, F)`` products with the values: cosine + i sine.
        total: the sum of the weights.
    """
    # along the axes of the 2 × 2 matrix: one that vanishes (the sine at Nyquist) is left out
    angle = 0.5 * np.arctan2(2 * both, cos2 - sin2)
    cos, sin = np.cos(angle), np.sin(angle)
    mean, half = 0.5 * (cos2 + sin2), np.hypot(0.5 * (cos2 - sin2), both)
    share = np.zeros(found.shape)
    real, imaginary = np.real(found), np.imag(found)
    for size, product in (
        (mean + half, real * cos + imaginary * sin),
        (mean - half, imaginary * cos - real * sin),
    ):
        seen = size > 1e-9 * total
        share += np.where(seen, np.square(product) / np.where(seen, size, 1.0), 0.0)
    return np.clip(share, 0.0, 1.0 - 1e-15)


def _projected(series: Series) -> tuple[np.ndarray, np.ndarray]:
    """Return the trend's orthonormal basis, and the values without it, of length 1 each."""
    basis = np.linalg.qr(series.trend)[0]
    return basis, without(series, basis, series.values)


def without(series: Series, basis: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the values without what lies in the basis, of length 1 each.

    Raises:
        InputError: nothing is left of a column.
    """
    rest = values - basis @ (basis.T @ values)
    rest -= basis @ (basis.T @ rest)
    size, whole = np.linalg.norm(rest, axis=0), np.linalg.norm(values, axis=0)
    if not (size > 1e-13 * whole).all():
        column = int(np.argmin(size > 1e-13 * whole))
        what = "constant" if series.trend.shape[1] == 1 else "the trend itself"
        got = f"column {column} is {what}"
        refuse("values must vary about the trend to have a period", got, "Leave it away.")
    return rest / size
