"""Sound files cut short, which libsndfile reads without a word."""

from __future__ import annotations

import os
import struct
from typing import BinaryIO

__all__ = ["find_damage"]

_UNKNOWN = (0, 0xFFFFFFFF)  # sizes that a writer leaves which cannot go back to the header


def find_damage(file: BinaryIO) -> str | None:
    """Return what the headers of an open file promise and it does not hold, or None.

    RIFF (WAV, RF64) and FORM (AIFF) are lists of chunks, each with its size: the chunk of samples
    must end inside the file. The last page of an Ogg stream carries a mark.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    kind = file.read(4)
    if kind in (b"RIFF", b"RIFX", b"RF64"):
        return _chunks(file, size, "<" if kind != b"RIFX" else ">", b"data")
    if kind == b"FORM":
        return _chunks(file, size, ">", b"SSND")
    return _last_page(file, size) if kind == b"OggS" else None


def _chunks(file: BinaryIO, size: int, order: str, samples: bytes) -> str | None:
    """Walk the chunks after the first 12 bytes up to the one with the samples."""
    at, large = 12, None
    while at + 8 <= size:
        file.seek(at)
        name, length = struct.unpack(f"{order}4sI", file.read(8))
        if name == b"ds64" and length >= 16:
            large = struct.unpack("<Q", file.read(16)[8:])[0] if size >= at + 24 else None
        if name == samples:
            if length == 0xFFFFFFFF and large is not None:
                length = large
            elif length in _UNKNOWN:
                return None  # written to a pipe: the samples go on to the end of the file
            there = size - at - 8
            if length <= there:
                return None
            return f"{length:,} bytes of samples by its header, {there:,} in the file"
        at += 8 + length + length % 2
    return f"no samples: the file ends before its chunk {samples.decode()!r}"


def _last_page(file: BinaryIO, size: int) -> str | None:
    """Look for the mark on the last page of an Ogg stream, which is at most 65,307 bytes long."""
    file.seek(max(0, size - 65_536))
    tail = file.read()
    page = tail.rfind(b"OggS")
    if page < 0 or page + 27 > len(tail) or not tail[page + 5] & 4:
        return "the Ogg stream has no last page"
    number = tail[page + 26]
    lengths = tail[page + 27 : page + 27 + number]
    if len(lengths) < number or page + 27 + number + sum(lengths) > len(tail):
        return "the last page of the Ogg stream is cut"
    return None
