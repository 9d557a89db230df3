"""Samples along rays in either form: edges of equally many intervals a ray, or packed samples."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from ...errors import refuse
from .intervals import midpoints
from .packed_samples import PackedSamples
from .ray_sums import ray_sums, ray_totals

__all__ = [
    "Samples",
    "check_values",
    "lengths",
    "ray_total",
    "sample_points",
    "sums_after",
    "sums_before",
]

# edges (..., S+1), whose values are (..., S), or M packed samples, whose values are (M,)
Samples = Tensor | PackedSamples


def check_values(name: str, values: Tensor, samples: Samples, rows: bool = False) -> None:
    """Refuse values, or rows of values, that are not one per sample."""
    shape = values.shape[:-1] if rows else values.shape
    if isinstance(samples, PackedSamples):
        good, where = shape == (len(samples),), f"{len(samples)} packed samples"
    else:
        good = len(shape) > 0 and samples.ndim > 0 and shape[-1] == samples.shape[-1] - 1
        where = f"edges {tuple(samples.shape)}"
    if not good:
        rule = f"{name} must be one {'row ' if rows else ''}per sample, one fewer than edges"
        refuse(rule, f"shape {tuple(values.shape)} for {where}")


def lengths(samples: Samples) -> Tensor:
    """Return the lengths of the intervals."""
    return samples.intervals if isinstance(samples, PackedSamples) else samples.diff(dim=-1)


def sample_points(samples: Samples) -> Tensor:
    """Return the distances of the intervals' midpoints."""
    return samples.midpoints if isinstance(samples, PackedSamples) else midpoints(samples)


def ray_total(values: Tensor, samples: Samples) -> Tensor:
    """Return the sum of each ray's values."""
    return ray_totals(values, samples) if isinstance(samples, PackedSamples) else values.sum(-1)


def sums_before(values: Tensor, samples: Samples) -> Tensor:
    """Return for each sample the sum of the values before it on its ray."""
    if isinstance(samples, PackedSamples):
        return ray_sums(values, samples, "before")
    # not the sum with the value itself taken off: ∞ - ∞
    return F.pad(values.cumsum(-1), (1, 0))[..., :-1]


def sums_after(values: Tensor, samples: Samples) -> Tensor:
    """Return for each sample the sum of the values behind it on its ray."""
    if isinstance(samples, PackedSamples):
        return ray_sums(values, samples, "after")
    return F.pad(values.flip(-1).cumsum(-1).flip(-1), (0, 1))[..., 1:]
