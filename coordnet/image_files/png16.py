"""PNG with 16 bits in each of several channels, which Pillow cuts down to 8."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np

__all__ = ["decode", "encode"]

_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_COLOR_TYPE = {1: 0, 2: 4, 3: 2, 4: 6}
_CHANNELS = {kind: channels for channels, kind in _COLOR_TYPE.items()}
# Adam7: first column, first row, column step, row step of each pass
_PASSES = (
    *((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4)),
    *((0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)),
)


def encode(pixels: np.ndarray) -> bytes:
    """Encode ``(H, W, C)`` uint16 pixels, C from 1 to 4, as a PNG file."""
    height, width, channels = pixels.shape
    rows = pixels.astype(">u2").view(np.uint8).reshape(height, -1)
    filtered = np.full((height, rows.shape[1] + 1), 2, np.uint8)  # filter 2: minus the row above
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])
    header = struct.pack(">IIBBBBB", width, height, 16, _COLOR_TYPE[channels], 0, 0, 0)
    chunks = [b"IHDR" + header, b"IDAT" + zlib.compress(filtered.tobytes(), 6), b"IEND"]
    return _SIGNATURE + b"".join(
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
        for chunk in chunks
    )


def decode(data: bytes) -> np.ndarray:
    """Decode a whole PNG file of 16 bits into ``(H, W, C)`` uint16, without its tRNS chunk.

    Raises:
        ValueError: the file is damaged, cut short, or not a 16-bit PNG.
    """
    chunks = list(_chunks(data))
    (header,) = (body for kind, body in chunks if kind == b"IHDR")  # a ValueError of more
    packed = b"".join(body for kind, body in chunks if kind == b"IDAT")
    width, height, bits, color_type, _, _, interlaced = struct.unpack(">IIBBBBB", header)
    if bits != 16 or color_type not in _CHANNELS:
        raise ValueError(f"{bits} bits in color type {color_type} where 16 were expected")
    size = 2 * _CHANNELS[color_type]
    grids = [
        (x, y, dx, dy, len(range(y, height, dy)), len(range(x, width, dx)))
        for x, y, dx, dy in (_PASSES if interlaced else [(0, 0, 1, 1)])
    ]
    grids = [grid for grid in grids if grid[4] and grid[5]]
    expected = sum(h * (1 + w * size) for *_, h, w in grids)
    # the limit keeps an untrusted file from unpacking to more than its header declares
    raw = np.frombuffer(zlib.decompressobj().decompress(packed, expected), np.uint8)
    if len(raw) < expected:
        raise ValueError(f"the picture is cut short: {len(raw):,} of {expected:,} bytes")
    out, start = np.empty((height, width, size), np.uint8), 0
    for x, y, dx, dy, h, w in grids:
        stop = start + h * (1 + w * size)
        out[y::dy, x::dx] = _unfiltered(raw[start:stop].reshape(h, -1), w, size)
        start = stop
    return out.view(">u2").astype(np.uint16)


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    position, kind = len(_SIGNATURE), b""
    while kind != b"IEND":
        length = int.from_bytes(data[position : position + 4], "big")
        chunk = data[position + 4 : position + 8 + length]
        kind, checksum = chunk[:4], data[position + 8 + length : position + 12 + length]
        if checksum != struct.pack(">I", zlib.crc32(chunk)):
            raise ValueError(f"the {kind!r} chunk is damaged or cut short")
        yield kind, chunk[4:]
        position += 12 + length


def _unfiltered(rows: np.ndarray, width: int, size: int) -> np.ndarray:
    """Undo the row filters: ``(H, 1 + W * size)`` bytes to ``(H, W, size)``.

    A byte depends on those to its left, above, and above left, so all pixels of one
    anti-diagonal are independent of each other and are undone at once.
    """
    height = len(rows)
    kinds = rows[:, :1].astype(np.int16)
    if kinds.max() > 4:
        raise ValueError(f"unknown row filter {kinds.max()}")
    raw = rows[:, 1:].reshape(height * width, size)
    # One row of zeros on top and one column on the left: the neighbors of the border.
    out = np.zeros(((height + 1) * (width + 1), size), np.int16)
    for diagonal in range(height + width - 1):
        top, last = max(0, diagonal - width + 1), min(diagonal, height - 1)
        count, column = last - top + 1, diagonal - top
        left = _along(out, width + 1, top + 1, column, count)
        above = _along(out, width + 1, top, column + 1, count)
        corner = _along(out, width + 1, top, column, count)
        kind = kinds[top : last + 1]
        to_left, to_above = np.abs(above - corner), np.abs(left - corner)
        to_corner = np.abs(left + above - 2 * corner)
        paeth = np.where(
            (to_left <= to_above) & (to_left <= to_corner),
            left,
            np.where(to_above <= to_corner, above, corner),
        )
        guess = np.choose(kind, [np.int16(0), left, above, (left + above) >> 1, paeth])
        _along(out, width + 1, top + 1, column + 1, count)[:] = (
            _along(raw, width, top, column, count) + guess
        ) & 255
    return out.reshape(height + 1, width + 1, size)[1:, 1:].astype(np.uint8)


def _along(table: np.ndarray, pitch: int, row: int, column: int, count: int) -> np.ndarray:
    """View ``count`` pixels of an anti-diagonal, downwards from ``row`` and ``column``."""
    first, step = row * pitch + column, max(pitch - 1, 1)
    return table[first : first + (count - 1) * step + 1 : step]
