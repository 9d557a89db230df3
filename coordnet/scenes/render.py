"""Rendering of a fitted scene to pictures, videos and depth files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from ..errors import refuse
from ..files import atomic, writing
from ..image_files.writing import PICTURE_ENDINGS, check_output, is_lossy, write_image
from ..kinds.listener import Listener
from ..kinds.task import About
from ..text import plural, readable
from .camera_choice import choose_cameras
from .cameras.cameras import Cameras
from .figures import colored_depth
from .options import SceneRender
from .radiance.model import RadianceModel
from .radiance.view import View, render_view
from .video import check_video, is_video, write_video

__all__ = ["BACKGROUNDS", "color_of", "depth_range", "render_path", "render_scene"]

Color = tuple[float, float, float]

BACKGROUNDS: dict[str, Color] = {"white": (1.0, 1.0, 1.0), "black": (0.0, 0.0, 0.0)}
_MIN_OPACITY = 0.5  # the least opacity of a pixel that has a depth
_PROBES, _PROBE_SIDE = 8, 64


def render_scene(
    model: RadianceModel,
    about: About,
    output: Path,
    options: SceneRender,
    listener: Listener,
) -> None:
    """Render views of a fitted scene to a file or a folder.

    Args:
        model: the scene.
        about: what its task described.
        output: the file to write, or a folder.
        options: which views, and how.
        listener: told how it goes on.

    Raises:
        InputError: options that do not go together, or an output that cannot hold the views.
        RuntimeError: the output could not be written.
    """
    views = options
    video = is_video(output)
    if not video and output.suffix.lower() not in (*PICTURE_ENDINGS, ".npy"):
        known = f".mp4, .gif, {', '.join(PICTURE_ENDINGS)}, .npy for depths"
        refuse(
            f"views are written to {known}, or without an ending to a folder of PNGs",
            f"{readable(output)!r}",
        )
    if views.fps is not None and not (video and output.suffix):
        got = f"--fps {views.fps:g} with {str(output)!r}"
        refuse("--fps belongs to an output that ends in .mp4 or .gif", got)
    if views.depth and views.background is not None:
        got = f"--depth and --background {views.background}"
        refuse("depths have no background", got)
    single = not video and output.suffix.lower() != ".npy"
    cameras, words = choose_cameras(about, views, views.size, single=single)
    render_path(
        model,
        cameras,
        output,
        depth=views.depth,
        background=color_of(views.background, about),
        fps=30.0 if views.fps is None else views.fps,
        listener=listener,
        words=words,
    )


def color_of(name: str | None, about: About) -> Color | None:
    """Return the color of a background by its name: the run's for None; None where transparent.

    Raises:
        InputError: no such color.
    """
    if name is None:
        red, green, blue = about.get("background", BACKGROUNDS["white"])
        return float(red), float(green), float(blue)
    if name == "none":
        return None
    if name in BACKGROUNDS:
        return BACKGROUNDS[name]
    if re.fullmatch("#[0-9a-fA-F]{6}", name) is None:
        rule = f"a background is {', '.join(BACKGROUNDS)}, none, or a color like #8090a0"
        refuse(rule, repr(name))
    red, green, blue = (int(name[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue


def render_path(
    model: RadianceModel,
    cameras: Cameras,
    output: Path,
    *,
    depth: bool = False,
    background: Color | None = BACKGROUNDS["white"],
    fps: float = 30.0,
    listener: Listener | None = None,
    words: str = "",
) -> None:
    """Render what cameras see to a file, by its ending, one view at a time.

    An .mp4 or .gif is a video and a name without an ending a folder of PNGs (see
    `coordnet.scenes.write_video`); .png and the other endings of pictures take one view.

    Depths are distances along the ray in the scene's unit, expected values over what is seen, 0
    where less than half of the light comes from the scene. Pictures and videos show them as
    colors on one scale for all views, near ones bright, white where nothing is met; the scale is
    taken from small renderings and said. An .npy file holds the numbers: float32 ``(H, W)`` of
    one view, ``(n, H, W)`` of several.

    Args:
        model: the scene.
        cameras: n of them; their pictures must be of one size where n > 1.
        output: the file, which is replaced where it exists, or the folder.
        depth: depths in place of colors.
        background: what lies behind the scene; None for a transparent picture or folder.
        fps: frames a second of a video.
        listener: told how it goes on.
        words: what the cameras are.

    Raises:
        InputError: an output that cannot hold the views.
        RuntimeError: the output could not be written.
    """
    listener = listener or Listener()
    width, height = (int(side) for side in cameras.sizes[0])
    if not bool((cameras.sizes == cameras.sizes[:1]).all()):
        other = " x ".join(map(str, cameras.sizes.unique(dim=0)[0].tolist()))
        got = f"{width} x {height} and {other} pixels"
        refuse("the views of a video must be of one size", got, "Pass --size WIDTHxHEIGHT.")
    channels = 4 if background is None and not depth else 3
    _check(output, cameras, fps, channels, depth, listener)
    total = len(cameras) * width * height

    def report(done: int) -> None:
        listener.progress("render", done, total)

    views = (render_view(model, cameras, i, progress=report) for i in range(len(cameras)))

    about = f"{plural(len(cameras), 'view')} of {width} x {height}"
    if output.suffix.lower() == ".npy":
        with writing(output):
            _write_depths(output, views, len(cameras), (height, width))
        listener.wrote(output, f"{about}, distances along the rays as float32")
        return
    if depth:
        near, far = depth_range(model, cameras)
        about += f", distances from {near:.4g} (bright) to {far:.4g} (dark)"
        pictures = (colored_depth(depths_of(view), near, far) for view in views)
    else:
        pictures = (_picture(view, background) for view in views)
        about += f", {_named(background)}"
    with writing(output):
        if is_video(output):
            write_video(output, pictures, fps=fps)
        else:
            write_image(output, next(pictures))
    rate = f" at {fps:g} a second" if is_video(output) and output.suffix else ""
    listener.wrote(output, f"{about}{rate}" + (f"; {words}" if words else ""))


def depth_range(model: RadianceModel, cameras: Cameras) -> tuple[float, float]:
    """Return the least and the largest distance in small renderings of a few of the views.

    1 and 2 where nothing is met.
    """
    chosen = np.unique(np.linspace(0, len(cameras) - 1, min(_PROBES, len(cameras))).round())
    some = cameras[[int(i) for i in chosen]]
    factor = min(1.0, _PROBE_SIDE / float(some.sizes.max()))
    some = some.with_sizes((some.sizes * factor).round().long().clamp(min=1))
    depths = [depths_of(render_view(model, some, i)).reshape(-1) for i in range(len(some))]
    met = np.concatenate(depths)
    met = met[met > 0]
    if not met.size:
        return 1.0, 2.0
    near, far = float(met.min()), float(met.max())
    return near, max(far, near * (1 + 1e-6))


def depths_of(view: View) -> np.ndarray:
    """Return distances ``(H, W)``, 0 where less than half of the light comes from the scene."""
    return np.where(view.opacity >= _MIN_OPACITY, view.depth, np.float32(0))


def _picture(view: View, background: Color | None) -> np.ndarray:
    """Return a view on a background, or with its opacity as alpha."""
    if background is not None:
        return view.composite(background)
    alpha = view.opacity[..., None]
    color = view.color / np.where(alpha > 0, alpha, 1)
    return np.concatenate([color, alpha], -1)


def _check(
    output: Path, cameras: Cameras, fps: float, channels: int, depth: bool, listener: Listener
) -> None:
    """Refuse an output that cannot hold the views, before they are rendered."""
    width, height = cameras.sizes[0].tolist()
    if output.suffix.lower() == ".npy":
        if not depth:
            refuse("an .npy file holds depths", f"{str(output)!r}", "Pass --depth.")
        return
    if is_video(output):
        for note in check_video(output, width, height, fps=fps, channels=channels):
            listener.notice(note)
        return
    if len(cameras) > 1:
        remedy = "Name an .mp4, a .gif or a folder."
        refuse("a picture holds one view", plural(len(cameras), "view"), remedy)
    check_output(output, channels, height=height, width=width)
    if is_lossy(output):
        listener.notice("JPEG changes the values a little.")


def _write_depths(output: Path, views: Iterator[View], number: int, shape: tuple[int, int]) -> None:
    """Write depths as an .npy file, view by view."""
    shapes = shape if number == 1 else (number, *shape)
    header = {"descr": "<f4", "fortran_order": False, "shape": shapes}
    with atomic(output) as file:
        np.lib.format.write_array_header_1_0(file, header)
        for view in views:
            file.write(depths_of(view).astype("<f4").tobytes())


def _named(background: Color | None) -> str:
    """Return "on white", "on #8090a0" or "transparent"."""
    if background is None:
        return "transparent"
    known = {color: name for name, color in BACKGROUNDS.items()}
    code = "#" + "".join(f"{round(255 * value):02x}" for value in background)
    return f"on {known.get(background, code)}"
