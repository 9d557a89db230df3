"""What must hold for cameras, beyond the shapes of their tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ...errors import refuse
from .lens import can_undistort

if TYPE_CHECKING:
    from .cameras import Cameras

__all__ = ["check_values"]


def check_values(cameras: Cameras) -> None:
    """Refuse cameras with values that no camera has; the message names the first such camera."""
    _check_finite(cameras)
    _check_rotations(cameras.poses[..., :3])
    _check_pixels(cameras)
    if cameras.distortion is not None:
        _check_lenses(cameras, cameras.distortion)


def _check_pixels(cameras: Cameras) -> None:
    # what is beyond these limits would overflow on its way to unit directions
    side = cameras.sizes.to(cameras.focal.dtype)
    rules = (
        ("sizes", cameras.sizes > 0, "sizes must be above 0"),
        ("focal", cameras.focal > 1e-6 * side, "focal must be above a millionth of the sides"),
        ("center", cameras.center.abs() < 1e6 * side, "center must lie within a million sides"),
    )
    for name, good, rule in rules:
        if not bool(good.all()):
            which = _first(~good.all(1))
            got = f"camera {which}: {getattr(cameras, name)[which].tolist()}"
            refuse(rule, got, "Pass pixels.")


def _first(bad: Tensor) -> int:
    return int(bad.nonzero()[0])


def _check_finite(cameras: Cameras) -> None:
    for name in ("poses", "focal", "center", "distortion"):
        value = getattr(cameras, name)
        if value is None:
            continue
        bad = ~torch.isfinite(value).flatten(1).all(1)
        if bool(bad.any()):
            which = _first(bad)
            got = f"camera {which}: {value[which].tolist()}"
            refuse(f"{name} must be finite", got, "Leave that camera out, or calibrate it again.")


def _check_rotations(turn: Tensor) -> None:
    off = (turn.mT @ turn - torch.eye(3, dtype=turn.dtype, device="cpu")).abs().amax((1, 2))
    # single precision leaves 1e-6; more would lengthen the rays' directions
    bad = (off > 1e-4) | (torch.linalg.det(turn) < 0)
    if bool(bad.any()):
        which = _first(bad)
        refuse(
            "the first three columns of a pose must be a rotation",
            f"camera {which}: {turn[which].tolist()}",
            "The columns are the camera's right, up and backward axes, of length 1.",
        )


def _check_lenses(cameras: Cameras, distortion: Tensor) -> None:
    # a lens that folds over anywhere does so toward the picture's border first
    along = torch.linspace(0, 1, 9, dtype=torch.float64, device="cpu")
    grid = torch.cartesian_prod(along, along)
    points = (grid * cameras.sizes[:, None] - cameras.center[:, None]) / cameras.focal[:, None]
    bad = ~can_undistort(points, distortion[:, None]).all(1)
    if bool(bad.any()):
        which = _first(bad)
        names = zip(("k1", "k2", "p1", "p2"), distortion[which].tolist(), strict=True)
        refuse(
            "a lens's distortion must be one that can be undone all over the picture",
            f"camera {which}: {', '.join(f'{name} {value:g}' for name, value in names)}",
            "Check the coefficients, the focal length and the size of the picture.",
        )
