"""Reader of COLMAP's binary files: cameras.bin, images.bin, points3D.bin.

Little-endian and without gaps, as COLMAP's documentation of its output format describes them.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from ...checks import readable_file
from ...files import refuse_file
from .colmap_model import MODELS, Camera, Model, Photo

__all__ = ["read_binary_model"]

_BY_NUMBER = {kind.number: (name, kind.parameters) for name, kind in MODELS.items()}
_OBSERVATION = np.dtype([("xy", "<f8", 2), ("point", "<i8")])
_NO_POINT = -1


class _Reader:
    """Takes values off the front of a file, and says where it ends too early."""

    def __init__(self, file: Path) -> None:
        self.file, self.at = file, 0
        self.data = readable_file(file, "a file of a COLMAP model").read_bytes()

    def take(self, form: str) -> tuple:
        size = struct.calcsize("<" + form)
        self.need(size)
        self.at += size
        return struct.unpack_from("<" + form, self.data, self.at - size)

    def count(self, least_size: int) -> int:
        """Return a number of records, each of at least so many bytes."""
        (number,) = self.take("Q")
        self.need(number * least_size)
        return number

    def text(self) -> str:
        end = self.data.find(b"\0", self.at)
        if end < 0:
            self.need(len(self.data) - self.at + 1)
        text = self.data[self.at : end].decode("utf-8", "surrogateescape")
        self.at = end + 1
        return text

    def need(self, size: int) -> None:
        left = len(self.data) - self.at
        if size > left:
            got = f"{left:,} bytes left at byte {self.at:,} where {size:,} should follow"
            refuse_file(self.file, "a COLMAP model must be whole", got)


def read_binary_model(folder: Path) -> Model:
    """Read a model; points3D.bin may be missing.

    Raises:
        InputError: a file that is cut short, or a camera model of unknown number.
    """
    reader = _Reader(folder / "cameras.bin")
    cameras: dict[int, Camera] = {}
    for _ in range(reader.count(24)):
        number, kind, width, height = reader.take("iiQQ")
        if kind not in _BY_NUMBER:
            rule = f"a COLMAP camera's model must have a number from 0 to {len(_BY_NUMBER) - 1}"
            got = f"{kind} for camera {number}"
            refuse_file(reader.file, rule, got, "Undistort the pictures with COLMAP first.")
        name, parameters = _BY_NUMBER[kind]
        cameras[number] = Camera(name, width, height, reader.take(f"{parameters}d"))
    reader = _Reader(folder / "images.bin")
    photos: list[Photo] = []
    for _ in range(reader.count(73)):
        _, *numbers, camera = reader.take("i7di")
        name = reader.text()
        size = reader.count(_OBSERVATION.itemsize)
        seen = np.frombuffer(reader.data, _OBSERVATION, size, reader.at)["point"]
        reader.at += size * _OBSERVATION.itemsize
        quaternion, shift = np.array(numbers[:4]), np.array(numbers[4:])
        photos.append(Photo(name, camera, quaternion, shift, seen[seen != _NO_POINT]))
    return Model(cameras, photos, *_points(folder / "points3D.bin"))


def _points(file: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if not file.is_file():
        return np.empty(0, np.int64), np.empty((0, 3)), np.empty(0, np.int64)
    reader = _Reader(file)
    size = reader.count(51)
    numbers, tracks = np.empty((2, size), np.int64)
    places = np.empty((size, 3))
    for i in range(size):
        number, *place, _, _, _, _, track = reader.take("q3d3BdQ")
        reader.need(8 * track)
        reader.at += 8 * track
        numbers[i], places[i], tracks[i] = number, place, track
    return numbers, places, tracks
