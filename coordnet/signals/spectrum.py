"""What a fitted function is made of: its spectrum over a period, its slope, its folded phase."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..constants import supports_float64
from ..errors import integer_at_least, positive_number, refuse
from .series import as_float64

__all__ = ["Spectrum", "derivative", "fold", "spectrum"]

_BLOCK = 1 << 14
_MOST = 1 << 20


@dataclass(frozen=True)
class Spectrum:
    """f(x) = mean + Σ_j amplitude_j cos(2π j x / period - phase_j), over one period.

    Attributes:
        period: the period, in the unit of x.
        mean: ``(D,)``.
        amplitude: ``(K, D)``, of harmonics 1 … K, in the values' unit.
        phase: ``(K, D)``, in radians, from -π to π.
        beyond: ``(D,)``, the root mean square of all higher harmonics, up to half the samples.
        samples: how many were taken over the period.
    """

    period: float
    mean: np.ndarray
    amplitude: np.ndarray
    phase: np.ndarray
    beyond: np.ndarray
    samples: int


def spectrum(
    function: Callable[[Tensor], Tensor],
    period: float,
    harmonics: int = 16,
    *,
    tolerance: float = 1e-6,
) -> Spectrum:
    """Return amplitude and phase of each harmonic of a function of period ``period``.

    By a fast Fourier transform of values over one period, end point left out. The number of
    samples is doubled until no amplitude changes by more than ``tolerance`` of the largest:
    what a network adds above half the samples would otherwise be folded into the harmonics.

    Args:
        function: a field, or any callable from ``(N, 1)`` float64 to ``(N, D)``.
        period: its period.
        harmonics: how many to return.
        tolerance: of the change in doubling; at 2^20 samples doubling ends in any case.
    """
    length = positive_number("period", period, "Pass 24.0, say.")
    number = integer_at_least(1, "harmonics", harmonics, "Pass 16, say.")
    samples = 1 << max(8, (8 * number - 1).bit_length())
    found = _transform(function, length, samples, number)
    while samples < _MOST:
        samples *= 2
        finer = _transform(function, length, samples, number)
        change = np.abs(finer.amplitude - found.amplitude).max()
        found = finer
        if change <= tolerance * max(float(found.amplitude.max()), 1e-300):
            break
    return found


def _transform(
    function: Callable[[Tensor], Tensor], period: float, samples: int, harmonics: int
) -> Spectrum:
    x = torch.arange(samples, dtype=torch.float64)[:, None] * (period / samples)
    values = _evaluate(function, x)
    found = np.fft.rfft(values, axis=0) / samples
    inside = 2 * found[1 : harmonics + 1]
    rest = found[harmonics + 1 :]
    return Spectrum(
        period=period,
        mean=found[0].real,
        amplitude=np.abs(inside),
        # a cos φ + b sin φ = A cos(φ - phase), and the transform gives (a - ib) / 2
        phase=-np.angle(inside),
        beyond=np.sqrt(2 * np.square(np.abs(rest)).sum(0)),
        samples=samples,
    )


def _evaluate(function: Callable[[Tensor], Tensor], x: Tensor) -> np.ndarray:
    home = torch.device("cpu")
    if isinstance(function, nn.Module):
        home = next((p.device for p in function.parameters()), home)
    home = home if supports_float64(home) else torch.device("cpu")
    parts = []
    with torch.no_grad():
        for start in range(0, len(x), _BLOCK):
            parts.append(function(x[start : start + _BLOCK].to(home)).double().cpu())
    values = torch.cat(parts).numpy()
    if values.ndim != 2 or len(values) != len(x):
        got = f"shape {values.shape} for {tuple(x.shape)}"
        refuse("the function must map (N, 1) to (N, D)", got, "Keep the leading axis.")
    return values


def derivative(function: Callable[[Tensor], Tensor], x: Tensor, order: int = 1) -> Tensor:
    """Return the derivative of each value with respect to a single coordinate.

    Args:
        function: a field, or any differentiable callable from ``(N, 1)`` to ``(N, D)``.
        x: ``(N, 1)``, float32 or float64.
        order: 1 for the slope, 2 for the curvature, … A network of ReLUs is straight between its
            kinks: of its second derivative only the encoding's part is left.

    Returns:
        ``(N, D)``, in the values' unit over the coordinate's unit to the power ``order``.
    """
    times = integer_at_least(1, "order", order, "Pass 1 for the slope.")
    if x.ndim != 2 or x.shape[1] != 1 or not x.is_floating_point():
        got = f"{x.dtype} of shape {tuple(x.shape)}"
        refuse(
            "a derivative is taken at x of shape (N, 1), floating point", got, "Pass x[:, None]."
        )
    with torch.enable_grad():
        at = x.detach().clone().requires_grad_()
        columns = []
        for value in function(at).unbind(-1):
            slope = value
            for left in reversed(range(times)):
                (found,) = torch.autograd.grad(
                    slope.sum(), at, create_graph=left > 0, retain_graph=True, allow_unused=True
                )
                if found is None:  # a constant
                    slope = torch.zeros_like(at[:, 0])
                    break
                slope = found[:, 0]
                if left and not slope.requires_grad:
                    slope = torch.zeros_like(slope)
                    break
            columns.append(slope.detach())
    return torch.stack(columns, -1)


def fold(x: Any, period: float, origin: float = 0.0) -> np.ndarray:
    """Return x - origin modulo the period, in [0, period), worked out in float64."""
    length = positive_number("period", period, "Pass 24.0, say.")
    positions = as_float64("x", x)
    folded = np.mod(positions - origin, length)
    # a tiny negative number may round to the period itself
    return np.where(folded >= length, 0.0, folded)
