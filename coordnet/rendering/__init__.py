"""Pictures of any callable, in bounded memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attributes

if TYPE_CHECKING:
    from .image import render_image, render_points

__all__ = ["render_image", "render_points"]

__getattr__ = attributes(__name__, dict.fromkeys(__all__, "image"))
