"""Contraction of unbounded space into a ball or a cube."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ...checks import one_of

__all__ = ["contract"]

Norm = Literal["euclidean", "max"]


def contract(points: Tensor, norm: Norm = "euclidean") -> Tensor:
    """Map all of space into the ball (or the cube) of radius 2, the inside of radius 1 unchanged.

        contract(x) = x                              where ‖x‖ ≤ 1
        contract(x) = (2 − 1/‖x‖) · x/‖x‖            elsewhere

    So equal steps far out are equal steps in inverse distance: mip-NeRF 360 (Barron et al., 2022,
    equation 10). Move and scale the world first, so that what is to keep its shape lies within 1.

    Args:
        points: ``(..., d)``, numbers up to 1e38.
        norm: "euclidean", as in the paper, gives a ball; "max", the largest of the absolute
            values, gives a cube, which a grid fills without waste.

    Returns:
        ``(..., d)``. Gradients are finite everywhere, and continuous for the Euclidean norm.
    """
    one_of("norm", norm, ("euclidean", "max"))
    size = _size(points, norm).clamp(min=1)
    return points * ((2 - 1 / size) / size)


def _size(points: Tensor, norm: Norm) -> Tensor:
    """Return the norm ``(..., 1)``, without overflow, and with a gradient where it is at least 1.

    Below 1, where the map does not need it, it may be any number up to 1.
    """
    largest = points.abs().amax(-1, keepdim=True)
    if norm == "max":
        return largest
    # squares of numbers above 1e19 overflow in float32
    scale = largest.detach().clamp(min=1)
    squares = (points / scale).square().sum(-1, keepdim=True)
    # the root has no gradient at 0
    return scale * torch.sqrt(squares.clamp(min=torch.finfo(points.dtype).tiny))
