"""What the readers of pictures share: the limit on pixels, the page, the orientation."""

from __future__ import annotations

import os

import numpy as np

from ..files import refuse_file

__all__ = [
    "MAX_PIXELS",
    "about_orientation",
    "check_size",
    "choose_page",
    "first_not_finite",
    "oriented",
    "with_transparent_color",
]

MAX_PIXELS = 2**27
"""The most pixels that a picture may have unless the caller says otherwise: 16384 x 8192."""


def check_size(
    path: str | os.PathLike[str], width: int, height: int, channels: int, max_pixels: int | None
) -> None:
    """Refuse a picture of more than ``max_pixels`` pixels, before any of them is decoded.

    Args:
        path: the file, for the message.
        width: pixels in a row.
        height: rows.
        channels: values in a pixel.
        max_pixels: the limit; None lifts it.
    """
    count = width * height
    if count < 1:
        refuse_file(path, "a picture must have pixels", f"{width} x {height}")
    if max_pixels is not None and count > max_pixels:
        size = f"{width} x {height} = {count:,} pixels"
        refuse_file(
            path,
            f"a picture may have at most {max_pixels:,} pixels",
            f"{size}, which need {count * channels * 4 / 1e9:.1f} GB as float32 values",
            "Scale it down, or call read_image with max_pixels=None (or a higher number).",
        )


def choose_page(
    path: str | os.PathLike[str], count: int, page: int | None, *, animation: bool
) -> tuple[int, tuple[str, ...]]:
    """Return the page to read from a file that may hold several, and notes to print about it.

    Args:
        path: the file, for the message.
        count: number of pages.
        page: the one that was asked for, counted from 0, or None.
        animation: the first frame stands for the file, where the first page of a stack does not.

    Raises:
        InputError: ``page`` is not in the file, or is needed and missing.
    """
    if page is not None and (isinstance(page, bool) or not 0 <= page < count):
        pages = f"an integer from 0 to {count - 1}" if count > 1 else "0"
        refuse_file(path, f"page must be {pages} for this file", f"page={page!r}")
    if count == 1:
        return 0, ()
    if animation:
        chosen = page or 0
        return chosen, (f"Read frame {chosen} of {count} (0 is the first; --page chooses).",)
    if page is None:
        refuse_file(
            path,
            "a file of several pages needs one of them named",
            f"{count} pages",
            f"Choose one from 0 to {count - 1} with --page (page= in read_image).",
        )
    return page, (f"Read page {page} of {count} (0 is the first).",)


def first_not_finite(pixels: np.ndarray) -> str | None:
    """Return the first NaN or infinity of ``(H, W, C)`` floats in words, None without any."""
    bad = ~np.isfinite(pixels)
    if not bad.any():
        return None
    row, column, channel = np.unravel_index(int(bad.argmax()), bad.shape)
    value, count = pixels[row, column, channel], np.count_nonzero(bad)
    place = f"row {row}, column {column}, channel {channel}"
    return f"{value} at {place} ({count:,} such values)"


def oriented(pixels: np.ndarray, orientation: object) -> np.ndarray:
    """Turn ``(H, W, C)`` pixels the way that an EXIF orientation says; others stay as they are."""
    if orientation in (5, 6, 7, 8):
        pixels = pixels.transpose(1, 0, 2)
    if orientation in (2, 3, 6, 7):
        pixels = pixels[:, ::-1]
    if orientation in (3, 4, 7, 8):
        pixels = pixels[::-1]
    return pixels


def about_orientation(orientation: object) -> tuple[str, ...]:
    """Return the note on an orientation that was applied, none of an upright picture."""
    return (f"EXIF orientation {orientation} applied.",) if orientation in range(2, 9) else ()


def with_transparent_color(pixels: np.ndarray, color: object, bit_depth: int) -> np.ndarray:
    """Append the alpha channel of a picture in which one color is transparent.

    Args:
        pixels: ``(H, W, C)`` uint8 or uint16.
        color: one sample, or one for each channel, on the file's own scale.
        bit_depth: that scale's bits.

    Returns:
        ``(H, W, C + 1)``: alpha is 0 where a pixel has that color, and full elsewhere.
    """
    peak = np.iinfo(pixels.dtype).max
    samples = np.atleast_1d(np.asarray(color, dtype=np.int64)) * peak // (2**bit_depth - 1)
    opaque = (pixels != samples).any(axis=-1, keepdims=True)
    return np.concatenate([pixels, opaque * pixels.dtype.type(peak)], axis=-1)
