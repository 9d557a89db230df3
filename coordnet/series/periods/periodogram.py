"""Lomb-Scargle periodogram with a polynomial trend, on an even grid of frequencies."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import integer, positive
from ...errors import refuse
from ..arrays import Series
from ..sampling import grid_step
from .sums import trigonometric_sums

__all__ = ["Periodogram", "frequency_range", "lomb_scargle", "nyquist_frequency", "without"]

OVERSAMPLING = 16
_MAX_FREQUENCIES, _USUAL_FREQUENCIES = 1 << 23, 1 << 21
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
    """Return the Lomb-Scargle periodogram of samples at any times.

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
    oversampling = integer("oversampling", oversampling, least=1)
    series = Series(x, y, weights, trend)
    low, high, _ = frequency_range(series, min_period, max_period)
    step = 1.0 / (oversampling * series.span)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    if last < first:
        got = f"periods from {1 / high:.6g} to {1 / low:.6g} over a span of {series.span:.6g}"
        refuse("the range of periods must hold a frequency of the grid", got)
    number = last - first + 1
    if number > _MAX_FREQUENCIES:
        refuse(
            f"a periodogram has at most {_MAX_FREQUENCIES:,} frequencies",
            f"{number:,} from 1/{1 / low:.6g} to 1/{1 / high:.6g}",
            "Pass a longer min_period, or a smaller oversampling.",
        )
    return Periodogram(first * step, step, _power(series, first, step, number))


def frequency_range(
    series: Series, min_period: float | None, max_period: float | None
) -> tuple[float, float, str]:
    """Return the lowest and the highest frequency to look at, and how they were chosen.

    Where nothing is stated: periods from half the span, the step behind the last sample counted
    (two cycles must be seen), down to two steps of the grid that the positions lie on (Nyquist).
    Irregular positions have no such limit; there it is the shorter of a fifth of two mean gaps,
    and two of the gaps that a tenth of all are below; at most 2^21 frequencies.
    """
    times = np.unique(series.times)
    if len(times) < 4 or len(times) < series.trend.shape[1] + 3:
        got = f"{len(times)} distinct positions, trend={series.trend.shape[1] - 1}"
        refuse("a period needs at least trend + 4 distinct positions", got)
    longest = 0.5 * series.span * len(times) / (len(times) - 1)
    if max_period is not None:
        longest = positive("max_period", max_period)
    nyquist = nyquist_frequency(series)
    if min_period is not None:
        shortest, why = positive("min_period", min_period), "as given"
    elif nyquist is not None:
        shortest, why = 1.0 / nyquist, "down to two steps of the regular grid"
    else:
        gaps = np.diff(times)
        fifth, small = float(gaps.mean()) / 5.0, float(np.quantile(gaps, 0.1))
        shortest, why = 2.0 * min(fifth, small), "down to a fifth of two mean gaps"
        if fifth > small:
            why = "down to two of the shortest gaps"
        finest = OVERSAMPLING * series.span / _USUAL_FREQUENCIES
        if shortest < finest:
            shortest, why = finest, f"down to where they would be more than {_USUAL_FREQUENCIES:,}"
    if shortest > longest:
        got = f"min_period={shortest:.6g}, max_period={longest:.6g}"
        refuse("min_period must not be above max_period", got)
    return 1.0 / longest, 1.0 / shortest, why


def nyquist_frequency(series: Series) -> float | None:
    """Return half the rate of the grid that the positions lie on, or None where there is none."""
    step = grid_step(series.times)
    return None if step is None else 0.5 / step


def _power(series: Series, first: int, step: float, number: int) -> np.ndarray:
    """Return the power at frequencies (first + m) · step for m = 0 … number-1."""
    basis = np.linalg.qr(series.trend)[0]
    values = without(series, basis, series.values)
    rows = np.concatenate([basis.T, values.T]) * series.root
    squares = np.square(series.root)[None]
    total, beside = squares.sum(), basis.shape[1]
    power = np.empty(number)
    for start in range(0, number, _BLOCK):
        count = min(_BLOCK, number - start)
        at = (first + start) * step
        sums = trigonometric_sums(series.times, rows, at, step, count)
        twice = trigonometric_sums(series.times, squares, 2 * at, 2 * step, count)[0]
        trend, products = sums[:beside], sums[beside:]
        cos, sin = np.real(trend), np.imag(trend)
        cos2 = (total + np.real(twice)) / 2 - np.square(cos).sum(0)
        sin2 = (total - np.real(twice)) / 2 - np.square(sin).sum(0)
        both = np.imag(twice) / 2 - (cos * sin).sum(0)
        share = _explained(cos2, sin2, both, products, total)
        power[start : start + count] = -np.expm1(np.log1p(-share).mean(0))
    return power


def _explained(
    cos2: np.ndarray, sin2: np.ndarray, both: np.ndarray, products: np.ndarray, total: float
) -> np.ndarray:
    """Return what a cosine and a sine explain, given their products with each other and the values.

    Args:
        cos2: ``(F,)`` product of the cosine with itself, beside the trend.
        sin2: of the sine.
        both: of the two.
        products: ``(D, F)`` with the values: cosine + i sine.
        total: the sum of the weights.
    """
    # along the axes of the 2 × 2 matrix: one that vanishes (the sine at Nyquist) is left out
    angle = 0.5 * np.arctan2(2 * both, cos2 - sin2)
    cos, sin = np.cos(angle), np.sin(angle)
    mean, half = 0.5 * (cos2 + sin2), np.hypot(0.5 * (cos2 - sin2), both)
    share = np.zeros(products.shape)
    real, imaginary = np.real(products), np.imag(products)
    for size, product in (
        (mean + half, real * cos + imaginary * sin),
        (mean - half, imaginary * cos - real * sin),
    ):
        exists = size > 1e-9 * total
        share += np.where(exists, np.square(product) / np.where(exists, size, 1.0), 0.0)
    return np.clip(share, 0.0, 1.0 - 1e-15)


def without(series: Series, basis: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return the values without what lies in the basis, of length 1 each.

    Raises:
        InputError: nothing is left of a column.
    """
    rest = values - basis @ (basis.T @ values)
    rest -= basis @ (basis.T @ rest)
    size = np.linalg.norm(rest, axis=0)
    varies = size > 1e-13 * np.linalg.norm(values, axis=0)
    if not varies.all():
        column = int(np.argmin(varies))
        what = "constant" if series.trend.shape[1] == 1 else "the trend itself"
        refuse("values must vary about the trend to have a period", f"column {column} is {what}")
    return rest / size
