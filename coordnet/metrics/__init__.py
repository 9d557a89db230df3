"""Metrics of a prediction: MSE, RMSE, PSNR, SNR, SSIM."""

from __future__ import annotations

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
