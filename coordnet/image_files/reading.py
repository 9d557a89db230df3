"""Picture files in: their own pixels, upright, with the value that means white.

Nothing is rescaled by guesswork: the peak follows from the bits that the file declares, never
from the largest value in it. ICC profiles and gamma are left alone: a pixel's values are the
file's. Alpha is a channel like the others, and RGB is not multiplied by it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..checks import readable_file
from ..errors import InputError
from ..files import refuse_file
from .checks import (
    MAX_PIXELS,
    about_orientation,
    check_size,
    choose_page,
    oriented,
    with_transparent_color,
)
from .image import Image, image_from_samples

__all__ = ["read_image"]

# formats whose pixels Pillow gives without losing bits unnoticed, or where it can be noticed
_FORMATS = ("PNG", "JPEG", "TIFF", "GIF", "WEBP", "BMP", "DIB", "PPM", "TGA", "QOI")
_TIFF_STARTS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_ORIENTATION, _BITS_PER_SAMPLE, _PHOTOMETRIC = 274, 258, 262

# the modes that are read as they are
_ONE_CHANNEL = ("I", "I;16", "I;16L", "I;16B", "F")
# what other Pillow modes are read as, palettes aside; the ones not named here are refused
_READ_AS = {
    **{"1": "L", "L": "L", "LA": "LA", "RGB": "RGB", "RGBX": "RGB", "RGBA": "RGBA"},
    **{"PA": "RGBA", "CMYK": "RGB", "YCbCr": "RGB"},
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
    path = readable_file(path, "a picture")
    with path.open("rb") as stream, _refusals(path, stream):
        return _read(path, stream, page, max_pixels)


@contextlib.contextmanager
def _refusals(path: Path, stream: BinaryIO) -> Iterator[None]:
    """Refuse a file where Pillow, imageio or tifffile raises."""
    from PIL import Image as PILImage

    try:
        yield
    except InputError:
        raise
    except PILImage.UnidentifiedImageError:
        stream.seek(0)
        rule = f"a picture must be one of {', '.join(_FORMATS)}"
        refuse_file(path, rule, f"a file that starts with {stream.read(12)!r}")
    except (PILImage.DecompressionBombError, PILImage.DecompressionBombWarning) as error:
        refuse_file(
            path,
            "a picture must be within Pillow's own limit, which belongs to the whole program",
            str(error).rstrip("."),
            "Scale it down, or set PIL.Image.MAX_IMAGE_PIXELS to a higher number.",
        )
    except MemoryError:
        refuse_file(path, "a picture must fit into memory", "more than this machine has free")
    # decoders of damaged files raise nearly anything: OSError, SyntaxError, struct.error, …
    except Exception as error:
        refuse_file(
            path, "a picture must be whole and undamaged", f"{type(error).__name__}: {error}"
        )


def _read(path: Path, stream: BinaryIO, page: int | None, max_pixels: int | None) -> Image:
    from PIL import Image as PILImage

    header = stream.read(32)
    stream.seek(0)
    try:
        opened = PILImage.open(stream, formats=_FORMATS)
    except PILImage.UnidentifiedImageError:
        if not header.startswith(_TIFF_STARTS):
            raise
        return _read_tiff(path, stream, page, max_pixels, "one that Pillow cannot read, or damage")
    with opened as image:
        frames = getattr(image, "n_frames", 1)
        index, notes = choose_page(path, frames, page, animation=image.format != "TIFF")
        image.seek(index)
        bits = _declared_bits(image, path, header)
        if image.format == "TIFF" and bits > 8 and image.mode not in _ONE_CHANNEL:
            why = f"{bits} bits in each of several channels, of which Pillow reads the upper 8"
            return _read_tiff(path, stream, page, max_pixels, why)
        mode = _mode_to_read(image, path)
        deep_png = image.format == "PNG" and bits == 16 and mode is not None
        channels = _CHANNELS[mode] if mode else 1
        check_size(path, image.width, image.height, channels, max_pixels)
        if image.format == "GIF" and index > 0:
            image.load()  # only now is it known whether a later frame has transparency
            mode = _mode_to_read(image, path)
        if image.mode == "CMYK":
            notes += ("CMYK inks were converted to RGB without a color profile.",)
        # asking a PNG decodes all of it, since the tag may follow the pixels
        ask = image.format != "PNG" or deep_png
        declared = image.getexif().get(_ORIENTATION) if ask else None
        # Pillow compares this color on the wrong scale where the depth is below 8 bits
        color = None
        if mode in (None, "L", "RGB") and not (image.format == "GIF" and index > 0):
            color = image.info.get("transparency")
        tags: Any = getattr(image, "tag_v2", {})
        white_is_zero = image.mode in _ONE_CHANNEL and tags.get(_PHOTOMETRIC) == 0
        white = 65535 if image.format == "PPM" else None  # Pillow rescales these
        # imageio would set how Pillow reads GIFs, for the whole program
        gif = np.array(image.convert(mode)) if image.format == "GIF" else None
    stream.seek(0)
    if gif is not None:
        pixels, left = gif, None
    elif not deep_png:
        pixels, left = _decode(stream, index, mode)
    elif frames == 1:
        from .png16 import decode

        pixels, left = decode(stream.read()), declared
    else:
        refuse_file(path, "an animated PNG must have 8 bits in a channel", f"{bits} bits")
    pixels = pixels[..., None] if pixels.ndim == 2 else pixels
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
        notes=notes + about_orientation(left or declared),
    )


def _decode(stream: BinaryIO, index: int, mode: str | None) -> tuple[np.ndarray, object]:
    """Decode one frame; return also the orientation that is left to apply."""
    import imageio.v3 as iio

    # an open file keeps imageio from giving names like x.zip/y.png a meaning of their own
    with iio.imopen(stream, "r", plugin="pillow") as file:
        plugin: Any = file
        pixels = np.asarray(plugin.read(index=index, mode=mode))
        # Pillow turns some formats (TIFF) itself while it decodes, and then drops the tag
        left = plugin.metadata(index=index, exclude_applied=False).get("Orientation")
    return pixels, left


def _read_tiff(
    path: Path, stream: BinaryIO, page: int | None, max_pixels: int | None, why: str
) -> Image:
    from .tiff import read_tiff

    return read_tiff(path, stream, page, max_pixels, why)


def _declared_bits(image: Any, path: Path, header: bytes) -> int:
    """Bits in a sample as the opened file declares them; refuse where Pillow would drop some."""
    if image.format == "TIFF":
        return int(max(image.tag_v2.get(_BITS_PER_SAMPLE, (1,))))
    if image.format == "PNG" and image.mode != "P":
        return header[24]  # after the signature, and the length, name, width and height of IHDR
    if image.format == "PPM" and image.tile and image.tile[0][0].startswith("ppm"):
        maximum = int(image.tile[0][3][-1])
        if maximum > 255 and image.mode == "RGB":
            rule = "a PPM in color must have 8 bits in a channel"
            refuse_file(path, rule, f"a maximum of {maximum}", "A 16-bit PNG is read whole.")
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
        refuse_file(path, "a picture must be gray, RGB, a palette or CMYK", f"mode {image.mode}")
    if image.mode == "CMYK" and image.format == "JPEG" and "adobe" not in image.info:
        # without Adobe's marker nothing says whether 255 means full ink or none
        refuse_file(path, "a CMYK JPEG must say how its inks are stored", "no Adobe marker")
    return _READ_AS[image.mode]
