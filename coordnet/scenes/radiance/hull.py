"""Visual hull: the part of space that silhouettes do not show to be empty."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn import functional as F

from ...checks import box, integer
from ..cameras.cameras import Cameras

__all__ = ["visual_hull"]

_BLOCK = 1 << 18


def visual_hull(
    cameras: Cameras,
    alpha: Callable[[int], Tensor],
    lower: Sequence[float],
    upper: Sequence[float],
    resolution: int = 128,
) -> Tensor:
    """Return the cells of a grid that no picture shows to be empty (Laurentini, 1994).

    A pixel with an alpha of 0 says that its whole ray is empty. A cell is empty where, in one
    picture at least, every pixel that its bounding sphere may touch has an alpha of 0. Cells
    that lie outside a picture, or not in front of its camera, are not judged by it: the hull
    never loses a part of the scene.

    Args:
        cameras: with or without distortion, on the CPU or a GPU.
        alpha: from the number of a camera to its picture's alpha, ``(H, W)``.
        lower: lower corner of the box that the grid fills.
        upper: upper corner.
        resolution: cells along each axis.

    Returns:
        ``(resolution, resolution, resolution)`` bool, indexed by x, y and z; False is empty.

    Raises:
        InputError: a resolution below 1, or corners that make no box.
    """
    n = integer("resolution", resolution, least=1)
    low, high = box(lower, upper, 3)
    device = cameras.device
    masks = [(alpha(i).to(device) > 0) for i in range(len(cameras))]
    corner, extent = (
        torch.tensor(v, device=device, dtype=torch.float32)
        for v in (low, [b - a for a, b in zip(low, high, strict=True)])
    )
    # most cells are empty: coarse ones first, then only the parts of those that remain
    sizes = [n]
    while sizes[0] % 4 == 0 and sizes[0] > 32:
        sizes.insert(0, sizes[0] // 4)
    cells = torch.zeros(1, 3, dtype=torch.int64, device=device)
    before = 1
    for size in sizes:
        parts = torch.cartesian_prod(*[torch.arange(size // before, device=device)] * 3)
        cells = (cells[:, None] * (size // before) + parts.reshape(-1, 3)).flatten(0, 1)
        before = size
        radius = 0.5 * float(torch.linalg.vector_norm(extent / size))
        for camera in _spread(len(cameras)):
            silhouette = _Silhouette(cameras, camera, masks[camera], radius)
            blocks = [
                block[silhouette.may_hold(corner + (block + 0.5) * (extent / size))]
                for block in cells.split(_BLOCK)
            ]
            cells = torch.cat(blocks)
    hull = torch.zeros(n, n, n, dtype=torch.bool, device=device)
    hull[tuple(cells.T)] = True
    return hull


def _spread(number: int) -> list[int]:
    """Return 0 … number-1, neighbors far apart: different views carve most between them."""
    step = max(1, round(number * 0.381966))  # the golden angle
    while math.gcd(step, number) != 1:
        step += 1
    return [i * step % number for i in range(number)]


class _Silhouette:
    """One picture's mask, widened by what a cell covers."""

    def __init__(self, cameras: Cameras, camera: int, mask: Tensor, radius: float) -> None:
        self.cameras, self.camera, self.radius = cameras, camera, radius
        self.mask = mask
        self.focal = float(cameras.focal[camera].max())
        # how much wider the lens makes a small circle, at most: measured, with a margin
        self.stretch = 1.0 if cameras.distortion is None else 1.5
        self._widened: dict[int, Tensor] = {}

    def may_hold(self, points: Tensor) -> Tensor:
        """Return which spheres about ``points (M, 3)`` this picture leaves in doubt."""
        position, depth = self.cameras.project(self.camera, points)
        height, width = self.mask.shape
        near = depth <= 2 * self.radius  # at the camera, or behind it
        # a sphere of radius r at depth z appears, off the axis by an angle θ, at most
        # f r / (z - r) / cos² θ wide
        off = 1 + (
            (position - self.cameras.principal_point[self.camera]) / self.focal
        ).square().sum(-1)
        size = self.stretch * self.focal * self.radius / (depth - self.radius).clamp(min=1e-6) * off
        column, row = position.floor().unbind(-1)
        inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
        judged = inside & ~near & torch.isfinite(size)
        reach = int(size[judged].max().ceil()) if bool(judged.any()) else 0
        # a sphere that reaches beyond the edge of the picture is not wholly seen
        judged &= (position.amin(-1) >= size) & (column + size < width) & (row + size < height)
        index = (row.clamp(0, height - 1) * width + column.clamp(0, width - 1)).long()
        return ~judged | self._wide(reach).view(-1)[index]

    def _wide(self, reach: int) -> Tensor:
        """Return the mask widened by ``reach`` pixels to all sides."""
        reach = min(reach, max(self.mask.shape))
        if reach not in self._widened:
            # whole numbers in each box, from sums over all that lies before its edges
            wide = F.pad(self.mask.int(), (reach + 1, reach, reach + 1, reach))
            sums = wide.cumsum(0).cumsum(1)
            side = 2 * reach + 1
            wide = sums[side:] - sums[:-side]
            self._widened[reach] = (wide[:, side:] - wide[:, :-side]) > 0
        return self._widened[reach]
