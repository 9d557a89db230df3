"""Sampling of positions: their step, the periods they span, the harmonics they can resolve."""

from __future__ import annotations

import math

import numpy as np

from ..checks import positive
from ..errors import refuse

__all__ = ["describe_periods", "grid_step", "nyquist_harmonic", "nyquist_warning"]

_TOLERANCE = 0.01  # in steps
_MAX_HARMONICS = 2.0**53  # above it an integer number of them is no float64


def grid_step(x: np.ndarray) -> float | None:
    """Return the step of the regular grid that all positions lie on, or None where there is none.

    Points of the grid may be left out or occur more than once, as long as some two neighbors are
    there; times printed with few digits, within a hundredth of a step, still count. Samples on a
    grid are aliased no less for its gaps.

    Args:
        x: (N,) positions in any order.

    Returns:
        The step in the unit of ``x``; None below two distinct positions.

    Raises:
        InputError: ``x`` is not one-dimensional or not finite.
    """
    times = _distinct(x)
    if times.size < 2:
        return None
    gaps = np.diff(times)
    # The smallest gap alone carries all of its own rounding; the mean of the single steps less.
    single = float(gaps[gaps < 1.5 * gaps.min()].mean())
    places = np.concatenate(([0.0], np.cumsum(np.rint(gaps / single))))
    step = float((times[-1] - times[0]) / places[-1])
    rounding = 2.0 * float(np.spacing(np.abs(times).max()))
    off = np.abs(times - (times[0] + places * step)).max()
    return step if off <= max(_TOLERANCE * step, rounding) else None


def nyquist_harmonic(x: np.ndarray, period: float) -> int | None:
    """Return the highest harmonic of ``period`` that samples on a grid can tell apart.

    With n = period / step samples a period it is the largest k < n/2: (n - 1) / 2 rounded down for
    an integer n. On such samples harmonic k > n/2 has the very values of harmonic n - k, and the
    sine of k = n/2 is zero.

    Where n is no integer, k > n/2 still has the values of a slower wave, of n - k cycles a period,
    but that wave is no harmonic. Data over many periods then may tell apart a few harmonics more;
    what is returned is the limit that holds over any span.

    Args:
        x: (N,) positions in any order; see `grid_step`.
        period: in the unit of ``x``.

    Returns:
        The largest such k (below 2^53), 0 where even the first harmonic is aliased; None where
        the positions lie on no grid, for which there is no sharp limit.

    Raises:
        InputError: as `grid_step`, and for a period that is not finite and above 0.
    """
    period = positive("period", period)
    step = grid_step(x)
    if step is None:
        return None
    half = min(0.5 * period / step, _MAX_HARMONICS)
    # An integer n/2 must not become k = n/2 by the step's rounding.
    if abs(half - round(half)) <= 1e-6 * max(half, 1.0):
        half = float(round(half))
    return max(math.ceil(half) - 1, 0)


def nyquist_warning(x: np.ndarray, period: float, k: int) -> str | None:
    """Return a warning where ``k`` harmonics are more than the samples can tell apart, else None.

    Args:
        x: (N,) positions in any order.
        period: in the unit of ``x``.
        k: the number of harmonics.

    Raises:
        InputError: as `nyquist_harmonic`.
    """
    limit, distinct = nyquist_harmonic(x, period), _distinct(x).size
    if limit is not None and k > limit:
        fault = (
            f"k = {k} is above {limit}, the highest harmonic that samples at this regular step can "
            "tell apart"
            if limit
            else f"k = {k}, and samples at this regular step tell not even the first harmonic apart"
        )
        remedy = "a smaller k or more samples a period; irregular samples have no such sharp limit."
    elif 2 * k + 1 > distinct:
        fault = f"k = {k} harmonics have {2 * k + 1} coefficients for {distinct} distinct positions"
        remedy = "a smaller k or more samples."
    else:
        return None
    return f"{fault}: between the samples the fit is arbitrary. Use {remedy}"


def describe_periods(
    x: np.ndarray, period: float, unit: str | None = None
) -> tuple[str, list[str]]:
    """Say how many periods the samples span, and warn where the period's unit looks wrong.

    Samples of one period without its end point span exactly one: the last sample counts with the
    step behind it (the mean gap where the sampling is irregular).

    Args:
        x: (N,) positions in any order, at least one.
        period: in the unit of ``x``.
        unit: the name of that unit, where it is known.

    Returns:
        One or two sentences for the console, and the warnings: below 0.99 periods, and above N/2
        periods for N distinct positions, which is under two samples a period.

    Raises:
        InputError: as `nyquist_harmonic`, and for no positions at all.
    """
    period = positive("period", period)
    times = _distinct(x)
    n = times.size
    if n == 0:
        refuse("there must be at least one position", "x of length 0")
    span = float(times[-1] - times[0])
    step = grid_step(times)
    gap = step if step is not None else span / max(n - 1, 1)
    periods = (span + gap) / period
    spanned = _count(periods, "period")
    of_unit = f" {unit}" if unit else ""
    text = f"The data span {spanned} of {period:.6g}{of_unit}"
    if n == 1:
        text += ": all rows are at one position."
    else:
        per_period = n / periods if periods else math.inf
        text += f", {_count(per_period, 'sample')} a period on average. "
        if step is None:
            text += "The sampling is irregular: there is no sharp limit on the harmonics."
        else:
            limit = nyquist_harmonic(times, period) or 0
            which = f"harmonics up to {limit if limit < 10**6 else f'{limit:.3g}'}"
            which = ("no harmonic", "only the first harmonic")[limit] if limit < 2 else which
            text += f"At the regular step of {step:.6g}{of_unit} {which} can be told apart."
    warnings: list[str] = []
    # The ends of irregular samples of one period stay short of it by about a gap each; a
    # hundredth of a period (8759 hours of a year's 8766) hides no part of the shape.
    slack = max(0.01, 2.0 / n) if step is None and n > 1 else 0.01
    hint = "Check that the period is in the unit of the positions (ms and s?)."
    if periods < 1.0 - slack:
        warnings.append(
            f"The data span {spanned}, less than one: a part of the period has no samples. {hint}"
        )
    if periods > n / 2 * (1.0 + 1e-6):
        warnings.append(
            f"The data span {spanned} with {n} distinct positions, under two samples a "
            f"period: the shape within a period may be lost. {hint}"
        )
    return text, warnings


def _count(number: float, noun: str) -> str:
    """Return "1 period", "2.5 periods"."""
    text = f"{number:.4g}"
    return f"{text} {noun}" if text == "1" else f"{text} {noun}s"


def _distinct(x: np.ndarray) -> np.ndarray:
    """Return the distinct positions in ascending order, as float64."""
    times = np.asarray(x, dtype=np.float64)
    if times.ndim != 1:
        refuse("positions must be one-dimensional", f"shape {times.shape}")
    if not np.isfinite(times).all():
        refuse("positions must be finite", "NaN or infinity")
    return np.unique(times)
