"""Signals that repeat: their period, their harmonics, how many of them, their spectrum."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attributes, listing

if TYPE_CHECKING:
    from .candidates import PeriodCandidate, PeriodSearch
    from .functions import derivative, evaluate, fold_phase, residuals
    from .harmonics import HarmonicModel, fit_harmonics
    from .holdout import ChoiceOfK, choose_k
    from .period import find_period
    from .periodogram import Periodogram, lomb_scargle
    from .spectrum import Spectrum, harmonic_spectrum

_WHERE = {
    **dict.fromkeys(("derivative", "evaluate", "fold_phase", "residuals"), "functions"),
    **dict.fromkeys(("HarmonicModel", "fit_harmonics"), "harmonics"),
    **dict.fromkeys(("ChoiceOfK", "choose_k"), "holdout"),
    **dict.fromkeys(("PeriodCandidate", "PeriodSearch"), "candidates"),
    "find_period": "period",
    **dict.fromkeys(("Periodogram", "lomb_scargle"), "periodogram"),
    **dict.fromkeys(("Spectrum", "harmonic_spectrum"), "spectrum"),
}

__all__ = [
    "ChoiceOfK",
    "HarmonicModel",
    "PeriodCandidate",
    "PeriodSearch",
    "Periodogram",
    "Spectrum",
    "choose_k",
    "derivative",
    "evaluate",
    "find_period",
    "fit_harmonics",
    "fold_phase",
    "harmonic_spectrum",
    "lomb_scargle",
    "residuals",
]

__getattr__ = attributes(__name__, _WHERE)
__dir__ = listing(__name__, __all__)
