"""The options of a scene, without importing torch."""

from __future__ import annotations

__all__ = ["PRESETS", "SPACES"]

# name → what it is for, as the command line says it
PRESETS = {
    "fast": "a hash grid, small networks and an occupancy grid",
    "nerf": "the original NeRF: two networks of eight layers, 192 samples a ray",
}

# name → which part of space it is
SPACES = {
    "box": "around what the cameras look at (the default where pictures have alpha)",
    "unbounded": "all of space, what is far drawn together (the default where they have none)",
}
