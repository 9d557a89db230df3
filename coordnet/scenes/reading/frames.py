"""Frames of a posed scene, whatever its format: poses, intrinsics and pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...errors import refuse
from ..cameras.bounds import SceneBox
from ..cameras.poses import rigid_pose

__all__ = [
    "PICTURE_SUFFIXES",
    "SPLITS",
    "Capture",
    "Frame",
    "Intrinsics",
    "entries",
    "held_out",
    "is_file",
    "rigid_poses",
    "versions",
]

SPLITS = ("train", "val", "test", "all")

_MAX_SIDE = 1 << 20

# in the order in which they are tried where a file_path leaves its suffix out, as Blender's do
PICTURE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp")


@dataclass(frozen=True)
class Intrinsics:
    """A lens as a file describes it; what it leaves out follows from the picture's size.

    Attributes:
        size: width and height of the full-size picture.
        focal: along x and y, in pixels of the full-size picture.
        angle: the whole field of view along x and along y, in radians, where there is no focal.
        principal_point: in those pixels; the middle by default.
        distortion: k1, k2, p1, p2.
    """

    size: tuple[int, int] | None = None
    focal: tuple[float | None, float | None] = (None, None)
    angle: tuple[float | None, float | None] = (None, None)
    principal_point: tuple[float | None, float | None] = (None, None)
    distortion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        if self.size is not None and max(self.size) > _MAX_SIDE:
            rule = f"a camera's picture must have at most {_MAX_SIDE:,} pixels a side"
            refuse(rule, " x ".join(map(str, self.size)))

    @property
    def scales(self) -> bool:
        """Whether nothing is given in pixels, so that pictures of any size have this lens."""
        return self.focal == (None, None) == self.principal_point

    def focal_for(self, width: int, height: int) -> tuple[float, float]:
        """Return the focal lengths in pixels of a full-size picture; square pixels by default."""
        x, y = (
            0.5 * side / math.tan(0.5 * angle) if focal is None and angle is not None else focal
            for side, focal, angle in zip((width, height), self.focal, self.angle, strict=True)
        )
        known = x if x is not None else y
        assert known is not None
        return (known if x is None else x), (known if y is None else y)

    def principal_point_for(self, width: int, height: int) -> tuple[float, float]:
        """Return the principal point in pixels of a full-size picture."""
        x, y = self.principal_point
        return (width / 2 if x is None else x), (height / 2 if y is None else y)


@dataclass(frozen=True, eq=False)
class Frame:
    """One picture and its camera.

    Attributes:
        name: what the file calls it, for messages.
        pose: ``(3, 4)`` float64, camera→world, OpenGL axes.
        lens: the intrinsics.
        pictures: the files that exist, by reduction: ``{1: images/a.png, 8: images_8/a.png}``.
        path: where the full-size picture should be.
        near_far: depths along the optical axis between which the scene lies, where known.
    """

    name: str
    pose: np.ndarray
    lens: Intrinsics
    pictures: dict[int, Path]
    path: Path
    near_far: tuple[float, float] | None = None


@dataclass(eq=False)
class Capture:
    """The frames of one split, and what else the files say.

    Attributes:
        frames: at least one.
        box: of the scene, where the files give one.
        points: ``(N, 3)`` float64 of known points in the scene.
        notes: sentences for the console.
        warnings: the same, for what is likely a mistake.
    """

    frames: list[Frame]
    box: SceneBox | None = None
    points: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def rigid_poses(matrices: Sequence[tuple[str, object]], notes: list[str]) -> list[np.ndarray]:
    """Check all poses with `rigid_pose`, and note the uniform scales that were taken out.

    Args:
        matrices: names for messages, and camera→world matrices.
        notes: gains a sentence where there were such scales.
    """
    poses = [rigid_pose(matrix, who) for who, matrix in matrices]
    scales = [scale for _, scale in poses if scale != 1.0]
    if scales:
        span = f"{min(scales):.4g}"
        if max(scales) - min(scales) > 1e-3 * min(scales):
            span += f" to {max(scales):.4g}"
        notes.append(
            f"The axes of {len(scales)} of {len(poses)} cameras have the length {span}; they were"
            " made 1, which changes no picture."
        )
    return [pose for pose, _ in poses]


def held_out(number: int, split: str, every: int, notes: list[str]) -> list[int]:
    """Choose the frames of a split where the files name none: every n-th is held out.

    Frames 0, n, 2n … are those of "test" and of "val", the others those of "train". A single
    frame is not held out.

    Args:
        number: how many frames there are.
        split: one of SPLITS.
        every: n; 0 holds out none.
        notes: gains a sentence.

    Raises:
        InputError: "val" or "test" is asked for and no frame is held out.
    """
    if split == "all":
        return list(range(number))
    tested = list(range(0, number, every)) if every > 0 and number > 1 else []
    if split != "train":
        if not tested:
            got = f"{number} frames, of which none is held out"
            refuse(f"a scene's split {split!r} must have frames", got)
        return tested
    if tested:
        which = "1 frame (frame 0)" if len(tested) == 1 else f"{len(tested)} frames (0, {every}, …)"
        notes.append(f"The files name no test frames: {which} of {number} held out for testing.")
    chosen = set(tested)
    return [i for i in range(number) if i not in chosen]


def versions(path: Path, listing: Callable[[Path], list[Path]]) -> dict[int, Path]:
    """Return the files that hold a picture, by reduction.

    The name may lack its suffix. A folder ``images`` may have siblings ``images_2``, ``images_8``
    with the same pictures at 1/2 and 1/8 of the size, under another suffix perhaps.

    Args:
        path: where the full-size picture should be.
        listing: from a folder to its entries; cached by the caller.
    """
    exact = _existing(path)
    files = {} if exact is None else {1: exact}
    parts = path.parts
    if "images" not in parts[:-1]:
        return files
    at = len(parts) - 2 - parts[:-1][::-1].index("images")
    for folder in listing(Path(*parts[:at])):
        _, _, digits = folder.name.partition("images_")
        if folder.name == f"images_{digits}" and digits.isdecimal() and int(digits) > 1:
            other = _existing(folder.joinpath(*parts[at + 1 :]))
            if other is None:
                other = _existing(folder.joinpath(*parts[at + 1 :]).with_suffix(""))
            if other is not None:
                files[int(digits)] = other
    return files


def entries(folder: Path) -> list[Path]:
    """Return what is in a folder, by name; nothing where there is none that can be read."""
    try:
        return sorted(folder.iterdir())
    except (OSError, ValueError):
        return []


def is_file(path: Path) -> bool:
    """Whether there is such a file; no file has a name that no file system takes."""
    try:
        return path.is_file()
    except OSError:
        return False


def _existing(path: Path) -> Path | None:
    """Return the path, or the path with a suffix, where there is such a file."""
    if is_file(path):
        return path
    for suffix in PICTURE_SUFFIXES if path.name else ():
        for ending in (suffix, suffix.upper()):
            other = path.with_name(path.name + ending)
            if is_file(other):
                return other
    return None
