"""Figures: arrays in, files out. No display, no global state; matplotlib is imported when used."""

from __future__ import annotations

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
