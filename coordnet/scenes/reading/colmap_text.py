"""Reader of COLMAP's text files: cameras.txt, images.txt, points3D.txt."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ...checks import readable_file
from ...files import refuse_file
from .colmap_model import Camera, Model, Photo

__all__ = ["read_text_model"]


def read_text_model(folder: Path) -> Model:
    """Read a model; points3D.txt may be missing.

    Raises:
        InputError: a line that is not what COLMAP writes; the message has its number.
    """
    cameras: dict[int, Camera] = {}
    for place, line in _lines(folder / "cameras.txt"):
        with _conversion(folder / "cameras.txt", place, "CAMERA_ID MODEL WIDTH HEIGHT PARAMS[]"):
            number, model, width, height, *parameters = line.split()
            values = tuple(map(float, parameters))
            cameras[int(number)] = Camera(model, int(width), int(height), values)
    photos: list[Photo] = []
    lines = _lines(folder / "images.txt", keep_empty=True)
    form = "IMAGE_ID QW QX QY QZ TX TY TZ CAMERA_ID NAME, then a line of X Y POINT3D_ID"
    for place, line in lines:
        if not line.strip():
            continue
        with _conversion(folder / "images.txt", place, form):
            _, *numbers, camera, name = line.strip().split(maxsplit=9)
            quaternion, shift = np.array(numbers[:4], float), np.array(numbers[4:], float)
            if len(numbers) != 7:
                raise ValueError(f"{len(numbers) + 3} values")
            # the second line of an image may be empty, and missing at the end of the file
            seen = np.array(next(lines, (0, ""))[1].split()[2::3], dtype=np.int64)
            photos.append(Photo(name, int(camera), quaternion, shift, seen[seen >= 0]))
    return Model(cameras, photos, *_points(folder / "points3D.txt"))


def _points(file: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    numbers, places, tracks = [], [], []
    for place, line in _lines(file) if file.is_file() else ():
        with _conversion(file, place, "POINT3D_ID X Y Z R G B ERROR TRACK[]"):
            number, x, y, z, _, _, _, _, *track = line.split()
            numbers.append(int(number))
            places.append((float(x), float(y), float(z)))
            tracks.append(len(track) // 2)
    return (
        np.array(numbers, dtype=np.int64),
        np.array(places, dtype=np.float64).reshape(-1, 3),
        np.array(tracks, dtype=np.int64),
    )


def _lines(file: Path, *, keep_empty: bool = False) -> Iterator[tuple[int, str]]:
    """Yield line numbers from 1, and lines that are no comments."""
    if file.stat().st_size:
        readable_file(file, "a file of a COLMAP model")
    with file.open(encoding="utf-8", errors="surrogateescape") as stream:
        for place, line in enumerate(stream, start=1):
            if not line.startswith("#") and (keep_empty or line.strip()):
                yield place, line


@contextlib.contextmanager
def _conversion(file: Path, place: int, form: str) -> Iterator[None]:
    """Turn errors of conversion inside into one that names the file and the line."""
    try:
        yield
    except (ValueError, OverflowError) as error:
        refuse_file(file, f"a line of {file.name} must read {form}", f"line {place}: {error}")
