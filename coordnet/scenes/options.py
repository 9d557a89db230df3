"""The options of a scene, without importing torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..kinds.kind import Kind
from ..kinds.options import FitOptions, RenderOptions, option
from ..kinds.parsing import positive, size, whole

__all__ = ["KIND", "PATHS", "PRESETS", "SPACES", "SceneExport", "SceneOptions", "SceneRender"]

# name → what it is for, as the command line says it
PRESETS = {
    "fast": "a hash grid, small networks and an occupancy grid",
    "nerf": "the original NeRF: two networks of eight layers, 192 samples a ray",
}

# name → which part of space it is
SPACES = {
    "box": "around what the cameras look at (the default where pictures have alpha)",
    "unbounded": "all of space, with what is far contracted (the default where they have none)",
}

PATHS = ("orbit", "spiral", "train")


@dataclass(frozen=True)
class SceneOptions(FitOptions):
    """The options of a fit of a scene."""

    preset: str | None = option(
        None, "", choices=lambda: list(PRESETS), group="encoding and network"
    )
    network: str = option("mlp", "", choices=lambda: ["mlp"], group="encoding and network")
    downscale: int | None = option(
        None, "make the pictures this many times smaller", read=whole(1), group="scenes"
    )
    background: str | None = option(
        None,
        "what lies behind the scene in what is written and measured (white)",
        choices=lambda: ["white", "black"],
        group="scenes",
    )
    space: str | None = option(
        None,
        "; ".join(f"{name}, {about}" for name, about in SPACES.items()),
        choices=lambda: list(SPACES),
        group="scenes",
    )


@dataclass(frozen=True)
class SceneRender(RenderOptions):
    """Which views of a fitted scene are rendered, and how.

    Attributes:
        size: (width, height) of the pictures; None takes the training pictures', or the file's.
        path: "orbit", "spiral", or "train", which are the training cameras.
        frames: number of views along the path; training cameras, and those of a file, then become
            a way between them, in their order.
        camera: a file or folder with posed cameras, any that `coordnet.scenes.read_cameras`
            reads, in the world coordinates of the scene.
        view: one of them alone, from 0.
        depth: render distances in place of colors.
        background: "white", "black", "#rrggbb", or "none" for a transparent picture; None takes
            the run's.
        fps: frames a second of a video.
    """

    size: tuple[int, int] | None = option(
        None, "pictures and scenes: WIDTHxHEIGHT (default: as fitted)", read=size
    )
    path: str | None = option(
        None,
        "the way of the camera: around the scene, to and fro before it, or the training cameras "
        "(default: what suits these)",
        choices=lambda: PATHS,
        group="scenes",
    )
    frames: int | None = option(
        None,
        "views along the path (60); with --path train or --camera, on a way between those",
        read=whole(1),
        group="scenes",
    )
    camera: Path | None = option(
        None,
        "a transforms.json, or any other scene, whose cameras are taken",
        read=Path,
        group="scenes",
    )
    view: int | None = option(None, "one view alone, from 0", read=whole(0), group="scenes")
    depth: bool = option(
        False,
        "distances along the rays, as colors, or as numbers in an .npy file",
        read=None,
        group="scenes",
    )
    background: str | None = option(
        None,
        "white, black, a color like #8090a0, or none for alpha (default: the run's)",
        group="scenes",
    )
    fps: float | None = option(
        None, "frames a second of a video (30)", read=positive, group="scenes"
    )


@dataclass(frozen=True)
class SceneExport(RenderOptions):
    """The options of a mesh of a scene."""

    resolution: int | None = option(
        None, "cells along the longest side of the scene's box (default: 256)", read=whole(1),
        group="scenes",
    )  # fmt: skip
    level: float | None = option(
        None,
        "the density on the surface, per unit of length (default: at which a cell is half opaque)",
        read=positive,
        group="scenes",
    )


KIND = Kind(
    name="scene",
    noun="a scene",
    nouns="scenes",
    files="a folder of posed pictures",
    suffixes=(".json", "poses_bounds.npy"),
    task="scenes.task:SceneTask",
    presets=PRESETS,
    options=SceneOptions,
    render=SceneRender,
    export=SceneExport,
    outputs=("comparison.png", "views.json", "views/*.png"),
    folders=True,
)
