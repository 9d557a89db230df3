"""Pictures of any callable, in bounded memory; spaces that rays are marched in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attributes

if TYPE_CHECKING:
    from .image import render_image, render_points
    from .signal import render_signal
    from .spaces import contract, forward_facing, from_ndc, ndc_rays, to_ndc, uncontract

_WHERE = {
    **dict.fromkeys(("render_image", "render_points"), "image"),
    "render_signal": "signal",
    **dict.fromkeys(
        ("contract", "forward_facing", "from_ndc", "ndc_rays", "to_ndc", "uncontract"), "spaces"
    ),
}

__all__ = [
    "contract",
    "forward_facing",
    "from_ndc",
    "ndc_rays",
    "render_image",
    "render_points",
    "render_signal",
    "to_ndc",
    "uncontract",
]

__getattr__ = attributes(__name__, _WHERE)
