"""Scenes as radiance fields: density and colour in space, rendered along rays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attributes, listing

if TYPE_CHECKING:
    from .field import RadianceField
    from .hull import visual_hull
    from .model import RadianceModel, Seen
    from .objective import RadianceObjective
    from .occupancy import OccupancyGrid
    from .occupancy_model import OccupancyModel
    from .views import View, render_view

_WHERE = {
    "OccupancyGrid": "occupancy",
    "OccupancyModel": "occupancy_model",
    "RadianceField": "field",
    "RadianceModel": "model",
    "RadianceObjective": "objective",
    "Seen": "model",
    "View": "views",
    "render_view": "views",
    "visual_hull": "hull",
}

__all__ = [
    "OccupancyGrid",
    "OccupancyModel",
    "RadianceField",
    "RadianceModel",
    "RadianceObjective",
    "Seen",
    "View",
    "render_view",
    "visual_hull",
]

__getattr__ = attributes(__name__, _WHERE)
__dir__ = listing(__name__, __all__)
