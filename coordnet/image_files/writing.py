"""Picture files out: clip, scale, round, and put the whole file in place at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ..files import write_atomic
from .checks import refuse_file

__all__ = ["PICTURE_ENDINGS", "check_output", "is_lossy", "to_samples", "write_image"]

# {extension: {bits in a sample: the numbers of channels that the format can hold}}
_PNG: dict[int, tuple[int, ...]] = {8: (1, 2, 3, 4), 16: (1, 2, 3, 4)}
_TIFF: dict[int, tuple[int, ...]] = {8: (1, 2, 3, 4), 16: (1,), 32: (1,)}
_JPEG: dict[int, tuple[int, ...]] = {8: (1, 3)}
_CAN_HOLD: dict[str, dict[int, tuple[int, ...]]] = {
    ".png": _PNG,
    ".tif": _TIFF,
    ".tiff": _TIFF,
    ".jpg": _JPEG,
    ".jpeg": _JPEG,
    ".bmp": {8: (1, 3)},
    ".webp": {8: (3, 4)},
}
PICTURE_ENDINGS = tuple(_CAN_HOLD)
# the longest side that an encoder takes; libjpeg stops short of the format's 65,535
_LONGEST = {".jpg": 65_500, ".jpeg": 65_500, ".webp": 16_383}
_NAMES = {1: "gray", 2: "gray with alpha", 3: "RGB", 4: "RGBA"}


def is_lossy(path: str | os.PathLike[str]) -> bool:
    """Whether a picture written to this name comes back with other values (JPEG)."""
    return Path(path).suffix.lower() in (".jpg", ".jpeg")


def check_output(
    path: str | os.PathLike[str],
    channels: int,
    bit_depth: int = 8,
    *,
    height: int | None = None,
    width: int | None = None,
) -> None:
    """Refuse a file name that cannot hold the picture, before any work is done for it.

    An existing file is not refused: whether to replace it is the caller's decision.

    Args:
        path: the name; its extension chooses the format.
        channels: values in a pixel, 1 to 4.
        bit_depth: 8, 16, or 32 for floats (gray TIFF).
        height: rows, where they are known.
        width: pixels in a row, where they are known.

    Raises:
        InputError: the extension is unknown, the format has no alpha or not that many bits, a
            side is longer than it can be, or the name is a folder, or its folder is missing or
            cannot be written to.
    """
    path = Path(path)
    kinds = _CAN_HOLD.get(path.suffix.lower())
    if kinds is None:
        refuse_file(
            path,
            f"a picture's file name must end in one of {', '.join(_CAN_HOLD)}",
            f"the ending {path.suffix!r}",
            "Choose .png for a file without loss.",
        )
    if bit_depth not in kinds:
        refuse_file(
            path,
            f"{path.suffix} must have {' or '.join(map(str, kinds))} bits in a channel",
            f"bit_depth={bit_depth!r}",
            "Choose such a depth, .png for 16 bits, or .tif for 32-bit floats.",
        )
    if channels not in kinds[bit_depth]:
        able = ", ".join(
            end for end, others in _CAN_HOLD.items() if channels in others.get(bit_depth, ())
        )
        can = ", ".join(_NAMES[number] for number in kinds[bit_depth])
        refuse_file(
            path,
            f"{path.suffix} at {bit_depth} bits can hold {can}",
            f"{channels} channels ({_NAMES.get(channels, 'no picture')})",
            f"Use one of {able}." if able else "Save 1 to 4 channels of 8 or 16 bits as .png.",
        )
    longest = _LONGEST.get(path.suffix.lower())
    if longest is not None and max(height or 0, width or 0) > longest:
        refuse_file(
            path,
            f"a side of a picture in {path.suffix} can have at most {longest:,} pixels",
            f"{width or '?'} x {height or '?'} pixels",
            "Choose another format: .png or .tif.",
        )
    rule = "a picture must be written to a file in an existing, writable folder"
    try:
        if path.is_dir() or (path.exists() and not path.is_file()):
            refuse_file(path, rule, "a folder or device of that name", "Choose another name.")
        if not path.parent.is_dir():
            refuse_file(path, rule, f"no folder {path.parent}", "Make the folder first.")
        if not os.access(path.parent, os.W_OK | os.X_OK):
            refuse_file(path, rule, f"{path.parent} is read-only", "Choose another folder.")
    except OSError as error:
        refuse_file(path, rule, error.strerror or error, "Choose another name.")


def write_image(
    path: str | os.PathLike[str],
    values: np.ndarray,
    *,
    bit_depth: int = 8,
    quality: int = 95,
) -> None:
    """Write a picture; the file appears whole or not at all.

    Floats are clipped to [0, 1], scaled to the peak and rounded to the nearest whole number
    (halves to even); with ``bit_depth=32`` they are stored as they are. uint8 and uint16 arrays
    are stored as they are, and their dtype is the depth. WebP is written without loss.

    Args:
        path: the file; its extension chooses the format, and an existing file is replaced.
        values: ``(H, W, C)``, C from 1 to 4, floats in [0, 1], or uint8, or uint16.
        bit_depth: bits for floats: 8, 16, or 32 (gray TIFF).
        quality: of a JPEG, 1 to 95; its color is not subsampled.

    Raises:
        InputError: the array is no picture or has values that are not finite, the name cannot
            hold it (see `check_output`), or the file cannot be written.
    """
    path = Path(path)
    values = np.asarray(values)
    if values.ndim != 3 or 0 in values.shape:
        refuse_file(
            path,
            "a picture must be an array (H, W, C) with pixels",
            f"shape {values.shape}",
            "Add the missing axis: values[..., None] for gray.",
        )
    if values.dtype in (np.uint8, np.uint16):
        bit_depth = 8 * values.dtype.itemsize
    elif values.dtype.kind != "f":
        refuse_file(
            path,
            "pixels must be floats in [0, 1], uint8 or uint16",
            f"dtype {values.dtype}",
            "Divide whole numbers by the one that means white.",
        )
    height, width, channels = values.shape
    check_output(path, channels, bit_depth, height=height, width=width)
    if isinstance(quality, bool) or quality not in range(1, 96):
        refuse_file(
            path,
            "quality must be a whole number from 1 to 95",
            f"quality={quality!r}",
            "Choose 95 for the best, or .png for a file without loss.",
        )
    pixels = to_samples(path, values, bit_depth)
    try:
        data = _encoded(path.suffix.lower(), pixels, quality)
    # Encoders raise several kinds.
    except Exception as error:
        refuse_file(
            path,
            f"a picture must be one that {path.suffix} can hold",
            f"{width} x {height} pixels: {error}",
            "Choose another format: .png or .tif.",
        )
    try:
        write_atomic(path, data)
    except OSError as error:
        refuse_file(
            path,
            "a picture must be written to a disk with room for it",
            f"{error.strerror or error} ({len(data):,} bytes)",
            "Free some space or choose another folder.",
        )


def to_samples(path: Path, values: np.ndarray, bit_depth: int) -> np.ndarray:
    """Return the samples of a file: floats clipped, scaled and rounded; whole numbers stay."""
    if values.dtype.kind != "f":
        return np.ascontiguousarray(values, dtype=np.uint8 if bit_depth == 8 else np.uint16)
    bad = ~np.isfinite(values)
    if bad.any():
        row, column, channel = (int(i) for i in np.argwhere(bad)[0])
        refuse_file(
            path,
            "every value of a picture must be finite",
            f"{values[row, column, channel]} at row {row}, column {column}, channel {channel}",
            "A fit that gives such values has diverged: lower its learning rate.",
        )
    if bit_depth == 32:
        return np.ascontiguousarray(values, dtype=np.float32)
    dtype = np.uint8 if bit_depth == 8 else np.uint16
    # float16 cannot count to 65535.
    wide = np.clip(values, 0, 1).astype(np.promote_types(values.dtype, np.float32))
    return np.rint(wide * np.iinfo(dtype).max).astype(dtype)


def _encoded(suffix: str, pixels: np.ndarray, quality: int) -> bytes:
    height, width, channels = pixels.shape
    if suffix == ".png" and pixels.dtype == np.uint16 and channels > 1:
        from .png16 import encode

        return encode(pixels)
    import imageio.v3 as iio

    options: dict[str, Any] = {
        ".jpg": {"quality": quality, "subsampling": 0},
        ".jpeg": {"quality": quality, "subsampling": 0},
        ".webp": {"lossless": True, "exact": True},  # exact: keeps color where alpha is 0
        ".tif": {"compression": "tiff_adobe_deflate"},
        ".tiff": {"compression": "tiff_adobe_deflate"},
    }.get(suffix, {})
    frame = pixels.reshape(height, width) if channels == 1 else pixels
    data = iio.imwrite(
        "<bytes>", frame, extension=suffix, plugin="pillow", is_batch=False, **options
    )
    return bytes(data) if data is not None else b""
