"""The frequency ladders, as float64 tensors on the CPU, and the settings of each for a signal.

Each ladder is a list of *cycles*: how often a sine turns per period where the ladder belongs to
a period (harmonic, octave, lattice), and per unit of the input elsewhere. The angular frequency
is 2π times that.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import torch
from torch import Tensor

from ..checks import plain
from ..errors import refuse
from .signal import SignalShape

__all__ = [
    "gaussian",
    "gaussian_settings",
    "geometric",
    "geometric_settings",
    "harmonic",
    "integer_gaussian",
    "lattice",
    "lattice_settings",
    "lattice_size",
    "octave",
    "octave_settings",
]

_CPU = torch.device("cpu")
# wave vectors that a lattice on several axes spends on a signal
_MAX_LATTICE = 320


def harmonic(k: int) -> Tensor:
    """Return 1, 2, …, k (cycles per period), shape ``(k,)``."""
    return torch.arange(1, k + 1, dtype=torch.float64, device=_CPU)


def octave(k: int) -> Tensor:
    """Return 2^0, 2^1, …, 2^(k-1) (cycles per period), shape ``(k,)``."""
    return torch.tensor([2.0**j for j in range(k)], dtype=torch.float64, device=_CPU)


def octave_settings(signal: SignalShape) -> dict[str, Any]:
    """Return octaves up to the signal's bandwidth."""
    bandwidth = max(signal.samples) / 2 if signal.bandwidth is None else signal.bandwidth
    k = 1 + math.floor(math.log2(max(1.0, bandwidth)))
    return {"k": k, "period": signal.wavelengths}


def geometric(k: int, C: float) -> Tensor:
    """Return C^(-i/k) / 2π for i = 0 … k-1 (cycles per unit), shape ``(k,)``.

    With d = 2k features these are the Transformer's frequencies C^(-2i/d).
    """
    try:
        cycles = [C ** (-i / k) / math.tau for i in range(k)]
    except OverflowError:
        refuse("C must leave the frequencies finite", f"C={C!r}")
    return torch.tensor(cycles, dtype=torch.float64, device=_CPU)


def geometric_settings(signal: SignalShape) -> dict[str, Any]:
    """Return frequencies that count samples; more than 64 on an axis are too close to tell."""
    return {
        "k": min(64, signal.frequencies // 2),
        "C": 10_000.0,
        "scale": plain(signal.density),
    }


def lattice(in_dim: int, k: int) -> Tensor:
    """Return every integer vector n ≠ 0 with |n_i| ≤ k, one of each pair ±n.

    The first component that is not 0 is positive; the order is lexicographic.

    Returns:
        Shape ``(((2k+1)^in_dim - 1) / 2, in_dim)``, cycles per period.
    """
    zero = (0,) * in_dim
    vectors = [n for n in itertools.product(range(-k, k + 1), repeat=in_dim) if n > zero]
    return torch.tensor(vectors, dtype=torch.float64, device=_CPU)


def lattice_size(in_dim: int, k: int) -> int:
    """Return the number of wave vectors of `lattice`."""
    return ((2 * k + 1) ** in_dim - 1) // 2


def lattice_settings(signal: SignalShape) -> dict[str, Any]:
    """Return the degree that the signal's harmonics suggest, less where that is many vectors."""
    k, in_dim = signal.harmonics, len(signal.samples)
    while in_dim > 1 and k > 1 and lattice_size(in_dim, k) > _MAX_LATTICE:
        k -= 1
    return {"k": k, "period": signal.wavelengths}


def gaussian(in_dim: int, k: int, sigma: Tensor, seed: int) -> Tensor:
    """Return k vectors drawn from N(0, diag(sigma²)) (cycles per unit), shape ``(k, in_dim)``."""
    generator = torch.Generator(_CPU).manual_seed(seed)
    draw = torch.randn(k, in_dim, generator=generator, dtype=torch.float64, device=_CPU)
    return sigma * draw


def gaussian_settings(signal: SignalShape) -> dict[str, Any]:
    """Return the signal's spread: of cycles in a unit if it repeats, else over the domain."""
    sigma, period = [signal.spread] * len(signal.samples), None
    if signal.repeats:
        period = signal.wavelengths
        units = zip(signal.periods, signal.extent, strict=True)
        sigma = [signal.spread / (extent if own is None else own) for own, extent in units]
    return {"k": signal.frequencies, "sigma": plain(sigma), "period": period}


def integer_gaussian(in_dim: int, k: int, sigma: Tensor, seed: int) -> Tensor:
    """Return k Gaussian vectors rounded to integers (cycles per period), shape ``(k, in_dim)``.

    Vectors that round to 0 would be constant features and are drawn again.

    Args:
        in_dim: number of input axes.
        k: number of vectors.
        sigma: standard deviation in cycles per period, shape ``(in_dim,)``.
        seed: seed of the draw.

    Raises:
        InputError: where sigma is so small that nearly every vector rounds to 0.
    """
    generator = torch.Generator(_CPU).manual_seed(seed)
    result = torch.empty(0, in_dim, dtype=torch.float64, device=_CPU)
    for _ in range(200):
        draw = torch.randn(k, in_dim, generator=generator, dtype=torch.float64, device=_CPU)
        vectors = (draw * sigma).round() + 0.0  # + 0.0 turns -0 into 0
        result = torch.cat([result, vectors[(vectors != 0).any(-1)]])[:k]
        if len(result) == k:
            return result
    return refuse(
        "sigma times period must be large enough for Gaussian frequencies to round to integers "
        "other than 0",
        f"sigma*period={sigma.tolist()}",
        "A sigma of about 1/period is enough.",
    )
