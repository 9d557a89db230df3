"""What sound files can hold: containers by ending, encodings of a sample, channels and rates."""

from __future__ import annotations

import importlib
import os
from typing import Any

from ..errors import refuse
from ..files import check_writable, ending_of, refuse_file

__all__ = [
    "MAX_RATE",
    "check_audio_output",
    "check_rate",
    "container_of",
    "soundfile",
    "subtype_for",
]

MAX_RATE = 10_000_000
"""The highest sample rate in Hz; hydrophones and oscilloscopes stay below it."""

# ending → container, and the encodings of a sample that it can hold here
_PCM = ("PCM_16", "PCM_24")
_WIDE = ("PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW")
_AIFF = ("AIFF", ("PCM_S8", *_PCM, *_WIDE))
_CONTAINERS: dict[str, tuple[str, tuple[str, ...]]] = {
    ".wav": ("WAV", ("PCM_U8", *_PCM, *_WIDE)),
    ".flac": ("FLAC", ("PCM_S8", *_PCM)),
    ".aif": _AIFF,
    ".aiff": _AIFF,
}
_NEAREST = {
    **{"PCM_U8": ("PCM_S8",), "PCM_S8": ("PCM_U8",), "PCM_32": ("PCM_24",)},
    **{"ULAW": ("PCM_16",), "ALAW": ("PCM_16",)},
}
_BYTES = {"PCM_16": 2, "PCM_24": 3, "PCM_32": 4, "FLOAT": 4, "DOUBLE": 8}
_MAX_BYTES = 2**32 - 2**16  # sizes in WAV and AIFF have 32 bits
_FLAC_CHANNELS, _MAX_CHANNELS = 8, 1024
_FLAC_ANY_RATE, _FLAC_RATE = 65_535, 655_350


def soundfile() -> Any:
    """Return the module soundfile.

    Raises:
        InputError: it is not installed, or the C library beneath it is missing.
    """
    try:
        return importlib.import_module("soundfile")
    except (ImportError, OSError) as error:  # OSError: libsndfile is not found
        rule, got = "sound needs the package soundfile", " ".join(str(error).split())
        return refuse(rule, got, "Run: pip install 'coordnet[audio]'")


def check_rate(path: str | os.PathLike[str], rate: int) -> None:
    """Refuse a sample rate that no recording has."""
    if not 1 <= rate <= MAX_RATE:
        refuse_file(path, f"a sample rate must be from 1 to {MAX_RATE:,} Hz", f"{rate:,} Hz")


def subtype_for(path: str | os.PathLike[str], subtype: str) -> str:
    """Return the encoding for a file of this ending that is nearest to ``subtype``.

    The same where the container can hold it; 8-bit PCM changes its sign convention, not its
    values; what FLAC lacks (floats, 32 bits) becomes 24-bit PCM; what was decoded from a lossy
    stream becomes floats, or 24-bit PCM.
    """
    able = _container(path)[1]
    nearest = _NEAREST.get(subtype, ("FLOAT", "PCM_24"))
    return next(name for name in (subtype, *nearest) if name in able)


def _container(path: str | os.PathLike[str]) -> tuple[str, tuple[str, ...]]:
    return _CONTAINERS[ending_of(path, "a sound", _CONTAINERS)]


def container_of(path: str | os.PathLike[str]) -> str:
    """Return the container that a file's ending names, as soundfile calls it."""
    return _container(path)[0]


def check_audio_output(
    path: str | os.PathLike[str], frames: int, channels: int, rate: int, subtype: str = "PCM_16"
) -> None:
    """Refuse a file name that cannot hold the sound, before any work is done for it.

    Args:
        path: the name; its ending chooses the container: .wav, .flac, .aif or .aiff.
        frames: samples of one channel.
        channels: number of channels.
        rate: samples a second.
        subtype: the encoding of a sample, as soundfile names it.

    Raises:
        InputError: another ending, an encoding that the container lacks, more channels, samples
            or a higher rate than it can hold, the name of a folder or one in a folder that takes
            no files, or soundfile is not installed.
    """
    library = soundfile()
    container, able = _container(path)
    if subtype not in able:
        rule = f"the samples of {container} files must be one of {', '.join(able)}"
        refuse_file(path, rule, f"subtype={subtype!r}")
    check_rate(path, rate)
    if container == "FLAC" and (rate > _FLAC_RATE or (rate > _FLAC_ANY_RATE and rate % 10)):
        rule = (
            f"the rate of FLAC files may be at most {_FLAC_RATE:,} Hz, and above "
            f"{_FLAC_ANY_RATE:,} Hz a multiple of 10"
        )
        refuse_file(path, rule, f"{rate:,} Hz", "Choose .wav, or another rate.")
    limit = _FLAC_CHANNELS if container == "FLAC" else _MAX_CHANNELS
    if not 1 <= channels <= limit:
        rule = f"{container} files may have 1 to {limit} channels"
        refuse_file(path, rule, f"{channels} channels")
    size = frames * channels * _BYTES.get(subtype, 1)
    if container != "FLAC" and size > _MAX_BYTES:
        rule = f"{container} files may hold at most {_MAX_BYTES:,} bytes of samples"
        refuse_file(path, rule, f"{size:,} bytes", "Choose .flac, or a lower rate.")
    if not library.check_format(container, subtype):
        rule = "the installed libsndfile must know the format"
        refuse_file(path, rule, f"{container} with {subtype}")
    check_writable(path, "a sound")
