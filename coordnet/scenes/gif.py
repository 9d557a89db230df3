"""Animated GIFs, written frame by frame."""

from __future__ import annotations

import io
import struct
from typing import BinaryIO

import numpy as np

__all__ = ["GifWriter"]

_LOCAL_TABLE = 0x80
_LEAVE_IN_PLACE = 1 << 2
_FOREVER = b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"


class GifWriter:
    """An animated GIF (89a) that repeats for ever, in the memory of one frame.

    Every frame has a palette of its own, of up to 256 colors by median cut. Times are whole
    hundredths of a second: where the rate asks for others they alternate, and no error adds up.

    Args:
        file: what it is written to.
        width: pixels in a row, 65,535 at most.
        height: rows, 65,535 at most.
        fps: frames a second, 50 at most: many viewers slow down what is faster.
    """

    def __init__(self, file: BinaryIO, width: int, height: int, fps: float) -> None:
        self._file, self._fps, self._frames = file, fps, 0
        file.write(b"GIF89a" + struct.pack("<HHBBB", width, height, 0, 0, 0) + _FOREVER)

    def write(self, frame: np.ndarray) -> None:
        """Write a frame: ``(H, W, 3)`` uint8."""
        from PIL import Image

        picture = Image.fromarray(frame).quantize(256, Image.Quantize.MEDIANCUT)
        data = io.BytesIO()
        picture.save(data, format="GIF", interlace=0)
        palette, descriptor, pixels = _parts(data.getvalue())
        start, end = (round(100 * (self._frames + i) / self._fps) for i in (0, 1))
        self._frames += 1
        self._file.write(b"\x21\xf9\x04" + struct.pack("<BHBB", _LEAVE_IN_PLACE, end - start, 0, 0))
        bits = (len(palette) // 3).bit_length() - 2  # 2^(bits + 1) colors
        self._file.write(descriptor + bytes([_LOCAL_TABLE | bits]) + palette + pixels)

    def finish(self) -> None:
        """Write the end of the file."""
        self._file.write(b"\x3b")


def _parts(data: bytes) -> tuple[bytes, bytes, bytes]:
    """Return palette, image descriptor without its flags, and pixels of a GIF of one frame."""
    flags, at = data[10], 13
    size = 3 << ((flags & 7) + 1)
    palette = data[at : at + size]
    at += size
    while data[at] == 0x21:  # extensions
        at = _after_blocks(data, at + 2)
    descriptor, at = data[at : at + 9], at + 10
    end = _after_blocks(data, at + 1)  # behind the least number of bits of a code
    return palette, descriptor, data[at:end]


def _after_blocks(data: bytes, at: int) -> int:
    """Return the place behind a chain of blocks, each of which begins with its length."""
    while data[at]:
        at += 1 + data[at]
    return at + 1
