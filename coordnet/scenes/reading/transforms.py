"""Scenes described by transforms JSON: Blender (NeRF-synthetic), nerfstudio, instant-ngp.

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

from ...errors import refuse
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
            f"Choose one of the splits {', '.join(files)}.",
        )
    captures = [_capture(file, _load(file)) for key, file in files.items() if split in ("all", key)]
    first = captures[0]
    for other in captures[1:]:
        first.frames += other.frames
        first.notes += [note for note in other.notes if note not in first.notes]
        first.warnings += [each for each in other.warnings if each not in first.warnings]
    return first


def _load(file: Path) -> dict[str, Any]:
    """Return the JSON object of a file, with a list of frames that each name a picture."""
    try:
        content = json.loads(file.read_bytes())
    except OSError as error:
        reason = error.strerror or error
        refuse_file(file, "a scene's file must be readable", reason, "Check its name.")
    except (ValueError, RecursionError) as error:
        refuse_file(file, "a scene's file must be JSON", error, "Write or download it again.")
    frames = content.get("frames") if isinstance(content, dict) else None
    if not isinstance(frames, list) or not all(isinstance(frame, dict) for frame in frames):
        rule = 'a scene\'s file must be a JSON object with a list "frames" of objects'
        refuse_file(file, rule, "none", "Name a transforms.json or a folder that holds one.")
    if not frames:
        remedy = "Name a file with posed pictures."
        refuse_file(file, "a scene must have at least one frame", "no frames", remedy)
    for number, frame in enumerate(frames):
        if not isinstance(frame.get("file_path"), str) or not frame["file_path"].strip():
            got = f'frame {number} with "file_path" {frame.get("file_path")!r}'
            refuse_file(file, "every frame must name its picture", got, "Mend that frame.")
        if "transform_matrix" not in frame:
            got = f'frame {number} ({frame["file_path"]!r}) without "transform_matrix"'
            refuse_file(file, "every frame must have a pose", got, "Leave that frame out.")
    return content


def _capture(file: Path, content: dict[str, Any]) -> Capture:
    """Return all frames of a file."""
    capture = Capture([])
    records = content["frames"]
    named = [
        (f"frame {number} ({record['file_path']!r} in {file.name})", record)
        for number, record in enumerate(records)
    ]
    matrices = [(who, record["transform_matrix"]) for who, record in named]
    poses = rigid_poses(matrices, capture.notes)
    listing = functools.cache(entries)
    disagreeing: list[str] = []
    for (who, record), pose in zip(named, poses, strict=True):
        lens = _intrinsics(_merged(content, record), who)
        if _disagree(lens):
            disagreeing.append(who)
        wanted, pictures = _pictures(file.parent, record["file_path"], listing)
        name = _plain_name(record["file_path"])
        capture.frames.append(Frame(name, pose, lens, pictures, wanted))
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


def _pictures(folder: Path, file_path: str, listing: Any) -> tuple[Path, dict[int, Path]]:
    """Return where a picture should be, and the files found there."""
    exact = folder / file_path
    if "\\" in file_path and not is_file(exact):
        exact = folder / PureWindowsPath(file_path).as_posix()
    return exact, versions(exact, listing)


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
                refuse_file(file, rule, repr(entry), "Mend that list.")
            lists[key].append(place)
    if not lists or split == "all":
        return list(range(len(names))) if lists else None
    if split not in lists and split == "train":
        others = {i for each in lists.values() for i in each}
        return [i for i in range(len(names)) if i not in others]
    if split not in lists:
        other = "val" if split == "test" else "test"
        if other in lists:
            notes.append(f"{file.name} lists no frames for {split!r}: those for {other!r} serve.")
            split = other
    found = lists.get(split)
    if not found:
        rule = f"a scene's split {split!r} must have frames"
        refuse_file(file, rule, "none in its lists of file names", "Choose another split.")
    return found


def _number(record: dict[str, Any], key: str, who: str) -> float | None:
    value = record.get(key)
    if value is None:
        return None
    try:
        plain = isinstance(value, (int, float)) and not isinstance(value, bool)
        number = float(value) if plain else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        refuse(f"{key} of {who} must be a finite number", repr(value)[:80], "Mend that file.")
    return number


def _positive(record: dict[str, Any], key: str, who: str) -> float | None:
    value = _number(record, key, who)
    if value is not None and value <= 0:
        refuse(f"{key} of {who} must be above 0", f"{value:g}", "Mend that file.")
    return value


def _side(record: dict[str, Any], key: str, who: str) -> int | None:
    value = _positive(record, key, who)
    if value is not None and value != int(value):
        refuse(f"{key} of {who} must be a whole number of pixels", f"{value:g}", "Mend that file.")
    return None if value is None else int(value)


def _angle(record: dict[str, Any], key: str, who: str) -> float | None:
    value = _positive(record, key, who)
    if value is not None and value >= math.pi:
        remedy = "It is the whole field of view, in radians."
        refuse(f"{key} of {who} must lie between 0 and π", f"{value:g}", remedy)
    return value


def _merged(content: dict[str, Any], record: dict[str, Any]) -> dict[str, Any]:
    """Return a frame's keys over the file's; its focal length overrides an angle, and so on."""
    rest = dict(content)
    for axis in "xy":
        keys = (f"fl_{axis}", f"camera_angle_{axis}")
        if any(key in record for key in keys):
            for key in keys:
                rest.pop(key, None)
    return {**rest, **record}


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
        remedy = "Undistort the pictures first."
        rule = f"the lens of {who} must be a pinhole with at most radial and tangential distortion"
        refuse(rule, fisheye or f"camera_model {model!r}", remedy)
    for key in ("k3", "k4", "k5", "k6"):
        if _number(record, key, who):
            refuse(f"{key} of {who} must be 0", f"{record[key]:g}", "Undistort the pictures first.")
    width, height = _side(record, "w", who), _side(record, "h", who)
    if (width is None) != (height is None):
        refuse(f"{who} must have both w and h, or neither", f"w={width}, h={height}", "Add it.")
    x, y = _positive(record, "fl_x", who), _positive(record, "fl_y", who)
    angle_x = _angle(record, "camera_angle_x", who)
    angle_y = _angle(record, "camera_angle_y", who)
    if x is None and y is None and angle_x is None and angle_y is None:
        got = "no fl_x, fl_y, camera_angle_x or camera_angle_y"
        refuse(f"the lens of {who} must have a focal length", got, "Add one of them.")
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
            refuse_file(file, "offset must be one or three finite numbers", got, "Mend that file.")
    center, half = (0.5 - offset) / scale, 0.5 * side / scale
    lower, upper = (center - half).tolist(), (center + half).tolist()
    return SceneBox(tuple(lower), tuple(upper), f"aabb_scale = {side:g} of {who}")
