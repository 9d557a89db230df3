"""Sound files in: their own samples, and the number that means full scale."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from .checks import (
    FULL_SCALE,
    MAX_VALUES,
    check_amount,
    check_rate,
    find_damage,
    refuse_sound,
    soundfile,
)
from .formats import check_audio_output, subtype_for
from .writing import AudioWriter, write_audio

__all__ = [
    "MAX_VALUES",
    "Audio",
    "AudioWriter",
    "check_audio_output",
    "read_audio",
    "subtype_for",
    "write_audio",
]

_FORMATS = ("WAV", "WAVEX", "RF64", "FLAC", "OGG", "AIFF")
# how a file may begin: libsndfile would take much else for headerless or compressed sound
_STARTS = (b"RIFF", b"RIFX", b"RF64", b"fLaC", b"ID3", b"OggS", b"FORM")
# subtype → the dtype that holds its samples without loss
_DTYPES = {
    **dict.fromkeys(("PCM_S8", "PCM_U8", "PCM_16", "ULAW", "ALAW"), "int16"),
    **dict.fromkeys(("PCM_24", "PCM_32"), "int32"),
    **dict.fromkeys(("FLOAT", "DOUBLE", "VORBIS", "OPUS"), "float32"),
}
_UNKNOWN_LENGTH = 2**63 - 1  # what libsndfile says where a header does not tell
_BLOCK = 1 << 16


@dataclass(frozen=True, eq=False)
class Audio:
    """A sound as its file has it.

    Attributes:
        samples: ``(N, C)``, one row for each instant n / rate in seconds, one column for each
            channel; int16 (8- and 16-bit PCM, A-law, µ-law), int32 (24- and 32-bit PCM, shifted
            up to 32 bits) or float32 (floats, Vorbis, Opus).
        peak: the stored number that means 1.0: 2^15, 2^31, or 1.0 for floats, whose own scale is
            kept.
        rate: samples a second, Hz.
        format: the container, as soundfile names it: WAV, WAVEX, RF64, FLAC, OGG, AIFF.
        subtype: the encoding of a sample, as soundfile names it: PCM_16, FLOAT, VORBIS, ….
        notes: sentences to print.
        warnings: such sentences where something is likely to be wrong.
    """

    samples: np.ndarray
    peak: float
    rate: int
    format: str
    subtype: str
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"Audio({self.frames:,} x {self.channels} {self.samples.dtype} at {self.rate:,} Hz, "
            f"{self.seconds:.4g} s, {self.format} {self.subtype})"
        )

    @property
    def frames(self) -> int:
        """Number of samples N of each channel."""
        return self.samples.shape[0]

    @property
    def channels(self) -> int:
        """Number of channels C."""
        return self.samples.shape[1]

    @property
    def seconds(self) -> float:
        """N / rate."""
        return self.frames / self.rate

    def values(self, which: slice | None = None) -> np.ndarray:
        """Return samples / peak: in [-1, 1) for PCM, on the file's own scale for floats.

        Args:
            which: the rows wanted; all of them by default.

        Returns:
            A new float32 array ``(n, C)``. 8-bit bytes 128, 255 and 0 give 0, 0.9921875 and -1.
        """
        chosen = self.samples if which is None else self.samples[which]
        # a power of two: what float32 can hold is divided without a second rounding
        return chosen.astype(np.float32) / np.float32(self.peak)


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
    path = Path(path)
    library = soundfile()
    _check_file(path)
    try:
        with library.SoundFile(os.fsencode(path)) as file:
            kind, subtype = str(file.format), str(file.subtype)
            _check_kind(path, kind, subtype)
            check_rate(path, int(file.samplerate))
            notes, warnings = _examined(path, kind, subtype)
            samples = _decode(path, file, _DTYPES[subtype], max_values)
            peak = FULL_SCALE[str(samples.dtype)]
            found = Audio(samples, peak, int(file.samplerate), kind, subtype, notes, warnings)
    except library.LibsndfileError as error:
        _refuse_undecodable(path, error)
    _check_finite(path, found)
    return found


def _check_file(path: Path) -> None:
    rule = "a sound must be a readable file"
    try:
        if path.is_dir():
            refuse_sound(path, rule, "a folder", "Name one of the files in it.")
        if not path.exists():
            refuse_sound(path, rule, "no such file", "Check the name and the folder.")
        if not path.is_file():
            refuse_sound(path, rule, "not a regular file", "Save it to a file first.")
        with path.open("rb") as file:
            start = file.read(12)
    except OSError as error:
        refuse_sound(path, rule, error.strerror or error, "Check the file's permissions.")
    if not start:
        refuse_sound(path, rule, "an empty file (0 bytes)", "Save or download it again.")
    if not start.startswith(_STARTS):
        _refuse_kind(path, f"a file that starts with {start!r}")


def _refuse_kind(path: Path, got: str) -> NoReturn:
    refuse_sound(path, "a sound must be a WAV, FLAC, Ogg or AIFF", got, "Convert it to a WAV.")


def _check_kind(path: Path, kind: str, subtype: str) -> None:
    if kind not in _FORMATS:
        _refuse_kind(path, f"a file in the format {kind}")
    if subtype not in _DTYPES:
        refuse_sound(
            path,
            f"the samples of a sound must be one of {', '.join(_DTYPES)}",
            subtype,
            "Convert it to 16-bit PCM.",
        )


def _examined(path: Path, kind: str, subtype: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return notes and warnings; refuse a file whose header promises more than it holds."""
    notes, warnings = (), ()
    if subtype in ("VORBIS", "OPUS"):
        notes = (f"{subtype.title()} is lossy: its decoded samples are what is fitted.",)
    damage = find_damage(path)
    if damage is not None and kind == "OGG":  # some recorders of streams leave the mark out
        warnings = (f"{damage[0].upper()}{damage[1:]}: the sound may be cut short.",)
    elif damage is not None:
        _refuse_cut(path, damage)
    return notes, warnings


def _refuse_cut(path: Path, damage: str) -> NoReturn:
    refuse_sound(path, "a sound must be whole", damage, "Save or download it again.")


def _refuse_undecodable(path: Path, error: Exception) -> NoReturn:
    reason = " ".join(str(getattr(error, "error_string", "") or "it cannot be decoded").split())
    refuse_sound(
        path,
        "a sound must be whole and undamaged",
        reason,
        "Save or download it again, or convert it to a WAV.",
    )


def _decode(path: Path, file: Any, dtype: str, max_values: int | None) -> np.ndarray:
    """Decode all frames to ``(N, C)``, block by block."""
    frames, channels = max(0, int(file.frames)), int(file.channels)
    if frames == _UNKNOWN_LENGTH:  # a FLAC from a pipe, which the library cannot read so
        rule, got = "a sound's header must say how long it is", "it does not"
        refuse_sound(path, rule, got, "Convert it to a WAV.")
    check_amount(path, frames, channels, np.dtype(dtype).itemsize, max_values)
    if not frames:
        refuse_sound(path, "a sound must have samples", "none", "Record or save it again.")
    samples = np.empty((frames, channels), dtype)
    done = 0
    while done < frames:
        try:
            block = file.read(min(_BLOCK, frames - done), dtype=dtype, always_2d=True)
        except RuntimeError as error:  # a damaged FLAC; the library's own error is one
            block, reason = samples[:0], f". {getattr(error, 'error_string', error)}"
        else:
            reason = ""
        if not len(block):
            got = f"decoding ends after {done:,} of {frames:,} samples{reason}"
            _refuse_cut(path, got.rstrip(". "))
        samples[done : done + len(block)] = block
        done += len(block)
    return samples


def _check_finite(path: Path, audio: Audio) -> None:
    """Refuse floats that are NaN or infinite, naming the first."""
    if audio.samples.dtype.kind != "f":
        return
    bad = 0
    first: tuple[int, int] | None = None
    for start in range(0, audio.frames, _BLOCK):
        wrong = ~np.isfinite(audio.samples[start : start + _BLOCK])
        bad += int(wrong.sum())
        if first is None and wrong.any():
            row, column = np.argwhere(wrong)[0]
            first = start + int(row), int(column)
    if first is not None:
        refuse_sound(
            path,
            "every sample must be a finite float32",
            f"{audio.samples[first]} at sample {first[0]:,} of channel {first[1]} "
            f"({bad:,} such values)",
            "Repair the file before fitting it.",
        )
