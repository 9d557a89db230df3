"""A sound in memory: its own samples, and the number that means full scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Audio", "first_not_finite"]


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
        """Return samples / peak of some rows: in [-1, 1) for PCM, floats on the file's own scale.

        Args:
            which: all rows by default.

        Returns:
            A new float32 array ``(n, C)``. 8-bit bytes 128, 255 and 0 give 0, 0.9921875 and -1.
        """
        samples = self.samples if which is None else self.samples[which]
        # a power of two: what float32 can hold is divided without a second rounding
        return samples.astype(np.float32) / np.float32(self.peak)


def first_not_finite(samples: np.ndarray, start: int) -> str | None:
    """Return the first NaN or infinity of ``(n, C)`` floats in words, None without any.

    Args:
        samples: a block of a sound.
        start: number of the block's first sample in the sound.
    """
    bad = ~np.isfinite(samples)
    if not bad.any():
        return None
    row, channel = np.unravel_index(int(bad.argmax()), bad.shape)
    return f"{samples[row, channel]} at sample {start + row:,} of channel {channel}"
