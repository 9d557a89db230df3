"""Sound files in: their own samples, and the number that means full scale."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from ..checks import readable_file
from ..files import refuse_file
from .audio import Audio, first_not_finite
from .formats import check_rate, soundfile
from .truncation import find_damage

__all__ = ["MAX_VALUES", "read_audio"]

MAX_VALUES = 2**28
"""The most samples of all channels together unless the caller says otherwise."""

_FORMATS = ("WAV", "WAVEX", "RF64", "FLAC", "OGG", "AIFF")
# how a file may begin: libsndfile would take much else for headerless or compressed sound
_STARTS = (b"RIFF", b"RIFX", b"RF64", b"fLaC", b"ID3", b"OggS", b"FORM")
# subtype → the dtype that holds its samples without loss
_DTYPES = {
    **dict.fromkeys(("PCM_S8", "PCM_U8", "PCM_16", "ULAW", "ALAW"), "int16"),
    **dict.fromkeys(("PCM_24", "PCM_32"), "int32"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "VORBIS", "OPUS"), "float32"),
}
_FULL_SCALE = {"int16": 2.0**15, "int32": 2.0**31, "float32": 1.0}
_UNKNOWN_LENGTH = 2**63 - 1  # what libsndfile says where a header does not tell
_BLOCK = 1 << 16


def read_audio(path: str | os.PathLike[str], *, max_values: int | None = MAX_VALUES) -> Audio:
    """Read a sound file through soundfile.

    WAV (8-, 16-, 24- and 32-bit PCM, 32- and 64-bit floats, A-law, µ-law; with a plain or an
    extensible header; RF64), FLAC, AIFF and Ogg (Vorbis, Opus), of any number of channels at any
    rate. 64-bit floats are rounded to float32 once.

    Args:
        path: a file on disk.
        max_values: refuse more samples, all channels together, before decoding them; None lifts
            the limit.

    Raises:
        InputError: soundfile is not installed; the file is missing, empty, no sound, damaged, cut
            short (its header promises more than it holds) or too long; it has no samples, an
            impossible rate, or samples that are not finite.
    """
    library = soundfile()
    path = readable_file(path, "a sound")
    with path.open("rb") as stream:
        start = stream.read(12)
        damage = find_damage(stream)
    rule = "a sound must be a WAV, FLAC, Ogg or AIFF"
    if not start.startswith(_STARTS):
        refuse_file(path, rule, f"a file that starts with {start!r}")
    try:
        with library.SoundFile(os.fsencode(path)) as file:
            kind, subtype, rate = str(file.format), str(file.subtype), int(file.samplerate)
            if kind not in _FORMATS:
                refuse_file(path, rule, f"a file in the format {kind}")
            if subtype not in _DTYPES:
                rule = f"the samples of a sound must be one of {', '.join(_DTYPES)}"
                refuse_file(path, rule, subtype)
            check_rate(path, rate)
            if damage is not None and kind != "OGG":
                _refuse_cut(path, damage)
            samples = _decode(path, file, _DTYPES[subtype], max_values)
    except library.LibsndfileError as error:
        reason = getattr(error, "error_string", "") or "it cannot be decoded"
        refuse_file(path, "a sound must be whole and undamaged", reason)
    notes, warnings = (), ()
    if subtype in ("VORBIS", "OPUS"):
        notes = (f"{subtype.title()} is lossy: its decoded samples are what is fitted.",)
    if damage is not None:  # some recorders of Ogg streams leave the mark of the last page out
        warnings = (f"{damage[0].upper()}{damage[1:]}: the sound may be cut short.",)
    peak = _FULL_SCALE[str(samples.dtype)]
    return Audio(samples, peak, rate, kind, subtype, notes, warnings)


def _refuse_cut(path: Path, damage: str) -> NoReturn:
    refuse_file(path, "a sound must be whole", damage)


def _decode(path: Path, file: Any, dtype: str, max_values: int | None) -> np.ndarray:
    """Decode all frames to ``(N, C)``, block by block."""
    frames, channels = max(0, int(file.frames)), int(file.channels)
    if frames == _UNKNOWN_LENGTH:  # a FLAC from a pipe, which the library cannot read so
        rule = "a sound's header must say how long it is"
        refuse_file(path, rule, "it does not", "Convert it to a WAV.")
    if max_values is not None and frames * channels > max_values:
        size = frames * channels * np.dtype(dtype).itemsize / 1e9
        refuse_file(
            path,
            f"a sound may have at most {max_values:,} samples, all channels together",
            f"{frames:,} frames of {channels} channels, which need {size:.1f} GB",
            "Cut it, or call read_audio with max_values=None (or a higher number).",
        )
    if not frames:
        refuse_file(path, "a sound must have samples", "none")
    samples, done = np.empty((frames, channels), dtype), 0
    while done < frames:
        reason = ""
        try:
            block = file.read(min(_BLOCK, frames - done), dtype=dtype, always_2d=True)
        except RuntimeError as error:  # a damaged FLAC; the library's own error is one
            block, reason = samples[:0], f". {getattr(error, 'error_string', error)}"
        if not len(block):
            got = f"decoding ends after {done:,} of {frames:,} samples{reason}"
            _refuse_cut(path, got.rstrip(". "))
        bad = first_not_finite(block, done) if dtype == "float32" else None
        if bad is not None:
            refuse_file(path, "every sample must be a finite float32", bad)
        samples[done : done + len(block)] = block
        done += len(block)
    return samples
