"""Reader of LLFF scenes: poses_bounds.npy and a folder of images."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from ...checks import readable_file
from ...errors import InputError
from ...files import refuse_file
from .frames import PICTURE_SUFFIXES, Capture, Frame, Intrinsics, held_out, rigid_poses

__all__ = ["holds_llff", "read_llff"]

_NAME = "poses_bounds.npy"


def holds_llff(path: Path) -> bool:
    """Whether ``path`` is a folder with poses_bounds.npy, or that file."""
    return (path.name == _NAME and path.is_file()) or (path / _NAME).is_file()


def read_llff(path: Path, split: str, hold_out: int) -> Capture:
    """Read the frames of one split.

    The file has 17 numbers a frame: a matrix of 3 × 5, row by row, whose columns are the camera's
    down, right and backward axes, its position, and (height, width, focal length); then the
    nearest and the farthest depth. World coordinates stay the file's own. The pictures are those
    in ``images`` (or ``images_8`` and the like), in the order of their names.

    Args:
        path: the folder, or the file in it.
        split: one of SPLITS.
        hold_out: every n-th frame is held out for testing.

    Raises:
        InputError: a damaged file, no frames, as many pictures as there are not frames, bounds
            that are not 0 < near < far.
    """
    file = path if path.is_file() else path / _NAME
    table = _table(file)
    capture = Capture([])
    matrices = table[:, :15].reshape(-1, 3, 5)
    right_up_back = np.stack(
        [matrices[..., 1], -matrices[..., 0], matrices[..., 2], matrices[..., 3]], -1
    )
    named = [(f"frame {i} in {file.name}", matrix) for i, matrix in enumerate(right_up_back)]
    poses = rigid_poses(named, capture.notes)
    pictures = _pictures(file, len(table))
    for i, pose in enumerate(poses):
        height, width, focal = matrices[i, :, 4]
        near, far = table[i, 15:]
        if not 0 < near < far:
            rule = f"the bounds of frame {i} must be 0 < near < far"
            refuse_file(file, rule, f"{near:g}, {far:g}")
        if min(height, width, focal) <= 0 or height != int(height) or width != int(width):
            got = f"{height:g}, {width:g}, {focal:g}"
            rule = f"frame {i} must have a whole height and width and a focal length above 0"
            refuse_file(file, rule, got)
        lens = Intrinsics(size=(int(width), int(height)), focal=(float(focal), float(focal)))
        versions = {reduction: files[i] for reduction, files in pictures.items()}
        first = versions[min(versions)] if versions else file.parent / "images"
        name = first.name if versions else f"frame {i}"
        bounds = (float(near), float(far))
        capture.frames.append(Frame(name, pose, lens, versions, first, bounds))
    chosen = held_out(len(table), split, hold_out, capture.notes)
    capture.frames = [capture.frames[i] for i in chosen]
    return capture


def _table(file: Path) -> np.ndarray:
    """Return the numbers, ``(n, 17)`` float64."""
    try:
        with readable_file(file, "a scene's file").open("rb") as stream:
            table = np.load(stream, allow_pickle=False)
    except InputError:
        raise
    # a damaged header raises nearly anything: ValueError, TokenError, OverflowError, …
    except Exception as error:
        refuse_file(file, "poses_bounds.npy must be a NumPy array", error)
    shape, kind = getattr(table, "shape", ()), getattr(table, "dtype", np.dtype(object)).kind
    if len(shape) != 2 or shape[1] != 17 or kind not in "fiu":
        refuse_file(file, "poses_bounds.npy must have 17 numbers a frame", f"shape {shape}")
    if not shape[0]:
        refuse_file(file, "a scene must have at least one frame", "no frames")
    table = table.astype(np.float64)
    if not np.isfinite(table).all():
        frame, column = np.argwhere(~np.isfinite(table))[0]
        got = f"{table[frame, column]} for frame {frame}"
        refuse_file(file, "every number in poses_bounds.npy must be finite", got)
    return table


def _pictures(file: Path, number: int) -> dict[int, list[Path]]:
    """Return the pictures, one for each frame, by reduction."""
    pictures: dict[int, list[Path]] = {}
    for folder in sorted(file.parent.iterdir()):
        match = re.fullmatch(r"images(?:_([0-9]{1,4}))?", folder.name)
        if match is None or not folder.is_dir():
            continue
        files = [file for file in folder.iterdir() if file.suffix.lower() in PICTURE_SUFFIXES]
        if len(files) != number:
            rule = f"{folder.name} must hold a picture for each of the {number} frames of {_NAME}"
            refuse_file(folder, rule, f"{len(files)} pictures")
        pictures[int(match[1] or 1)] = sorted(files)
    return pictures
