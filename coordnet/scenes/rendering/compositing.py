"""Weights, colors and opacities of packed samples: one function with its derivatives."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from .intervals import finite_lengths
from .packed_samples import PackedSamples
from .ray_sums import running_sums, spread, sums_behind

__all__ = ["composited", "opaque_depth"]


def opaque_depth(dtype: torch.dtype) -> float:
    """The optical depth from which on exp(-depth) is 0 in that dtype."""
    return 746.0 if dtype == torch.float64 else 104.0


def composited(
    densities: Tensor, colors: Tensor | None, samples: PackedSamples
) -> tuple[Tensor, Tensor | None, Tensor]:
    """Return weights ``(M,)``, sums of colors ``(R, C)`` and opacities ``(R,)``.

    Args:
        densities: ``(M,)``.
        colors: ``(M, C)``, or None for none.
        samples: the M samples of R rays.
    """
    return _Compositing.apply(densities, colors, samples)  # type: ignore[return-value]


class _Compositing(torch.autograd.Function):
    """Weights, sums of colors and opacities, with their derivatives written out.

    ∂L/∂τ_i = T_{i+1} g_i - Σ_{k>i} w_k g_k,   g_i = ∂L/∂w_i,

    where T_{i+1} is what is left behind sample i.
    """

    @staticmethod
    def forward(
        ctx: Any, densities: Tensor, colors: Tensor | None, samples: PackedSamples
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        ctx.set_materialize_grads(False)
        wide = densities.float() if densities.dtype.itemsize < 4 else densities
        # an infinite interval is the longest there is; from some depth on nothing passes in this
        # dtype, and the running sum stays small
        lengths = samples.intervals.clamp_(max=torch.finfo(samples.starts.dtype).max)
        depths = (wide * lengths).clamp_(max=opaque_depth(wide.dtype))
        sums, offsets, rays = running_sums(depths, samples)
        ends = sums.index_select(0, offsets)
        arrival = ends[:-1].index_select(0, rays)
        shares = (arrival - sums[:-1]).exp_()
        # what is left behind a sample is what arrives at the next, except at the end of a ray
        left = torch.empty_like(shares)
        if len(left):
            left[:-1] = shares[1:]
            last = (offsets[1:] - 1).clamp_(min=0)
            final = arrival.index_select(0, last) - sums.index_select(0, last + 1)
            left.index_copy_(0, last, final.exp_())
        shares.sub_(left)
        opaque = -torch.expm1(-ends.diff())
        shares, left, opaque = (
            values.to(densities.device, depths.dtype) for values in (shares, left, opaque)
        )
        seen = None if colors is None else _weighted_sums(shares, colors, samples)
        ctx.samples, ctx.density_dtype = samples, densities.dtype
        ctx.save_for_backward(shares, left, colors)
        return shares, seen, opaque

    @staticmethod
    @once_differentiable
    def backward(  # type: ignore[override]
        ctx: Any, *grads: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None, None]:
        of_shares, of_seen, of_opaque = grads
        shares, left, colors = ctx.saved_tensors
        samples: PackedSamples = ctx.samples
        slopes, of_colors = of_shares, None
        if of_seen is not None:
            if ctx.needs_input_grad[1]:
                of_colors = _scaled_rows(of_seen, shares, samples).to(colors.dtype)
            given = of_seen if of_opaque is None else torch.cat([of_seen, of_opaque[:, None]], -1)
            rows = spread(given, samples)
            tinted = _row_products(rows[:, : colors.shape[1]], colors)
            if of_opaque is not None:
                tinted = tinted.add_(rows[:, -1])
            slopes = tinted if slopes is None else slopes + tinted
        elif of_opaque is not None:
            shown = spread(of_opaque, samples)
            slopes = shown if slopes is None else slopes + shown
        if slopes is None or not ctx.needs_input_grad[0]:
            return None, of_colors, None
        behind = sums_behind(shares * slopes, samples).to(slopes.device, slopes.dtype)
        lengths = finite_lengths(samples.intervals)
        of_densities = (left * slopes).sub_(behind).mul_(lengths)
        return of_densities.to(ctx.density_dtype), of_colors, None


def _row_products(one: Tensor, other: Tensor) -> Tensor:
    """Return the scalar products of rows, ``(M,)``; a few columns are quicker one by one."""
    if not 0 < one.shape[1] <= 4:
        return (one * other).sum(1)
    total = one[:, 0] * other[:, 0]
    for column in range(1, one.shape[1]):
        total = total.addcmul_(one[:, column], other[:, column])
    return total


def _scaled_rows(values: Tensor, shares: Tensor, samples: PackedSamples) -> Tensor:
    """Give each sample its ray's row, times its share, ``(M, C)``."""
    if shares.device.type != "cpu":
        return spread(values, samples) * shares[:, None]
    # bags of one: gathers and scales at once, which takes half the time
    return F.embedding_bag(
        samples.ray_indices.to(torch.int32),
        values,
        torch.arange(len(shares) + 1, dtype=torch.int32, device=shares.device),
        mode="sum",
        per_sample_weights=shares,
        include_last_offset=True,
    )


def _weighted_sums(shares: Tensor, colors: Tensor, samples: PackedSamples) -> Tensor:
    """Return Σ w c over each ray, ``(R, C)``."""
    colors = colors.to(shares.dtype)
    if shares.device.type in ("cpu", "cuda"):
        every = torch.arange(len(shares), dtype=torch.int32, device=shares.device)
        return F.embedding_bag(
            every,
            colors,
            samples.offsets.to(torch.int32),
            mode="sum",
            per_sample_weights=shares,
            include_last_offset=True,
        )
    sums = colors.new_zeros(samples.num_rays, colors.shape[1])
    return sums.index_add_(0, samples.ray_indices, shares[:, None] * colors)
