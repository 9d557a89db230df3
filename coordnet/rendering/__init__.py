"""Pictures of any callable, in bounded memory; rays through radiance fields.

`volume` and `packed` hold the same functions, for rays of equal and of different numbers of
samples; `sampling` says where to sample.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attributes, listing

if TYPE_CHECKING:
    from . import packed as packed
    from . import sampling as sampling
    from . import volume as volume
    from .image import render_image, render_points
    from .occupancy import OccupancyGrid
    from .samples import PackedSamples
    from .signal import render_signal
    from .spaces import contract, forward_facing, from_ndc, ndc_rays, to_ndc, uncontract
    from .volume import Rendering, render_rays

_WHERE = {
    **dict.fromkeys(("render_image", "render_points"), "image"),
    "OccupancyGrid": "occupancy",
    "PackedSamples": "samples",
    "render_signal": "signal",
    **dict.fromkeys(
        ("contract", "forward_facing", "from_ndc", "ndc_rays", "to_ndc", "uncontract"), "spaces"
    ),
    **dict.fromkeys(("Rendering", "render_rays"), "volume"),
}
_MODULES = ("packed", "sampling", "volume")

__all__ = [
    "OccupancyGrid",
    "PackedSamples",
    "Rendering",
    "contract",
    "forward_facing",
    "from_ndc",
    "ndc_rays",
    "packed",
    "render_image",
    "render_points",
    "render_rays",
    "render_signal",
    "sampling",
    "to_ndc",
    "uncontract",
    "volume",
]

__getattr__ = attributes(__name__, _WHERE, _MODULES)
__dir__ = listing(__name__, __all__)
