"""Values that no camera has, refused."""

from __future__ import annotations

import torch
from torch import Tensor

from ...errors import refuse
from .lens import can_undistort

__all__ = ["check_values"]


def check_values(
    poses: Tensor, focal: Tensor, principal_point: Tensor, sizes: Tensor, distortion: Tensor | None
) -> None:
    """Refuse values that no camera has; the message names the first such camera.

    Args:
        poses: as the attribute of `Cameras`.
        focal: likewise.
        principal_point: likewise.
        sizes: likewise.
        distortion: likewise.
    """
    values = {"poses": poses, "focal": focal, "principal_point": principal_point}
    for name, value in {**values, "distortion": distortion}.items():
        if value is not None:
            _require(torch.isfinite(value), value, f"{name} must be finite")
    _check_rotations(poses[..., :3])
    # what is beyond these limits would overflow on its way to unit directions
    side = sizes.to(focal.dtype)
    _require(sizes > 0, sizes, "sizes must be above 0")
    _require(focal > 1e-6 * side, focal, "focal must be above a millionth of the sides")
    within = principal_point.abs() < 1e6 * side
    _require(within, principal_point, "principal_point must lie within a million sides")
    if distortion is None:
        return
    # a lens that folds over anywhere does so toward the picture's border first
    along = torch.linspace(0, 1, 9, dtype=torch.float64, device="cpu")
    grid = torch.cartesian_prod(along, along)
    points = (grid * sizes[:, None] - principal_point[:, None]) / focal[:, None]
    rule = "distortion k1, k2, p1, p2 must be one that can be undone all over the picture"
    _require(can_undistort(points, distortion[:, None]), distortion, rule)


def _check_rotations(turn: Tensor) -> None:
    off = (turn.mT @ turn - torch.eye(3, dtype=turn.dtype, device="cpu")).abs().amax((1, 2))
    # single precision leaves 1e-6; more would lengthen the rays' directions
    good = (off <= 1e-4) & (torch.linalg.det(turn) >= 0)
    _require(good, turn, "the first three columns of a pose must be a rotation")


def _require(good: Tensor, values: Tensor, rule: str) -> None:
    """Refuse the values of the first camera for which not all of ``good (n, …)`` holds."""
    bad = ~good.flatten(1).all(1) if good.ndim > 1 else ~good
    if bool(bad.any()):
        first = int(bad.nonzero()[0])
        refuse(rule, f"camera {first}: {values[first].tolist()}")
