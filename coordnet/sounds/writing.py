"""Sound files out: clip, scale, round, block by block, and the whole file in place at once."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from ..files import atomic
from .checks import refuse_sound, soundfile
from .formats import check_audio_output, container_of

__all__ = ["AudioWriter", "write_audio"]

# bits of a sample → 2^(bits - 1) is full scale; the library takes 8 bits from the upper of 16,
# and 24 from the upper of 32
_BITS = {"PCM_S8": 8, "PCM_U8": 8, "PCM_16": 16, "PCM_24": 24, "PCM_32": 32}
_LOGARITHMIC = ("ULAW", "ALAW")


class AudioWriter:
    """A sound file that is written block by block, and appears whole or not at all.

    A context manager: the file takes its name where the block ends without an error. Whole-number
    encodings get round(value · 2^(bits-1)), clipped to the range that they have: 1.2 in 16 bits is
    32767. Floats keep their scale.

    Args:
        path: the file; its ending chooses the container, and an existing one is replaced.
        channels: number of channels.
        rate: samples a second.
        subtype: the encoding of a sample, as soundfile names it.

    Attributes:
        clipped: number of values beyond [-1, 1] that were clipped so far, always 0 for floats.
        largest: the largest absolute value so far.

    Raises:
        InputError: see `check_audio_output`; a block of another shape, or with values that are
            not finite.
        OSError: the folder is missing or not writable, or the disk is full.

    Example:
        >>> with AudioWriter("tone.wav", channels=1, rate=8000) as file:
        ...     file.write(np.sin(np.arange(8000) * 0.3)[:, None])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        channels: int,
        rate: int,
        subtype: str = "PCM_16",
    ) -> None:
        check_audio_output(path, 0, channels, rate, subtype)
        self.path, self.channels, self.rate, self.subtype = Path(path), channels, rate, subtype
        self.clipped, self.largest, self._done = 0, 0.0, 0
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> AudioWriter:
        library = soundfile()
        container = container_of(self.path)
        with contextlib.ExitStack() as stack:
            self._sink = _Sink(stack.enter_context(atomic(self.path)))
            try:
                self._file = library.SoundFile(
                    self._sink,
                    "w",
                    samplerate=self.rate,
                    channels=self.channels,
                    format=container,
                    subtype=self.subtype,
                )
            except library.LibsndfileError as error:
                self._sink.raise_error()
                refuse_sound(
                    self.path,
                    "a sound must be one that its container can hold",
                    f"{self.channels} channels of {self.subtype} at {self.rate:,} Hz: "
                    f"{error.error_string}",
                    "Choose .wav.",
                )
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # an error of the disk is raised inside the stack, so that nothing is put in place
        self._stack.push(self._finish)
        self._stack.__exit__(kind, error, trace)

    def _finish(self, kind: type[BaseException] | None, *details: object) -> None:
        """Write the header, which knows the length only now."""
        try:
            self._file.close()
        finally:
            if kind is None:
                self._sink.raise_error()

    def write(self, values: np.ndarray) -> None:
        """Append samples.

        Args:
            values: ``(n, channels)`` floats; ±1.0 is full scale.
        """
        values = np.asarray(values)
        if values.ndim != 2 or values.shape[1] != self.channels or values.dtype.kind != "f":
            refuse_sound(
                self.path,
                f"a block of samples must be floats (n, {self.channels})",
                f"{values.dtype} of shape {values.shape}",
                "Pass one column for each channel.",
            )
        bad = ~np.isfinite(values)
        if bad.any():
            row, column = (int(i) for i in np.argwhere(bad)[0])
            refuse_sound(
                self.path,
                "every sample must be finite",
                f"{values[row, column]} at sample {self._done + row:,} of channel {column}",
                "A fit that gives such values has diverged: lower its learning rate.",
            )
        if values.size:
            self.largest = max(self.largest, float(np.abs(values).max()))
        stored, clipped = _stored(values, self.subtype)
        self.clipped += clipped
        self._done += len(values)
        try:
            self._file.write(stored)
        except (RuntimeError, AssertionError) as error:  # the library's own, and its short write
            self._sink.raise_error()
            raise RuntimeError(f"{self.path} could not be encoded: {error}") from error
        self._sink.raise_error()


def _stored(values: np.ndarray, subtype: str) -> tuple[np.ndarray, int]:
    """Return what the library is to be given, and how many values had to be clipped."""
    if subtype in ("FLOAT", "DOUBLE"):
        dtype = np.float32 if subtype == "FLOAT" else np.float64
        return np.ascontiguousarray(values, dtype=dtype), 0
    bits = 16 if subtype in _LOGARITHMIC else _BITS[subtype]
    peak = 2.0 ** (bits - 1)
    whole = np.rint(values.astype(np.float64) * peak)
    clipped = int(np.count_nonzero(np.abs(values) > 1.0))
    whole = np.clip(whole, -peak, peak - 1)
    held = 16 if bits <= 16 else 32
    dtype = np.int16 if held == 16 else np.int32
    return np.ascontiguousarray(whole * 2.0 ** (held - bits), dtype=dtype), clipped


class _Sink:
    """A file for the library's callbacks, in which no exception may be raised."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._error: OSError | None = None

    def raise_error(self) -> None:
        """Raise the first error that a callback met."""
        if self._error is not None:
            raise self._error

    def write(self, data: Any) -> int:
        """Write, or remember why not; the library sees a short write."""
        try:
            return self._file.write(data)
        except OSError as error:
            self._error = self._error or error
            return 0

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place in the file."""
        try:
            return self._file.seek(offset, whence)
        except OSError as error:
            self._error = self._error or error
            return -1

    def tell(self) -> int:
        """Return the place in the file."""
        try:
            return self._file.tell()
        except OSError as error:
            self._error = self._error or error
            return -1

    def flush(self) -> None:
        """Write out what is buffered."""
        try:
            self._file.flush()
        except OSError as error:
            self._error = self._error or error


def write_audio(
    path: str | os.PathLike[str],
    values: np.ndarray | Iterable[np.ndarray],
    rate: int,
    *,
    channels: int | None = None,
    subtype: str = "PCM_16",
) -> int:
    """Write a sound; the file appears whole or not at all.

    Args:
        path: the file; its ending chooses the container, and an existing one is replaced.
        values: ``(N,)`` or ``(N, C)`` floats, ±1.0 being full scale; or blocks ``(n, C)``.
        rate: samples a second.
        channels: number of channels C; needed where ``values`` are blocks.
        subtype: the encoding of a sample: "PCM_U8", "PCM_S8", "PCM_16", "PCM_24", "PCM_32",
            "FLOAT", "DOUBLE", "ULAW" or "ALAW".

    Returns:
        The number of values beyond [-1, 1] that were clipped; always 0 for floats.

    Raises:
        InputError: see `AudioWriter`.
        OSError: the folder is missing or not writable, or the disk is full.
    """
    if isinstance(values, np.ndarray):
        block = values[:, None] if values.ndim == 1 else values
        channels, blocks = block.shape[-1] if channels is None else channels, iter([block])
    else:
        blocks = iter(values)
    if channels is None:
        refuse_sound(path, "blocks need their number of channels", "None", "Pass channels=1.")
    with AudioWriter(path, channels, rate, subtype) as file:
        for block in blocks:
            file.write(block)
    return file.clipped
