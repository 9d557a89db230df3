"""coordnet: coordinate networks in pure PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._lazy import attributes

if TYPE_CHECKING:
    from .encodings import (
        Concat,
        Encoding,
        FourierFeatures,
        Identity,
        Normalized,
        SinusoidalPositionalEncoding,
    )
    from .errors import InputError
    from .field import Field
    from .networks import MLP, Network
    from .training import FitConfig, FitResult, NonFiniteLossError, fit

__version__ = "0.1.0"

__all__ = [
    "MLP",
    "Concat",
    "Encoding",
    "Field",
    "FitConfig",
    "FitResult",
    "FourierFeatures",
    "Identity",
    "InputError",
    "Network",
    "NonFiniteLossError",
    "Normalized",
    "SinusoidalPositionalEncoding",
    "__version__",
    "fit",
]

__getattr__ = attributes(
    __name__,
    {
        **dict.fromkeys(
            (
                "Concat",
                "Encoding",
                "FourierFeatures",
                "Identity",
                "Normalized",
                "SinusoidalPositionalEncoding",
            ),
            "encodings",
        ),
        **dict.fromkeys(("MLP", "Network"), "networks"),
        **dict.fromkeys(("FitConfig", "FitResult", "NonFiniteLossError", "fit"), "training"),
        "Field": "field",
        "InputError": "errors",
    },
)
