"""Scenes as radiance fields: density and colour in space, rendered along rays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attributes, listing

if TYPE_CHECKING:
    from .field import RadianceField
    from .hierarchical import HierarchicalModel, original_nerf
    from .hull import visual_hull
    from .mesh import Mesh, extract_mesh
    from .model import RadianceModel, Seen
    from .objective import RadianceObjective
    from .occupancy import CarvedGrid
    from .occupancy_model import OccupancyModel
    from .ply import write_ply
    from .unbounded import UnboundedModel
    from .views import View, render_view

_WHERE = {
    "HierarchicalModel": "hierarchical",
    "Mesh": "mesh",
    "CarvedGrid": "occupancy",
    "OccupancyModel": "occupancy_model",
    "RadianceField": "field",
    "RadianceModel": "model",
    "RadianceObjective": "objective",
    "Seen": "model",
    "UnboundedModel": "unbounded",
    "View": "views",
    "extract_mesh": "mesh",
    "original_nerf": "hierarchical",
    "render_view": "views",
    "visual_hull": "hull",
    "write_ply": "ply",
}

__all__ = [
    "CarvedGrid",
    "HierarchicalModel",
    "Mesh",
    "OccupancyModel",
    "RadianceField",
    "RadianceModel",
    "RadianceObjective",
    "Seen",
    "UnboundedModel",
    "View",
    "extract_mesh",
    "original_nerf",
    "render_view",
    "visual_hull",
    "write_ply",
]

__getattr__ = attributes(__name__, _WHERE)
__dir__ = listing(__name__, __all__)
