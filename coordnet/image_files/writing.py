"""Picture files out: clip, scale, round, and an atomic write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from ..checks import integer
from ..files import check_writable, ending_of, refuse_file, write_atomic
from .checks import first_not_finite

__all__ = ["PICTURE_ENDINGS", "check_output", "is_lossy", "to_samples", "write_image"]

# {extension: {bits in a sample: the numbers of channels that the format can hold}}
_PNG: dict[int, tuple[int, ...]] = {8: (1, 2, 3, 4), 16: (1, 2, 3, 4)}
_TIFF: dict[int, tuple[int, ...]] = {8: (1, 2, 3, 4), 16: (1,), 32: (1,)}
_JPEG: dict[int, tuple[int, ...]] = {8: (1, 3)}
_CAN_HOLD: dict[str, dict[int, tuple[int, ...]]] = {
    **{".png": _PNG, ".tif": _TIFF, ".tiff": _TIFF, ".jpg": _JPEG, ".jpeg": _JPEG},
    **{".bmp": {8: (1, 3)}, ".webp": {8: (3, 4)}},
}
PICTURE_ENDINGS = tuple(_CAN_HOLD)
# the longest side that an encoder takes; libjpeg stops short of the format's 65,535
_LONGEST = {".jpg": 65_500, ".jpeg": 65_500, ".webp": 16_383}
_LOSSY = (".jpg", ".jpeg")
_DEFLATE = {"compression": "tiff_adobe_deflate"}
_WITHOUT_LOSS = {"lossless": True, "exact": True}  # exact: keeps color where alpha is 0
_SETTINGS: dict[str, dict[str, Any]] = {
    **{".webp": _WITHOUT_LOSS, ".tif": _DEFLATE, ".tiff": _DEFLATE},
    **{suffix: {"subsampling": 0} for suffix in _LOSSY},
}
_NAMES = {1: "gray", 2: "gray with alpha", 3: "RGB", 4: "RGBA"}


def is_lossy(path: str | os.PathLike[str]) -> bool:
    """Whether a picture written to this name comes back with other values (JPEG)."""
    return Path(path).suffix.lower() in _LOSSY


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
    suffix = ending_of(path, "a picture", PICTURE_ENDINGS)
    depths = _CAN_HOLD[suffix]
    if bit_depth not in depths:
        rule = f"{suffix} must have {' or '.join(map(str, depths))} bits in a channel"
        remedy = "Choose .png for 16 bits, or .tif for 32-bit floats."
        refuse_file(path, rule, f"bit_depth={bit_depth!r}", remedy)
    if channels not in depths[bit_depth]:
        others = [end for end, can in _CAN_HOLD.items() if channels in can.get(bit_depth, ())]
        able = ", ".join(_NAMES[number] for number in depths[bit_depth])
        refuse_file(
            path,
            f"{suffix} at {bit_depth} bits can hold {able}",
            f"{channels} channels ({_NAMES.get(channels, 'no picture')})",
            f"Use one of {', '.join(others)}." if others else "",
        )
    longest = _LONGEST.get(suffix)
    if longest is not None and max(height or 0, width or 0) > longest:
        rule = f"a side of a picture in {suffix} can have at most {longest:,} pixels"
        got = f"{width or '?'} x {height or '?'} pixels"
        refuse_file(path, rule, got, "Choose .png or .tif.")
    check_writable(path, "a picture")


def write_image(
    path: str | os.PathLike[str],
    values: np.ndarray,
    *,
    bit_depth: int = 8,
    quality: int = 95,
) -> None:
    """Write a picture atomically.

    Floats are clipped to [0, 1], scaled to the peak and rounded to the nearest integer
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
        rule = "a picture must be an array (H, W, C) with pixels"
        refuse_file(path, rule, f"shape {values.shape}", "For gray: values[..., None].")
    if values.dtype in (np.uint8, np.uint16):
        bit_depth = 8 * values.dtype.itemsize
    elif values.dtype.kind != "f":
        rule = "pixels must be floats in [0, 1], uint8 or uint16"
        refuse_file(path, rule, f"dtype {values.dtype}")
    height, width, channels = values.shape
    check_output(path, channels, bit_depth, height=height, width=width)
    quality = integer("quality", quality, least=1, most=95)
    pixels = to_samples(path, values, bit_depth)
    try:
        data = _encoded(path.suffix.lower(), pixels, quality)
    # encoders raise several kinds
    except Exception as error:
        rule = f"a picture must be one that {path.suffix} can hold"
        refuse_file(path, rule, f"{width} x {height} pixels: {error}")
    try:
        write_atomic(path, data)
    except OSError as error:
        rule = "a picture must be written to a disk with room for it"
        refuse_file(path, rule, f"{error.strerror or error} ({len(data):,} bytes)")


def to_samples(path: Path, values: np.ndarray, bit_depth: int) -> np.ndarray:
    """Return the samples of a file: floats clipped, scaled and rounded; integers stay."""
    dtype = np.uint8 if bit_depth == 8 else np.uint16
    if values.dtype.kind != "f":
        return np.ascontiguousarray(values, dtype=dtype)
    bad = first_not_finite(values)
    if bad is not None:
        remedy = "A fit that gives such values has diverged: lower its learning rate."
        refuse_file(path, "every value of a picture must be finite", bad, remedy)
    if bit_depth == 32:
        return np.ascontiguousarray(values, dtype=np.float32)
    # float16 cannot count to 65535
    wide = np.clip(values, 0, 1).astype(np.promote_types(values.dtype, np.float32))
    return np.rint(wide * np.iinfo(dtype).max).astype(dtype)


def _encoded(suffix: str, pixels: np.ndarray, quality: int) -> bytes:
    height, width, channels = pixels.shape
    if suffix == ".png" and pixels.dtype == np.uint16 and channels > 1:
        from .png16 import encode

        return encode(pixels)
    import imageio.v3 as iio

    settings = dict(_SETTINGS.get(suffix, {}))
    if suffix in _LOSSY:
        settings["quality"] = quality
    frame = pixels.reshape(height, width) if channels == 1 else pixels
    data = iio.imwrite(
        "<bytes>", frame, extension=suffix, plugin="pillow", is_batch=False, **settings
    )
    return bytes(data) if data is not None else b""
