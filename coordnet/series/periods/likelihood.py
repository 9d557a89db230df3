"""Likelihood of a period: harmonics by exact least squares, in noise that may be correlated."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..arrays import Series
from .noise import Whitening, noise_time
from .periodogram import without

__all__ = ["Fit", "HarmonicLikelihood"]

_BLOCK = 1 << 14
_STEPS, _HALVINGS = 12, 6
_TOLERANCE = 1e-4  # standard errors
_DEPENDENT = 1e-9
_ROUNDING = 1e-24  # of the squares of values of length 1


@dataclass(frozen=True)
class Fit:
    """The likelihood at one frequency.

    Attributes:
        frequency: in cycles per unit of the positions.
        k: harmonics.
        cost: -2 log likelihood, up to a constant.
        slope: derivative of the log likelihood by the frequency.
        curvature: minus its second derivative.
    """

    frequency: float
    k: int
    cost: float
    slope: float
    curvature: float

    @property
    def error(self) -> float:
        """Standard error of the frequency, where it is at the maximum."""
        return 1.0 / math.sqrt(self.curvature)


class HarmonicLikelihood:
    """Harmonics 1 … k of a frequency beside the trend, in noise of a correlation time τ.

    Args:
        series: the samples.
        tau: the correlation time of the noise; 0 for independent noise.
    """

    def __init__(self, series: Series, tau: float = 0.0) -> None:
        self.series, self.tau = series, tau
        self.white = Whitening(series.times, tau)
        self.basis = np.linalg.qr(self.white(series.trend))[0]
        self.values = without(series, self.basis, self.white(series.values))

    def costs(self, frequency: float, k: int) -> np.ndarray:
        """Return -2 log likelihood for 1 … k harmonics, ``(k,)``, from one pass over the samples.

        The design's products with itself are gathered block by block and its columns are then
        eliminated one by one (Gauss and Doolittle), harmonic after harmonic.
        """
        products = self._products(frequency, k)
        beside, columns = self.basis.shape[1], self.values.shape[1]
        size = np.diag(products).copy()
        left = np.empty((k, columns))
        for row in range(beside + 2 * k):
            pivot = products[row, row]
            if pivot > _DEPENDENT * size[row]:
                products -= np.outer(products[row], products[row] / pivot)
            if row >= beside and (row - beside) % 2:
                left[(row - beside) // 2] = np.diag(products)[-columns:]
        # products of length 1 carry more rounding than residuals
        return len(self.series) * np.log(np.maximum(left, math.sqrt(_ROUNDING))).sum(1)

    def best_k(self, frequency: float, k: int) -> tuple[float, int]:
        """Return the lowest Bayesian information criterion for 1 … k harmonics, and where it is.

        -2 log likelihood + (2 k D + 1) log N: two coefficients a harmonic for each of D columns,
        and the frequency (Schwarz, 1978).
        """
        number = 2 * self.values.shape[1] * np.arange(1, k + 1) + 1
        criteria = self.costs(frequency, k) + number * math.log(len(self.series))
        best = int(criteria.argmin())
        return float(criteria[best]), best + 1

    def refined(self, frequency: float, k: int, low: float, high: float) -> Fit:
        """Return the nearest maximum of the likelihood, by Gauss-Newton steps.

        The coefficients are solved for at every step (variable projection, Golub and Pereyra,
        1973). The error is that of the curvature, (Σ |g|²/s²)^(-½), where g is the derivative by
        the frequency without what the coefficients can follow, and s² the residual variance.

        Args:
            frequency: to start from.
            k: harmonics.
            low: the lowest frequency that it may come to.
            high: the highest.
        """
        here = self._at(frequency, k)
        longest = 0.125 * (high - low)
        for _ in range(_STEPS):
            step = float(np.clip(here.slope / here.curvature, -longest, longest))
            for _ in range(_HALVINGS):
                if abs(step) < _TOLERANCE / math.sqrt(here.curvature):
                    return here
                there = self._at(min(max(here.frequency + step, low), high), k)
                if there.cost < here.cost:
                    break
                step /= 2
            else:
                break
            here = there
        return here

    def explained(self, frequency: float, k: int) -> float:
        """Return the part of the variance about the trend that the harmonics explain."""
        cost = float(self._white_noise().costs(frequency, k)[-1])
        return -math.expm1(cost / (len(self.series) * self.values.shape[1]))

    def noise_time(self, frequency: float, k: int) -> float:
        """Return the correlation time of what the harmonics leave of the samples."""
        plain = self._white_noise()
        design = plain._design(plain._waves(frequency, k, slice(None)))
        fitted = design @ _solve(design, plain.values)[0]
        return noise_time(self.series.times, plain.values - fitted)

    def _white_noise(self) -> HarmonicLikelihood:
        """Return the likelihood in independent noise."""
        return self if self.tau == 0 else HarmonicLikelihood(self.series)

    def _waves(self, frequency: float, k: int, part: slice) -> np.ndarray:
        """Return root · e^(2πijft) for j = 1 … k, ``(n, k)``."""
        turns = frequency * self.series.times[part]
        first = np.exp(2j * math.pi * (turns - np.rint(turns)))
        waves = np.empty((len(first), k), np.complex128)
        wave = self.series.root[part].astype(np.complex128)
        for j in range(k):
            wave = wave * first
            waves[:, j] = wave
        return waves

    def _products(self, frequency: float, k: int) -> np.ndarray:
        """Return the products of [basis, cos, sin, …, values] with each other."""
        number = len(self.series)
        total: np.ndarray | None = None
        for first in range(0, number, _BLOCK):
            last = min(first + _BLOCK, number)
            waves = self._waves(frequency, k, slice(max(first - 1, 0), last))
            waves = self.white(waves, first) if self.tau else waves[int(first > 0) :]
            pairs = np.ascontiguousarray(waves).view(np.float64)
            rows = slice(first, last)
            block = np.concatenate([self.basis[rows], pairs, self.values[rows]], 1)
            products = block.T @ block
            total = products if total is None else total + products
        assert total is not None
        return total

    def _design(self, waves: np.ndarray) -> np.ndarray:
        """Return the whitened harmonics without what the trend can follow, ``(N, 2k)``."""
        return self._beside(np.ascontiguousarray(self.white(waves)).view(np.float64))

    def _beside(self, columns: np.ndarray) -> np.ndarray:
        return columns - self.basis @ (self.basis.T @ columns)

    def _at(self, frequency: float, k: int) -> Fit:
        waves = self._waves(frequency, k, slice(None))
        design = self._design(waves)
        coefficients, span = _solve(design, self.values)
        rest = self.values - design @ coefficients
        left = np.maximum(np.square(rest).sum(0), _ROUNDING)
        freedom = max(len(self.series) - self.basis.shape[1] - span.shape[1] - 1, 1)
        # d/df of Re, Im: e^(2πijft) turns by 2πijt
        pairs = coefficients.reshape(k, 2, -1)
        waves = waves * (2j * math.pi * np.arange(1, k + 1)) * self.series.times[:, None]
        slopes = waves.real @ pairs[:, 0] + waves.imag @ pairs[:, 1]
        slopes = self._beside(self.white(slopes))
        slopes -= span @ (span.T @ slopes)
        weight = freedom / left
        curvature = float((np.square(slopes).sum(0) * weight).sum())
        slope = float(((slopes * rest).sum(0) * weight).sum())
        cost = len(self.series) * float(np.log(left).sum())
        return Fit(frequency, k, cost, slope, max(curvature, 1e-300))


def _solve(design: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the shortest coefficients ``(P, D)`` and an orthonormal basis of the columns."""
    q, r = np.linalg.qr(design)
    u, size, vh = np.linalg.svd(r)
    independent = size > math.sqrt(_DEPENDENT) * size.max()
    span = q @ u[:, independent]
    return vh[independent].T @ ((span.T @ values) / size[independent, None]), span
