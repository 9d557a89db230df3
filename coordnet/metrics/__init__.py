"""How near a prediction is to the truth: float64 sums, the peak always stated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attributes, listing

if TYPE_CHECKING:
    from .squared import mse, psnr, psnr_from_mse, rmse, snr, snr_from_squares
    from .structural import ssim

_WHERE = {
    **dict.fromkeys(("mse", "psnr", "psnr_from_mse", "rmse", "snr", "snr_from_squares"), "squared"),
    "ssim": "structural",
}

__all__ = ["mse", "psnr", "psnr_from_mse", "rmse", "snr", "snr_from_squares", "ssim"]

__getattr__ = attributes(__name__, _WHERE)
__dir__ = listing(__name__, __all__)
