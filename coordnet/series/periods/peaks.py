"""Peaks of a periodogram, with their multiples and parts: the frequencies to fit exactly."""

from __future__ import annotations

import itertools

import numpy as np

__all__ = ["likely_frequencies"]

_PEAKS = 12
_RELATED = 5  # peaks whose multiples and parts are looked at
_FACTORS = (2.0, 3.0, 1 / 2, 1 / 3)
_WINDOWS = 64


def likely_frequencies(
    power: np.ndarray, first: int, step: float, last: int, k: int, width: int
) -> list[float]:
    """Return frequencies where a period may be.

    The highest peaks of the power itself; of its sums over the first 2, 4, 8, … harmonics, which a
    spiky curve raises; and of the power over its background (the median around a frequency), which
    shows a line that stands out among taller low frequencies. With the best peaks come their
    multiples and parts.

    Args:
        power: ``(F,)`` at the frequencies (first + m) · step.
        first: number of the first frequency, at least 1.
        step: between two.
        last: number of the last frequency that may be returned.
        k: most harmonics.
        width: frequencies in a peak; peaks are at least half of that apart.
    """
    number = last - first + 1
    lists = [power[:number], power[:number] / _background(power)[:number]]
    total, done, most = power[:number].copy(), 1, 2
    while most <= k:
        for j in range(done + 1, most + 1):
            # harmonic j of frequency m is frequency j·m
            within = (first + len(power) - 1) // j - first + 1
            if within > 0:
                end = min(within, number)
                total[:end] += power[j * first - first :: j][:end]
        lists.append(total.copy())
        done, most = most, 2 * most
    places: dict[int, None] = {}  # in the order of their first peak
    for heights in lists:
        for rank, place in enumerate(_peaks(heights, _PEAKS, max(1, width // 2))):
            factors = (1.0, *_FACTORS) if rank < _RELATED else (1.0,)
            for factor in factors:
                related = round((first + place) * factor)
                if first <= related <= last:
                    places[related] = None
    return [place * step for place in places]


def _peaks(heights: np.ndarray, most: int, apart: int) -> list[int]:
    """Return the places of the highest local maxima, the ends among them, highest first."""
    rising = np.r_[True, heights[1:] > heights[:-1]]
    falling = np.r_[heights[:-1] >= heights[1:], True]
    places = np.flatnonzero(rising & falling)
    enough = 40 * most * apart
    if len(places) > enough:
        places = places[np.argpartition(-heights[places], enough)[:enough]]
    places = places[np.argsort(-heights[places], kind="stable")]
    chosen: list[int] = []
    for place in places.tolist():
        if all(abs(place - other) >= apart for other in chosen):
            chosen.append(place)
            if len(chosen) == most:
                break
    return chosen


def _background(power: np.ndarray) -> np.ndarray:
    """Return the median of the power around each frequency, in windows that widen with it."""
    number = len(power)
    edges = np.unique(np.geomspace(1, number + 1, _WINDOWS).astype(int)) - 1
    level = np.empty(number)
    for start, end in itertools.pairwise(edges.tolist()):
        reach = max(64, end - start)
        level[start:end] = np.median(power[max(0, start - reach) : end + reach])
    return np.maximum(level, max(1e-12, 1e-9 * float(power.max(initial=0.0))))
