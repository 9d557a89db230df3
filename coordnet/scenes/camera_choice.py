"""The cameras that a fitted scene is rendered from: of a path, a file or the training pictures."""

from __future__ import annotations

from dataclasses import replace

import torch

from ..checks import integer, one_of
from ..errors import InputError, refuse
from ..files import JsonObject
from ..text import plural, readable
from .cameras.bounds import arrangement, focus_point
from .cameras.cameras import Cameras
from .cameras.paths import interpolated_path, orbit_around, spiral_path
from .options import PATHS, SceneRender
from .reading.scene import read_cameras

__all__ = ["cameras_of", "choose_cameras", "reshaped"]

_FRAMES = 60
_DEFAULT = {"inward": "orbit", "forward": "spiral"}


def cameras_of(settings: JsonObject) -> Cameras:
    """Return the training cameras of a run.

    Args:
        settings: what the scene's task described: ``lens`` with width, height, focal,
            principal_point (centre in version 0.1.0) and distortion, and ``poses``, 12 numbers
            each, row by row.

    Raises:
        InputError: settings that hold no cameras.
    """
    try:
        lens = settings["lens"]
        poses = torch.tensor(settings["poses"], dtype=torch.float64, device="cpu").reshape(-1, 3, 4)
        focal = tuple(float(value) for value in lens["focal"])
        distortion = lens.get("distortion")
        if not len(poses) or len(focal) != 2:
            raise ValueError("no poses, or no two focal lengths")
        return Cameras.pinhole(
            poses,
            focal,
            width=lens["width"],
            height=lens["height"],
            principal_point=tuple(
                lens["principal_point" if "principal_point" in lens else "centre"]
            ),
            distortion=None if distortion is None else list(distortion),
        )
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        got = error.got if isinstance(error, InputError) else " ".join(str(error).split())
        refuse("a scene's run must hold its cameras", got[:120], "Fit the scene again.")


def choose_cameras(
    settings: JsonObject, views: SceneRender, size: tuple[int, int] | None, *, single: bool
) -> tuple[Cameras, str]:
    """Return the cameras that are asked for, and in words what they are.

    Args:
        settings: as `cameras_of` takes them.
        views: what the user set.
        size: (width, height) of the pictures; None takes the training pictures', or the file's.
        single: whether the output holds one view alone.

    Raises:
        InputError: options that contradict each other; a path that these cameras do not have; a
            view that is not there; more views than the output holds.
    """
    if views.path is not None:
        one_of("path", views.path, PATHS)
    if views.frames is not None:
        integer("frames", views.frames, least=1)
    if views.camera is not None and views.path is not None:
        got = f"--camera {readable(views.camera)} and --path {views.path}"
        refuse("cameras come from a file or from a path", got)
    trained = cameras_of(settings)
    plain = views.camera is None and views.path is None and views.frames is None
    if views.camera is not None:
        named = f"the cameras in {readable(views.camera)}"
        cameras, words = _between(read_cameras(views.camera), views.frames, named)
    elif views.path == "train" or (plain and (single or views.view is not None)):
        cameras, words = _between(trained, views.frames, "the training cameras")
    else:
        path = views.path or _DEFAULT.get(arrangement(trained), "train")
        cameras, words = _path(path, trained, views.frames or _FRAMES, settings)
    if views.view is not None or (single and plain):
        view = views.view or 0
        if not 0 <= view < len(cameras):
            rule = f"a view must be one of 0 to {len(cameras) - 1}, {words}"
            refuse(rule, f"--view {view}")
        cameras, words = cameras[view], f"view {view} of {words}"
    if single and len(cameras) > 1:
        got = f"{plural(len(cameras), 'view')}, {words}"
        refuse("a picture holds one view", got, "Pass --view 0, or an .mp4 or .gif.")
    return (cameras if size is None else reshaped(cameras, *size)), words


def reshaped(cameras: Cameras, width: int, height: int) -> Cameras:
    """Return cameras for pictures of another size.

    Pictures of the same shape, to a pixel, are the same pictures resampled. Others show all that
    the cameras' own do, and more at two of the sides; pixels keep their shape.
    """
    sizes = torch.tensor([width, height], device=cameras.device)
    ratio = sizes.to(cameras.focal.dtype) / cameras.sizes
    least = ratio.amin(-1, keepdim=True)
    if bool(((ratio - least) * cameras.sizes < 1).all()):
        return cameras.resized(width, height)
    point = (cameras.principal_point - cameras.sizes / 2) * least + sizes / 2
    sizes = sizes.expand(len(cameras), 2)
    return replace(cameras, focal=cameras.focal * least, principal_point=point, sizes=sizes)


def _between(cameras: Cameras, frames: int | None, words: str) -> tuple[Cameras, str]:
    """Return the cameras themselves, or a way between them; and in words what they are."""
    if frames is None:
        return cameras, words
    poses = interpolated_path(cameras.poses, frames)
    return _straight(cameras).with_poses(poses), f"a way between {words}"


def _straight(cameras: Cameras) -> Cameras:
    """Return cameras without the distortion of their lens, which made-up views do not need."""
    return replace(cameras, distortion=None)


def _path(path: str, trained: Cameras, frames: int, settings: JsonObject) -> tuple[Cameras, str]:
    """Return the cameras of a path, and in words what they are."""
    if path == "train":
        return _between(trained, frames, "the training cameras")
    focus = focus_point(trained)
    if path == "orbit":
        if focus is None:
            refuse(
                "an orbit needs a point that all training cameras look at",
                f"{plural(len(trained), 'camera')} without one",
                "Pass --path spiral or --path train.",
            )
        poses = orbit_around(trained, frames, center=focus)
        return _straight(trained).with_poses(poses), "an orbit around what the cameras look at"
    if focus is None:
        corners = torch.tensor(settings["box"], dtype=torch.float64, device="cpu")
        middle = corners.mean(0).tolist()
        focus = torch.tensor(settings.get("focus", middle), dtype=torch.float64, device="cpu")
    toward = trained.view_directions.mean(0)
    length = torch.linalg.vector_norm(toward)
    depth = float((focus - trained.positions.mean(0)) @ toward / length)
    if not depth > 0 or float(length) < 0.5:
        refuse(
            "a spiral needs cameras that look roughly the same way",
            f"{plural(len(trained), 'camera')} that do not",
            "Pass --path orbit or --path train.",
        )
    poses = spiral_path(trained, frames, depth=depth)
    return _straight(trained).with_poses(poses), "a spiral amid the training cameras"
