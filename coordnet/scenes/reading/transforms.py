"""Reader of transforms JSON: Blender (NeRF-synthetic), nerfstudio, instant-ngp.

One reader serves them all. They differ in how frames are split (a file for each split, lists of
names, or nothing) and in which keys describe the lens; a frame's own keys override the file's.
"""

from __future__ import annotations

import functools
import json
import math
import re
from pathlib import Path, PureWindowsPath
from typing import Any

import numpy as np

from ...checks import number, readable_file
from ...errors import InputError, refuse
from ...files import refuse_file
from ..cameras.bounds import SceneBox
from .frames import Capture, Frame, Intrinsics, entries, held_out, is_file, rigid_poses, versions

__all__ = ["holds_blender", "holds_transforms", "read_transforms", "splits_of_transforms"]

_SPLIT_FILE = re.compile(r"transforms_(train|val|test)\.json")
_OTHER_LENSES = ("OPENCV", "PINHOLE", "SIMPLE_PINHOLE", "SIMPLE_RADIAL", "RADIAL", "PERSPECTIVE")


def holds_blender(path: Path) -> bool:
    """Whether ``path`` is a folder with transforms_train.json and the like, or one of those."""
    if path.is_file():
        return _SPLIT_FILE.fullmatch(path.name) is not None
    return bool(_split_files(path))


def holds_transforms(path: Path) -> bool:
    """Whether ``path`` is a folder with transforms.json, or another JSON file."""
    if path.is_file():
        return path.suffix.lower() == ".json" and not holds_blender(path)
    return (path / "transforms.json").is_file()


def splits_of_transforms(path: Path) -> tuple[str, ...]:
    """Return the splits that have a file of their own; none where one file holds all frames."""
    folder = path if path.is_dir() else path.parent
    return tuple(_split_files(folder)) if holds_blender(path) else ()


def _split_files(folder: Path) -> dict[str, Path]:
    files = {split: folder / f"transforms_{split}.json" for split in ("train", "val", "test")}
    return {split: file for split, file in files.items() if file.is_file()}


def read_transforms(path: Path, split: str, hold_out: int) -> Capture:
    """Read the frames of one split.

    Args:
        path: a folder, or a JSON file. A file transforms_train.json (val, test) stands for its
            folder.
        split: one of SPLITS.
        hold_out: where the files name no splits, every n-th frame is held out for testing.

    Raises:
        InputError: files that are missing or damaged, no frames, a frame without a path or a
            pose, a pose that turns no camera, a lens that is unknown or impossible; the message
            names the file and the frame.
    """
    if not holds_blender(path):
        file = path if path.is_file() else path / "transforms.json"
        content = _load(file)
        capture = _capture(file, content)
        names = [_plain_name(str(record["file_path"])) for record in content["frames"]]
        chosen = _named_split(file, content, names, split, capture.notes)
        if chosen is None:
            chosen = held_out(len(names), split, hold_out, capture.notes)
        capture.frames = [capture.frames[i] for i in chosen]
        return capture
    files = _split_files(path if path.is_dir() else path.parent)
    if split != "all" and split not in files:
        refuse_file(
            path,
            f"a scene's split {split!r} must have a file transforms_{split}.json",
            f"only {', '.join(file.name for file in files.values())}",
        )
    captures = [_capture(file, _load(file)) for key, file in files.items() if split in ("all", key)]
    first = captures[0]
    for other in captures[1:]:
        first.frames += other.frames
        first.notes += [note for note in other.notes if note not in first.notes]
        first.warnings += [text for text in other.warnings if text not in first.warnings]
    return first


def _load(file: Path) -> dict[str, Any]:
    """Return the JSON object of a file, with a list of frames that each name a picture."""
    try:
        content = json.loads(readable_file(file, "a scene's file").read_bytes())
    except InputError:
        raise
    except (ValueError, RecursionError) as error:
        refuse_file(file, "a scene's file must be JSON", error)
    frames = content.get("frames") if isinstance(content, dict) else None
    if not isinstance(frames, list) or not all(isinstance(frame, dict) for frame in frames):
        rule = 'a scene\'s file must be a JSON object with a list "frames" of objects'
        refuse_file(file, rule, "none", "Name a transforms.json or a folder that holds one.")
    if not frames:
        refuse_file(file, "a scene must have at least one frame", "no frames")
    for i, frame in enumerate(frames):
        if not isinstance(frame.get("file_path"), str) or not frame["file_path"].strip():
            got = f'frame {i} with "file_path" {frame.get("file_path")!r}'
            refuse_file(file, "every frame must name its picture", got)
        if "transform_matrix" not in frame:
            got = f'frame {i} ({frame["file_path"]!r}) without "transform_matrix"'
            refuse_file(file, "every frame must have a pose", got)
    return content


def _capture(file: Path, content: dict[str, Any]) -> Capture:
    """Return all frames of a file."""
    capture = Capture([])
    records = content["frames"]
    named = [
        (f"frame {i} ({record['file_path']!r} in {file.name})", record)
        for i, record in enumerate(records)
    ]
    matrices = [(who, record["transform_matrix"]) for who, record in named]
    poses = rigid_poses(matrices, capture.notes)
    listing = functools.cache(entries)
    disagreeing: list[str] = []
    for (who, record), pose in zip(named, poses, strict=True):
        lens = _intrinsics(_merged(content, record), who)
        if _disagree(lens):
            disagreeing.append(who)
        path = file.parent / record["file_path"]
        if "\\" in record["file_path"] and not is_file(path):
            path = file.parent / PureWindowsPath(record["file_path"]).as_posix()
        name = _plain_name(record["file_path"])
        capture.frames.append(Frame(name, pose, lens, versions(path, listing), path))
    if disagreeing:
        capture.warnings.append(
            f"fl_x and camera_angle_x disagree by more than 1 % in {len(disagreeing)} of"
            f" {len(named)} frames, first in {disagreeing[0]}; fl_x is taken."
        )
    if any("mask_path" in record for record in records):
        capture.warnings.append(f"{file.name} names masks, which are not read.")
    capture.box = _box(file, content)
    return capture


def _plain_name(file_path: str) -> str:
    """Return a frame's name without ./ in front, with forward slashes."""
    return file_path.replace("\\", "/").removeprefix("./")


def _named_split(
    file: Path, content: dict[str, Any], names: list[str], split: str, notes: list[str]
) -> list[int] | None:
    """Return the frames of a split that lists of file names define; None without such lists."""
    lists: dict[str, list[int]] = {}
    for key in ("train", "val", "test"):
        listed = content.get(f"{key}_filenames")
        if listed is None:
            continue
        places = {name: i for i, name in enumerate(names)}
        lists[key] = []
        for entry in listed if isinstance(listed, list) else [listed]:
            place = places.get(_plain_name(str(entry)))
            if place is None:
                rule = f'every name in "{key}_filenames" must be the file_path of a frame'
                refuse_file(file, rule, repr(entry))
            lists[key].append(place)
    if not lists or split == "all":
        return list(range(len(names))) if lists else None
    if split not in lists and split == "train":
        others = {i for frames in lists.values() for i in frames}
        return [i for i in range(len(names)) if i not in others]
    if split not in lists:
        other = "val" if split == "test" else "test"
        if other in lists:
            notes.append(f"{file.name} lists no frames for {split!r}: those for {other!r} serve.")
            split = other
    chosen = lists.get(split)
    if not chosen:
        rule = f"a scene's split {split!r} must have frames"
        refuse_file(file, rule, "none in its lists of file names")
    return chosen


def _number(record: dict[str, Any], key: str, who: str) -> float | None:
    value = record.get(key)
    return None if value is None else number(f"{key} of {who}", value)


def _positive(
    record: dict[str, Any], key: str, who: str, below: float | None = None
) -> float | None:
    value = record.get(key)
    remedy = "" if below is None else "An angle is in radians."
    if value is None:
        return None
    return number(f"{key} of {who}", value, above=0, below=below, remedy=remedy)


def _side(record: dict[str, Any], key: str, who: str) -> int | None:
    value = _positive(record, key, who)
    if value is not None and value != int(value):
        refuse(f"{key} of {who} must be an integer number of pixels", f"{value:g}")
    return None if value is None else int(value)


def _merged(content: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    """Return a frame's keys over the file's; its focal length overrides an angle, and so on."""
    overridden = {
        key
        for keys in (("fl_x", "camera_angle_x"), ("fl_y", "camera_angle_y"))
        if any(key in record for key in keys)
        for key in keys
    }
    return {key: v for key, v in content.items() if key not in overridden} | record


def _disagree(lens: Intrinsics) -> bool:
    """Whether a focal length and a field of view along x are both given, and differ."""
    if lens.focal[0] is None or lens.angle[0] is None or lens.size is None:
        return False
    return abs(0.5 * lens.size[0] / math.tan(0.5 * lens.angle[0]) / lens.focal[0] - 1) > 0.01


def _intrinsics(record: dict[str, Any], who: str) -> Intrinsics:
    """Return the lens that a frame's keys and its file's keys describe."""
    model = record.get("camera_model")
    fisheye = "a fisheye lens" if record.get("is_fisheye") else None
    if fisheye or (model is not None and str(model).upper() not in _OTHER_LENSES):
        rule = f"the lens of {who} must be a pinhole with at most radial and tangential distortion"
        refuse(rule, fisheye or f"camera_model {model!r}", "Undistort the pictures first.")
    for key in ("k3", "k4", "k5", "k6"):
        if _number(record, key, who):
            refuse(f"{key} of {who} must be 0", f"{record[key]:g}", "Undistort the pictures first.")
    width, height = _side(record, "w", who), _side(record, "h", who)
    if (width is None) != (height is None):
        refuse(f"{who} must have both w and h, or neither", f"w={width}, h={height}")
    x, y = _positive(record, "fl_x", who), _positive(record, "fl_y", who)
    angle_x = _positive(record, "camera_angle_x", who, below=math.pi)
    angle_y = _positive(record, "camera_angle_y", who, below=math.pi)
    if x is None and y is None and angle_x is None and angle_y is None:
        got = "no fl_x, fl_y, camera_angle_x or camera_angle_y"
        refuse(f"the lens of {who} must have a focal length", got)
    k1, k2, p1, p2 = (_number(record, key, who) or 0.0 for key in ("k1", "k2", "p1", "p2"))
    return Intrinsics(
        size=None if width is None or height is None else (width, height),
        focal=(x, y),
        angle=(angle_x, angle_y),
        principal_point=(_number(record, "cx", who), _number(record, "cy", who)),
        distortion=(k1, k2, p1, p2),
    )


def _box(file: Path, content: dict[str, Any]) -> SceneBox | None:
    """Return instant-ngp's box in the file's own coordinates.

    instant-ngp maps a position p to scale · p + offset, 0.33 and ½ unless the file says otherwise,
    and its box is a cube about (½, ½, ½) with the side aabb_scale.
    """
    who = file.name
    side = _positive(content, "aabb_scale", who)
    if side is None:
        return None
    scale = _positive(content, "scale", who) or 0.33
    offset = np.full(3, 0.5)
    if "offset" in content:
        try:
            offset = np.broadcast_to(np.asarray(content["offset"], dtype=np.float64), 3)
        except (TypeError, ValueError, OverflowError):
            offset = np.full(3, np.nan)
        if not np.isfinite(offset).all():
            got = repr(content["offset"])
            refuse_file(file, "offset must be one or three finite numbers", got)
    center, half = (0.5 - offset) / scale, 0.5 * side / scale
    lower, upper = (center - half).tolist(), (center + half).tolist()
    return SceneBox(tuple(lower), tuple(upper), f"aabb_scale = {side:g} of {who}")
