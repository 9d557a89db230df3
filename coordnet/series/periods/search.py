"""Period search: the likeliest period of samples, its error, and the runners-up."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...checks import integer
from ...errors import refuse
from ..arrays import Series
from .candidates import PeriodCandidate, PeriodSearch, distinct, doubts, relation
from .likelihood import Fit, HarmonicLikelihood
from .peaks import likely_frequencies
from .periodogram import Periodogram, frequency_range, lomb_scargle, nyquist_frequency

__all__ = ["find_period"]

_LATER = 30  # frequencies that are still looked at once the noise is known
_REFINED = 6
_ROUNDS = 4


def find_period(
    x: Any,
    y: Any,
    weights: Any = None,
    *,
    min_period: float | None = None,
    max_period: float | None = None,
    k: int = 8,
    trend: int = 1,
    candidates: int = 5,
) -> PeriodSearch:
    """Find the period of samples at any times, with its error and the runners-up.

    Peaks of the Lomb-Scargle periodogram, of its sums over 2, 4 and 8 harmonics and of its height
    above the background, with their multiples and parts, are the frequencies to look at. Each is
    then fitted exactly with 1 … k harmonics beside the trend, so that a spiky curve or one of two
    unlike minima is not given half its period; the Bayesian information criterion pays for every
    harmonic, so that twice the period is not given either. The noise may be correlated: its
    correlation time is estimated from what the best fit leaves, and the fits are repeated with
    samples whitened for it, until the best stays the best. Gauss-Newton steps on the likelihood
    refine the period.

    The frequencies: multiples of 1 / (16 · span), from two cycles in the span (``max_period``) up
    to half the rate of the grid on which the positions lie; where they lie on none, up to the
    larger of 5 times the mean rate's half and the half rate of the shortest tenth of the gaps
    (``min_period``). Everything is float64 and counted from the middle of the span.

    Args:
        x: positions or times ``(N,)`` in any order, equal ones too; Julian days, say.
        y: values ``(N,)`` or ``(N, D)``; columns are combined by their likelihood.
        weights: ``(N,)``, 1/σ² where errors σ are known; None for 1. Only their ratios count.
        min_period: the shortest period to look at.
        max_period: the longest.
        k: most harmonics.
        trend: degree of the polynomial fitted beside: 0 a constant, 1 a line, ….
        candidates: how many distinct periods to return, the best among them.

    Returns:
        The best period and others, more than 1 / span apart in frequency.

    Raises:
        InputError: samples that are not finite, are constant, or lie at fewer than trend + 4
            positions; a range of periods that is empty, or too wide for 2^23 frequencies.

    Example:
        >>> search = find_period(hours, temperatures)
        >>> search.period, search.error, search.k
    """
    k = integer("k", k, least=1)
    candidates = integer("candidates", candidates, least=1)
    series = Series(x, y, weights, trend)
    low, high, why = frequency_range(series, min_period, max_period)
    nyquist = nyquist_frequency(series)
    if nyquist is not None and high > nyquist * (1 + 1e-9):
        refuse(
            "periods below two steps of the regular grid cannot be told apart",
            f"min_period={1 / high:.6g}, two steps are {1 / nyquist:.6g}",
        )
    # the harmonics of the highest frequency are looked at too, as far as there are any
    top = max(high, min(k * high, frequency_range(series, None, max_period)[1]))
    peaks = lomb_scargle(x, y, weights, trend=trend, min_period=1 / top, max_period=1 / low)
    search = _Search(series, peaks, k, nyquist, low, high)
    fits = search.run()
    best = distinct([search.candidate(fit, fits[0]) for fit in fits])[:candidates]
    tau = search.likelihood.tau
    notes = [
        f"{len(peaks.power):,} frequencies, {1 / (peaks.step * series.span):.3g} in 1/span, for "
        f"periods from {1 / high:.6g} to {1 / low:.6g} ({why}).",
        *doubts(best, series.span, tau, 1 / high),
    ]
    return PeriodSearch(tuple(best), peaks, series.span, tau, tuple(notes))


class _Search:
    """The exact fits at likely frequencies, in noise that is learnt on the way.

    Args:
        series: the samples.
        periodogram: of one harmonic.
        k: most harmonics.
        nyquist: the highest frequency that a harmonic can have, or None.
        low: the lowest frequency that a period can have.
        high: the highest.
    """

    def __init__(
        self,
        series: Series,
        periodogram: Periodogram,
        k: int,
        nyquist: float | None,
        low: float,
        high: float,
    ) -> None:
        self.series, self.k, self.nyquist = series, k, nyquist
        self.low, self.high = low, high
        self.power, self.step = periodogram.power, periodogram.step
        self.first = round(periodogram.start / self.step)
        self.last = min(self.first + len(self.power) - 1, math.floor(high / self.step * (1 + 1e-9)))
        self.likelihood = HarmonicLikelihood(series)
        self.most = max(1, (len(np.unique(series.times)) - series.trend.shape[1] - 2) // 4)

    def run(self) -> list[Fit]:
        """Return the refined fits, the best first, more than 1 / span apart."""
        width = round(1 / (self.step * self.series.span))
        places = (self.first, self.step, self.last)
        frequencies = likely_frequencies(self.power, *places, self.k, width)
        fits: list[Fit] = []
        for turn in range(_ROUNDS):
            ranked = self.ranked(frequencies)
            if turn:
                frequencies = [frequency for _, frequency, _ in ranked[:_LATER]]
            before = fits
            fits = self.refined(ranked)
            frequencies += [fit.frequency for fit in fits]
            if before and before[0].k == fits[0].k and self.same(before[0], fits[0], 0.1):
                break
            tau = self.likelihood.noise_time(fits[0].frequency, fits[0].k)
            if turn + 1 == _ROUNDS or tau == self.likelihood.tau:
                break
            self.likelihood = HarmonicLikelihood(self.series, tau)
        return fits

    def ranked(self, frequencies: list[float]) -> list[tuple[float, float, int]]:
        """Return (criterion, frequency, k), the best first."""
        best = [(f, *self.likelihood.best_k(f, self.bound(f))) for f in frequencies]
        return sorted((criterion, frequency, k) for frequency, criterion, k in best)

    def refined(self, ranked: list[tuple[float, float, int]]) -> list[Fit]:
        """Refine the best distinct frequencies, then twice, a half … of the very best.

        A multiple of a period fits as well, with more harmonics: it takes no place of its own.
        """
        fits: list[Fit] = []
        for _, frequency, k in ranked:
            if len(fits) < _REFINED and not self.near(frequency, fits):
                relations = (self.relation(frequency, fit.frequency) for fit in fits)
                if not any(text and "/" not in text for text in relations):
                    fits.append(self.refine(frequency, k))
        best = min(fits, key=self.criterion)
        for factor in (2.0, 3.0, 1 / 2, 1 / 3):
            frequency = factor * best.frequency
            if self.low <= frequency <= self.high:
                _, k = self.likelihood.best_k(frequency, self.bound(frequency))
                fits.append(self.refine(frequency, k))
        distinct: list[Fit] = []
        for fit in sorted(fits, key=self.criterion):
            if not self.near(fit.frequency, distinct):
                distinct.append(fit)
        return distinct

    def relation(self, frequency: float, best: float) -> str:
        """Return how the period of a frequency is related to the best one's."""
        return relation(best / frequency, 0.5 / (self.series.span * frequency))

    def refine(self, frequency: float, k: int) -> Fit:
        """Refine a frequency, and once more where it then asks for another k."""
        reach = 0.6 / self.series.span
        low = max(frequency - reach, self.low)
        high = min(frequency + reach, self.high)
        fit = self.likelihood.refined(frequency, k, low, high)
        _, again = self.likelihood.best_k(fit.frequency, self.bound(fit.frequency))
        if again == k:
            return fit
        other = self.likelihood.refined(fit.frequency, again, low, high)
        return min(fit, other, key=self.criterion)

    def bound(self, frequency: float) -> int:
        """Return k, or as many harmonics as lie below Nyquist and the samples can bear."""
        most = min(self.k, self.most)
        if self.nyquist is not None:
            most = min(most, math.floor(self.nyquist / frequency * (1 - 1e-6)))
        return max(1, most)

    def near(self, frequency: float, fits: list[Fit]) -> bool:
        return any(abs(frequency - fit.frequency) < 1 / self.series.span for fit in fits)

    def same(self, one: Fit, other: Fit, part: float) -> bool:
        return abs(one.frequency - other.frequency) < part / self.series.span

    def criterion(self, fit: Fit) -> float:
        """Return the Bayesian information criterion of a fit."""
        number = 2 * self.likelihood.values.shape[1] * fit.k + 1
        return fit.cost + number * math.log(len(self.series))

    def candidate(self, fit: Fit, best: Fit) -> PeriodCandidate:
        """Return a fit as a candidate beside the best one."""
        period = 1.0 / fit.frequency
        return PeriodCandidate(
            period=period,
            error=fit.error * period**2,
            k=fit.k,
            explained=self.likelihood.explained(fit.frequency, fit.k),
            behind=self.criterion(fit) - self.criterion(best),
            false_alarm=self.false_alarm(fit),
            relation=self.relation(fit.frequency, best.frequency),
        )

    def false_alarm(self, fit: Fit) -> float:
        """Return about how likely noise alone reaches the likelihood of a fit.

        For one frequency the tail of a chi-squared distribution of 2 k D degrees, which is exact
        for one harmonic of one column; times the number of frequencies that noise may choose from,
        that many spans' worth and √(x/2) as in Baluev (2008).
        """
        columns, number = self.likelihood.values.shape[1], len(self.series)
        freedom = number - self.series.trend.shape[1] - 2 * fit.k
        half = max(-0.5 * fit.cost * max(freedom, 1) / number, 0.0)
        terms = fit.k * columns
        logs = [j * math.log(half) - math.lgamma(j + 1) if half else 0.0 for j in range(terms)]
        top = max(logs)
        tail = top - half + math.log(sum(math.exp(log - top) for log in logs))
        tries = fit.k * max(1.0, self.last * self.step * self.series.span) * math.sqrt(half)
        return -math.expm1(-math.exp(min(tail + math.log(max(tries, 1.0)), 50.0)))
