"""Posed scenes: pictures and the cameras that took them, from files of any known format."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from ...checks import integer
from ...files import refuse_file
from ..cameras.bounds import SceneBox, arrangement, box_from_poses
from ..cameras.cameras import Cameras
from .formats import read_capture
from .frames import Frame
from .images import SceneImages

__all__ = ["Scene", "read_cameras", "read_scene"]

_FAR = 1000  # times the cameras' extent: float32 then rounds positions to 6e-5 of it


@dataclass(frozen=True, eq=False)
class Scene:
    """The frames of one split of a scene.

    Attributes:
        cameras: n cameras, their intrinsics those of the pictures as they are here.
        names: n names of frames, as the files have them.
        images: n pictures.
        path: what was read.
        format: one of FORMATS.
        split: "train", "val", "test" or "all".
        box: where the scene is likely to lie, with the way in which that was found; None where
            neither the files nor the poses tell.
        near_far: ``(n, 2)`` float64, the depths along the optical axis between which the scene
            lies in each picture, in the world's unit; None where the files do not tell.
        points: ``(N, 3)`` float64, known points in the scene; None where the files have none.
        notes: sentences for the console, on what was chosen or is not plain.
        warnings: sentences on what is likely a mistake.
    """

    cameras: Cameras
    names: tuple[str, ...]
    images: SceneImages
    path: Path
    format: str
    split: str
    box: SceneBox | None
    near_far: Tensor | None
    points: Tensor | None
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        name = str(self.path)
        where = name if len(name) <= 60 else f"…{name[-59:]}"
        alpha = "with alpha" if self.has_alpha else "without alpha"
        return f"Scene({where!r}, {self.format}, {self.split}, {alpha}, {self.cameras})"

    @property
    def has_alpha(self) -> bool:
        """Whether any pixel of any picture is not opaque."""
        return self.images.has_alpha


def read_scene(
    path: str | os.PathLike[str],
    split: str = "train",
    *,
    downscale: int = 1,
    format: str | None = None,
    every: int = 1,
    hold_out: int = 8,
    skip_missing: bool = False,
    progress: Callable[[int], object] | None = None,
) -> Scene:
    """Read posed pictures.

    Formats: Blender's of NeRF-synthetic (a folder with transforms_train.json and the like),
    nerfstudio's and instant-ngp's (transforms.json, or any JSON file of that form), LLFF's
    (poses_bounds.npy and images), and COLMAP's sparse models, text or binary (sparse/0 and
    images). World coordinates are those of the files. Camera axes become OpenGL's, intrinsics
    follow the pictures' size.

    Where the files name no splits, frames 0, n, 2n … (n = ``hold_out``) in their order are those
    of "test" and of "val", and the others those of "train".

    Args:
        path: a folder, a transforms file, or poses_bounds.npy.
        split: "train", "val", "test", or "all".
        downscale: how many times smaller the sides of the pictures are made, by the mean over
            areas of premultiplied color; sides that are not divisible are rounded. Pictures in a
            folder images_8 beside ``images`` are used for a downscale of 8, and so on.
        format: one of FORMATS; found out by default.
        every: keep frames 0, every, 2 · every … of the split alone.
        hold_out: the rate of held-out frames, where the files name no splits; 0 for none.
        skip_missing: leave out frames whose picture is not there, instead of refusing the scene.
        progress: called with 1 after each picture.

    Returns:
        The scene, in the order of the files (COLMAP: of the names).

    Raises:
        InputError: no scene there, or of several formats none asked for exists; damaged files; no
            frames in the split; a pose that mirrors, shears or is not finite; a lens that is not
            known; a picture that is missing, damaged, or not of the size that the files say. The
            message names the frame and the file.

    Example:
        >>> import torch, coordnet as cn
        >>> scene = cn.scenes.read_scene("chair", downscale=4)
        >>> table = cn.scenes.RayTable(scene.cameras)
        >>> pixel = torch.randint(len(table), (4096,))
        >>> origins, directions = table.rays(pixel)
        >>> color, alpha = scene.images.pixels(pixel)
    """
    path = Path(path)
    downscale = integer("downscale", downscale, least=1)
    capture, name = read_capture(path, split, format, every, hold_out)
    notes, warnings = list(capture.notes), list(capture.warnings)
    stored = _stored_reduction(path, capture.frames, downscale, skip_missing, notes)
    frames = [frame for frame in capture.frames if stored in frame.pictures]
    reduction = max(1, downscale // stored)
    full: list[tuple[int, int]] = [(0, 0)] * len(frames)
    read: list[tuple[int, int]] = list(full)

    def check(i: int, width: int, height: int) -> None:
        read[i] = width, height
        full[i] = _full_size(frames[i], width, height, stored)

    images = SceneImages.load(
        [frame.pictures[stored] for frame in frames],
        [frame.name for frame in frames],
        reduction,
        check=check,
        progress=progress,
    )
    cameras = _cameras(frames, full).with_sizes(images.sizes)
    if any(side % reduction for size in read for side in size):
        notes.append(
            f"Sides that {reduction} does not divide were rounded; every pixel is the mean of the"
            " area that it covers."
        )
    near_far = [frame.near_far for frame in frames if frame.near_far is not None]
    warnings += _about_poses(cameras, split)
    return Scene(
        cameras=cameras,
        names=tuple(frame.name for frame in frames),
        images=images,
        path=path,
        format=name,
        split=split,
        box=capture.box if capture.box is not None else box_from_poses(cameras),
        near_far=torch.tensor(near_far, dtype=torch.float64, device="cpu")
        if len(near_far) == len(frames)
        else None,
        points=None if capture.points is None else torch.from_numpy(capture.points),
        notes=(*notes, *images.notes),
        warnings=tuple(warnings),
    )


def read_cameras(
    path: str | os.PathLike[str],
    split: str = "all",
    *,
    size: tuple[int, int] | None = None,
    format: str | None = None,
    every: int = 1,
) -> Cameras:
    """Read the cameras of a scene alone: the pictures need not be there.

    Args:
        path: as for `read_scene`.
        split: "all" by default.
        size: width and height wanted; intrinsics follow. By default the size that the files say,
            and else that of the pictures.
        format: one of FORMATS; found out by default.
        every: keep frames 0, every, 2 · every … alone.

    Raises:
        InputError: as `read_scene`; also where the focal length is given in pixels and nothing
            tells of how large a picture.
    """
    path = Path(path)
    capture, _ = read_capture(path, split, format, every, 0)
    full: list[tuple[int, int]] = []
    for frame in capture.frames:
        if frame.lens.size is not None:
            full.append(frame.lens.size)
        elif size is not None and frame.lens.scales:
            full.append(size)
        elif frame.pictures:
            from ...image_files.reading import read_image

            reduction = min(frame.pictures)
            image = read_image(frame.pictures[reduction])
            full.append((image.width * reduction, image.height * reduction))
        else:
            rule = f"frame {frame.name!r} must tell the size of its picture"
            refuse_file(frame.path, rule, "neither w and h, nor a picture there")
    cameras = _cameras(capture.frames, full)
    return cameras if size is None else cameras.resized(*size)


def _stored_reduction(
    path: Path, frames: list[Frame], downscale: int, skip_missing: bool, notes: list[str]
) -> int:
    """Choose the folder of pictures by its reduction, and check that all pictures are there.

    The one of the reduction wanted, else the largest pictures that can be made smaller to it;
    where the full size is wanted and missing, the largest there are.
    """
    some = {reduction for frame in frames for reduction in frame.pictures}
    complete = {n for n in some if all(n in frame.pictures for frame in frames)}
    available = sorted(complete or some)
    dividing = [reduction for reduction in available if downscale % reduction == 0]
    if downscale in available:
        stored = downscale
    elif dividing:
        stored = dividing[0]
    elif available and downscale == 1:
        stored = available[0]
    elif available:
        sizes = ", ".join(f"1/{reduction}" for reduction in available)
        got = f"downscale={downscale} with pictures of {sizes} of the size"
        refuse_file(path, "downscale must be a multiple of one at hand", got)
    else:
        stored = 1
    missing = [frame for frame in frames if stored not in frame.pictures]
    if missing and (not skip_missing or len(missing) == len(frames)):
        first = missing[0]
        more = f" ({len(missing)} of {len(frames)} frames have none)" if len(missing) > 1 else ""
        rule = f"every frame must have its picture: frame {first.name!r}"
        refuse_file(first.path, rule, f"no such file, nor with a suffix such as .png{more}")
    if missing:
        notes.append(
            f"{len(missing)} of {len(frames)} frames have no picture and are left out, first"
            f" {missing[0].name!r}."
        )
    if stored > 1:
        why = "as asked" if stored == downscale else "the largest that there are"
        notes.append(f"The pictures are those stored at 1/{stored} of the size, {why}.")
    return stored


def _full_size(frame: Frame, width: int, height: int, stored: int) -> tuple[int, int]:
    """Return the size that the lens is described for; refuse a picture of another size."""
    if frame.lens.size is None:
        return width * stored, height * stored
    # a program that makes pictures smaller may round a side either way
    fits = all(
        abs(side - whole / stored) < 1
        for side, whole in zip((width, height), frame.lens.size, strict=True)
    )
    if not fits:
        expected = " x ".join(f"{whole / stored:g}" for whole in frame.lens.size)
        rule = f"the picture of frame {frame.name!r} must be {expected} pixels, as its camera says"
        refuse_file(frame.pictures[stored], rule, f"{width} x {height}")
    return frame.lens.size


def _cameras(frames: list[Frame], full: list[tuple[int, int]]) -> Cameras:
    """Return the cameras of full-size pictures."""

    def rows(values: list[tuple[float, ...]]) -> Tensor:
        return torch.tensor(values, dtype=torch.float64, device="cpu")

    sized = list(zip(frames, full, strict=True))
    distorted = any(any(frame.lens.distortion) for frame in frames)
    return Cameras(
        torch.stack([torch.from_numpy(frame.pose) for frame in frames]),
        rows([frame.lens.focal_for(*size) for frame, size in sized]),
        rows([frame.lens.principal_point_for(*size) for frame, size in sized]),
        torch.tensor(full, device="cpu"),
        rows([frame.lens.distortion for frame in frames]) if distorted else None,
    )


def _about_poses(cameras: Cameras, split: str) -> list[str]:
    """Warn where pictures cannot tell how far away things are."""
    if split in ("val", "test"):
        return []
    if len(cameras) == 1:
        return ["There is a single picture: it fits any depth, and other views will be wrong."]
    if arrangement(cameras) == "still":
        return [
            f"All {len(cameras)} cameras stand at one place: their pictures tell nothing about"
            " depth, and views from elsewhere will be wrong."
        ]
    extent = float((cameras.positions.amax(0) - cameras.positions.amin(0)).max())
    offset = float(cameras.positions.abs().max())
    if offset > _FAR * extent:
        return [
            f"The cameras stand {offset:.3g} from the origin within {extent:.3g} of each other:"
            f" rays in single precision lose {math.log10(offset / extent):.0f} of their 7 digits."
            " Subtract an offset from all positions."
        ]
    return []
