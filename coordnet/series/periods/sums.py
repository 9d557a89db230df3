"""Non-uniform FFT: sums of e^(2πift) over irregular times, at evenly spaced frequencies f."""

from __future__ import annotations

import functools
import math

import numpy as np

__all__ = ["trigonometric_sums"]

_WIDTH = 14
_SHARPNESS = 2.3 * _WIDTH
_SAMPLES = 1 << 16  # at a time
_FREQUENCIES = 1 << 18


def trigonometric_sums(
    times: np.ndarray, coefficients: np.ndarray, start: float, step: float, number: int
) -> np.ndarray:
    """Return Σ_n c_n exp(2πi f_m t_n) at f_m = start + m · step for m = 0 … number-1.

    A non-uniform FFT of type 1 (Dutt and Rokhlin, 1993): the coefficients are spread over a grid
    twice as fine as needed by a kernel of 14 points, exp(β(√(1-z²) - 1)) (Barnett, Magland and
    af Klinteberg, 2019), whose Fourier transform is divided out after the FFT. The error is below
    1e-11 · Σ|c_n|. The work is some N + F log F, not N F, and the memory beside the result does
    not grow with either.

    Args:
        times: shape ``(N,)``, float64; counted from near their middle, for the phases' digits.
        coefficients: shape ``(J, N)``, real or complex.
        start: the first frequency, in cycles per unit of the times.
        step: between two frequencies, above 0.
        number: how many frequencies.

    Returns:
        complex128, shape ``(J, number)``.
    """
    out = np.empty((len(coefficients), number), np.complex128)
    for first in range(0, number, _FREQUENCIES):
        part = slice(first, min(first + _FREQUENCIES, number))
        _sums(times, coefficients, start + first * step, step, out[:, part])
    return out


def _sums(
    times: np.ndarray, coefficients: np.ndarray, start: float, step: float, out: np.ndarray
) -> None:
    """Fill ``out``, shape ``(J, number)``."""
    number = out.shape[1]
    half = number // 2
    size = max(1 << (2 * number - 1).bit_length(), 2 * _WIDTH)
    grid = np.zeros((len(coefficients), 2, size))
    for first in range(0, len(times), _SAMPLES):
        part = slice(first, first + _SAMPLES)
        # frequencies are counted from the middle one, where the kernel's transform is largest
        turns = (start + half * step) * times[part]
        twist = np.exp(2j * math.pi * (turns - np.rint(turns)))
        place = step * times[part]
        place = (place - np.floor(place)) * size
        cells = np.ceil(place - _WIDTH / 2).astype(np.int64)[:, None] + np.arange(_WIDTH)
        z = (cells - place[:, None]) / (_WIDTH / 2)
        kernel = np.exp(_SHARPNESS * (np.sqrt(np.clip(1.0 - z * z, 0.0, None)) - 1.0))
        cells = np.mod(cells, size).ravel()
        for target, row in zip(grid, coefficients, strict=True):
            spread = (row[part] * twist)[:, None]
            target[0] += np.bincount(cells, (spread.real * kernel).ravel(), size)
            target[1] += np.bincount(cells, (spread.imag * kernel).ravel(), size)
    rows = np.mod(np.arange(number) - half, size)
    transform = _transform(number, size)
    for target, (real, imaginary) in zip(out, grid, strict=True):
        target[:] = np.fft.ifft(real + 1j * imaginary, norm="forward")[rows] / transform


@functools.lru_cache(maxsize=4)
def _transform(number: int, size: int) -> np.ndarray:
    """Return the kernel's Fourier transform at the frequencies, by Gauss-Legendre quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(2 * _WIDTH + 12)
    kernel = np.exp(_SHARPNESS * (np.sqrt(1.0 - nodes**2) - 1.0)) * (_WIDTH / 2)
    at = (np.arange(number) - number // 2) / size
    total = np.zeros(number)
    for node, value in zip(nodes * (_WIDTH / 2), weights * kernel, strict=True):
        total += value * np.cos(2 * math.pi * node * at)
    return total
