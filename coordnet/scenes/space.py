"""Space of a scene's model: a box, or all of space about a center."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import refuse
from ..text import plural, readable
from .cameras.bounds import SceneBox, arrangement, focus_point
from .cameras.cameras import Cameras
from .reading.scene import Scene

__all__ = ["Space", "choose_space"]

_NEAR = 0.05  # radii, where the files do not tell what is nearest
_NEAREST = 0.8  # of what the files say is nearest
_ROOM = 1.05


@dataclass(frozen=True)
class Space:
    """Where a scene lies.

    Attributes:
        lower: the lower corner of the box, or of the cube that an unbounded model leaves as it is.
        upper: the upper corner.
        bounded: whether everything lies between them.
        focus: what the cameras look at.
        note: a sentence for the console.
        near: where rays begin in an unbounded model, in radii.
    """

    lower: list[float]
    upper: list[float]
    bounded: bool
    focus: list[float]
    note: str
    near: float = _NEAR

    @property
    def center(self) -> list[float]:
        """The middle of the box."""
        return [(low + high) / 2 for low, high in zip(self.lower, self.upper, strict=True)]

    @property
    def radius(self) -> float:
        """Half the side of the cube."""
        return (self.upper[0] - self.lower[0]) / 2


def choose_space(scene: Scene, space: str | None) -> Space:
    """Return the space of a scene.

    Pictures with alpha show things that end: a box. Others show all that is there, unless the
    user says otherwise: all of space, about what the cameras look at, or about the cameras
    themselves, where they look the same way or outwards.

    Args:
        scene: the training views.
        space: "box", "unbounded", or None to choose.

    Raises:
        InputError: poses that do not tell where the scene is.
    """
    kind = arrangement(scene.cameras)
    if space == "box" or (space is None and (scene.has_alpha or kind == "still")):
        return _box(scene, space, kind)
    if kind == "still":
        refuse(
            "cameras must stand at several places to show what is far",
            f"{plural(len(scene), 'camera')} in {readable(scene.path)} at one place",
            "Take pictures from elsewhere too.",
        )
    return _unbounded(scene, kind)


def _box(scene: Scene, space: str | None, kind: str) -> Space:
    box: SceneBox | None = scene.box
    if box is None:
        refuse(
            "the poses must tell where the scene is: cameras that look at one place",
            f"{plural(len(scene), 'camera')} in {readable(scene.path)} that do not",
            "Pass --space unbounded." if kind != "still" else "Take pictures from elsewhere too.",
        )
    note = f"The box of the scene is {box.source}."
    if space is None and not scene.has_alpha:
        note += " Its pictures have no alpha: what lies beyond the box is not shown."
    return Space(list(box.lower), list(box.upper), True, list(box.center), note)


def _unbounded(scene: Scene, kind: str) -> Space:
    cameras = scene.cameras
    positions, focus = cameras.positions.double().cpu(), focus_point(cameras)
    middle = positions.mean(0)
    nearest, usual = _depths(scene)
    extent = float((positions - middle).abs().max())
    if kind == "inward" and focus is not None:
        center, radius = focus, _ROOM * float((positions - focus).abs().max())
        where = "what the cameras look at"
    elif kind == "forward":
        # what is nearest lies where the contraction begins, as in normalized device coordinates
        center, radius = middle, max(_ROOM * extent, nearest or 0.0)
        ahead = cameras.view_directions.double().cpu().mean(0)
        ahead = ahead / torch.linalg.vector_norm(ahead)
        focus = middle + ahead * (usual or 3 * radius)
        where = "the cameras"
    else:
        center, radius, focus = middle, _ROOM * extent, middle
        where = "the cameras"
    lower, upper = (center - radius).tolist(), (center + radius).tolist()
    near = _NEAR if nearest is None else max(_NEAR / 10, _NEAREST * nearest / radius)
    note = (
        f"Its space has no bounds: what is more than {radius:.4g} from the middle of {where} is "
        "drawn together. (--space box shows what lies in a box alone.)"
    )
    return Space(lower, upper, False, focus.tolist(), note, near)


def _depths(scene: Scene) -> tuple[float | None, float | None]:
    """Return the least and the usual depth of what is seen, as far as the files tell."""
    if scene.near_far is not None:
        near, far = scene.near_far.double().T
        # the mean in inverse distance, in which parallax is even
        return float(near.min()), float(2 / (1 / near.median() + 1 / far.median()))
    if scene.points is None or not len(scene.points):
        return None, None
    depths = _seen_depths(scene.cameras, scene.points.double().cpu())
    if not len(depths):
        return None, None
    return float(depths.quantile(0.005)), float(depths.median())


def _seen_depths(cameras: Cameras, points: Tensor) -> Tensor:
    """Return the depths of some of the points in the pictures of some of the cameras."""
    points = points[:: max(1, len(points) // 2000)]
    depths = []
    for i in range(0, len(cameras), max(1, len(cameras) // 16)):
        at, depth = cameras.project(i, points.to(cameras.poses.dtype))
        inside = ((at >= 0) & (at <= cameras.sizes[i])).all(-1) & (depth > 0)
        depths.append(depth[inside])
    return torch.cat(depths).double()
