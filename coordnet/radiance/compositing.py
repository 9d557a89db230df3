"""Compositing of samples that lie in one list, ray after ray, in a few passes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ..constants import supports_float64

__all__ = ["composite_samples", "optical_depth_before"]


def optical_depth_before(depths: Tensor, ray: Tensor, rays: int) -> Tensor:
    """Return Σ_{j<i} τ_j over the samples before i on the same ray.

    Args:
        depths: optical depths τ of the samples, ``(M,)``.
        ray: the number of each sample's ray, not decreasing.
        rays: number of rays.
    """
    return _before(depths, _starts(ray), ray, rays)


def _starts(ray: Tensor) -> Tensor:
    """Return which samples are the first of their ray."""
    first = torch.ones_like(ray, dtype=torch.bool)
    torch.ne(ray[1:], ray[:-1], out=first[1:])
    return first


def _before(values: Tensor, first: Tensor, ray: Tensor, rays: int) -> Tensor:
    """Return exclusive sums along each ray, in float64 where there is such."""
    wide = values.double() if supports_float64(values.device) else values
    sums = wide.cumsum(0) - wide
    start = wide.new_zeros(rays)
    start[ray[first]] = sums[first]
    return sums - start[ray]


class _Composite(torch.autograd.Function):
    """Σ w_i v_i for each ray, w_i = exp(-Σ_{j<i} τ_j) (1 - exp(-τ_i))."""

    @staticmethod
    def forward(ctx: Any, depths: Tensor, values: Tensor, ray: Tensor, rays: int) -> Tensor:
        first = _starts(ray)
        left = torch.exp(-_before(depths, first, ray, rays)).to(depths.dtype)
        weights = left * -torch.expm1(-depths)
        out = values.new_zeros(rays, values.shape[1]).index_add_(0, ray, weights[:, None] * values)
        ctx.save_for_backward(values, weights, left - weights, ray, first, out)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None, None]:
        values, weights, passed, ray, first, out = ctx.saved_tensors
        each = grads[0][ray]
        share = (each * values).sum(1)
        # what lies behind a sample is dimmed by it
        total = (grads[0] * out).sum(1)[ray]
        behind = total - _before(weights * share, first, ray, len(out)) - weights * share
        return passed * share - behind.to(share.dtype), weights[:, None] * each, None, None


def composite_samples(depths: Tensor, values: Tensor, ray: Tensor, rays: int) -> Tensor:
    """Return what rays see: Σ w_i v_i with weights w_i = T_i (1 - exp(-τ_i)).

    Args:
        depths: optical depths τ = σ δ, ``(M,)``, at least 0.
        values: ``(M, C)``; a column of ones gives the opacity, one of distances the depth times
            the opacity.
        ray: the number of each sample's ray, not decreasing.
        rays: number of rays.

    Returns:
        ``(rays, C)``; zeros for a ray without samples.
    """
    return _Composite.apply(depths, values, ray, rays)  # type: ignore[return-value]
