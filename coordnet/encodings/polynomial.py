"""Polynomial features: powers of the coordinates."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .. import checks
from .combine import Normalized
from .encoding import Encoding

__all__ = ["Polynomial"]

_MAX_DEGREE = 20  # higher powers cannot be told apart in float64


class Polynomial(Encoding):
    """Powers x, x², …, x^degree of each coordinate, axis by axis: a trend, which never repeats.

    In a `Field` the coordinates are normalized to t = (x - center) / (half the extent) first,
    which is [-1, 1] on the domain; outside it the powers grow as powers do.

    Args:
        in_dim: number of input axes.
        degree: the highest power, from 1 (a straight line) to 20.

    Shape:
        ``(..., in_dim)`` to ``(..., in_dim * degree)``.

    Raises:
        InputError: a degree outside 1 … 20.
    """

    def __init__(self, in_dim: int, degree: int = 1) -> None:
        super().__init__(in_dim)
        self.degree = checks.integer("degree", degree, least=1, most=_MAX_DEGREE)

    @property
    def out_dim(self) -> int:
        """Number of features: ``degree`` per axis."""
        return self.in_dim * self.degree

    def spec(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        return {"name": "polynomial", "in_dim": self.in_dim, "degree": self.degree}

    def on_domain(self, lower: Tensor, upper: Tensor) -> Encoding:
        """Return the powers of the coordinates normalized to [-1, 1]."""
        return Normalized(self, lower + (upper - lower) / 2, upper)

    def features(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Return the powers in ``dtype``."""
        x = x if x.dtype == torch.float64 else x.to(dtype)
        powers = [x]
        while len(powers) < self.degree:
            powers.append(powers[-1] * x)
        return torch.stack(powers, -1).flatten(-2).to(dtype)
