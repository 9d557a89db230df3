"""What sound files can hold: containers by ending, encodings of a sample, channels and rates."""

from __future__ import annotations

import os
from pathlib import Path

from .checks import check_rate, refuse_sound, soundfile

__all__ = ["check_audio_output", "container_of", "subtype_for"]

# ending → container, and the encodings of a sample that it can hold here
_PCM = ("PCM_16", "PCM_24")
_CONTAINERS: dict[str, tuple[str, tuple[str, ...]]] = {
    ".wav": ("WAV", ("PCM_U8", *_PCM, "PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW")),
    ".flac": ("FLAC", ("PCM_S8", *_PCM)),
    ".aif": ("AIFF", ("PCM_S8", *_PCM, "PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW")),
    ".aiff": ("AIFF", ("PCM_S8", *_PCM, "PCM_32", "FLOAT", "DOUBLE", "ULAW", "ALAW")),
}
_BYTES = {"PCM_16": 2, "PCM_24": 3, "PCM_32": 4, "FLOAT": 4, "DOUBLE": 8}
_MOST_BYTES = 2**32 - 2**16  # sizes in WAV and AIFF have 32 bits
_FLAC_CHANNELS, _MOST_CHANNELS = 8, 1024
_FLAC_ANY_RATE, _FLAC_RATE = 65_535, 655_350


def subtype_for(path: str | os.PathLike[str], subtype: str) -> str:
    """Return the encoding for a file of this ending that is nearest to ``subtype``.

    The same where the container can hold it; 8-bit PCM changes its sign convention, not its
    values; what FLAC lacks (floats, 32 bits) becomes 24-bit PCM; what was decoded from a lossy
    stream becomes floats, or 24-bit PCM.
    """
    able = _container(path)[1]
    if subtype in able:
        return subtype
    wanted = {
        "PCM_U8": ("PCM_S8",),
        "PCM_S8": ("PCM_U8",),
        "ULAW": ("PCM_16",),
        "ALAW": ("PCM_16",),
        "PCM_32": ("PCM_24",),
    }.get(subtype, ("FLOAT", "PCM_24"))
    return next(each for each in wanted if each in able)


def _container(path: str | os.PathLike[str]) -> tuple[str, tuple[str, ...]]:
    found = _CONTAINERS.get(Path(path).suffix.lower())
    if found is None:
        refuse_sound(
            path,
            f"a sound's file name must end in one of {', '.join(_CONTAINERS)}",
            f"the ending {Path(path).suffix!r}",
            "Choose .wav, which holds every kind of sample.",
        )
    return found


def container_of(path: str | os.PathLike[str]) -> str:
    """Return the container that a file's ending names, as soundfile calls it."""
    return _container(path)[0]


def check_audio_output(
    path: str | os.PathLike[str],
    frames: int,
    channels: int,
    rate: int,
    subtype: str = "PCM_16",
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
            or a higher rate than it can hold, or soundfile is not installed.
    """
    library = soundfile()
    container, able = _container(path)
    if subtype not in able:
        refuse_sound(
            path,
            f"the samples of {container} files must be one of {', '.join(able)}",
            f"subtype={subtype!r}",
            "Choose one of them, or .wav.",
        )
    check_rate(path, rate)
    if container == "FLAC" and (rate > _FLAC_RATE or (rate > _FLAC_ANY_RATE and rate % 10)):
        refuse_sound(
            path,
            f"the rate of FLAC files may be at most {_FLAC_RATE:,} Hz, and above "
            f"{_FLAC_ANY_RATE:,} Hz a multiple of 10",
            f"{rate:,} Hz",
            "Choose .wav, or another rate.",
        )
    most = _FLAC_CHANNELS if container == "FLAC" else _MOST_CHANNELS
    if not 1 <= channels <= most:
        got, remedy = f"{channels} channels", "Choose .wav, or fewer channels."
        refuse_sound(path, f"{container} files may have 1 to {most} channels", got, remedy)
    size = frames * channels * _BYTES.get(subtype, 1)
    if container != "FLAC" and size > _MOST_BYTES:
        refuse_sound(
            path,
            f"{container} files may hold at most {_MOST_BYTES:,} bytes of samples",
            f"{size:,} bytes",
            "Choose .flac, or a lower rate.",
        )
    if not library.check_format(container, subtype):
        refuse_sound(
            path,
            "the installed libsndfile must know the format",
            f"{container} with {subtype}",
            "Choose .wav.",
        )
