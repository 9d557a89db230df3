"""Samples whose values stay in the dtype of their file, without a float copy of them."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from ..field import Field
from .samples import Batch, Samples

__all__ = ["StoredSamples"]

_BLOCK = 1 << 18

Self = TypeVar("Self", bound="StoredSamples")


class StoredSamples(Samples):
    """Samples whose values are integers or floats on the scale of their file.

    A batch is made of the values it asks for; where they lie follows from their numbers.

    Args:
        values: ``(N, C)``, uint8, int16, uint16, int32 or float32.
        peak: the stored number that means 1.0.
    """

    def __init__(self, values: np.ndarray, peak: float) -> None:
        self.peak = float(peak)
        self.wide = values.dtype == np.uint16
        values = np.ascontiguousarray(values)
        # PyTorch cannot index 16-bit words without a sign; `values` puts the sign right again
        self.stored = torch.from_numpy(values.view(np.int16) if self.wide else values)

    @abstractmethod
    def coordinates(self, index: Tensor) -> Tensor:
        """Return the coordinates ``(n, in_dim)`` of samples by their numbers ``(n,)``."""

    @abstractmethod
    def box(self) -> tuple[list[float], list[float]]:
        """Return the lower and the upper bounds of the coordinates."""

    def __len__(self) -> int:
        return len(self.stored)

    def to(self: Self, device: torch.device) -> Self:
        """Move the values, in their own dtype."""
        moved = copy.copy(self)
        moved.stored = self.stored.to(device)
        return moved

    def values(self, which: Batch) -> Tensor:
        """Return some values as float32, 1.0 being the peak."""
        # index_select is three times as quick as an index
        run = isinstance(which, slice)
        values = self.stored[which] if run else self.stored.index_select(0, which)
        if self.wide:
            values = values.to(torch.int32) & 0xFFFF
        values = values.to(torch.float32)
        return values if self.peak == 1.0 else values / self.peak

    def batch(self, which: Batch) -> tuple[Tensor, Tensor]:
        """Return the coordinates ``(n, in_dim)`` and the values ``(n, C)`` of some samples."""
        if isinstance(which, slice):
            index = torch.arange(*which.indices(len(self)), device=self.stored.device)
        else:
            index = which
        return self.coordinates(index), self.values(which)

    def prepare(self, field: Field) -> None:
        """Take the box as the domain, and one scale for all channels."""
        field.prepare_domain(*self.box())
        if not field.standardized:
            mean, square = torch.zeros(2, self.out_dim, dtype=torch.float64, device="cpu")
            for start in range(0, len(self), _BLOCK):
                block = self.values(slice(start, start + _BLOCK)).cpu().to(torch.float64)
                mean += block.sum(0) / len(self)
                square += block.square().sum(0) / len(self)
            spread = (square - mean.square()).clamp(min=0).mean().sqrt()
            # rounding alone leaves this much of constant values
            floor = 1e-7 * square.mean().sqrt()
            field.set_values(mean, torch.where(spread > floor, spread, 0.0))

    def value_range(self) -> float:
        """Return the largest value minus the smallest."""
        parts = [self.values(slice(start, start + _BLOCK)) for start in range(0, len(self), _BLOCK)]
        return max(float(p.amax()) for p in parts) - min(float(p.amin()) for p in parts)

    @property
    def out_dim(self) -> int:
        """Number of channels."""
        return self.stored.shape[1]
