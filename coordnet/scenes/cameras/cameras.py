"""Pinhole cameras with lens distortion, and the rays through their pixels."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import SupportsIndex, cast

import numpy as np
import torch
from torch import Tensor

from ...checks import integer, positive
from ...constants import supports_float64
from ...errors import refuse
from ...modes import as_tensor
from . import lens
from .checks import check_values
from .poses import inverse

__all__ = ["Cameras"]


@dataclass(frozen=True, eq=False)
class Cameras:
    """n cameras: where they stand, and how they map the world to pixels.

    A pose maps camera coordinates to world coordinates. A camera's axes are OpenGL's: x to the
    right, y up, and it looks along −z. Pixels are counted from the upper left; the center of the
    pixel in column c and row r lies at (c + ½, r + ½). A point (x, y, −1) in front of a camera
    without distortion appears, with focal lengths f and the principal point c, at

        column = c_x + f_x · x        row = c_y − f_y · y

    Everything is held, and rays are worked out, in float64 (float32 on a device without it); rays
    come out as float32.

    Attributes:
        poses: ``(n, 3, 4)``, [R t], camera→world.
        focal: ``(n, 2)``, focal lengths in pixels, along x and along y.
        principal_point: ``(n, 2)``, in pixels from the picture's upper left corner.
        sizes: ``(n, 2)`` int64, width and height in pixels.
        distortion: ``(n, 4)``, k1, k2, p1, p2 (see `lens.distort`); None where no lens distorts.

    Raises:
        InputError: shapes that do not go together; no finite numbers; a pose whose first three
            columns are no rotation; a focal length or a size that is not positive; a distortion
            that cannot be undone within a picture.

    Example:
        >>> from coordnet.scenes import Cameras, look_at
        >>> cameras = Cameras.pinhole(look_at((0, -4, 1), (0, 0, 0)), 222.2, width=160, height=120)
        >>> origins, directions = cameras.image_rays(0)
        >>> directions.shape
        torch.Size([19200, 3])
    """

    poses: Tensor
    focal: Tensor
    principal_point: Tensor
    sizes: Tensor
    distortion: Tensor | None = None

    def __repr__(self) -> str:
        sizes = {f"{width} x {height}" for width, height in self.sizes.tolist()}
        size = sizes.pop() if len(sizes) == 1 else "different"
        lens = ", with distortion" if self.distortion is not None else ""
        return f"Cameras({len(self.poses)}, pictures of {size} pixels{lens}, {self.poses.device})"

    def __post_init__(self) -> None:
        device = as_tensor(self.poses).device
        wide = torch.float64 if supports_float64(device) else torch.float32
        number = len(self.poses)
        tails = {"poses": (3, 4), "focal": (2,), "principal_point": (2,), "sizes": (2,)}
        if self.distortion is not None:
            tails["distortion"] = (4,)
        for name, tail in tails.items():
            dtype = torch.int64 if name == "sizes" else wide
            value = as_tensor(getattr(self, name)).to(device, dtype)
            if value.shape != (number, *tail):
                got = f"{name} of shape {tuple(value.shape)} with {number} poses"
                refuse(f"{name} must have shape ({', '.join(map(str, ('n', *tail)))})", got)
            object.__setattr__(self, name, value)
        if device.type == "cpu":  # elsewhere each test would wait for the device
            check_values(self.poses, self.focal, self.principal_point, self.sizes, self.distortion)

    @classmethod
    def pinhole(
        cls,
        poses: Tensor | np.ndarray,
        focal: float | tuple[float, float],
        *,
        width: int,
        height: int,
        principal_point: tuple[float, float] | None = None,
        distortion: Sequence[float] | None = None,
    ) -> Cameras:
        """Return cameras that share one lens.

        Args:
            poses: ``(n, 3, 4)``, or ``(3, 4)`` for one camera.
            focal: in pixels, one length or two (along x and along y).
            width: of the pictures, in pixels.
            height: of the pictures, in pixels.
            principal_point: in pixels; the middle of the picture by default.
            distortion: k1, k2, p1, p2.
        """
        width, height = integer("width", width, least=1), integer("height", height, least=1)
        all_poses = as_tensor(poses)
        all_poses = all_poses[None] if all_poses.ndim == 2 else all_poses

        def rows(values: Sequence[float]) -> Tensor:
            row = torch.tensor([float(v) for v in values], dtype=torch.float64, device="cpu")
            return row.repeat(len(all_poses), 1)

        return cls(
            all_poses,
            rows(focal if isinstance(focal, tuple) else (focal, focal)),
            rows(principal_point if principal_point is not None else (width / 2, height / 2)),
            rows((width, height)),
            None if distortion is None else rows(distortion),
        )

    def __len__(self) -> int:
        return len(self.poses)

    def __getitem__(self, which: int | slice | Sequence[int] | Tensor) -> Cameras:
        """Return some of the cameras; a single index gives one camera, still with its axis n."""
        if isinstance(which, slice):
            chosen = which
        elif isinstance(which, Tensor):
            chosen = which.reshape(-1)
        elif isinstance(which, (list, tuple, range, np.ndarray)):
            chosen = torch.as_tensor(list(which), device=self.device)
            chosen = chosen.long() if not len(chosen) else chosen
        else:
            # an IndexError beyond the last ends an iteration
            chosen = [operator.index(cast(SupportsIndex, which))]
        return Cameras(
            self.poses[chosen],
            self.focal[chosen],
            self.principal_point[chosen],
            self.sizes[chosen],
            None if self.distortion is None else self.distortion[chosen],
        )

    @property
    def device(self) -> torch.device:
        """Where the tensors are."""
        return self.poses.device

    @property
    def positions(self) -> Tensor:
        """``(n, 3)``, where the cameras stand."""
        return self.poses[..., 3]

    @property
    def view_directions(self) -> Tensor:
        """``(n, 3)``, the unit directions along which they look."""
        return -self.poses[..., 2]

    def to(self, device: torch.device | str) -> Cameras:
        """Return the cameras on a device."""
        device = torch.device(device)
        wide = torch.float64 if supports_float64(device) else torch.float32
        return replace(self, poses=self.poses.to(wide).to(device))

    def with_poses(self, poses: Tensor, camera: int = 0) -> Cameras:
        """Return cameras at ``poses (m, 3, 4)``, all with the lens and size of one of these."""
        cameras = self[[camera] * len(poses)]
        return replace(cameras, poses=as_tensor(poses).to(self.device))

    def scaled(self, factor: float) -> Cameras:
        """Return the cameras of pictures ``factor`` times as large, sides rounded to whole pixels.

        The intrinsics follow the sides as they are after rounding.
        """
        return self.with_sizes((self.sizes * positive("factor", factor)).round().long())

    def resized(self, width: int, height: int) -> Cameras:
        """Return the cameras of the same pictures resampled to one size; intrinsics follow."""
        sizes = [integer("width", width, least=1), integer("height", height, least=1)]
        return self.with_sizes(torch.tensor(sizes, device=self.device).expand(len(self), 2))

    def with_sizes(self, sizes: Tensor) -> Cameras:
        """Return the cameras of the same pictures resampled to sizes ``(n, 2)``, width and height.

        A pixel stays the average of its share of the picture, so that focal lengths and principal
        points scale with the sides.
        """
        if not bool((sizes >= 1).all()):
            which = int((sizes < 1).any(1).nonzero()[0])
            width, height = self.sizes[which].tolist()
            refuse(
                "a smaller picture must have at least one pixel left in each direction",
                f"{width} x {height} pixels made {' x '.join(map(str, sizes[which].tolist()))}",
            )
        ratio = sizes.to(self.device, self.focal.dtype) / self.sizes
        point = self.principal_point * ratio
        return replace(self, focal=self.focal * ratio, principal_point=point, sizes=sizes)

    def transformed(self, matrix: Tensor | np.ndarray) -> Cameras:
        """Return the cameras in other world coordinates.

        Args:
            matrix: ``(3, 4)`` or ``(4, 4)``, [sR t] from these world coordinates to the others:
                a rotation, a uniform scale s and a shift. Pictures stay as they are.
        """
        matrix = as_tensor(matrix).to(self.device, self.poses.dtype)
        scale = torch.linalg.det(matrix[:3, :3]) ** (1 / 3)
        turn = matrix[:3, :3] / scale @ self.poses[..., :3]
        position = self.positions @ matrix[:3, :3].mT + matrix[:3, 3]
        return replace(self, poses=torch.cat([turn, position[..., None]], -1))

    def rays(self, camera: Tensor | int, pixel: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rays through the centers of pixels.

        Args:
            camera: whole numbers, which camera each ray belongs to; its shape broadcasts with the
                pixels' leading axes.
            pixel: ``(..., 2)`` whole numbers, column and row. They need not lie in the picture.

        Returns:
            Origins and unit directions in world coordinates, each ``(..., 3)`` float32.

        Raises:
            InputError: pixels that are not whole numbers.
        """
        if pixel.dtype.is_floating_point:
            remedy = "Use rays_at for positions, in which the center of pixel (0, 0) is (½, ½)."
            refuse("pixels must be whole numbers: column and row", f"dtype {pixel.dtype}", remedy)
        return self.rays_at(camera, pixel.to(self.focal.dtype) + 0.5)

    def rays_at(self, camera: Tensor | int, position: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rays through any points of the pictures.

        Args:
            camera: as in `rays`.
            position: ``(..., 2)``, x and y in pixels from the picture's upper left corner.

        Returns:
            As `rays`.
        """
        local = self.directions_at(camera, position)
        pose = self.poses[camera]
        directions = (pose[..., :3] * local[..., None, :]).sum(-1)
        return pose[..., 3].expand_as(directions).float(), directions.float()

    def directions_at(self, camera: Tensor | int, position: Tensor) -> Tensor:
        """Return unit directions in a camera's own axes for points of its picture.

        Args:
            camera: as in `rays`.
            position: as in `rays_at`.

        Returns:
            ``(..., 3)`` in the dtype of the poses: float64 where the device has it.
        """
        offset = position.to(self.focal.dtype) - self.principal_point[camera]
        point = offset / self.focal[camera]
        if self.distortion is not None:
            point = lens.undistort(point, self.distortion[camera])
        x, y = point.unbind(-1)
        length = torch.sqrt(x * x + y * y + 1)
        return torch.stack([x / length, -y / length, -1 / length], -1)

    def image_rays(self, i: int, rows: slice | None = None) -> tuple[Tensor, Tensor]:
        """Return the rays of all pixels of one picture, row by row.

        Args:
            i: which camera.
            rows: the rows wanted; all where None.

        Returns:
            Origins and unit directions, each ``(number of rows · width, 3)`` float32.
        """
        width, height = self.sizes[i].tolist()
        row = torch.arange(height, device=self.device)[rows or slice(None)]
        column = torch.arange(width, device=self.device)
        row, column = torch.meshgrid(row, column, indexing="ij")
        return self.rays(i, torch.stack([column.reshape(-1), row.reshape(-1)], -1))

    def project(self, camera: Tensor | int, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return where points of the world appear.

        Args:
            camera: as in `rays`, broadcasting with the points' leading axes.
            points: ``(..., 3)``, world coordinates.

        Returns:
            Positions ``(..., 2)`` in pixels, x and y from the upper left corner, and depths
            ``(...)`` along the axis of the camera, in the world's unit. The position of a point
            with a depth of 0 or less means nothing: it is not in front of the camera. A point so
            far off the axis that a distorting lens shows it nowhere has an infinite position.
        """
        pose = inverse(self.poses[camera])
        points = points.to(self.device, pose.dtype)
        local = (pose[..., :3] * points[..., None, :]).sum(-1) + pose[..., 3]
        depth = -local[..., 2]
        point = torch.stack([local[..., 0], -local[..., 1]], -1) / depth[..., None]
        if self.distortion is not None:
            coefficients = self.distortion[camera]
            seen = point.square().sum(-1) < lens.fold_radius_squared(coefficients)
            point = torch.where(seen[..., None], lens.distort(point, coefficients), torch.inf)
        return point * self.focal[camera] + self.principal_point[camera], depth
