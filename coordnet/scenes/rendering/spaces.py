"""Maps of unbounded space into bounded space: normalized device coordinates, contraction."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from ...errors import positive_number, refuse
from ..cameras.cameras import Cameras
from ..cameras.poses import average_pose, inverse

__all__ = [
    "contract",
    "forward_facing",
    "from_ndc",
    "ndc_rays",
    "to_ndc",
    "uncontract",
]

Norm = Literal["euclidean", "max"]


def contract(points: Tensor, norm: Norm = "euclidean") -> Tensor:
    """Map all of space into the ball (or the cube) of radius 2, the inside of radius 1 unchanged.

        contract(x) = x                              where ‖x‖ ≤ 1
        contract(x) = (2 − 1/‖x‖) · x/‖x‖            elsewhere

    So equal steps far out are equal steps in inverse distance: mip-NeRF 360 (Barron et al., 2022,
    equation 10). Move and scale the world first, so that what is to keep its shape lies within 1.

    Args:
        points: ``(..., d)``, numbers up to 1e38.
        norm: "euclidean", as in the paper, gives a ball; "max", the largest of the absolute
            values, gives a cube, which a grid fills without waste.

    Returns:
        ``(..., d)``. Gradients are finite everywhere, and continuous for the Euclidean norm.
    """
    _check_norm(norm)
    size = _size(points, norm).clamp(min=1)
    return points * ((2 - 1 / size) / size)


def uncontract(points: Tensor, norm: Norm = "euclidean") -> Tensor:
    """Undo `contract`.

    Args:
        points: ``(..., d)`` of size below 2. At a size of 2 the inverse is infinite; beyond it
            there is none, and NaN is returned.
        norm: as in `contract`.

    Returns:
        ``(..., d)``.
    """
    _check_norm(norm)
    size = _size(points, norm)
    beyond = torch.where(size > 2, torch.nan, 2 - size.clamp(min=1))
    return points / (size.clamp(min=1) * beyond)


def _check_norm(norm: str) -> None:
    if norm not in ("euclidean", "max"):
        refuse('norm must be "euclidean" or "max"', f"norm={norm!r}", "Choose one.")


def _size(points: Tensor, norm: Norm) -> Tensor:
    """Return the norm ``(..., 1)``, without overflow, and with a gradient where it is at least 1.

    Below 1, where the maps do not need it, it may be any number up to 1.
    """
    largest = points.abs().amax(-1, keepdim=True)
    if norm == "max":
        return largest
    # squares of numbers above 1e19 overflow in float32
    scale = largest.detach().clamp(min=1)
    squares = (points / scale).square().sum(-1, keepdim=True)
    # the root has no gradient at 0
    return scale * torch.sqrt(squares.clamp(min=torch.finfo(points.dtype).tiny))


def ndc_rays(
    origins: Tensor,
    directions: Tensor,
    focal: float | tuple[float, float],
    size: tuple[int, int],
    near: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """Return rays in normalized device coordinates, for cameras that all look along −z.

    The frustum behind the plane z = −near becomes the cube [−1, 1]³, the plane its side z = −1 and
    infinity its side z = 1 (Mildenhall et al., 2020, appendix C). With the origin moved along the
    ray onto the plane, o' = to_ndc(o) and d' = to_ndc(∞) − o', so that the part of the ray behind
    the plane has t' in [0, 1):

        d' = (−s_x (d_x/d_z − o_x/o_z), −s_y (d_y/d_z − o_y/o_z), −2 near/o_z)

    with s = 2 focal / size.

    Args:
        origins: ``(..., 3)``, in the world of `forward_facing` or one like it.
        directions: ``(..., 3)``, any length, z below 0.
        focal: in pixels, one length or two (along x and along y).
        size: width and height of the picture in pixels.
        near: distance of the plane.

    Returns:
        Origins and directions, each ``(..., 3)``. The directions are not of unit length: t' = 1 is
        infinity. A point at t' lies in the world at t = (o_z/d_z) · t'/(1 − t') from the plane.

    Raises:
        InputError: a ray that does not go toward −z, or a near that is not positive.
    """
    near = positive_number("near", near, "Pass the distance of the nearest plane.")
    if not bool((directions[..., 2] < 0).all()):
        refuse(
            "rays in normalized device coordinates must go toward −z",
            f"a direction with z = {float(directions[..., 2].max()):.4g}",
            "Turn the world with forward_facing, or use a contraction.",
        )
    step = -(near + origins[..., 2:]) / directions[..., 2:]
    start = to_ndc(origins + step * directions, focal, size, near)
    slope = directions / directions[..., 2:]
    x, y = _frustum(focal, size)
    end = torch.stack([-x * slope[..., 0], -y * slope[..., 1], torch.ones_like(slope[..., 0])], -1)
    return start, end - start


def to_ndc(
    points: Tensor,
    focal: float | tuple[float, float],
    size: tuple[int, int],
    near: float = 1.0,
) -> Tensor:
    """Return points in normalized device coordinates; see `ndc_rays`.

        x' = −s_x x/z        y' = −s_y y/z        z' = 1 + 2 near/z

    Args:
        points: ``(..., 3)``, z below 0.
        focal: in pixels.
        size: width and height in pixels.
        near: distance of the plane that becomes z' = −1.
    """
    x, y = _frustum(focal, size)
    over = 1 / points[..., 2]
    columns = [-x * points[..., 0] * over, -y * points[..., 1] * over, 1 + 2 * near * over]
    return torch.stack(columns, -1)


def from_ndc(
    points: Tensor,
    focal: float | tuple[float, float],
    size: tuple[int, int],
    near: float = 1.0,
) -> Tensor:
    """Undo `to_ndc`; points with z' = 1 come out infinite."""
    x, y = _frustum(focal, size)
    z = 2 * near / (points[..., 2] - 1)
    return torch.stack([-points[..., 0] * z / x, -points[..., 1] * z / y, z], -1)


def _frustum(focal: float | tuple[float, float], size: tuple[int, int]) -> tuple[float, float]:
    across, down = focal if isinstance(focal, tuple) else (focal, focal)
    return 2 * across / size[0], 2 * down / size[1]


def forward_facing(
    cameras: Cameras, nearest: float, *, margin: float = 0.75
) -> tuple[Cameras, Tensor]:
    """Turn, shift and scale the world for `ndc_rays` with near = 1.

    The mean camera (`average_pose`) comes to the origin and looks along −z, and the depth
    ``margin`` · ``nearest`` becomes 1, as in NeRF's own code for such scenes.

    Args:
        cameras: that look roughly the same way.
        nearest: the least depth at which anything is seen, in the world's unit.
        margin: how much of it is left before the plane.

    Returns:
        The cameras in the new world, and the map ``(4, 4)`` float64 from the old coordinates to
        the new; its inverse brings points back.

    Raises:
        InputError: cameras that look in directions which cancel, a depth that is not positive.
    """
    scale = 1 / (
        positive_number("nearest", nearest, "Pass the least depth that is seen.")
        * positive_number("margin", margin, "Pass 0.75.")
    )
    matrix = torch.eye(4, dtype=torch.float64, device="cpu")
    matrix[:3] = scale * inverse(average_pose(cameras.poses))
    return cameras.transformed(matrix), matrix
