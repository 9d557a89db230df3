"""The options of a picture, without importing torch."""

from __future__ import annotations

from dataclasses import dataclass

from ..kinds.kind import Kind
from ..kinds.options import EncodingOptions, RenderOptions, option
from ..kinds.parsing import size, whole

__all__ = ["KIND", "PRESETS", "PictureOptions", "PictureRender"]

# name → what it is for, as the command line says it
PRESETS = {
    "fast": "the most dB a second: a grid with a vertex on each pixel, bicubic in between",
    "quality": "smooth everywhere, with fewer parameters: Gaussian features and a wide network",
    "small": "a few per cent of the parameters: Gaussian features and a narrow network",
}


@dataclass(frozen=True)
class PictureOptions(EncodingOptions):
    """The options of a fit of a picture."""

    preset: str | None = option(
        None, "", choices=lambda: list(PRESETS), group="encoding and network"
    )
    tile: bool = option(False, "repeat in both directions", read=None, group="pictures")
    wrap: str | None = option(
        None,
        "repeat in one direction (panoramas: x)",
        choices=lambda: ["x", "y"],
        group="pictures",
    )
    page: int | None = option(
        None,
        "page or frame of a file with several, from 0",
        read=whole(0),
        group="pictures",
        reading=True,
    )


@dataclass(frozen=True)
class PictureRender(RenderOptions):
    """The options of a rendering of a picture."""

    size: tuple[int, int] | None = option(
        None, "pictures and scenes: WIDTHxHEIGHT (default: as fitted)", read=size
    )


KIND = Kind(
    name="image",
    noun="a picture",
    nouns="pictures",
    files="a picture (PNG, JPEG, TIFF, …)",
    suffixes=(
        *(".png", ".jpg", ".jpeg", ".tif", ".tiff", ".gif", ".webp", ".bmp"),
        *(".ppm", ".pgm", ".pbm", ".pnm", ".tga", ".qoi"),
    ),
    task="pictures.task:PictureTask",
    presets=PRESETS,
    options=PictureOptions,
    render=PictureRender,
    outputs=("reconstruction.*", "comparison.png"),
)
