"""What lies around the solids, without an end: a paved ground, hills far away, a sky."""

from __future__ import annotations

import numpy as np

GROUND = -0.75  # its height, a little below the plate
_TILE = 0.8
_HAZE = 12.0  # the distance over which the ground fades
_STONE, _JOINT = np.array([0.62, 0.58, 0.52]), np.array([0.38, 0.36, 0.36])
_FAR = np.array([0.72, 0.78, 0.84])
_ZENITH, _HILLS = np.array([0.28, 0.5, 0.8]), np.array([0.42, 0.52, 0.46])


def surroundings(origin: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what rays that miss the solids see: colors (N, 3) and distances, inf for the sky.

    Args:
        origin: (N, 3).
        direction: (N, 3), unit vectors.
    """
    down = direction[:, 2] < -1e-9
    distance = np.full(len(direction), np.inf)
    distance[down] = (GROUND - origin[down, 2]) / direction[down, 2]
    color = _sky(direction)
    point = origin[down] + distance[down, None] * direction[down]
    color[down] = _ground(point, distance[down])
    return color, distance


def _sky(direction: np.ndarray) -> np.ndarray:
    """Blue above, pale at the horizon, with a line of hills that ends at no distance."""
    turn = np.arctan2(direction[:, 1], direction[:, 0])
    height = np.clip(direction[:, 2], 0, 1)[:, None]
    color = _FAR + (_ZENITH - _FAR) * height**0.5
    top = 0.10 + 0.05 * np.sin(3 * turn) + 0.03 * np.sin(8 * turn + 1)
    share = np.clip((top - direction[:, 2]) / 0.02, 0, 1)[:, None]
    shade = 1 + 0.25 * np.sin(11 * turn + 2)[:, None]
    return color + share * (_HILLS * shade - color)


def _ground(point: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """Paving with joints of mortar, and soft patches, that fade into the haze."""
    cell = np.floor(point[:, :2] / _TILE)
    inner = np.abs(point[:, :2] / _TILE - cell - 0.5).max(-1)
    tone = 0.85 + 0.3 * np.mod(np.sin(cell @ [12.9898, 78.233]) * 43758.5453, 1.0)
    joint = np.clip((inner - 0.45) / 0.03, 0, 1)[:, None]
    color = _STONE * tone[:, None] * (1 - joint) + _JOINT * joint
    patch = 0.5 + 0.5 * np.sin(0.7 * point[:, 0] + 1) * np.sin(0.5 * point[:, 1])
    color = color * (0.8 + 0.3 * patch[:, None])
    return np.clip(_FAR + (color - _FAR) * np.exp(-distance / _HAZE)[:, None], 0, 1)
