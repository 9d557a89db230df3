"""Cameras: poses, lenses, the rays of pixels, the space that pictures show, camera paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import attributes, listing

if TYPE_CHECKING:
    from .bounds import (
        SceneBox,
        arrangement,
        box_from_poses,
        focus_point,
        near_far_box,
        near_far_from_poses,
    )
    from .cameras import Cameras
    from .lens import distort, undistort
    from .paths import interpolated_path, orbit_around, orbit_path, spiral_path
    from .poses import average_pose, look_at
    from .ray_table import RayTable

_WHERE = {
    **dict.fromkeys(
        (
            "SceneBox",
            "arrangement",
            "box_from_poses",
            "focus_point",
            "near_far_box",
            "near_far_from_poses",
        ),
        "bounds",
    ),
    "Cameras": "cameras",
    **dict.fromkeys(("distort", "undistort"), "lens"),
    **dict.fromkeys(("interpolated_path", "orbit_around", "orbit_path", "spiral_path"), "paths"),
    **dict.fromkeys(("average_pose", "look_at"), "poses"),
    "RayTable": "ray_table",
}

__all__ = [
    "Cameras",
    "RayTable",
    "SceneBox",
    "arrangement",
    "average_pose",
    "box_from_poses",
    "distort",
    "focus_point",
    "interpolated_path",
    "look_at",
    "near_far_box",
    "near_far_from_poses",
    "orbit_around",
    "orbit_path",
    "spiral_path",
    "undistort",
]

__getattr__ = attributes(__name__, _WHERE)
__dir__ = listing(__name__, __all__)
