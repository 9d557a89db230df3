"""Table of the rays of all pixels of many cameras, with directions computed once per lens."""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from .cameras import Cameras

__all__ = ["RayTable"]

_BLOCK = 1 << 18


class RayTable:
    """The pixels of all cameras in one numbering, and their rays at the price of a rotation.

    Pixels are numbered camera by camera and row by row: pixel (column, row) of camera i is number
    ``offsets[i] + row · width + column``. Directions in a camera's own axes are worked out once
    for every distinct lens and picture size, in float64, and kept as float32.

    Args:
        cameras: any, on the device where rays are wanted.
        max_bytes: how much memory the directions may take; where they need more (many large
            pictures, each with a lens of its own) none are kept, and every ray is worked out anew.

    Attributes:
        cameras: the cameras.
        offsets: ``(n + 1,)`` int64, the number of the first pixel of each, and the total.
    """

    def __init__(self, cameras: Cameras, max_bytes: int = 1 << 28) -> None:
        self.cameras = cameras
        width, height = cameras.sizes.unbind(-1)
        total = torch.cumsum(width * height, 0)
        self.offsets = torch.cat([total.new_zeros(1), total])
        self._number = int(self.offsets[-1])
        same = len(cameras) > 0 and bool((cameras.sizes == cameras.sizes[:1]).all())
        self._width, self._height = cameras.sizes[0].tolist() if same else (0, 0)
        # column by column: sums of products stay exact under autocast and TF32, unlike matmul
        self._turns = cameras.poses[..., :3].float().permute(2, 0, 1).contiguous()
        self._positions = cameras.positions.float().contiguous()
        self._directions: Tensor | None = None
        self._starts = self.offsets[:-1]
        self._fill(max_bytes)

    def _fill(self, max_bytes: int) -> None:
        cameras = self.cameras
        parts = [cameras.focal, cameras.principal_point, cameras.sizes.to(cameras.focal.dtype)]
        if cameras.distortion is not None:
            parts.append(cameras.distortion)
        rows = [tuple(row) for row in torch.cat(parts, -1).tolist()]
        firsts = {row: i for i, row in reversed(list(enumerate(rows)))}
        sizes = {i: int(cameras.sizes[i].prod()) for i in firsts.values()}
        if 12 * sum(sizes.values()) > max_bytes or not rows:
            return
        starts, directions, used = {}, [], 0
        for first, size in sizes.items():
            starts[first] = used
            used += size
            directions.append(_local_directions(cameras, first))
        self._directions = torch.cat(directions)
        self._starts = torch.tensor([starts[firsts[row]] for row in rows], device=cameras.device)

    def __len__(self) -> int:
        """Return the number of pixels of all cameras."""
        return self._number

    def to(self, device: torch.device | str) -> RayTable:
        """Return the table on a device."""
        moved = copy.copy(self)
        moved.cameras = self.cameras.to(device)
        for name in ("offsets", "_turns", "_positions", "_directions", "_starts"):
            value = getattr(self, name)
            setattr(moved, name, None if value is None else value.to(device))
        return moved

    def locate(self, pixel: Tensor) -> tuple[Tensor, Tensor]:
        """Return which camera a pixel belongs to, and its number within that camera's picture.

        Args:
            pixel: whole numbers from 0 to the number of pixels less 1.

        Returns:
            Two int64 tensors of the same shape.
        """
        if self._width:
            size = self._width * self._height
            camera = torch.div(pixel, size, rounding_mode="floor")
            return camera, pixel - camera * size
        camera = torch.searchsorted(self.offsets, pixel, right=True) - 1
        return camera, pixel - self.offsets[camera]

    def rays(self, pixel: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rays through the centers of pixels.

        Args:
            pixel: ``(N,)`` whole numbers, as `locate` takes them.

        Returns:
            Origins and unit directions in world coordinates, each ``(N, 3)`` float32.
        """
        camera, within = self.locate(pixel)
        if self._directions is None:
            width = self.cameras.sizes[camera, 0]
            row = torch.div(within, width, rounding_mode="floor")
            return self.cameras.rays(camera, torch.stack([within - row * width, row], -1))
        # index_select takes a third of the time of an index in brackets
        local = self._directions.index_select(0, self._starts.index_select(0, camera) + within)
        right, up, back = (column.index_select(0, camera) for column in self._turns)
        x, y, z = local.split(1, -1)
        directions = right * x + up * y + back * z
        return self._positions.index_select(0, camera), directions


def _local_directions(cameras: Cameras, camera: int) -> Tensor:
    """Return the directions of all pixels of one camera, row by row: ``(height·width, 3)``."""
    width, height = cameras.sizes[camera].tolist()
    directions = torch.empty(height * width, 3, dtype=torch.float32, device=cameras.device)
    for start in range(0, height * width, _BLOCK):
        within = torch.arange(start, min(start + _BLOCK, height * width), device=cameras.device)
        row = torch.div(within, width, rounding_mode="floor")
        position = torch.stack([within - row * width, row], -1).to(cameras.focal.dtype) + 0.5
        directions[start : start + _BLOCK] = cameras.directions_at(camera, position)
    return directions
