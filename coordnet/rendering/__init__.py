"""Rendering of any function on regular grids and at lists of points, in bounded memory."""

from __future__ import annotations

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
