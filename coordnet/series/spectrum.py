"""Amplitude and phase of each harmonic of a fitted function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import integer_at_least, positive_number, refuse
from ..field import Field
from .functions import Function, evaluate

__all__ = ["Spectrum", "harmonic_spectrum"]

_FIRST = 256
_MOST = 1 << 20
_SMALL = 1e-6


@dataclass(frozen=True)
class Spectrum:
    """f(x) = mean + Σ_j amplitude_j · cos(2πjx/period - phase_j), for each of D values.

    Harmonic j peaks at x = phase_j / 2π · period / j.

    Attributes:
        period: in the unit of x.
        mean: ``(D,)``.
        amplitude: ``(k, D)`` of harmonics 1 … k, in the values' unit, at least 0.
        phase: ``(k, D)`` in radians, from -π to π.
        amplitude_error: ``(k, D)`` standard errors, or None where they are not known.
        phase_error: ``(k, D)`` in radians, or None; infinite where the amplitude is 0.
        aliasing: the largest amplitude that the last doubling of the samples changed, or took
            from where there is none; None where nothing was sampled.
        samples: in one period, 0 where nothing was sampled.
    """

    period: float
    mean: np.ndarray
    amplitude: np.ndarray
    phase: np.ndarray
    amplitude_error: np.ndarray | None = None
    phase_error: np.ndarray | None = None
    aliasing: float | None = None
    samples: int = 0

    @property
    def order(self) -> np.ndarray:
        """1 … k."""
        return np.arange(1, len(self.amplitude) + 1)

    @property
    def wavelength(self) -> np.ndarray:
        """Wavelengths period / j, ``(k,)``, in the unit of x."""
        return self.period / self.order


def harmonic_spectrum(
    function: Function,
    period: float | None = None,
    k: int | None = None,
    *,
    start: float = 0.0,
    axis: int = 0,
    at: Any = None,
) -> Spectrum:
    """Return amplitude and phase of the harmonics of any fitted function, by FFT over one period.

    The function is sampled evenly over one period without its end point, and the samples are
    doubled, from 256 or 8 k up to 2^20, until the harmonics change by less than a millionth of the
    largest: those above half the sampling rate are folded onto lower ones, and this finds out
    whether there are any. ``aliasing`` is what was left at the end.

    A function that does not repeat (a trend, two periods on one coordinate) is analyzed as if its
    piece from ``start`` on did; its jump adds amplitudes ~ 1/j.

    Args:
        function: as in `evaluate`; a `Field`, say.
        period: in the unit of the coordinate; None takes it from the field's encoding.
        k: number of harmonics to return; None returns all down to a millionth of the largest.
        start: where the period begins. Phases count from x = 0 all the same.
        axis: the coordinate to go along.
        at: the other coordinates, ``(d,)``; the entry of ``axis`` is not used.

    Raises:
        InputError: no period known; a coordinate that is not there.
    """
    axis = integer_at_least(0, "axis", axis, "Coordinates are counted from 0.")
    if period is None:
        known = function.periods if isinstance(function, Field) else ()
        period = known[axis] if axis < len(known) else None
        if period is None:
            got = "a function whose coordinate does not repeat by construction"
            refuse("a spectrum needs a period", got, "Pass period=.")
    length = positive_number("period", period, "Give it in the unit of the coordinate.")
    if k is not None:
        k = integer_at_least(1, "k", k, "Pass None for all harmonics.")
        if 4 * k > _MOST:
            refuse(f"k must be at most {_MOST // 4:,}", f"k={k}", "Pass a smaller k.")
    base = np.zeros(axis + 1) if at is None else np.array(at, dtype=np.float64)
    if base.ndim != 1 or axis >= len(base):
        refuse("at must hold every coordinate", f"shape {base.shape}", "Pass one number for each.")

    def sampled(number: int, shift: float) -> np.ndarray:
        points = np.tile(base, (number, 1))
        points[:, axis] = start + (np.arange(number) + shift) * (length / number)
        return evaluate(function, points)

    number = _FIRST
    while k is not None and number < 8 * k:
        number *= 2
    values = sampled(number, 0.0)
    found = np.fft.rfft(values, axis=0, norm="forward")
    while True:
        finer = np.empty((2 * number, values.shape[1]))
        finer[0::2], finer[1::2] = values, sampled(number, 0.5)
        better = np.fft.rfft(finer, axis=0, norm="forward")
        # the coarser FFT says what lies below half its rate, and that nothing lies above
        change = np.abs(better)
        change[: number // 2] = np.abs(better[: number // 2] - found[: number // 2])
        aliasing, largest = 2 * float(change.max()), 2 * float(np.abs(better[1:]).max())
        number, values, found = 2 * number, finer, better
        if aliasing <= _SMALL * largest or 2 * number > _MOST:
            break
    waves = found[1 : number // 2]
    if k is None:
        strong = np.flatnonzero((np.abs(waves) > _SMALL * np.abs(waves).max()).any(1))
        k = int(strong[-1]) + 1 if strong.size else 1
    order = np.arange(1, k + 1)
    # the FFT's phases count from ``start``
    turns = np.mod(order * (start / length), 1.0)[:, None]
    waves = 2 * waves[:k] * np.exp(-2j * np.pi * turns)
    return Spectrum(
        period=length,
        mean=found[0].real,
        amplitude=np.abs(waves),
        phase=-np.angle(waves) + 0.0,
        aliasing=aliasing,
        samples=number,
    )
