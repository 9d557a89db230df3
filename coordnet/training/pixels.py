"""The pixels of a picture as samples, without a float copy of them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..grids import cell_centres
from .stored import StoredSamples

__all__ = ["PixelSamples"]


class PixelSamples(StoredSamples):
    """Pixel centres in the unit square, and pixels divided by their peak.

    The picture stays in its own dtype; a batch is made of the pixels it asks for.

    Args:
        pixels: ``(H, W, C)``, uint8, uint16 or float32.
        peak: the pixel value that means 1.0.
    """

    def __init__(self, pixels: np.ndarray, peak: float) -> None:
        self.height, self.width, channels = pixels.shape
        super().__init__(pixels.reshape(-1, channels), peak)
        self.x, self.y = cell_centres(self.width), cell_centres(self.height)

    def to(self, device: torch.device) -> PixelSamples:
        """Move the pixels, in their own dtype."""
        moved = super().to(device)
        moved.x, moved.y = self.x.to(device), self.y.to(device)
        return moved

    def coordinates(self, index: Tensor) -> Tensor:
        """Return the centres (x, y) of pixels ``(n, 2)`` by their numbers, row by row."""
        row = index // self.width
        column = index - row * self.width
        return torch.stack([self.x[column], self.y[row]], -1)

    def box(self) -> tuple[list[float], list[float]]:
        """Return the unit square."""
        return [0.0, 0.0], [1.0, 1.0]
