"""The part of space that cameras show: boxes, where rays cross them, guesses from poses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from ...errors import refuse
from .cameras import Cameras
from .poses import wide

__all__ = [
    "SceneBox",
    "arrangement",
    "box_from_poses",
    "focus_point",
    "near_far_box",
    "near_far_from_poses",
]

Point = tuple[float, float, float]

# an orbit has 2/3 of its optical axes' spread across any direction; ±8° about one direction, 0.02
_LEAST_SPREAD = 0.02
_MARGIN = 1.05


@dataclass(frozen=True)
class SceneBox:
    """A box in world coordinates, its sides along the axes.

    Attributes:
        lower: its corner of least x, y and z.
        upper: its corner of largest x, y and z.
        source: how it was got, as the end of a sentence: "the box is taken from …".
    """

    lower: Point
    upper: Point
    source: str

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            object.__setattr__(self, name, tuple(float(value) for value in getattr(self, name)))
        # written so that NaN is refused too
        if not all(low < high for low, high in zip(self.lower, self.upper, strict=True)):
            got = f"lower={self.lower}, upper={self.upper}"
            refuse("a box must have its lower corner below its upper", got)

    @property
    def center(self) -> Point:
        """The middle."""
        x, y, z = ((low + high) / 2 for low, high in zip(self.lower, self.upper, strict=True))
        return x, y, z

    @property
    def half_diagonal(self) -> float:
        """The distance from the middle to a corner."""
        squares = ((high - low) ** 2 for low, high in zip(self.lower, self.upper, strict=True))
        return 0.5 * sum(squares) ** 0.5


def near_far_box(
    origins: Tensor,
    directions: Tensor,
    lower: Tensor | Sequence[float],
    upper: Tensor | Sequence[float],
) -> tuple[Tensor, Tensor]:
    """Return where rays enter and leave a box, by the slab method.

    Args:
        origins: ``(..., 3)``.
        directions: ``(..., 3)``, of any length; components of 0 are fine.
        lower: ``(3,)``, the box's corner of least x, y and z.
        upper: ``(3,)``, its corner of largest x, y and z.

    Returns:
        Near and far, each ``(...)``, in lengths of the direction: the points origin + t · direction
        with near < t < far are those of the ray inside the box. Near is 0 for a ray that starts
        in the box. A ray that misses the box, or has it behind it, has the empty interval
        near = far = 0; where ``far > near`` the ray hits.
    """
    lower = torch.as_tensor(lower, dtype=origins.dtype, device=origins.device)
    upper = torch.as_tensor(upper, dtype=origins.dtype, device=origins.device)
    # a division, not a product with the inverse: 0 · inf is NaN where an origin lies on a face
    one, other = (lower - origins) / directions, (upper - origins) / directions
    still = directions == 0
    between = (lower <= origins) & (origins <= upper)
    always = torch.where(between, torch.inf, -torch.inf).to(origins.dtype)
    enter = torch.where(still, -always, torch.minimum(one, other)).amax(-1).clamp(min=0)
    leave = torch.where(still, always, torch.maximum(one, other)).amin(-1)
    hit = leave > enter
    zero = torch.zeros_like(enter)
    return torch.where(hit, enter, zero), torch.where(hit, leave, zero)


def focus_point(cameras: Cameras) -> Tensor | None:
    """Return the point nearest to the optical axes of all cameras, in the least-squares sense.

    It solves Σ (1 − d dᵀ)(p − o) = 0 over the positions o and directions d.

    Returns:
        ``(3,)`` float64; None where there is no such point in front of nearly all cameras: fewer
        than two positions, axes that are nearly parallel (within some 8° of each other in the
        root mean square), or cameras that look away from each other.
    """
    positions, toward = _axes(cameras)
    if _still(positions):
        return None
    across = (
        torch.eye(3, dtype=toward.dtype, device="cpu") - toward[:, :, None] * toward[:, None, :]
    )
    mean = across.mean(0)
    if float(torch.linalg.eigvalsh(mean)[0]) < _LEAST_SPREAD:
        return None
    point = torch.linalg.solve(mean, (across @ positions[..., None]).mean(0)[:, 0])
    ahead = ((point - positions) * toward).sum(-1) > 0
    return point if float(ahead.double().mean()) >= 0.9 else None


def arrangement(cameras: Cameras) -> Literal["still", "inward", "forward", "outward"]:
    """Return how cameras stand to the scene, which decides how its space is best bounded.

    Returns:
        "inward": their axes meet in front of them (see `focus_point`): a box around that point.
        "forward": their axes are nearly parallel, all within 60° of their mean. "outward":
        neither, as inside a room. "still": they all stand at one place, and their pictures tell
        nothing about depth.
    """
    positions, toward = _axes(cameras)
    if _still(positions):
        return "still"
    if focus_point(cameras) is not None:
        return "inward"
    mean = toward.mean(0)
    length = torch.linalg.vector_norm(mean)
    if float(length) > 0.5 and bool((toward @ mean > 0.5 * length).all()):
        return "forward"
    return "outward"


def box_from_poses(cameras: Cameras) -> SceneBox | None:
    """Guess a scene's box from cameras that look at it from around.

    It is a cube about `focus_point`. Half its side is the largest that any of the cameras sees at
    that distance, distance · (half the picture's longer side) / focal length, and 5 % more: for
    the cameras of NeRF-synthetic 1.52, where the objects are known to lie within 1.5.

    Returns:
        The box; None where the cameras have no point that they all look at.
    """
    center = focus_point(cameras)
    if center is None:
        return None
    half = _MARGIN * float(_visible(cameras, center).max())
    lower, upper = (center - half).tolist(), (center + half).tolist()
    source = "what the cameras see around the point that they look at"
    return SceneBox(tuple(lower), tuple(upper), source)


def near_far_from_poses(cameras: Cameras) -> tuple[float, float]:
    """Guess the distances between which rays meet the scene, for cameras that look at it.

    The scene is taken to fill the sphere about `focus_point` that holds the box of
    `box_from_poses`. Near is never less than a hundredth of the least distance to its middle.

    Returns:
        Near and far, in the world's unit.

    Raises:
        InputError: the cameras have no point that they all look at.
    """
    center = focus_point(cameras)
    if center is None:
        refuse(
            "near and far follow from the poses only where all cameras look at one point",
            f"{len(cameras)} cameras that look {_LOOK[arrangement(cameras)]}",
        )
    distance = torch.linalg.vector_norm(_axes(cameras)[0] - center, dim=-1)
    radius = 3**0.5 * _MARGIN * float(_visible(cameras, center).max())
    least, most = float(distance.min()), float(distance.max())
    return max(least - radius, 0.01 * least), most + radius


_LOOK = {
    "still": "from one place",
    "inward": "inwards",
    "forward": "the same way",
    "outward": "outwards",
}


def _axes(cameras: Cameras) -> tuple[Tensor, Tensor]:
    """Return positions and directions, each ``(n, 3)`` float64 on the CPU."""
    poses = wide(cameras.poses.detach())
    return poses[..., 3], -poses[..., 2]


def _still(positions: Tensor) -> bool:
    """Whether all positions are one, to the rounding of float64."""
    if len(positions) < 2:
        return True
    extent = positions.amax(0) - positions.amin(0)
    return float(extent.max()) <= 1e-12 * float(positions.abs().max())


def _visible(cameras: Cameras, center: Tensor) -> Tensor:
    """Return half the longer side of what each camera sees at its distance from ``center``."""
    distance = torch.linalg.vector_norm(_axes(cameras)[0] - center, dim=-1)
    half = (0.5 * cameras.sizes / cameras.focal).amax(-1)
    return distance * wide(half)
