"""How near a prediction is to the truth: float64 sums, the peak always stated."""

from __future__ import annotations

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
