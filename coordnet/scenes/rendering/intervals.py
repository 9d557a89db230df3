"""Intervals on rays: their lengths, their middles, and what light loses on them."""

from __future__ import annotations

import math

import torch
from torch import Tensor

__all__ = ["finite_lengths", "middles", "midpoints", "optical_depths"]


def midpoints(edges: Tensor) -> Tensor:
    """Return the middles of intervals, ``(..., S+1)`` to ``(..., S)``.

    An infinite interval counts as its start.
    """
    return middles(edges[..., :-1], edges[..., 1:])


def middles(starts: Tensor, ends: Tensor) -> Tensor:
    """Return (start + end) / 2, or the start where the end is infinite."""
    return torch.add(starts, finite_lengths(ends - starts), alpha=0.5)


def optical_depths(densities: Tensor, lengths: Tensor) -> Tensor:
    """Return σ δ; an infinite δ is the largest number there is, and σ has no gradient there."""
    if densities.dtype in (torch.float16, torch.bfloat16):
        densities = densities.float()
    finite = finite_lengths(lengths)
    # sums and products, not choices: those are ten times as slow on a CPU
    endless = lengths.detach().clamp(max=torch.finfo(lengths.dtype).max) - finite.detach()
    return densities * finite + densities.detach() * endless


def finite_lengths(lengths: Tensor) -> Tensor:
    """Return the lengths with 0 in place of infinity."""
    return lengths.nan_to_num(nan=math.nan, posinf=0.0)
