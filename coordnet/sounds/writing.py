"""Sound files out: clip, scale and round block by block, and an atomic write."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType

import numpy as np

from ..files import atomic_path, refuse_file
from .audio import first_not_finite
from .formats import check_audio_output, container_of, soundfile

__all__ = ["AudioWriter", "write_audio"]

# bits of a sample → 2^(bits - 1) is full scale; the library takes 8 bits from the upper of 16,
# and 24 from the upper of 32
_BITS = {"PCM_S8": 8, "PCM_U8": 8, "PCM_16": 16, "PCM_24": 24, "PCM_32": 32}
_LOGARITHMIC = ("ULAW", "ALAW")


class AudioWriter:
    """A sound file written atomically, block by block.

    A context manager: the file takes its name where the block ends without an error. Integer
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
        OSError: the disk is full.

    Example:
        >>> with AudioWriter("tone.wav", channels=1, rate=8000) as file:
        ...     file.write(np.sin(np.arange(8000) * 0.3)[:, None])
    """

    def __init__(
        self, path: str | os.PathLike[str], channels: int, rate: int, subtype: str = "PCM_16"
    ) -> None:
        check_audio_output(path, 0, channels, rate, subtype)
        self.path, self.channels, self.rate, self.subtype = Path(path), channels, rate, subtype
        self.clipped, self.largest, self._done = 0, 0.0, 0
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> AudioWriter:
        library = soundfile()
        with contextlib.ExitStack() as stack:
            self._beside = stack.enter_context(atomic_path(self.path))
            try:
                self._file = library.SoundFile(
                    os.fsencode(self._beside),
                    "w",
                    samplerate=self.rate,
                    channels=self.channels,
                    format=container_of(self.path),
                    subtype=self.subtype,
                )
            except library.LibsndfileError as error:
                self._raise_of_disk()
                got = f"{self.channels} channels of {self.subtype} at {self.rate:,} Hz"
                rule = "a sound must be one that its container can hold"
                refuse_file(self.path, rule, f"{got}: {error.error_string}")
            stack.push(self._close)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self._stack.__exit__(kind, error, trace)

    def _close(self, kind: type[BaseException] | None, *details: object) -> None:
        """Write the header, which knows the length only now, and look at the last sample.

        libsndfile says nothing where a full disk takes no more of what it writes at the end.
        """
        try:
            self._file.close()
            whole = kind is not None or not self._done or self._is_whole()
        except RuntimeError:
            whole = kind is not None
        if not whole:
            self._raise_of_disk()
            raise RuntimeError(f"{self.path} could not be encoded to its end")

    def _is_whole(self) -> bool:
        with soundfile().SoundFile(os.fsencode(self._beside)) as file:
            file.seek(self._done - 1)
            return file.frames == self._done and len(file.read(1)) == 1

    def _raise_of_disk(self) -> None:
        """Raise the `OSError` of a disk that takes no more, which libsndfile does not pass on."""
        with open(self._beside, "ab") as file:
            file.write(bytes(1 << 16))

    def write(self, values: np.ndarray) -> None:
        """Append samples.

        Args:
            values: ``(n, channels)`` floats; ±1.0 is full scale.
        """
        values = np.asarray(values)
        if values.ndim != 2 or values.shape[1] != self.channels or values.dtype.kind != "f":
            rule = f"a block of samples must be floats (n, {self.channels})"
            refuse_file(self.path, rule, f"{values.dtype} of shape {values.shape}")
        bad = first_not_finite(values, self._done)
        if bad is not None:
            remedy = "A fit that gives such values has diverged: lower its learning rate."
            refuse_file(self.path, "every sample must be finite", bad, remedy)
        if values.size:
            self.largest = max(self.largest, float(np.abs(values).max()))
        stored, clipped = _stored(values, self.subtype)
        self.clipped += clipped
        self._done += len(values)
        try:
            self._file.write(stored)
        except (RuntimeError, AssertionError) as error:  # the library's own, and its short write
            self._raise_of_disk()
            raise RuntimeError(f"{self.path} could not be encoded: {error}") from error


def _stored(values: np.ndarray, subtype: str) -> tuple[np.ndarray, int]:
    """Return what the library is to be given, and how many values had to be clipped."""
    if subtype in ("FLOAT", "DOUBLE"):
        dtype = np.float32 if subtype == "FLOAT" else np.float64
        return np.ascontiguousarray(values, dtype=dtype), 0
    bits = 16 if subtype in _LOGARITHMIC else _BITS[subtype]
    peak = 2.0 ** (bits - 1)
    integers = np.clip(np.rint(values.astype(np.float64) * peak), -peak, peak - 1)
    width, dtype = (16, np.int16) if bits <= 16 else (32, np.int32)
    stored = np.ascontiguousarray(integers * 2.0 ** (width - bits), dtype=dtype)
    return stored, int(np.count_nonzero(np.abs(values) > 1.0))


def write_audio(
    path: str | os.PathLike[str],
    values: np.ndarray | Iterable[np.ndarray],
    rate: int,
    *,
    channels: int | None = None,
    subtype: str = "PCM_16",
) -> int:
    """Write a sound atomically.

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
        OSError: the disk is full.
    """
    if isinstance(values, np.ndarray):
        block = values[:, None] if values.ndim == 1 else values
        channels, blocks = block.shape[-1] if channels is None else channels, iter([block])
    else:
        blocks = iter(values)
    if channels is None:
        refuse_file(path, "blocks need their number of channels", "channels=None")
    with AudioWriter(path, channels, rate, subtype) as file:
        for block in blocks:
            file.write(block)
    return file.clipped
