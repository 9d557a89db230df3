"""Rendering along rays: `volume` says what is seen, `ray_sampling` where to sample."""

from __future__ import annotations

from ..._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
