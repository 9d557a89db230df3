"""Scenes: posed pictures, radiance fields, rendering along rays."""

from __future__ import annotations

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
