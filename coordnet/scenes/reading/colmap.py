"""Scenes reconstructed by COLMAP: a sparse model, text or binary, and a folder of images."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from ...errors import refuse
from ...files import refuse_file
from ..cameras.bounds import SceneBox
from ..cameras.poses import from_opencv
from .colmap_model import Model, intrinsics, pose
from .frames import Capture, Frame, Intrinsics, entries, held_out, rigid_poses, versions

__all__ = ["holds_colmap", "read_colmap"]

_PLACES = ("", "sparse/0", "sparse", "colmap/sparse/0", "colmap/sparse")
# sparse points hold mismatches: what lies beyond these shares of them is no bound of the scene
_NEAR_FAR = (0.1, 99.9)
_BOX = (1.0, 99.0)
_MARGIN = 0.05
_LARGEST = 1e30  # rays are float32
_SURE = 3  # images that must show a point before it counts for the box


def holds_colmap(path: Path) -> bool:
    """Whether ``path`` is a folder with a sparse model in it, or at a usual place below it."""
    return path.is_dir() and _model_folder(path) is not None


def _model_folder(path: Path) -> tuple[Path, str] | None:
    for place in _PLACES:
        folder = path / place
        for suffix in (".bin", ".txt"):
            if all((folder / (name + suffix)).is_file() for name in ("cameras", "images")):
                return folder, suffix
    return None


def read_colmap(path: Path, split: str, hold_out: int) -> Capture:
    """Read the frames of one split, in the order of their names.

    World coordinates stay COLMAP's own; the cameras' axes become OpenGL's. The pictures are those
    in the folder ``images`` beside the model or above it.

    Args:
        path: a folder with a sparse model in it, in sparse/0, in sparse or in colmap/sparse/0.
        split: one of SPLITS.
        hold_out: every n-th frame is held out for testing.

    Raises:
        InputError: files that are damaged, no images, a camera model that cannot be read.
    """
    found = _model_folder(path)
    if found is None:
        remedy = "Name a folder with cameras.bin and images.bin (or .txt), or with sparse/0."
        refuse_file(path, "a COLMAP scene must hold a sparse model", "none", remedy)
    folder, suffix = found
    if suffix == ".bin":
        from .colmap_binary import read_binary_model as read
    else:
        from .colmap_text import read_text_model as read
    model = read(folder)
    if not model.photos:
        refuse_file(folder, "a scene must have at least one frame", "no images", "Map again.")
    capture = Capture([])
    if folder.name == "0" and (folder.parent / "1").is_dir():
        capture.notes.append(f"COLMAP made several models; {folder} is read.")
    _add_frames(capture, model, folder, _images_folder(path, folder))
    chosen = held_out(len(model.photos), split, hold_out, capture.notes)
    capture.frames = [capture.frames[i] for i in chosen]
    return capture


def _images_folder(path: Path, model: Path) -> Path:
    """Return the folder of images: below what was named, or below a folder above the model."""
    for folder in (path, *model.parents[:3]):
        if (folder / "images").is_dir() or any(folder.glob("images_*")):
            return folder / "images"
    return path / "images"


def _add_frames(capture: Capture, model: Model, folder: Path, images: Path) -> None:
    photos = sorted(model.photos, key=lambda photo: photo.name)
    lenses: dict[int, Intrinsics] = {}
    for number, camera in model.cameras.items():
        if any(photo.camera == number for photo in photos):
            lenses[number] = intrinsics(camera, f"camera {number} in {folder}")
    matrices = []
    for photo in photos:
        who = f"image {photo.name!r} in {folder}"
        if photo.camera not in lenses:
            got = f"camera {photo.camera}"
            refuse(f"the camera of {who} must be in the model", got, "Export the model again.")
        unit = (np.abs(photo.quaternion) < 2).all()
        if not unit or abs(np.linalg.norm(photo.quaternion) - 1) > 1e-3:
            got = photo.quaternion.tolist()
            refuse(f"the quaternion of {who} must have length 1", got, "Export the model again.")
        if not (np.abs(photo.shift) < _LARGEST).all():
            got = photo.shift.tolist()
            refuse(f"the shift of {who} must be finite", got, "Export the model again.")
        matrices.append((who, pose(photo)))
    poses = [from_opencv(each) for each in rigid_poses(matrices, capture.notes)]
    if not (np.abs(model.points) < _LARGEST).all():
        which = int(np.argwhere(~(np.abs(model.points) < _LARGEST))[0, 0])
        got = f"{model.points[which].tolist()} for point {model.numbers[which]}"
        refuse_file(folder, "every point must be finite", got, "Export the model again.")
    order = np.argsort(model.numbers)
    numbers, points = model.numbers[order], model.points[order]
    listing = functools.cache(entries)
    spans = []
    for photo, matrix in zip(photos, poses, strict=True):
        place = np.searchsorted(numbers, photo.seen).clip(max=max(0, len(numbers) - 1))
        known = numbers[place] == photo.seen if len(numbers) else np.zeros(0, bool)
        spans.append(_depths(points[place[known]] if len(numbers) else points, matrix))
    given = [span for span in spans if span is not None]
    widest = (min(low for low, _ in given), max(high for _, high in given)) if given else None
    if given and len(given) < len(spans):
        capture.notes.append(
            f"{len(spans) - len(given)} of {len(spans)} images show no points of the model; near"
            " and far are taken from all the others."
        )
    for photo, matrix, span in zip(photos, poses, spans, strict=True):
        wanted = images / photo.name
        capture.frames.append(
            Frame(
                photo.name,
                matrix,
                lenses[photo.camera],
                versions(wanted, listing),
                wanted,
                span if span is not None else widest,
            )
        )
    capture.points = model.points if len(model.points) else None
    capture.box = _box(model)


def _depths(points: np.ndarray, matrix: np.ndarray) -> tuple[float, float] | None:
    """Return the depths along a camera's axis between which nearly all of the points lie."""
    depth = (points - matrix[:, 3]) @ -matrix[:, 2]
    depth = depth[depth > 0]
    if len(depth) < 2:
        return None
    near, far = np.percentile(depth, _NEAR_FAR)
    return (float(near), float(far)) if near < far else None


def _box(model: Model) -> SceneBox | None:
    """Return the box of nearly all points, a little wider."""
    sure = model.points[model.tracks >= _SURE]
    points = sure if len(sure) >= 100 else model.points
    if len(points) < 8:
        return None
    lower, upper = np.percentile(points, _BOX, axis=0)
    margin = _MARGIN * (upper - lower).max()
    if not margin > 0:
        return None
    lower, upper = (lower - margin).tolist(), (upper + margin).tolist()
    source = f"the middle 98 % of COLMAP's {len(points):,} points along each axis"
    return SceneBox(tuple(lower), tuple(upper), source)
