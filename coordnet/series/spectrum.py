"""Amplitude and phase spectrum of a fitted function, by FFT over one period."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import integer, positive
from ..errors import refuse
from ..field import Field
from .functions import Function, evaluate

__all__ = ["Spectrum", "harmonic_spectrum"]

_MIN_SAMPLES, _MAX_SAMPLES = 256, 1 << 20
_TOLERANCE = 1e-6


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
    largest: those above half the sampling rate are aliased to lower ones. ``aliasing`` is the
    change at the end.

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
    axis = integer("axis", axis, least=0)
    if period is None:
        known = function.periods if isinstance(function, Field) else ()
        period = known[axis] if axis < len(known) else None
        if period is None:
            got = "a function whose coordinate does not repeat by construction"
            refuse("a spectrum needs a period", got)
    length = positive("period", period)
    if k is not None:
        k = integer("k", k, least=1, most=_MAX_SAMPLES // 4)
    base = np.zeros(axis + 1) if at is None else np.array(at, dtype=np.float64)
    if base.ndim != 1 or axis >= len(base):
        refuse("at must hold every coordinate", f"shape {base.shape}")

    def sampled(number: int, shift: float) -> np.ndarray:
        points = np.tile(base, (number, 1))
        points[:, axis] = start + (np.arange(number) + shift) * (length / number)
        return evaluate(function, points)

    number = _MIN_SAMPLES
    while k is not None and number < 8 * k:
        number *= 2
    values = sampled(number, 0.0)
    waves = np.fft.rfft(values, axis=0, norm="forward")
    while True:
        finer = np.empty((2 * number, values.shape[1]))
        finer[0::2], finer[1::2] = values, sampled(number, 0.5)
        better = np.fft.rfft(finer, axis=0, norm="forward")
        # the coarser FFT says what lies below half its rate, and that nothing lies above
        change = np.abs(better)
        change[: number // 2] = np.abs(better[: number // 2] - waves[: number // 2])
        aliasing, largest = 2 * float(change.max()), 2 * float(np.abs(better[1:]).max())
        number, values, waves = 2 * number, finer, better
        if aliasing <= _TOLERANCE * largest or 2 * number > _MAX_SAMPLES:
            break
    mean, waves = waves[0].real, waves[1 : number // 2]
    if k is None:
        strong = np.flatnonzero((np.abs(waves) > _TOLERANCE * np.abs(waves).max()).any(1))
        k = int(strong[-1]) + 1 if strong.size else 1
    order = np.arange(1, k + 1)
    # the FFT's phases count from ``start``
    turns = np.mod(order * (start / length), 1.0)[:, None]
    waves = 2 * waves[:k] * np.exp(-2j * np.pi * turns)
    return Spectrum(
        period=length,
        mean=mean,
        amplitude=np.abs(waves),
        phase=-np.angle(waves) + 0.0,
        aliasing=aliasing,
        samples=number,
    )
