"""The frequency ladders, as float64 tensors on the CPU.

Each ladder is a list of *cycles*: how often a sine turns per period where the ladder belongs to
a period (harmonic, octave, lattice), and per unit of the input elsewhere. The angular frequency
is 2π times that.
"""

from __future__ import annotations

import itertools
import math

import torch
from torch import Tensor

from ..errors import refuse

__all__ = ["gaussian", "geometric", "harmonic", "integer_gaussian", "lattice", "octave"]

_CPU = torch.device("cpu")


def harmonic(k: int) -> Tensor:
    """Return 1, 2, …, k (cycles per period), shape ``(k,)``."""
    return torch.arange(1, k + 1, dtype=torch.float64, device=_CPU)


def octave(k: int) -> Tensor:
    """Return 2^0, 2^1, …, 2^(k-1) (cycles per period), shape ``(k,)``."""
    return torch.tensor([2.0**j for j in range(k)], dtype=torch.float64, device=_CPU)


def geometric(k: int, C: float) -> Tensor:
    """Return C^(-i/k) / 2π for i = 0 … k-1 (cycles per unit), shape ``(k,)``.

    With d = 2k features these are the Transformer's frequencies C^(-2i/d).
    """
    try:
        cycles = [C ** (-i / k) / math.tau for i in range(k)]
    except OverflowError:
        return refuse("C must leave the frequencies finite", f"C={C!r}", "Pass C=10000.0, say.")
    return torch.tensor(cycles, dtype=torch.float64, device=_CPU)


def lattice(in_dim: int, k: int) -> Tensor:
    """Return every integer vector n ≠ 0 with |n_i| ≤ k, one of each pair ±n.

    The first component that is not 0 is positive; the order is lexicographic.

    Returns:
        Shape ``(((2k+1)^in_dim - 1) / 2, in_dim)``, cycles per period.
    """
    zero = (0,) * in_dim
    vectors = [n for n in itertools.product(range(-k, k + 1), repeat=in_dim) if n > zero]
    return torch.tensor(vectors, dtype=torch.float64, device=_CPU)


def gaussian(in_dim: int, k: int, sigma: Tensor, seed: int) -> Tensor:
    """Return k vectors drawn from N(0, diag(sigma²)) (cycles per unit), shape ``(k, in_dim)``."""
    generator = torch.Generator(_CPU).manual_seed(seed)
    draw = torch.randn(k, in_dim, generator=generator, dtype=torch.float64, device=_CPU)
    return sigma * draw


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
    found = torch.empty(0, in_dim, dtype=torch.float64, device=_CPU)
    for _ in range(200):
        draw = torch.randn(k, in_dim, generator=generator, dtype=torch.float64, device=_CPU)
        vectors = (draw * sigma).round() + 0.0  # + 0.0 turns -0 into 0
        found = torch.cat([found, vectors[(vectors != 0).any(-1)]])[:k]
        if len(found) == k:
            return found
    return refuse(
        "sigma times period must be large enough for Gaussian frequencies to round to integers "
        "other than 0",
        f"sigma*period={sigma.tolist()}",
        "Pass a sigma of about 1/period or more, or use .lattice.",
    )
