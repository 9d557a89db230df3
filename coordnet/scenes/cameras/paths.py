"""Camera paths: orbits, spirals, and ways between given poses."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from ...checks import integer, number, positive
from ...errors import refuse
from .bounds import focus_point
from .cameras import Cameras
from .poses import average_pose, look_at, wide

__all__ = ["interpolated_path", "orbit_around", "orbit_path", "spiral_path"]


def orbit_path(
    frames: int,
    *,
    radius: float,
    elevation: float = 20.0,
    center: Tensor | Sequence[float] = (0.0, 0.0, 0.0),
    up: Tensor | Sequence[float] = (0.0, 0.0, 1.0),
    start: Tensor | Sequence[float] | None = None,
    turns: float = 1.0,
) -> Tensor:
    """Return poses on a circle around a point, all looking at it.

    The turn is counterclockwise as seen from above, and is sampled without its end point, so that
    the pictures of whole turns repeat without a stop.

    Args:
        frames: number of poses.
        radius: distance from the point, in the world's unit.
        elevation: degrees above the plane through the point, between -90 and 90.
        center: ``(3,)``, the point.
        up: ``(3,)``, the direction that is upright.
        start: ``(3,)``, the direction from the point in which the path begins, before it is
            raised; any direction across ``up`` by default.
        turns: how many times around; a negative number turns clockwise.

    Returns:
        ``(frames, 3, 4)`` float64, camera→world, OpenGL axes.

    Raises:
        InputError: no frames, a radius that is not positive, a camera straight above or below.
    """
    frames = integer("frames", frames, least=1)
    radius = positive("radius", radius)
    elevation = number("elevation", elevation, above=-90, below=90)
    middle, upright = wide(center), wide(up)
    upright = upright / torch.linalg.vector_norm(upright)
    if start is None:
        # the axis furthest from up: x where up is z
        start = torch.eye(3, dtype=torch.float64, device="cpu")[int(upright.abs().argmin())]
    first = wide(start)
    first = first - (first @ upright) * upright
    length = torch.linalg.vector_norm(first)
    if not float(length) > 1e-9:
        refuse("start must not point along up", f"start={start}")
    first = first / length
    second = torch.linalg.cross(upright, first)
    angle = 2 * math.pi * turns * torch.arange(frames, dtype=torch.float64, device="cpu") / frames
    raised = math.radians(elevation)
    level = torch.cos(angle)[:, None] * first + torch.sin(angle)[:, None] * second
    eye = middle + radius * (math.cos(raised) * level + math.sin(raised) * upright)
    return look_at(eye, middle, upright)


def orbit_around(
    cameras: Cameras,
    frames: int,
    *,
    elevation: float | None = None,
    center: Tensor | Sequence[float] | None = None,
    turns: float = 1.0,
) -> Tensor:
    """Return an orbit at the distance and height at which given cameras stand.

    Upright is the mean of their own up, the distance the median of theirs, and the path begins
    beside the first of them.

    Args:
        cameras: those of the training pictures, say.
        frames: number of poses.
        elevation: degrees; the median of the cameras' own by default, but at most 80.
        center: ``(3,)``, the point to look at; `focus_point` by default.
        turns: how many times around.

    Returns:
        As `orbit_path`.

    Raises:
        InputError: no center is given and the cameras do not look at one point.
    """
    if center is None:
        center = focus_point(cameras)
        if center is None:
            refuse(
                "an orbit needs a point that all cameras look at",
                f"{len(cameras)} cameras without one",
            )
    middle = wide(center)
    poses = wide(cameras.poses.detach())
    up = poses[..., 1].mean(0)
    length = torch.linalg.vector_norm(up)
    if not float(length) > 1e-3:
        refuse("an orbit needs cameras that agree on what is up", "none")
    up = up / length
    offset = poses[..., 3] - middle
    distance = torch.linalg.vector_norm(offset, dim=-1)
    if elevation is None:
        heights = torch.rad2deg(torch.asin((offset @ up / distance).clamp(-1, 1)))
        elevation = max(-80.0, min(80.0, float(heights.median())))
    beside = offset[0] - (offset[0] @ up) * up
    usable = float(torch.linalg.vector_norm(beside)) > 1e-6 * float(distance[0])
    return orbit_path(
        frames,
        radius=float(distance.median()),
        elevation=elevation,
        center=middle,
        up=up,
        start=beside if usable else None,
        turns=turns,
    )


def spiral_path(
    cameras: Cameras,
    frames: int,
    *,
    depth: float,
    turns: float = 2.0,
    extent: float = 0.9,
) -> Tensor:
    """Return a spiral about the mean of cameras that all look roughly the same way.

    The eye moves on an ellipse across the mean direction, to and fro along it half as often, and
    looks at one point: the way in which forward-facing scenes are usually shown.

    Args:
        cameras: those of the training pictures, say.
        frames: number of poses; the path closes where ``turns`` is even.
        depth: distance of the point looked at from the mean position, in the world's unit.
        turns: how many times around.
        extent: the half axes are this quantile of the cameras' own offsets from their mean.

    Returns:
        ``(frames, 3, 4)`` float64, camera→world, OpenGL axes.

    Raises:
        InputError: no frames, a depth that is not positive, an extent beyond 0 … 1, or cameras
            that look in directions which cancel.
    """
    frames = integer("frames", frames, least=1)
    depth = positive("depth", depth)
    extent = number("extent", extent, least=0, most=1)
    middle = average_pose(cameras.poses.detach())
    offset = (wide(cameras.positions.detach()) - middle[:, 3]) @ middle[:, :3]
    reach = torch.quantile(offset.abs(), extent, dim=0)
    angle = 2 * math.pi * turns * torch.arange(frames, dtype=torch.float64, device="cpu") / frames
    around = torch.stack([torch.cos(angle), torch.sin(angle), torch.sin(angle / 2)], -1)
    eye = middle[:, 3] + (reach * around) @ middle[:, :3].mT
    return look_at(eye, middle[:, 3] - depth * middle[:, 2], middle[:, 1])


def interpolated_path(poses: Tensor, frames: int, *, closed: bool = False) -> Tensor:
    """Return a path through given poses, in their order and evenly in their number.

    Positions lie on a Catmull–Rom spline, which passes through the given ones; directions turn
    from one to the next by the shortest way at a constant rate.

    Args:
        poses: ``(n, 3, 4)``, n at least 1.
        frames: number of poses of the path. With ``closed`` the last one comes back to the first,
            which is not repeated; else the path begins and ends with the first and the last.
        closed: whether to come back.

    Returns:
        ``(frames, 3, 4)`` float64.
    """
    frames = integer("frames", frames, least=1)
    poses = wide(poses.detach())
    count = len(poses)
    if count < 1:
        refuse("a path needs at least one pose", "none")
    if count == 1:
        return poses.expand(frames, 3, 4).clone()
    steps = torch.arange(frames, dtype=torch.float64, device="cpu")
    at = steps * count / frames if closed else steps * (count - 1) / max(1, frames - 1)
    last = count - (0 if closed else 1)
    segment = at.floor().long().clamp(max=last - 1)
    share = (at - segment)[:, None]

    def control(step: int) -> Tensor:
        which = segment + step
        return poses[which % count if closed else which.clamp(0, count - 1)]

    before, here, there, after = (control(step) for step in (-1, 0, 1, 2))
    p0, p1, p2, p3 = (pose[..., 3] for pose in (before, here, there, after))
    position = p1 + 0.5 * share * (
        p2 - p0 + share * (2 * p0 - 5 * p1 + 4 * p2 - p3 + share * (3 * (p1 - p2) + p3 - p0))
    )
    turn = _slerp(here[..., :3], there[..., :3], share[..., 0])
    return torch.cat([turn, position[..., None]], -1)


def _slerp(one: Tensor, other: Tensor, share: Tensor) -> Tensor:
    """Return rotations a share of the way from ``one`` to ``other``: one · (oneᵀ other)^share."""
    step = one.mT @ other
    twice_sine = torch.stack(
        [
            step[..., 2, 1] - step[..., 1, 2],
            step[..., 0, 2] - step[..., 2, 0],
            step[..., 1, 0] - step[..., 0, 1],
        ],
        -1,
    )
    size = torch.linalg.vector_norm(twice_sine, dim=-1)
    angle = torch.atan2(size, step.diagonal(dim1=-2, dim2=-1).sum(-1) - 1)
    # near half a turn the antisymmetric part vanishes; the axis is then the fixed direction
    fixed = torch.linalg.eigh((step + step.mT) / 2).eigenvectors[..., -1]
    fixed = torch.where(((fixed * twice_sine).sum(-1) < 0)[..., None], -fixed, fixed)
    clear = (size > 1e-3) | (angle < 1)
    axis = torch.where(clear[..., None], twice_sine / size.clamp(min=1e-300)[..., None], fixed)
    x, y, z = axis.unbind(-1)
    zero = torch.zeros_like(x)
    across = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).unflatten(-1, (3, 3))
    part = (angle * share)[..., None, None]
    eye = torch.eye(3, dtype=step.dtype, device=step.device)
    return one @ (eye + torch.sin(part) * across + (1 - torch.cos(part)) * (across @ across))
