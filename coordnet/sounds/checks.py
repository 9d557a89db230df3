"""What the readers and writers of sound share: the library, its limits, and files cut short."""

from __future__ import annotations

import importlib
import os
import struct
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from ..errors import refuse

__all__ = [
    "FULL_SCALE",
    "MAX_RATE",
    "MAX_VALUES",
    "check_amount",
    "check_rate",
    "find_damage",
    "refuse_sound",
    "soundfile",
]

MAX_VALUES = 2**28
"""The most samples of all channels together unless the caller says otherwise."""

MAX_RATE = 10_000_000
"""The highest sample rate in Hz; hydrophones and oscilloscopes stay below it."""

FULL_SCALE = {"int16": 2.0**15, "int32": 2.0**31, "float32": 1.0}
"""The stored number that means 1.0, by dtype."""

_UNKNOWN = (0, 0xFFFFFFFF)  # sizes that a writer leaves which cannot go back to the header


def refuse_sound(path: str | os.PathLike[str], rule: str, got: object, remedy: str) -> NoReturn:
    """Raise an `InputError` about ``path``, every part of it on the same one line."""
    rule, said, remedy = (
        " ".join(str(part).split()) for part in (rule, f"{os.fspath(path)}: {got}", remedy)
    )
    refuse(rule, said, remedy)


def soundfile() -> Any:
    """Return the module soundfile.

    Raises:
        InputError: it is not installed, or the C library beneath it is missing.
    """
    try:
        return importlib.import_module("soundfile")
    except (ImportError, OSError) as error:  # OSError: libsndfile is not found
        return refuse(
            "sound is read and written by the package soundfile",
            " ".join(str(error).split()),
            "Run: pip install 'coordnet[audio]'",
        )


def check_rate(path: str | os.PathLike[str], rate: int) -> None:
    """Refuse a sample rate that no recording has."""
    if not 1 <= rate <= MAX_RATE:
        refuse_sound(
            path,
            f"a sample rate must be from 1 to {MAX_RATE:,} Hz",
            f"{rate:,} Hz",
            "Correct the file's header, or pass another rate.",
        )


def check_amount(
    path: str | os.PathLike[str],
    frames: int,
    channels: int,
    item_bytes: int,
    max_values: int | None,
) -> None:
    """Refuse more samples than ``max_values``, before any of them is decoded.

    Args:
        path: the file, for the message.
        frames: samples of one channel.
        channels: number of channels.
        item_bytes: bytes of a sample in memory.
        max_values: the limit on frames times channels; None lifts it.
    """
    count = frames * channels
    if max_values is not None and count > max_values:
        refuse_sound(
            path,
            f"a sound may have at most {max_values:,} samples, all channels together",
            f"{frames:,} frames of {channels} channels, which need "
            f"{count * item_bytes / 1e9:.1f} GB",
            "Cut it, or call read_audio with max_values=None (or a higher number).",
        )


def find_damage(path: Path) -> str | None:
    """Return what a file's headers promise and the file does not hold, or None.

    RIFF (WAV, RF64) and FORM (AIFF) are lists of chunks, each with its size: the chunk of samples
    must end inside the file. The last page of an Ogg stream carries a mark.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(12)
        kind = start[:4]
        if kind in (b"RIFF", b"RIFX", b"RF64"):
            return _chunks(file, size, "<" if kind != b"RIFX" else ">", b"data")
        if kind == b"FORM":
            return _chunks(file, size, ">", b"SSND")
        if kind == b"OggS":
            return _last_page(file, size)
    return None


def _chunks(file: BinaryIO, size: int, order: str, wanted: bytes) -> str | None:
    """Walk the chunks after the first 12 bytes up to the one with the samples."""
    at, large = 12, None
    while at + 8 <= size:
        file.seek(at)
        name, length = struct.unpack(f"{order}4sI", file.read(8))
        if name == b"ds64" and length >= 16:
            large = struct.unpack("<Q", file.read(16)[8:])[0] if size >= at + 24 else None
        if name == wanted:
            if length == 0xFFFFFFFF and large is not None:
                length = large
            elif length in _UNKNOWN:
                return None  # written to a pipe: the samples go on to the end of the file
            held = size - at - 8
            if length > held:
                return f"{length:,} bytes of samples by its header, {held:,} in the file"
            return None
        at += 8 + length + length % 2
    return f"no samples: the file ends before its chunk {wanted.decode()!r}"


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
