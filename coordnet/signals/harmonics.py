"""Harmonic regression in closed form, with what least squares knows of its own errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from ..encodings import Concat, Encoding, FourierFeatures, Polynomial
from ..errors import integer_at_least, positive_number, refuse
from ..field import Field
from ..networks import MLP
from ..training.solving import least_squares
from .series import check_samples, check_weights

__all__ = ["Harmonic", "HarmonicModel", "fit_harmonics", "harmonic_encoding"]


@dataclass(frozen=True)
class Harmonic:
    """One harmonic of one column of values: amplitude · cos(2π j x / period - phase).

    Attributes:
        period: the period P, in the unit of x; the harmonic itself repeats every P / j.
        number: j, from 1.
        amplitude: in the values' unit.
        phase: in radians, from -π to π.
        amplitude_error: standard error of the amplitude, to first order.
        phase_error: standard error of the phase, to first order; infinite for an amplitude of 0.
    """

    period: float
    number: int
    amplitude: float
    phase: float
    amplitude_error: float
    phase_error: float


@dataclass(frozen=True, eq=False)
class HarmonicModel:
    """A least-squares fit of a constant, harmonics and a trend.

    y(x) = c + Σ_P Σ_j (s_j sin 2πjx/P + c_j cos 2πjx/P) + Σ_d t_d u^d, with u the position
    normalised to [-1, 1] over the data.

    Attributes:
        field: the same function as a field in float64, which can be saved and rendered.
        names: of the P coefficients: "1", "sin 1/24", "cos 1/24", …, "u", "u^2".
        coefficients: ``(P, D)``, in the values' unit.
        inverse: ``(P, P)``, (AᵀWA)⁻¹: times a residual variance it is a covariance.
        variance: ``(D,)``, residual variances Σ w r² / (N - P), of a sample of mean weight; NaN
            where there are no more samples than coefficients.
        samples: N, without those of weight 0.
        periods: the periods.
        k: harmonics of each.
        trend: degree of the trend.
        r_squared: ``(D,)``, the share of the weighted variance that is explained.
        aic: ``(D,)``, Akaike's criterion N ln(RSS / N) + 2P.
        bic: ``(D,)``, Schwarz's N ln(RSS / N) + P ln N.
    """

    field: Field
    names: tuple[str, ...]
    coefficients: np.ndarray
    inverse: np.ndarray
    variance: np.ndarray
    samples: int
    periods: tuple[float, ...]
    k: tuple[int, ...]
    trend: int
    r_squared: np.ndarray
    aic: np.ndarray
    bic: np.ndarray

    @property
    def standard_errors(self) -> np.ndarray:
        """Standard errors of the coefficients, ``(P, D)``, for independent errors."""
        return np.sqrt(np.diag(self.inverse)[:, None] * self.variance)

    def covariance(self, column: int = 0) -> np.ndarray:
        """Return the covariance of the coefficients of one column of values, ``(P, P)``."""
        return self.inverse * self.variance[column]

    def predict(self, x: Any) -> np.ndarray:
        """Return values ``(N, D)`` at positions ``(N,)``, float64."""
        return self._design(x) @ self.coefficients

    def standard_error_at(self, x: Any, *, of_samples: bool = False) -> np.ndarray:
        """Return the standard error of the curve at positions, ``(N, D)``.

        Args:
            x: ``(N,)``.
            of_samples: add the scatter of a sample of mean weight about the curve.
        """
        design = self._design(x)
        spread = np.einsum("np,pq,nq->n", design, self.inverse, design)[:, None]
        return np.sqrt((spread + (1.0 if of_samples else 0.0)) * self.variance)

    def harmonics(self, column: int = 0) -> list[Harmonic]:
        """Return amplitude and phase of every harmonic of one column of values."""
        found, at = [], 1
        for period, number in zip(self.periods, self.k, strict=True):
            for j in range(1, number + 1):
                pair = slice(at, at + 2)
                sine, cosine = (float(v) for v in self.coefficients[pair, column])
                covariance = self.covariance(column)[pair, pair]
                size = math.hypot(sine, cosine)
                # along the vector (s, c), and across it
                along = np.array([sine, cosine]) / size if size else np.array([0.0, 1.0])
                across = np.array([along[1], -along[0]])
                errors = [float(np.sqrt(each @ covariance @ each)) for each in (along, across)]
                found.append(
                    Harmonic(
                        period, j, size, math.atan2(sine, cosine), errors[0],
                        errors[1] / size if size else math.inf,
                    )
                )  # fmt: skip
                at += 2
        return found

    def _design(self, x: Any) -> np.ndarray:
        positions, _ = check_samples(x, np.zeros(len(np.asarray(x))))
        return _design(self.field.encoding, positions)


def harmonic_encoding(periods: Sequence[float], k: Sequence[int], trend: int = 0) -> Encoding:
    """Return harmonics of every period side by side, and the powers of the position."""
    parts: list[Encoding] = [
        FourierFeatures(1, k=number, period=period)
        for period, number in zip(periods, k, strict=True)
    ]
    if trend:
        parts.append(Polynomial(1, degree=trend))
    if not parts:
        refuse("harmonic regression needs a period or a trend", "neither", "Pass period=24.0, say.")
    return parts[0] if len(parts) == 1 else Concat(parts)


def fit_harmonics(
    x: Any,
    y: Any,
    periods: float | Sequence[float],
    k: int | Sequence[int] = 4,
    *,
    trend: int = 0,
    weights: Any = None,
) -> HarmonicModel:
    """Fit harmonics of known periods by linear least squares, exactly.

    Args:
        x: positions, ``(N,)``, in the unit of the periods, any order.
        y: values, ``(N,)`` or ``(N, D)``.
        periods: one or several.
        k: harmonics of each, one number or one per period.
        trend: degree of a polynomial trend beside them, 0 for a constant.
        weights: of the squared errors, ``(N,)``, such as 1/error²; None for all alike.

    Raises:
        InputError: samples of other shapes or that are not finite; coefficients that the samples
            cannot tell apart (more of them than samples, harmonics above Nyquist, two periods
            that share a harmonic).

    Example:
        >>> model = fit_harmonics(hours, temperature, periods=[24.0, 8766.0], k=[3, 2])
        >>> model.harmonics()[0].amplitude, model.standard_errors
    """
    several = [periods] if isinstance(periods, (int, float)) else list(periods)
    several = [positive_number("period", each, "Pass 24.0, say.") for each in several]
    numbers = [k] * len(several) if isinstance(k, int) else list(k)
    if len(numbers) != len(several):
        got = f"{len(numbers)} for {len(several)} periods"
        refuse("k must be one number, or one for each period", got, "Pass k=4, say.")
    numbers = [integer_at_least(1, "k", each, "Pass k=4, say.") for each in numbers]
    degree = integer_at_least(0, "trend", trend, "Pass 0 for a constant, 1 for a line.")
    positions, values = check_samples(x, y)
    if positions.shape[1] != 1:
        got = f"{positions.shape[1]} columns"
        refuse("harmonic regression has one column of positions", got, "Pass x[:, 0], say.")
    weight = check_weights(weights, len(positions))
    kept = weight > 0
    positions, values, weight = positions[kept], values[kept], weight[kept]
    weight = weight / weight.mean()

    encoding = harmonic_encoding(several, numbers, degree)
    network = MLP(encoding.out_dim, values.shape[1], num_hidden_layers=0, seed=0).double()
    field = Field(encoding, network, (positions.min(0).tolist(), positions.max(0).tolist()))
    design = _design(field.encoding, positions)
    solved = least_squares(*(torch.from_numpy(each) for each in (design, values, weight)))
    number, columns = design.shape
    if solved.rank < columns:
        refuse(
            "the samples must tell all harmonics and the trend apart",
            f"{columns} coefficients, of which {solved.rank} can be told apart by {number} samples",
            "Lower k or the trend, or drop a period that is a multiple of another.",
        )
    coefficients = solved.solution.numpy()
    _set_head(field, coefficients)
    residual = solved.residual.numpy()
    centred = values - np.average(values, axis=0, weights=weight)
    total = (weight[:, None] * np.square(centred)).sum(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        spare = number - columns
        variance = residual / spare if spare > 0 else np.full_like(residual, np.nan)
        likelihood = number * np.log(residual / number)
        explained = np.where(total > 0, 1 - residual / total, 1.0)
    return HarmonicModel(
        field=field,
        names=_names(several, numbers, degree),
        coefficients=coefficients,
        inverse=solved.inverse.numpy(),
        variance=variance,
        samples=number,
        periods=tuple(several),
        k=tuple(numbers),
        trend=degree,
        r_squared=explained,
        aic=likelihood + 2 * columns,
        bic=likelihood + columns * math.log(number),
    )


def _design(encoding: Encoding, positions: np.ndarray) -> np.ndarray:
    """Return ones and features, ``(N, P)`` float64."""
    features = encoding(torch.from_numpy(positions)).numpy()
    return np.concatenate([np.ones((len(positions), 1)), features], 1)


def _set_head(field: Field, coefficients: np.ndarray) -> None:
    """Let a field with a linear head give the values of the coefficients."""
    assert isinstance(field.network, MLP)
    head = field.network.layers[0]
    assert isinstance(head, nn.Linear)
    size = coefficients.shape[1]
    field.set_values(torch.zeros(size), torch.ones(size))
    with torch.no_grad():
        head.bias.copy_(torch.from_numpy(coefficients[0]))
        head.weight.copy_(torch.from_numpy(coefficients[1:].T))


def _names(periods: Sequence[float], k: Sequence[int], trend: int) -> tuple[str, ...]:
    names = ["1"]
    for period, number in zip(periods, k, strict=True):
        for j in range(1, number + 1):
            names += [f"sin {j}/{period:.10g}", f"cos {j}/{period:.10g}"]
    names += ["u" if d == 1 else f"u^{d}" for d in range(1, trend + 1)]
    return tuple(names)
