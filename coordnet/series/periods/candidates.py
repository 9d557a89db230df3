"""Result of a period search: the candidates, their errors, and the doubts, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .periodogram import Periodogram

__all__ = ["PeriodCandidate", "PeriodSearch", "distinct", "doubts", "relation", "with_error"]


@dataclass(frozen=True)
class PeriodCandidate:
    """A period at a local maximum of the likelihood.

    Attributes:
        period: in the unit of the positions.
        error: its standard error (one sigma), from the curvature of the likelihood in noise as
            correlated as the residuals are. It says how far the peak may be from its place, not
            whether it is the right peak.
        k: the number of harmonics that it needs.
        explained: the part of the variance about the trend that they explain, from 0 to 1.
        behind: how far its Bayesian information criterion is above that of the best, 0 for the
            best itself; above 10 is very strong evidence (Kass and Raftery, 1995).
        false_alarm: about the probability that noise alone, searched as widely, has a peak as
            high; a hint, within a factor of a few where it is small.
        relation: to the best period, "2 ×" or "1/3 ×", say; empty where there is none.
    """

    period: float
    error: float
    k: int
    explained: float
    behind: float
    false_alarm: float
    relation: str = ""


@dataclass(frozen=True)
class PeriodSearch:
    """The outcome of `find_period`.

    Attributes:
        candidates: the best period first, then distinct others.
        periodogram: of one harmonic, over all frequencies that were looked at.
        span: of the positions.
        noise_time: the correlation time of the residuals, in the unit of the positions; 0 where
            they are independent.
        notes: sentences: the range, the grid, and what speaks against the result.
    """

    candidates: tuple[PeriodCandidate, ...]
    periodogram: Periodogram
    span: float
    noise_time: float
    notes: tuple[str, ...]

    @property
    def period(self) -> float:
        """The best period, in the unit of the positions."""
        return self.candidates[0].period

    @property
    def error(self) -> float:
        """Its standard error."""
        return self.candidates[0].error

    @property
    def k(self) -> int:
        """The number of harmonics it needs."""
        return self.candidates[0].k

    def describe(self) -> list[str]:
        """Return the result in sentences for the console: the period, the others, the notes."""
        best = self.candidates[0]
        harmonics = "1 harmonic" if best.k == 1 else f"{best.k} harmonics"
        lines = [
            f"The period is {with_error(best.period, best.error)}: {harmonics}, "
            f"{100 * best.explained:.3g} % of the variance about the trend, "
            f"{self.span / best.period:.4g} periods in the data."
        ]
        others = [
            f"{with_error(other.period, other.error)}"
            + (f" ({other.relation})" if other.relation else "")
            + f", behind by {other.behind:.3g}"
            for other in self.candidates[1:4]
        ]
        if others:
            lines.append(f"Runners-up (behind in BIC): {'; '.join(others)}.")
        return lines + list(self.notes)


def distinct(candidates: list[PeriodCandidate]) -> list[PeriodCandidate]:
    """Drop multiples of the best period but the likeliest: they all fit as well as it does."""
    multiples = [c for c in candidates if c.relation and "/" not in c.relation]
    return [c for c in candidates if c not in multiples[1:]]


def doubts(
    candidates: list[PeriodCandidate], span: float, tau: float, shortest: float
) -> list[str]:
    """Return sentences on what speaks against the best period.

    Args:
        candidates: the best first.
        span: of the positions.
        tau: the correlation time of the residuals.
        shortest: the shortest period that was looked at.
    """
    best, notes = candidates[0], list[str]()
    if tau:
        notes.append(
            f"The residuals are correlated over about {tau:.3g}; periods were weighed and errors "
            "found in such noise."
        )
    cycles = span / best.period
    if cycles < 3:
        notes.append(f"The data span only {cycles:.3g} periods: too few to call it periodic.")
    if best.period < shortest * (1 + 0.5 / cycles):
        notes.append("The period lies at the short end of the range: shorter ones may fit better.")
    if best.false_alarm > 0.01:
        notes.append(
            f"Noise alone has such a peak with a probability of about {best.false_alarm:.2g}: "
            "there may be no period."
        )
    if len(candidates) > 1 and candidates[1].behind < 10:
        second = with_error(candidates[1].period, candidates[1].error)
        notes.append(f"The runner-up, {second}, is nearly as likely.")
    return notes


def relation(ratio: float, tolerance: float) -> str:
    """Return "2 ×" or "1/3 ×" where ``ratio`` is a small integer or 1 divided by one.

    Args:
        ratio: of a period to the best one.
        tolerance: relative.
    """
    for factor in range(2, 10):
        if abs(ratio / factor - 1) <= tolerance:
            return f"{factor} ×"
        if abs(ratio * factor - 1) <= tolerance:
            return f"1/{factor} ×"
    return ""


def with_error(value: float, error: float) -> str:
    """Return "24.0002 ± 0.0003": the error with two digits, the value with as many places."""
    if not (0 < error < math.inf) or error < 1e-12 * abs(value):
        return f"{value:.12g}"
    places = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{places}f} ± {error:.{places}f}"
