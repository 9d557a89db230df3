"""Posed pictures: cameras around the origin, their rays, and files as NeRF-synthetic has them.

A camera-to-world matrix has the camera's right, up and backward in its columns: the camera looks
along its own -z, as Blender's and OpenGL's do. z is up in the world.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import coordnet as cn

ANGLE_X = 0.6911112070083618  # of NeRF-synthetic's cameras: a focal length of 50 mm on 36 mm
RADIUS = 4.031128874149275  # and how far from the origin they stand
DEPTH_UNIT = 1e-4  # a step of the depth maps' 16 bits
LOWEST, HIGHEST = -0.1, 0.95  # sines of the cameras' elevations


@dataclass(frozen=True)
class View:
    """What a camera sees.

    Attributes:
        pixels: (H, W, 4) in [0, 1]: color without the background (straight), and alpha.
        depth: (H, W) distances along the unit rays through the pixels' centers, 0 for none.
    """

    pixels: np.ndarray
    depth: np.ndarray


def look_at_origin(position: np.ndarray) -> np.ndarray:
    """Return the camera-to-world matrix (4, 4) of a camera that sees z upright."""
    backward = position / np.linalg.norm(position)
    right = np.cross([0.0, 0.0, 1.0], backward)
    right /= np.linalg.norm(right)
    pose = np.eye(4)
    pose[:3] = np.stack([right, np.cross(backward, right), backward, position], -1)
    return pose


def poses_around(number: int, generator: np.random.Generator) -> list[np.ndarray]:
    """Return cameras spread over a zone of the sphere, mostly above the origin.

    They stand on a spiral of equal areas whose steps turn by the golden angle, each moved by some
    chance, the whole turned by chance.

    Args:
        number: of cameras.
        generator: its source of chance.
    """
    golden = np.pi * (3 - np.sqrt(5))
    share = (np.arange(number) + generator.uniform(0.1, 0.9, number)) / number
    height = LOWEST + (HIGHEST - LOWEST) * share
    turn = golden * np.arange(number) + generator.uniform(0, 2 * np.pi)
    across = np.sqrt(1 - height**2)
    at = RADIUS * np.stack([across * np.cos(turn), across * np.sin(turn), height], -1)
    return [look_at_origin(position) for position in at]


def poses_ahead(number: int, generator: np.random.Generator) -> list[np.ndarray]:
    """Return cameras that all look along +y, spread over a square across it.

    Args:
        number: of cameras.
        generator: their places.
    """
    found = []
    for across, height in generator.uniform(-0.6, 0.6, (number, 2)):
        pose = np.eye(4)
        pose[:3] = [[1, 0, 0, across], [0, 0, -1, -RADIUS], [0, 1, 0, 0.1 + 0.6 * height]]
        found.append(pose)
    return found


def rays(
    pose: np.ndarray, size: int, offset: tuple[float, float] = (0.5, 0.5)
) -> tuple[np.ndarray, np.ndarray]:
    """Return origins and unit directions (size², 3) of a square picture's rays, row by row.

    Args:
        pose: camera to world.
        size: pixels a side.
        offset: (x, y) within a pixel from its upper left corner; its center by default.
    """
    focal = 0.5 * size / np.tan(0.5 * ANGLE_X)
    x = (np.arange(size) + offset[0] - 0.5 * size) / focal
    y = (np.arange(size) + offset[1] - 0.5 * size) / focal
    local = np.stack(np.broadcast_arrays(x, -y[:, None], -1.0), -1).reshape(-1, 3)
    direction = local @ pose[:3, :3].T
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    return np.broadcast_to(pose[:3, 3], direction.shape), direction


def straight(color: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Return RGBA (…, 4) of colors (…, 3) that are multiplied by their alpha (…)."""
    share = np.where(alpha > 0, alpha, 1.0)[..., None]
    return np.concatenate([np.clip(color / share, 0, 1), alpha[..., None]], -1)


def write_split(
    folder: Path,
    split: str,
    poses: Sequence[np.ndarray],
    see: Callable[[np.ndarray], View],
    *,
    depth: bool,
    say: Callable[[str], None] = print,
) -> list[Path]:
    """Write transforms_SPLIT.json and its pictures, and return their paths.

    Args:
        folder: of the scene; it exists.
        split: ``train`` or ``test``.
        poses: of the cameras.
        see: what a camera sees.
        depth: whether to write depth maps too: 16-bit gray, ``DEPTH_UNIT`` a step, 0 for nothing.
        say: is told of each picture.
    """
    (folder / split).mkdir(exist_ok=True)
    content: dict[str, object] = {"camera_angle_x": ANGLE_X}
    if depth:
        (folder / "depth").mkdir(exist_ok=True)
        content["depth_unit"] = DEPTH_UNIT
    frames: list[dict[str, object]] = []
    written = [folder / f"transforms_{split}.json"]
    for i, pose in enumerate(poses):
        view = see(pose)
        frame: dict[str, object] = {"file_path": f"./{split}/r_{i}"}
        written.append(folder / split / f"r_{i}.png")
        cn.write_image(written[-1], view.pixels)
        if depth:
            steps = np.rint(view.depth / DEPTH_UNIT)
            if steps.max() > 65535:
                raise cn.InputError("depths must fit 16 bits", f"{view.depth.max():g}", "Shrink.")
            frame["depth_path"] = f"./depth/r_{i}.png"
            written.append(folder / "depth" / f"r_{i}.png")
            cn.write_image(written[-1], steps.astype(np.uint16)[..., None])
        frame["transform_matrix"] = pose.tolist()
        frames.append(frame)
        say(f"{split} {i + 1}/{len(poses)}")
    content["frames"] = frames
    text = json.dumps(content, indent=1)
    written[0].write_text(text + "\n", "ascii", newline="\n")
    return written
