"""A fitted sound: its errors, its file and its figure in one pass over the samples."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..field import Field
from ..metrics.psnr_snr import psnr_from_mse, snr_from_squares
from ..rendering.signal import render_signal
from .audio import Audio
from .figures import SoundFigure
from .writing import AudioWriter

__all__ = ["measure"]


def measure(
    field: Field,
    audio: Audio,
    *,
    writer: AudioWriter | None = None,
    figure: SoundFigure | None = None,
    progress: Callable[[int], object] | None = None,
) -> dict[str, float]:
    """Return PSNR (peak 1.0), RMSE and SNR of a field at the instants of a sound.

    Of several channels also the SNR of each: ``snr_0``, ``snr_1``, …. Memory is one block.

    Args:
        field: from times in seconds to values.
        audio: the sound.
        writer: receives the field's samples in the same pass.
        figure: receives both sounds in the same pass.
        progress: called with the number of instants done since the last call.
    """
    device, start = next(field.parameters()).device, 0
    signal, error = np.zeros((2, audio.channels))
    for values in render_signal(field, audio.frames, audio.rate, device=device):
        target = audio.values(slice(start, start + len(values)))
        start += len(values)
        signal += np.square(target, dtype=np.float64).sum(0)
        error += np.square(values.astype(np.float64) - target).sum(0)
        if figure is not None:
            figure.add(target, values)
        if writer is not None:
            writer.write(values)
        if progress is not None:
            progress(len(values))
    mse = float(error.sum()) / (audio.frames * audio.channels)
    errors = {
        "psnr": psnr_from_mse(mse, 1.0),
        "rmse": math.sqrt(mse),
        "snr": snr_from_squares(float(signal.sum()), float(error.sum())),
    }
    if audio.channels > 1:
        pairs = zip(signal.tolist(), error.tolist(), strict=True)
        errors |= {f"snr_{i}": snr_from_squares(*pair) for i, pair in enumerate(pairs)}
    return errors
