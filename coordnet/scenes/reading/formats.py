"""Formats of posed scenes, and which of them a path has."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from ...checks import integer, one_of
from ...errors import refuse
from ...files import refuse_file
from .colmap import holds_colmap, read_colmap
from .frames import SPLITS, Capture
from .llff import holds_llff, read_llff
from .transforms import holds_blender, holds_transforms, read_transforms, splits_of_transforms

__all__ = ["FORMATS", "is_scene", "read_capture", "scene_splits"]


class Format(NamedTuple):
    """A format of posed scenes.

    Attributes:
        holds: tells whether a path has this format.
        read: from a path, a split and the rate of held-out frames to the frames.
        splits: the splits that the files name.
    """

    holds: Callable[[Path], bool]
    read: Callable[[Path, str, int], Capture]
    splits: Callable[[Path], tuple[str, ...]]


FORMATS: dict[str, Format] = {
    "blender": Format(holds_blender, read_transforms, splits_of_transforms),
    "nerfstudio": Format(holds_transforms, read_transforms, splits_of_transforms),
    "llff": Format(holds_llff, read_llff, lambda _: ()),
    "colmap": Format(holds_colmap, read_colmap, lambda _: ()),
}
"""The formats by name, in the order in which a path is tried."""


def is_scene(path: str | os.PathLike[str]) -> bool:
    """Whether a folder or a file is a posed scene, by the names of the files there."""
    return any(format.holds(Path(path)) for format in FORMATS.values())


def scene_splits(path: str | os.PathLike[str]) -> tuple[str, ...]:
    """Return the splits that the files of a scene name; none where frames have to be held out."""
    path = Path(path)
    return FORMATS[_format_of(path, None, [])].splits(path)


def read_capture(
    path: Path, split: str, format: str | None, every: int, hold_out: int
) -> tuple[Capture, str]:
    """Return the frames of a split, and the format's name; see `coordnet.scenes.read_scene`."""
    one_of("split", split, SPLITS)
    every = integer("every", every, least=1)
    hold_out = integer("hold_out", hold_out, least=0)
    if hold_out == 1:
        refuse("hold_out must leave frames to train on", "hold_out=1")
    notes: list[str] = []
    name = _format_of(path, format, notes)
    capture = FORMATS[name].read(path, split, hold_out)
    capture.notes[:0] = notes
    if every > 1:
        total = len(capture.frames)
        capture.frames = capture.frames[::every]
        capture.notes.append(f"{len(capture.frames)} of {total} frames kept: one in {every}.")
    return capture, name


def _format_of(path: Path, format: str | None, notes: list[str]) -> str:
    if format is not None:
        one_of("format", format, FORMATS)
    if not path.exists():
        refuse_file(path, "a scene must be a folder or a file", "no such path")
    fitting = [name for name, entry in FORMATS.items() if entry.holds(path)]
    if not fitting or (format is not None and format not in fitting):
        refuse_file(
            path,
            "a scene must hold transforms_train.json, transforms.json, poses_bounds.npy, or a"
            " COLMAP model in sparse/0",
            f"none that can be read as {format or 'one of them'}",
        )
    if format is None and len(fitting) > 1:
        others = " or ".join(fitting[1:])
        notes.append(f"Read as {fitting[0]}, though it can be read as {others} too.")
    return format or fitting[0]
