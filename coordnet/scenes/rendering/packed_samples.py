"""Packed samples: those of many rays in one flat list."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ...checks import integer
from ...errors import refuse
from .intervals import middles

__all__ = ["PackedSamples", "chosen"]


@dataclass(frozen=True, eq=False)
class PackedSamples:
    """M samples of R rays: those of a ray side by side, in order of distance.

    Distances are in lengths of the ray's direction. They are constants: gradients go to densities
    and colors alone.

    Attributes:
        ray_indices: which ray each sample belongs to, int64 ``(M,)``, never decreasing.
        starts: where each sample's interval begins, ``(M,)``.
        ends: where it ends, ``(M,)``.
        offsets: int64 ``(R+1,)``: ray r has the samples from offsets[r] to offsets[r+1] - 1.
        filled: bool ``(M,)`` where M is a fixed capacity, else None. What is not filled is at the
            end, has length 0, so that it changes nothing, and is given to the last ray.
        complete: bool ``(R,)`` where M is a fixed capacity, else None: False for the rays that
            lost samples because there was no room for them.
        needed: how many samples there are, those without room included, a number in a tensor,
            where M is a fixed capacity, else None.
    """

    ray_indices: Tensor
    starts: Tensor
    ends: Tensor
    offsets: Tensor
    filled: Tensor | None = None
    complete: Tensor | None = None
    needed: Tensor | None = None

    def __post_init__(self) -> None:
        shapes = [tuple(values.shape) for values in (self.ray_indices, self.starts, self.ends)]
        if len(set(shapes)) > 1 or len(shapes[0]) != 1 or self.offsets.ndim != 1:
            rule = "ray_indices, starts and ends must be one number per sample each"
            got = f"shapes {', '.join(map(str, shapes))}, offsets {tuple(self.offsets.shape)}"
            refuse(rule, got)
        if self.starts.requires_grad or self.ends.requires_grad:
            got = "starts or ends that require a gradient"
            refuse("packed samples are constants", got, "Detach them, or pass edges.")

    @classmethod
    def of_rays(
        cls, ray_indices: Tensor, starts: Tensor, ends: Tensor, num_rays: int
    ) -> PackedSamples:
        """Pack samples that are in order already.

        Args:
            ray_indices: ``(M,)``, never decreasing, from 0 to num_rays - 1.
            starts: ``(M,)``.
            ends: ``(M,)``.
            num_rays: R; rays without samples count.
        """
        number = integer("num_rays", num_rays, least=0)
        rays = torch.arange(number + 1, device=ray_indices.device)
        ray_indices = ray_indices.to(torch.int64)
        return cls(ray_indices, starts, ends, torch.searchsorted(ray_indices, rays))

    @classmethod
    def of_edges(cls, edges: Tensor, keep: Tensor | None = None) -> PackedSamples:
        """Pack the intervals of rays that have S each.

        Args:
            edges: ``(R, S+1)``.
            keep: bool ``(R, S)``, the intervals to pack; None packs all.
        """
        if edges.ndim != 2 or edges.shape[1] < 1:
            refuse("edges must have shape (R, S+1)", f"{tuple(edges.shape)}")
        rays, number = edges.shape[0], edges.shape[1] - 1
        index = torch.arange(rays, device=edges.device)
        packed = cls(
            index.repeat_interleave(number, output_size=rays * number),
            edges[:, :-1].flatten(),
            edges[:, 1:].flatten(),
            torch.arange(rays + 1, device=edges.device) * number,
        )
        return packed if keep is None else packed.keep(keep.flatten())

    def __len__(self) -> int:
        """Return the number of samples M, those not filled included."""
        return len(self.starts)

    @property
    def num_rays(self) -> int:
        """Number of rays R."""
        return len(self.offsets) - 1

    @property
    def intervals(self) -> Tensor:
        """Lengths of the samples' intervals, ``(M,)``."""
        return self.ends - self.starts

    @property
    def midpoints(self) -> Tensor:
        """Middles of the intervals, ``(M,)``; an infinite interval counts as its start."""
        return middles(self.starts, self.ends)

    def counts(self) -> Tensor:
        """Return how many samples each ray has, ``(R,)``."""
        counts = self.offsets.diff()
        if self.filled is not None and self.num_rays:
            counts[-1] -= (~self.filled).sum()
        return counts

    def positions(
        self, origins: Tensor, directions: Tensor, distances: Tensor | None = None
    ) -> Tensor:
        """Return the samples' places in space, origin + t · direction.

        Args:
            origins: ``(R, 3)``.
            directions: ``(R, 3)``.
            distances: t, ``(M,)``; None takes the midpoints.

        Returns:
            ``(M, 3)``.
        """
        if origins.shape != (self.num_rays, 3) or directions.shape != (self.num_rays, 3):
            rule = f"origins and directions must have shape ({self.num_rays}, 3)"
            refuse(rule, f"{tuple(origins.shape)} and {tuple(directions.shape)}")
        rays = torch.cat([origins, directions], -1).index_select(0, self.ray_indices)
        at = self.midpoints if distances is None else distances
        return torch.addcmul(rays[:, :3], at[:, None], rays[:, 3:])

    def keep(self, mask: Tensor, capacity: int | None = None) -> PackedSamples:
        """Return the samples where ``mask`` holds.

        Args:
            mask: bool ``(M,)``.
            capacity: number of samples of the result, whatever the mask, so that a CUDA device
                need not wait for their number; None takes as many as there are.
        """
        if mask.shape != self.starts.shape or mask.dtype != torch.bool:
            got = f"{mask.dtype} of shape {tuple(mask.shape)}"
            refuse(f"mask must be bool of shape ({len(self)},)", got)
        if self.filled is not None:
            mask = mask & self.filled
        ends = F.pad(mask.cumsum(0), (1, 0)).index_select(0, self.offsets)
        return self._take(chosen(mask, capacity), ends, capacity)

    def _take(self, at: Tensor, ends: Tensor, capacity: int | None) -> PackedSamples:
        parts = (self.ray_indices, self.starts, self.ends)
        if not len(self):  # nothing that what is not filled could be a copy of
            parts = (values.new_zeros(1) for values in parts)
        rays, starts, stops = (values.index_select(0, at) for values in parts)
        if capacity is None:
            return PackedSamples(rays, starts, stops, ends, complete=self.complete)
        return PackedSamples.within(rays, starts, stops, ends, self.complete)

    @classmethod
    def within(
        cls,
        rays: Tensor,
        starts: Tensor,
        ends: Tensor,
        offsets: Tensor,
        complete: Tensor | None = None,
    ) -> PackedSamples:
        """Pack samples into as much room as there is.

        Args:
            rays: int64 ``(M,)``, what comes after the last sample being anything.
            starts: ``(M,)``, likewise.
            ends: ``(M,)``, likewise.
            offsets: ``(R+1,)`` of all samples, those included that there is no room for.
            complete: ``(R,)``, rays that had lost no sample before.
        """
        capacity, last = len(starts), max(0, len(offsets) - 2)
        needed = offsets[-1]
        filled = torch.arange(capacity, device=rays.device) < needed
        fits = offsets[1:] <= capacity
        offsets = offsets.clamp(max=capacity)
        offsets[-1:] = capacity
        return cls(
            rays.where(filled, last),
            starts.where(filled, 0.0),
            ends.where(filled, 0.0),
            offsets,
            filled,
            fits if complete is None else fits & complete,
            needed,
        )


def chosen(mask: Tensor, capacity: int | None) -> Tensor:
    """Return where a flat mask holds, in order.

    Args:
        mask: bool ``(N,)``.
        capacity: length of the result. Places beyond the number of True are 0, and what there is
            no room for is left out. None: as many as there are, which makes a CUDA device wait.
    """
    if capacity is None:
        if mask.device.type == "cpu":  # three times as quick as torch.nonzero
            return torch.from_numpy(np.flatnonzero(mask.numpy()))
        return mask.nonzero()[:, 0]
    capacity = integer("capacity", capacity, least=1)
    place = torch.where(mask, mask.cumsum(0) - 1, capacity).clamp(max=capacity)
    indices = torch.zeros(capacity + 1, dtype=torch.int64, device=mask.device)
    indices.scatter_(0, place, torch.arange(len(mask), device=mask.device))
    return indices[:capacity]
