"""Exponentially correlated (Ornstein-Uhlenbeck, AR(1)) noise at irregular times, whitened.

Residuals of real series are alike in neighboring samples (weather, solar activity, slow drifts of
an instrument). Least squares that takes them for independent finds far too much in low frequencies
and gives far too small errors. The model here is the Ornstein-Uhlenbeck process, correlation
e^(-Δ/τ) between samples a time Δ apart: the AR(1) process where the step is constant. It can be
whitened exactly, sample by sample, at any times: to (r_n - ρ_n r_(n-1)) / √(1 - ρ_n²) with
ρ_n = e^(-Δ_n/τ).
"""

from __future__ import annotations

import numpy as np

__all__ = ["Whitening", "noise_time"]

_CORRELATION_TIMES = 48


class Whitening:
    """The whitening of samples whose noise has the correlation time τ.

    Args:
        times: ``(N,)`` in ascending order.
        tau: in the unit of the times; 0 for independent noise, which is left as it is.
    """

    def __init__(self, times: np.ndarray, tau: float) -> None:
        self.tau = tau
        self.rho: np.ndarray | None = None
        if tau > 0 and len(times) > 1:
            self.rho = np.exp(-_gaps(times) / tau)
            self.scale = 1.0 / np.sqrt(1.0 - self.rho**2)

    def __call__(self, columns: np.ndarray, first: int = 0) -> np.ndarray:
        """Return whitened columns.

        Args:
            columns: ``(n, …)`` rows first-1 … of all samples, or 0 … where ``first`` is 0.
            first: the row of the first result.

        Returns:
            ``(n, …)`` from row 0, ``(n - 1, …)`` from a later one.
        """
        if self.rho is None:
            return columns if first == 0 else columns[1:]
        start = max(first - 1, 0)
        part = slice(start, start + len(columns) - 1)
        shape = (-1,) + (1,) * (columns.ndim - 1)
        rho, scale = self.rho[part].reshape(shape), self.scale[part].reshape(shape)
        rest = (columns[1:] - rho * columns[:-1]) * scale
        return np.concatenate([columns[:1], rest]) if first == 0 else rest


def noise_time(times: np.ndarray, residuals: np.ndarray) -> float:
    """Return the correlation time τ that makes the residuals likeliest, 0 for independent ones.

    Args:
        times: ``(N,)`` in ascending order.
        residuals: ``(N, D)``, of one variance in each column; τ is common to the columns.
    """
    if len(times) < 3:
        return 0.0
    number, columns = residuals.shape
    steps = np.diff(times)
    usual = float(np.median(steps[steps > 0])) if (steps > 0).any() else 1.0
    best, best_tau = 0.5 * number * np.log(_positive(np.square(residuals).mean(0))).sum(), 0.0
    for tau in np.geomspace(
        0.2 * usual, 0.25 * max(times[-1] - times[0], usual), _CORRELATION_TIMES
    ):
        white = Whitening(times, float(tau))
        if white.rho is None:
            break
        size = _positive(np.square(white(residuals)).mean(0))
        cost = 0.5 * number * np.log(size).sum() + 0.5 * columns * np.log1p(-(white.rho**2)).sum()
        if cost < best:
            best, best_tau = cost, float(tau)
    return best_tau


def _gaps(times: np.ndarray) -> np.ndarray:
    """Return the gaps, none of them so small that two samples would count as one."""
    gaps = np.diff(times)
    usual = gaps[gaps > 0]
    return np.maximum(gaps, 1e-3 * np.median(usual)) if usual.size else gaps + 1.0


def _positive(squares: np.ndarray) -> np.ndarray:
    return np.maximum(squares, 1e-30)
