"""Sums of packed samples over rays, and values of rays spread over their samples.

Each is a few operations on flat tensors: differences of one running sum in float64.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from ...constants import supports_float64
from .packed_samples import PackedSamples

__all__ = ["ray_sums", "ray_totals", "running_sums", "spread", "sums_behind"]


def ray_totals(values: Tensor, samples: PackedSamples) -> Tensor:
    """Return the sum of each ray's values, ``(M,)`` to ``(R,)``, in the dtype of the values."""
    return _RayTotals.apply(values, samples)  # type: ignore[return-value]


def running_sums(values: Tensor, samples: PackedSamples) -> tuple[Tensor, Tensor, Tensor]:
    """Return 0 and the running sums of all values, ``(M+1,)`` float64, with offsets and rays.

    They are on the CPU where the device has no float64.
    """
    device = values.device if supports_float64(values.device) else torch.device("cpu")
    sums = torch.empty(len(values) + 1, dtype=torch.float64, device=device)
    sums[:1] = 0
    torch.cumsum(values.to(device, torch.float64), 0, out=sums[1:])
    return sums, samples.offsets.to(device), samples.ray_indices.to(device)


def sums_behind(values: Tensor, samples: PackedSamples) -> Tensor:
    """Return for each sample the sum of the values behind it on its ray, float64."""
    sums, offsets, rays = running_sums(values, samples)
    return sums.index_select(0, offsets[1:]).index_select(0, rays) - sums[1:]


def ray_sums(values: Tensor, samples: PackedSamples, side: Literal["before", "after"]) -> Tensor:
    """Return the sums of the values before, or after, each sample on its ray, ``(M,)``."""
    return _RaySums.apply(values, samples, side)  # type: ignore[return-value]


class _RaySums(torch.autograd.Function):
    """Sums of the values before or behind each sample: each is the other's transpose."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, samples: PackedSamples, side: str) -> Tensor:
        ctx.samples, ctx.side = samples, side
        if side == "before":
            running, offsets, rays = running_sums(values, samples)
            sums = running[:-1] - running.index_select(0, offsets[:-1]).index_select(0, rays)
        else:
            sums = sums_behind(values, samples)
        return sums.to(values.device, values.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        other = "after" if ctx.side == "before" else "before"
        return _RaySums.apply(grads[0], ctx.samples, other), None, None  # type: ignore[return-value]


class _RayTotals(torch.autograd.Function):
    """Sums over rays, and their transpose: each sample gets its ray's number."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, samples: PackedSamples) -> Tensor:
        ctx.samples = samples
        sums, offsets, _ = running_sums(values, samples)
        return sums.index_select(0, offsets).diff().to(values.device, values.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return spread(grads[0], ctx.samples), None


def spread(values: Tensor, samples: PackedSamples) -> Tensor:
    """Give each sample its ray's number, or its ray's row."""
    if values.ndim == 2 and values.shape[1] == 4 and values.dtype == torch.float32:
        # one complex number of 16 bytes instead of a row: half the time on a CPU
        values = values.contiguous()
        whole = values if values.storage_offset() % 4 == 0 else values.clone()
        packed = whole.view(torch.complex128)[:, 0]
        return packed.index_select(0, samples.ray_indices).view(torch.float32).view(-1, 4)
    return values.index_select(0, samples.ray_indices)
