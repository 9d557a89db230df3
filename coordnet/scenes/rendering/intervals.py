"""Intervals on rays: their lengths, their middles, and what light loses on them."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ...errors import refuse

__all__ = ["finite_lengths", "middles", "midpoints", "optical_depths", "samples_or_edges"]


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


def samples_or_edges(name: str, samples: Tensor, values: Tensor) -> str:
    """Return whether ``values`` are "samples", as many as in ``samples``, or "edges", one more."""
    number = samples.shape[-1] if samples.ndim else -1
    more = values.shape[-1] - number if values.ndim else -1
    if number < 0 or more not in (0, 1):
        refuse(
            f"{name} must be one per sample, or one more where they are edges",
            f"shapes {tuple(values.shape)} and {tuple(samples.shape)}",
            f"Pass {name} of shape (..., S) or (..., S+1) beside (..., S).",
        )
    return "edges" if more else "samples"
