"""Fitting a module to samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attributes

if TYPE_CHECKING:
    from .config import FitConfig
    from .linear import fit_linear
    from .loop import fit
    from .result import FitResult, HistoryPoint, NonFiniteLossError
    from .runtime import choose_device, choose_precision

__all__ = [
    "FitConfig",
    "FitResult",
    "HistoryPoint",
    "NonFiniteLossError",
    "choose_device",
    "choose_precision",
    "fit",
    "fit_linear",
]

__getattr__ = attributes(
    __name__,
    {
        "FitConfig": "config",
        "fit": "loop",
        "fit_linear": "linear",
        "FitResult": "result",
        "HistoryPoint": "result",
        "NonFiniteLossError": "result",
        "choose_device": "runtime",
        "choose_precision": "runtime",
    },
)
