"""coordnet: coordinate networks in pure PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._lazy import attributes, listing

if TYPE_CHECKING:
    from . import cameras as cameras
    from . import datasets as datasets
    from . import encodings as encodings
    from . import errors as errors
    from . import metrics as metrics
    from . import networks as networks
    from . import plotting as plotting
    from . import rendering as rendering
    from . import signals as signals
    from . import training as training
    from .cameras import Cameras
    from .datasets import (
        Audio,
        Image,
        Scene,
        Table,
        read_audio,
        read_image,
        read_scene,
        read_table,
        write_audio,
        write_image,
        write_table,
    )
    from .encodings import (
        Concat,
        Damped,
        DenseGrid,
        Encoding,
        FourierFeatures,
        HashGrid,
        Identity,
        Normalized,
        Polynomial,
        SinusoidalPositionalEncoding,
        SphericalHarmonics,
    )
    from .errors import InputError
    from .field import Field
    from .grids import pixel_centres
    from .metrics import mse, psnr, rmse, snr, ssim
    from .networks import MLP, Network
    from .rendering import OccupancyGrid, PackedSamples, render_image, render_rays
    from .saving import load, save
    from .signals import HarmonicModel, PeriodSearch, choose_k, find_period, fit_harmonics
    from .training import FitConfig, FitResult, NonFiniteLossError, fit, fit_linear

__version__ = "0.1.0"

_WHERE = {
    "cameras": ("Cameras",),
    "datasets": (
        "Audio",
        "Image",
        "Scene",
        "Table",
        "read_audio",
        "read_image",
        "read_scene",
        "read_table",
        "write_audio",
        "write_image",
        "write_table",
    ),
    "encodings": (
        "Concat",
        "Damped",
        "DenseGrid",
        "Encoding",
        "FourierFeatures",
        "HashGrid",
        "Identity",
        "Normalized",
        "Polynomial",
        "SinusoidalPositionalEncoding",
        "SphericalHarmonics",
    ),
    "errors": ("InputError",),
    "field": ("Field",),
    "grids": ("pixel_centres",),
    "metrics": ("mse", "psnr", "rmse", "snr", "ssim"),
    "networks": ("MLP", "Network"),
    "rendering": ("OccupancyGrid", "PackedSamples", "render_image", "render_rays"),
    "saving": ("load", "save"),
    "signals": ("HarmonicModel", "PeriodSearch", "choose_k", "find_period", "fit_harmonics"),
    "training": ("FitConfig", "FitResult", "NonFiniteLossError", "fit", "fit_linear"),
}

__all__ = [
    "MLP",
    "Audio",
    "Cameras",
    "Concat",
    "Damped",
    "DenseGrid",
    "Encoding",
    "Field",
    "FitConfig",
    "FitResult",
    "FourierFeatures",
    "HarmonicModel",
    "HashGrid",
    "Identity",
    "Image",
    "InputError",
    "Network",
    "NonFiniteLossError",
    "Normalized",
    "OccupancyGrid",
    "PackedSamples",
    "PeriodSearch",
    "Polynomial",
    "Scene",
    "SinusoidalPositionalEncoding",
    "SphericalHarmonics",
    "Table",
    "__version__",
    "choose_k",
    "find_period",
    "fit",
    "fit_harmonics",
    "fit_linear",
    "load",
    "mse",
    "pixel_centres",
    "psnr",
    "read_audio",
    "read_image",
    "read_scene",
    "read_table",
    "render_image",
    "render_rays",
    "rmse",
    "save",
    "snr",
    "ssim",
    "write_audio",
    "write_image",
    "write_table",
]

_MODULES = (
    "cameras",
    "datasets",
    "encodings",
    "errors",
    "metrics",
    "networks",
    "plotting",
    "rendering",
    "signals",
    "training",
)

__getattr__ = attributes(
    __name__, {name: module for module, names in _WHERE.items() for name in names}, _MODULES
)
__dir__ = listing(__name__, [*__all__, *_MODULES])
