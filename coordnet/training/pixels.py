"""The pixels of a picture as samples, without a float copy of them."""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor

from ..field import Field
from ..grids import cell_centres
from .samples import Batch, Samples

__all__ = ["PixelSamples"]

_BLOCK = 1 << 20


class PixelSamples(Samples):
    """Pixel centres in the unit square, and pixels divided by their peak.

    The picture stays in its own dtype; a batch is made of the pixels it asks for.

    Args:
        pixels: ``(H, W, C)``, uint8, uint16 or float32.
        peak: the pixel value that means 1.0.
    """

    def __init__(self, pixels: np.ndarray, peak: float) -> None:
        self.height, self.width, channels = pixels.shape
        self.peak = float(peak)
        self.wide = pixels.dtype == np.uint16
        flat = np.ascontiguousarray(pixels).reshape(-1, channels)
        # PyTorch cannot index 16-bit words without a sign; `values` puts the sign right again
        self.pixels = torch.from_numpy(flat.view(np.int16) if self.wide else flat)
        self.x, self.y = cell_centres(self.width), cell_centres(self.height)

    def __len__(self) -> int:
        return len(self.pixels)

    def to(self, device: torch.device) -> PixelSamples:
        """Move the pixels, in their own dtype."""
        moved = copy.copy(self)
        moved.pixels, moved.x, moved.y = (t.to(device) for t in (self.pixels, self.x, self.y))
        return moved

    def values(self, which: Batch) -> Tensor:
        """Return some pixels as float32, 1.0 being the peak."""
        found = self.pixels[which]
        if self.wide:
            found = found.to(torch.int32) & 0xFFFF
        found = found.to(torch.float32)
        return found if self.peak == 1.0 else found / self.peak

    def batch(self, which: Batch) -> tuple[Tensor, Tensor]:
        """Return the centres ``(n, 2)`` and the values ``(n, C)`` of some pixels."""
        if isinstance(which, slice):
            index = torch.arange(*which.indices(len(self)), device=self.pixels.device)
        else:
            index = which
        row = index // self.width
        column = index - row * self.width
        return torch.stack([self.x[column], self.y[row]], -1), self.values(which)

    def prepare(self, field: Field) -> None:
        """Take the unit square as the domain, and one scale for all channels."""
        if field.domain is None:
            field.set_domain([0.0, 0.0], [1.0, 1.0])
        if not field.standardised:
            mean, square = torch.zeros(2, self.out_dim, dtype=torch.float64)
            for start in range(0, len(self), _BLOCK):
                block = self.values(slice(start, start + _BLOCK)).cpu().to(torch.float64)
                mean += block.sum(0) / len(self)
                square += block.square().sum(0) / len(self)
            spread = (square - mean.square()).clamp(min=0).mean().sqrt()
            # rounding alone leaves this much of a constant picture
            field.set_values(mean, torch.where(spread > 1e-7, spread, 0.0))

    def spread(self) -> float:
        """Return the range of the values."""
        parts = [self.values(slice(start, start + _BLOCK)) for start in range(0, len(self), _BLOCK)]
        return max(float(p.amax()) for p in parts) - min(float(p.amin()) for p in parts)

    @property
    def out_dim(self) -> int:
        """Number of channels."""
        return self.pixels.shape[1]
