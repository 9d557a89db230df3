"""Fitting a module to samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attributes

if TYPE_CHECKING:
    from .audio import AudioSamples
    from .checkpoint import Checkpoint
    from .config import FitConfig
    from .fitting import fit, minimise
    from .linear import fit_linear
    from .objective import Objective
    from .pixels import PixelSamples
    from .result import FitResult, HistoryPoint, NonFiniteLossError
    from .runtime import choose_device, choose_precision
    from .samples import Samples, TensorSamples
    from .solving import LeastSquares, least_squares

__all__ = [
    "AudioSamples",
    "Checkpoint",
    "FitConfig",
    "FitResult",
    "HistoryPoint",
    "LeastSquares",
    "NonFiniteLossError",
    "Objective",
    "PixelSamples",
    "Samples",
    "TensorSamples",
    "choose_device",
    "choose_precision",
    "fit",
    "fit_linear",
    "least_squares",
    "minimise",
]

__getattr__ = attributes(
    __name__,
    {
        "AudioSamples": "audio",
        "Checkpoint": "checkpoint",
        "FitConfig": "config",
        "fit": "fitting",
        "minimise": "fitting",
        "Objective": "objective",
        "fit_linear": "linear",
        "FitResult": "result",
        "PixelSamples": "pixels",
        "Samples": "samples",
        "TensorSamples": "samples",
        "HistoryPoint": "result",
        "NonFiniteLossError": "result",
        "LeastSquares": "solving",
        "least_squares": "solving",
        "choose_device": "runtime",
        "choose_precision": "runtime",
    },
)
