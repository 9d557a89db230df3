"""The pixels of a picture as samples, without a float copy of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..errors import refuse
from ..grids import cell_centers
from ..training.samples import Batch
from ..training.stored import StoredSamples

__all__ = ["PixelSamples"]

# weights of the pixels -1, 0, 1, 2 as polynomials of the way t from pixel 0 to pixel 1
_KEYS = (
    (0.0, 1.0, 0.0, 0.0),
    (-0.5, 0.0, 0.5, 0.0),
    (1.0, -2.5, 2.0, -0.5),
    (-0.5, 1.5, -1.5, 0.5),
)


class PixelSamples(StoredSamples):
    """Pixel centers in the unit square, and pixels divided by their peak.

    The picture stays in its own dtype; a batch is made of the pixels it asks for.

    A fit to pixels alone says nothing of what lies between them. With ``between`` a part of every
    step's batch is moved to positions drawn evenly from the unit square, whose values are
    interpolated from the 16 pixels around. The positions follow from the seed and the number of
    the step: a fit that goes on from a checkpoint meets those of one that was never stopped.

    Args:
        pixels: ``(H, W, C)``, uint8, uint16 or float32.
        peak: the pixel value that means 1.0.
        between: the part of every batch that is moved, from 0 to below 1.
        periodic: whether the picture repeats along x and along y; otherwise its edge does.
        seed: of the positions, from 0 to below 2^64.

    Raises:
        InputError: a part that is no such number.

    Example:
        >>> samples = PixelSamples(photo, 255.0, between=0.125)
        >>> cn.fit(field, samples)
    """

    def __init__(
        self,
        pixels: np.ndarray,
        peak: float,
        *,
        between: float = 0.0,
        periodic: Sequence[bool] = (False, False),
        seed: int = 0,
    ) -> None:
        if not 0 <= between < 1:
            refuse("between must be from 0 to below 1", f"between={between!r}")
        self.height, self.width, channels = pixels.shape
        super().__init__(pixels.reshape(-1, channels), peak)
        self.x, self.y = cell_centers(self.width), cell_centers(self.height)
        self.between, self.periodic, self.seed = between, tuple(periodic), seed
        self._step, self._generator = -1, torch.Generator("cpu")
        self._keys = torch.tensor(_KEYS, device="cpu")
        self._size = torch.tensor([self.width, self.height], device="cpu")

    def to(self, device: torch.device) -> PixelSamples:
        """Move the pixels, in their own dtype."""
        moved = super().to(device)
        moved.x, moved.y = self.x.to(device), self.y.to(device)
        moved._keys, moved._size = self._keys.to(device), self._size.to(device)
        return moved

    def coordinates(self, index: Tensor) -> Tensor:
        """Return the centers (x, y) of pixels ``(n, 2)`` by their numbers, row by row."""
        row = index // self.width
        column = index - row * self.width
        return torch.stack([self.x[column], self.y[row]], -1)

    def box(self) -> tuple[list[float], list[float]]:
        """Return the unit square."""
        return [0.0, 0.0], [1.0, 1.0]

    @property
    def fixed(self) -> bool:
        """Whether steps see the pixels alone."""
        return not self.between

    def draw(self, which: Batch, step: int) -> tuple[Tensor, Tensor]:
        """Return some pixels, a part of them moved to positions between."""
        x, y = self.batch(which)
        number = round(self.between * len(x))
        if not number:
            return x, y
        if step != self._step:  # a step may take its batch in several blocks
            self._step = step
            # an odd factor: other low bits, which the generator goes by, for every step
            self._generator.manual_seed((self.seed + step * 0x9E3779B97F4A7C15) % (1 << 64))
        source = {"generator": self._generator, "device": "cpu"}
        rows = torch.randperm(len(x), **source)[:number].to(x.device, non_blocking=True)
        points = torch.rand(number, 2, **source).to(x.device, non_blocking=True)
        x[rows], y[rows] = points, self.interpolate(points)
        return x, y

    def interpolate(self, points: Tensor) -> Tensor:
        """Return the picture at any positions, by cubic convolution (Keys, 1981, a = -½).

        The kernel reproduces quadratics, and the pixels at their centers. Beyond the edge the
        outermost pixels are repeated, or the picture is where it is periodic.

        Args:
            points: coordinates (x, y) in the unit square, ``(n, 2)`` float32.

        Returns:
            Values ``(n, C)``, 1.0 being the peak; they may overshoot.
        """
        position = points * self._size - 0.5
        first = position.floor()
        t = (position - first)[..., None]
        constant, linear, square, cube = self._keys
        across, down = (((cube * t + square) * t + linear) * t + constant).unbind(1)
        taps = first.long()[..., None] + torch.arange(-1, 3, device=t.device)
        columns, rows = (
            index.remainder(number) if repeats else index.clamp(0, number - 1)
            for index, number, repeats in zip(
                taps.unbind(1), (self.width, self.height), self.periodic, strict=True
            )
        )
        index = (rows * self.width)[:, :, None] + columns[:, None, :]
        weights = down[:, :, None] * across[:, None, :]
        values = self.values(index.flatten()).view(len(points), 16, -1)
        # no matrix product: autocast or TF32 would round it
        return (values * weights.view(-1, 16, 1)).sum(1)
