"""A sparse model of COLMAP in memory, and its camera models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import refuse
from ...image_files.checks import MAX_PIXELS
from .frames import Intrinsics

__all__ = ["MODELS", "Camera", "Model", "Photo", "camera_to_world", "intrinsics"]


@dataclass(frozen=True)
class Kind:
    """A camera model of COLMAP.

    Attributes:
        number: its id in binary files.
        parameters: how many it has.
        names: what they are, for the models that can be read: f, fx, fy, cx, cy, k1, k2, p1, p2.
    """

    number: int
    parameters: int
    names: tuple[str, ...] = ()


MODELS = {
    "SIMPLE_PINHOLE": Kind(0, 3, ("f", "cx", "cy")),
    "PINHOLE": Kind(1, 4, ("fx", "fy", "cx", "cy")),
    "SIMPLE_RADIAL": Kind(2, 4, ("f", "cx", "cy", "k1")),
    "RADIAL": Kind(3, 5, ("f", "cx", "cy", "k1", "k2")),
    "OPENCV": Kind(4, 8, ("fx", "fy", "cx", "cy", "k1", "k2", "p1", "p2")),
    "OPENCV_FISHEYE": Kind(5, 8),
    "FULL_OPENCV": Kind(6, 12),
    "FOV": Kind(7, 5),
    "SIMPLE_RADIAL_FISHEYE": Kind(8, 4),
    "RADIAL_FISHEYE": Kind(9, 5),
    "THIN_PRISM_FISHEYE": Kind(10, 12),
    "RAD_TAN_THIN_PRISM_FISHEYE": Kind(11, 16),
}


@dataclass(frozen=True)
class Camera:
    """A camera as the model has it: the name of its kind, the size, the parameters."""

    kind: str
    width: int
    height: int
    parameters: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Photo:
    """An image as the model has it.

    Attributes:
        name: of its file, relative to the folder of images.
        camera: the number of its camera.
        quaternion: ``(4,)``, w, x, y, z: the rotation world→camera.
        shift: ``(3,)``, the translation world→camera.
        seen: numbers of the points that it shows.
    """

    name: str
    camera: int
    quaternion: np.ndarray
    shift: np.ndarray
    seen: np.ndarray


@dataclass(frozen=True, eq=False)
class Model:
    """A sparse model.

    Attributes:
        cameras: by number.
        photos: in the file's order.
        numbers: ``(N,)``, of the points.
        points: ``(N, 3)``.
        tracks: ``(N,)``, how many images show each point.
    """

    cameras: dict[int, Camera]
    photos: list[Photo]
    numbers: np.ndarray
    points: np.ndarray
    tracks: np.ndarray


def intrinsics(camera: Camera, who: str) -> Intrinsics:
    """Return a camera's lens.

    Args:
        camera: the camera.
        who: names it, for messages.

    Raises:
        InputError: a camera model that cannot be read, or numbers that make no camera.
    """
    kind = MODELS.get(camera.kind)
    if kind is None or not kind.names:
        able = ", ".join(name for name, kind in MODELS.items() if kind.names)
        refuse(
            f"the camera model of {who} must be one of {able}",
            camera.kind,
            "Undistort the pictures with COLMAP's image_undistorter first.",
        )
    finite = np.isfinite(np.array(camera.parameters)).all()
    if len(camera.parameters) != kind.parameters or not finite:
        rule = f"a camera {camera.kind} has {kind.parameters} finite parameters: {who}"
        refuse(rule, camera.parameters)
    values = dict(zip(kind.names, camera.parameters, strict=True))
    focal = values.get("fx", values.get("f", 0.0)), values.get("fy", values.get("f", 0.0))
    sides = camera.width, camera.height
    if min(*focal, *sides) <= 0 or max(sides) > MAX_PIXELS:
        got = f"{camera.width} x {camera.height}, focal length {focal[0]:g}, {focal[1]:g}"
        rule = f"the size and focal length of {who} must be above 0, and sides below 2^27"
        refuse(rule, got)
    k1, k2, p1, p2 = (values.get(key, 0.0) for key in ("k1", "k2", "p1", "p2"))
    return Intrinsics(
        size=(camera.width, camera.height),
        focal=focal,
        principal_point=(values["cx"], values["cy"]),
        distortion=(k1, k2, p1, p2),
    )


def camera_to_world(photo: Photo) -> np.ndarray:
    """Return the camera→world matrix ``(3, 4)`` of an image, with y down and z forward.

    With R the rotation of the quaternion and t the shift: [Rᵀ, −Rᵀ t].
    """
    w, x, y, z = photo.quaternion / np.linalg.norm(photo.quaternion)
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return np.concatenate([turn.T, -turn.T @ photo.shift[:, None]], 1)
