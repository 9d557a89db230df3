"""Picture files in: their own pixels, upright, with the value that means white.

Nothing is rescaled by guesswork: the peak follows from the bits that the file declares, never
from the largest value found in it. ICC profiles and gamma are left alone: a pixel's values are
the file's. Alpha is a channel like the others, and RGB is not multiplied by it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from .checks import (
    MAX_PIXELS,
    check_size,
    choose_page,
    oriented,
    refuse_file,
    with_transparent_color,
)
from .image import Image, image_from_samples
from .writing import check_output, is_lossy, write_image

__all__ = [
    "MAX_PIXELS",
    "Image",
    "check_output",
    "is_lossy",
    "read_image",
    "write_image",
]

# Formats whose pixels Pillow gives without losing bits unnoticed, or where it can be noticed.
_FORMATS = ("PNG", "JPEG", "TIFF", "GIF", "WEBP", "BMP", "DIB", "PPM", "TGA", "QOI")
_ORIENTATION, _BITS_PER_SAMPLE, _PHOTOMETRIC = 274, 258, 262

# Bytes of a sample in the modes that are read as they are.
_ONE_CHANNEL = {"I": 4, "I;16": 2, "I;16L": 2, "I;16B": 2, "F": 4}
# What other Pillow modes are read as, palettes aside. The ones not named here are refused.
_READ_AS = {
    "1": "L",
    "L": "L",
    "LA": "LA",
    "RGB": "RGB",
    "RGBX": "RGB",
    "RGBA": "RGBA",
    "PA": "RGBA",
    "CMYK": "RGB",
    "YCbCr": "RGB",
}
_CHANNELS = {"L": 1, "LA": 2, "RGB": 3, "RGBA": 4}


def read_image(
    path: str | os.PathLike[str],
    *,
    page: int | None = None,
    max_pixels: int | None = MAX_PIXELS,
) -> Image:
    """Read a picture file.

    An EXIF orientation is applied. Palettes become RGB, or RGBA where they have transparency.
    CMYK becomes RGB by Pillow's plain formula (no color profile), and a note says so. Of an
    animation the first frame is read, with a note; a TIFF of several pages needs ``page``.

    Args:
        path: a file on disk: PNG, JPEG, TIFF, GIF, WebP, BMP, PPM/PGM/PBM/PFM, TGA or QOI.
        page: which frame or page, counted from 0.
        max_pixels: refuse larger pictures before decoding them; None lifts the limit. Pillow
            has one of its own for the whole program, `PIL.Image.MAX_IMAGE_PIXELS`: above it
            (89 million pixels) Pillow warns, above twice that it refuses.

    Raises:
        InputError: the file is missing, damaged, too large, of an unknown kind, of a kind whose
            values would lose bits or have no agreed white, or holds NaN or infinite values.

    Pictures may be read in several threads at a time. What Pillow warns of, damaged metadata say,
    it warns of here too; of a damaged TIFF its libtiff prints a line to standard error.
    """
    path = Path(path)
    _check_file(path)
    with _refusals(path):
        return _read(path, page, max_pixels)


def _check_file(path: Path) -> None:
    rule = "a picture must be a readable file"
    try:
        if path.is_dir():
            refuse_file(path, rule, "a folder", "Name one of the files in it.")
        if not path.exists():
            refuse_file(path, rule, "no such file", "Check the name and the folder.")
        if not path.is_file():
            refuse_file(path, rule, "not a regular file", "Save it to a file first.")
        if path.stat().st_size == 0:
            refuse_file(path, rule, "an empty file (0 bytes)", "Save or download it again.")
        with path.open("rb"):
            pass
    except OSError as error:
        refuse_file(path, rule, error.strerror or error, "Check the file's permissions.")


@contextlib.contextmanager
def _refusals(path: Path) -> Iterator[None]:
    """Refuse a file where Pillow, imageio or tifffile raises."""
    from PIL import Image as PILImage

    try:
        yield
    except InputError:
        raise
    except PILImage.UnidentifiedImageError:
        with path.open("rb") as file:
            start = file.read(12)
        refuse_file(
            path,
            f"a picture must be one of {', '.join(_FORMATS)}",
            f"a file that starts with {start!r} and cannot be read as any of them",
            "Convert it to a PNG, or save it again if it should be one.",
        )
    except (PILImage.DecompressionBombError, PILImage.DecompressionBombWarning) as error:
        refuse_file(
            path,
            "a picture must be within Pillow's own limit, which belongs to the whole program",
            str(error).rstrip("."),
            "Scale it down, or set PIL.Image.MAX_IMAGE_PIXELS to a higher number.",
        )
    except MemoryError:
        refuse_file(
            path,
            "a picture must fit into memory",
            "more than this machine has free",
            "Scale it down.",
        )
    # Decoders of damaged files raise nearly anything: OSError, SyntaxError, struct.error, ...
    except Exception as error:
        refuse_file(
            path,
            "a picture must be whole and undamaged",
            f"{type(error).__name__}: {error}",
            "Save or download it again.",
        )


def _read(path: Path, page: int | None, max_pixels: int | None) -> Image:
    from PIL import Image as PILImage

    try:
        opened = PILImage.open(path, formats=_FORMATS)
    except PILImage.UnidentifiedImageError:
        with path.open("rb") as file:
            start = file.read(4)
        if start not in (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"):
            raise
        return _read_by_tifffile(
            path, page, max_pixels, "damaged, or a TIFF that Pillow cannot read"
        )
    with opened as image:
        frames = getattr(image, "n_frames", 1)
        index, notes = choose_page(path, frames, page, animation=image.format != "TIFF")
        image.seek(index)
        bits = _declared_bits(image, path)
        if image.format == "TIFF" and bits > 8 and image.mode not in _ONE_CHANNEL:
            why = f"{bits} bits in each of several channels, of which Pillow reads the upper 8"
            return _read_by_tifffile(path, page, max_pixels, why)
        mode = _mode_to_read(image, path)
        deep_png = image.format == "PNG" and bits == 16 and mode is not None
        channels = _CHANNELS[mode] if mode else 1
        size = channels * (2 if deep_png else 1) if mode else _ONE_CHANNEL[image.mode]
        check_size(path, image.width, image.height, size, channels, max_pixels)
        if image.format == "GIF" and index > 0:
            image.load()  # only now is it known whether a later frame has transparency
            mode = _mode_to_read(image, path)
        if image.mode == "CMYK":
            notes += ("CMYK inks were converted to RGB without a color profile.",)
        # Asking a PNG decodes all of it, since the tag may follow the pixels.
        ask = image.format != "PNG" or deep_png
        declared = image.getexif().get(_ORIENTATION) if ask else None
        # Pillow compares this color on the wrong scale where the depth is below 8 bits.
        color = None
        if mode in (None, "L", "RGB") and not (image.format == "GIF" and index > 0):
            color = image.info.get("transparency")
        tags: Any = getattr(image, "tag_v2", {})
        white_is_zero = image.mode in _ONE_CHANNEL and tags.get(_PHOTOMETRIC) == 0
        white = 65535 if image.format == "PPM" else None  # Pillow rescales these
        # imageio would set how Pillow reads GIFs, for the whole program
        gif = np.array(image.convert(mode)) if image.format == "GIF" else None
    if gif is not None:
        pixels, left = (gif[..., None] if gif.ndim == 2 else gif), None
    elif not deep_png:
        pixels, left = _decode(path, index, mode)
    elif frames == 1:
        from .png16 import decode

        pixels, left = decode(path.read_bytes()), declared
    else:
        refuse_file(
            path,
            "an animated PNG must have 8 bits in a channel",
            f"{bits} bits",
            "Save the frame that you want as a PNG of its own.",
        )
    if white is not None and pixels.dtype == np.int32:
        pixels = pixels.astype(np.uint16)
    if color is not None:
        if bits == 1:  # Pillow gives 0 or 255, and before 12.1 it gave 0 or 1
            color = bool(color)
        pixels = with_transparent_color(pixels, color, bits)
    return image_from_samples(
        path,
        oriented(pixels, left),
        bits,
        white=white,
        white_is_zero=white_is_zero,
        notes=notes + _about_orientation(left or declared),
    )


def _about_orientation(orientation: object) -> tuple[str, ...]:
    return (f"EXIF orientation {orientation} applied.",) if orientation in range(2, 9) else ()


def _decode(path: Path, index: int, mode: str | None) -> tuple[np.ndarray, object]:
    """Decode one frame to ``(H, W, C)``; also the orientation that is left to apply."""
    import imageio.v3 as iio

    # An open file keeps imageio from giving names like x.zip/y.png a meaning of their own.
    with path.open("rb") as stream, iio.imopen(stream, "r", plugin="pillow") as file:
        file_any: Any = file
        pixels = np.asarray(file_any.read(index=index, mode=mode))
        # Pillow turns some formats (TIFF) itself while it decodes, and then drops the tag.
        left = file_any.metadata(index=index, exclude_applied=False).get("Orientation")
    return (pixels[..., None] if pixels.ndim == 2 else pixels), left


def _read_by_tifffile(path: Path, page: int | None, max_pixels: int | None, why: str) -> Image:
    from .tiff import read_tiff

    found = read_tiff(path, page, max_pixels, why)
    return image_from_samples(
        path,
        oriented(found.pixels, found.orientation),
        found.bit_depth,
        white_is_zero=found.white_is_zero,
        notes=found.notes + _about_orientation(found.orientation),
    )


def _declared_bits(image: Any, path: Path) -> int:
    """Bits in a sample as the opened file declares them; refuse where Pillow would drop some."""
    if image.format == "TIFF":
        return int(max(image.tag_v2.get(_BITS_PER_SAMPLE, (1,))))
    if image.format == "PNG" and image.mode != "P":
        with path.open("rb") as file:
            return file.read(25)[24]  # the signature, the length and name of IHDR, width, height
    if image.format == "PPM" and image.tile and image.tile[0][0].startswith("ppm"):
        maximum = int(image.tile[0][3][-1])
        if maximum > 255 and image.mode == "RGB":
            refuse_file(
                path,
                "a PPM in color must have 8 bits in a channel",
                f"a maximum of {maximum}",
                "Convert it to a 16-bit PNG, which is read whole.",
            )
        return max(maximum.bit_length(), 1)
    return {"1": 1, "F": 32, "I": 16, "I;16": 16, "I;16B": 16, "I;16L": 16}.get(image.mode, 8)


def _mode_to_read(image: Any, path: Path) -> str | None:
    """The mode to convert to while reading; None leaves the samples alone."""
    if image.mode == "P":
        transparent = "transparency" in image.info or image.palette.mode == "RGBA"
        return "RGBA" if transparent else "RGB"
    if image.mode in _ONE_CHANNEL:
        return None
    if image.mode not in _READ_AS:
        refuse_file(
            path,
            "a picture must be gray, RGB, a palette or CMYK",
            f"mode {image.mode}",
            "Convert it to RGB first.",
        )
    if image.mode == "CMYK" and image.format == "JPEG" and "adobe" not in image.info:
        # Without Adobe's marker nothing says whether 255 means full ink or none.
        refuse_file(
            path,
            "a CMYK JPEG must say how its inks are stored",
            "no Adobe marker",
            "Convert it to RGB first.",
        )
    return _READ_AS[image.mode]
