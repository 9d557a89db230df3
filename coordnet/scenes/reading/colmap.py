"""Reader of COLMAP scenes: a sparse model, text or binary, and a folder of images."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from ...errors import refuse
from ...files import refuse_file
from ..cameras.bounds import SceneBox
from ..cameras.poses import from_opencv
from .colmap_model import Model, camera_to_world, intrinsics
from .frames import Capture, Frame, Intrinsics, entries, held_out, rigid_poses, versions

__all__ = ["holds_colmap", "read_colmap"]

_PLACES = ("", "sparse/0", "sparse", "colmap/sparse/0", "colmap/sparse")
# sparse points hold mismatches: what lies beyond these shares of them is no bound of the scene
_NEAR_FAR = (0.1, 99.9)
_BOX = (1.0, 99.0)
_MARGIN = 0.05
_LARGEST = 1e30  # rays are float32
_CONFIRMED = 3  # images that must show a point before it counts for the box


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
    place = _model_folder(path)
    if place is None:
        remedy = "Name a folder with cameras.bin and images.bin (or .txt), or with sparse/0."
        refuse_file(path, "a COLMAP scene must hold a sparse model", "none", remedy)
    folder, suffix = place
    if suffix == ".bin":
        from .colmap_binary import read_binary_model as read
    else:
        from .colmap_text import read_text_model as read
    model = read(folder)
    if not model.photos:
        refuse_file(folder, "a scene must have at least one frame", "no images")
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
            refuse(f"the camera of {who} must be in the model", f"camera {photo.camera}")
        unit = (np.abs(photo.quaternion) < 2).all()
        if not unit or abs(np.linalg.norm(photo.quaternion) - 1) > 1e-3:
            refuse(f"the quaternion of {who} must have length 1", photo.quaternion.tolist())
        if not (np.abs(photo.shift) < _LARGEST).all():
            refuse(f"the shift of {who} must be finite", photo.shift.tolist())
        matrices.append((who, camera_to_world(photo)))
    poses = [from_opencv(pose) for pose in rigid_poses(matrices, capture.notes)]
    bad = ~(np.abs(model.points) < _LARGEST).all(1)
    if bad.any():
        got = f"{model.points[bad][0].tolist()} for point {model.numbers[bad][0]}"
        refuse_file(folder, "every point must be finite", got)
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
        path, lens = images / photo.name, lenses[photo.camera]
        near_far = widest if span is None else span
        frame = Frame(photo.name, matrix, lens, versions(path, listing), path, near_far)
        capture.frames.append(frame)
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
    confirmed = model.points[model.tracks >= _CONFIRMED]
    points = confirmed if len(confirmed) >= 100 else model.points
    if len(points) < 8:
        return None
    lower, upper = np.percentile(points, _BOX, axis=0)
    margin = _MARGIN * (upper - lower).max()
    if not margin > 0:
        return None
    lower, upper = (lower - margin).tolist(), (upper + margin).tolist()
    source = f"the middle 98 % of COLMAP's {len(points):,} points along each axis"
    return SceneBox(tuple(lower), tuple(upper), source)
