"""The bundled scene: some solids on a round plate, their textures, and the light on them.

Colors are linear until `shade` encodes them. Everything stands within [-1.5, 1.5]³, z up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from _solids import Box, Cylinder, Solid, Sphere, Torus, first_hit, turned

LAMP = np.array([2.6, -2.2, 4.2])  # the middle of a square lamp that faces the origin
LAMP_SIDE = 1.3
LAMP_LIGHT = np.array([1.0, 0.95, 0.86]) * 0.95
FILL = np.array([-0.62, 0.55, 0.56])  # a direction: light from there throws no shadow
FILL_LIGHT = np.array([0.75, 0.88, 1.0]) * 0.22
SKY = np.array([0.42, 0.46, 0.52])
GROUND = np.array([0.30, 0.27, 0.25])

_LIFT = 1e-5  # of a surface, for the rays that leave it


def _linear(text: str) -> np.ndarray:
    """Return linear RGB of a color written as #rrggbb."""
    encoded = np.array([int(text[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


CREAM, NAVY, TEAL, CORAL = map(_linear, ("#f3e9d2", "#41618f", "#3fae9f", "#ea7350"))
SAND, PLUM, GOLD, BROWN = map(_linear, ("#e9c46a", "#8c5c99", "#f0b429", "#b0702c"))
STEEL, MIST = map(_linear, ("#84a9cf", "#b4cae0"))


def _pick(number: np.ndarray, colors: Sequence[np.ndarray]) -> np.ndarray:
    return np.stack(colors)[number.astype(np.int64) % len(colors)]


def globe(p: np.ndarray) -> np.ndarray:
    """Checks between meridians and parallels."""
    turn = np.floor(6 * (np.arctan2(p[:, 1], p[:, 0]) / (2 * np.pi) + 0.5))
    step = np.floor(4 * np.arccos(np.clip(p[:, 2] / np.linalg.norm(p, axis=-1), -1, 1)) / np.pi)
    return _pick(turn + step, [CREAM, CORAL])


def stripes(p: np.ndarray) -> np.ndarray:
    """Slanting stripes that go around the edges of a box."""
    return _pick(np.floor((p[:, 0] + p[:, 1] + 1.6 * p[:, 2] + 9) / 0.3), [TEAL, CREAM, NAVY])


def helix(p: np.ndarray) -> np.ndarray:
    """Two ribbons that wind up a column."""
    turn = np.arctan2(p[:, 1], p[:, 0]) / (2 * np.pi)
    return _pick(np.floor(2 * (turn + p[:, 2] / 0.55) + 80), [NAVY, SAND])


def segments(p: np.ndarray) -> np.ndarray:
    """Segments along a ring."""
    turn = np.arctan2(p[:, 1], p[:, 0]) / (2 * np.pi) + 0.5
    return _pick(np.floor(9 * turn), [PLUM, SAND, CORAL])


def plate(p: np.ndarray) -> np.ndarray:
    """Checks between rings and rays, and a plain rim."""
    across = np.hypot(p[:, 0], p[:, 1])
    turn = np.arctan2(p[:, 1], p[:, 0]) / (2 * np.pi) + 0.5
    ring = np.floor(across / 0.275)
    checks = _pick(ring + np.floor(12 * turn), [STEEL, MIST])
    return np.where(((across > 1.05) | (across < 0.275))[:, None], NAVY, checks)


def waves(p: np.ndarray) -> np.ndarray:
    """A smooth pattern, without an edge."""
    share = 0.5 + 0.5 * np.sin(22 * p[:, 0]) * np.sin(22 * p[:, 1]) * np.cos(22 * p[:, 2])
    return GOLD * share[:, None] + BROWN * (1 - share[:, None])


def dots(p: np.ndarray) -> np.ndarray:
    """Round dots on the faces of a small box."""
    cell = (p + 0.2) % 0.2 - 0.1
    near = np.sort(np.abs(cell), axis=-1)
    return np.where((np.hypot(near[:, 0], near[:, 1]) < 0.062)[:, None], CREAM, PLUM)


TOP = -0.62  # of the plate
SOLIDS: tuple[Solid, ...] = (
    Cylinder((0, 0, TOP - 0.06), plate, size=1.1, half=0.06, gloss=0.03, sharpness=30),
    Box((-0.38, 0.3, TOP + 0.3), stripes, half=(0.36, 0.36, 0.3), rotation=turned(24)),
    Sphere(
        (-0.38, 0.3, TOP + 0.6 + 0.4),
        globe,
        size=0.4,
        rotation=turned(30, 20),
        gloss=0.09,
        sharpness=140,
    ),
    Cylinder((0.52, 0.42, TOP + 0.5), helix, size=0.22, half=0.5, gloss=0.06, sharpness=90),
    Sphere((0.52, 0.42, TOP + 1.0 + 0.2), waves, size=0.2, gloss=0.12, sharpness=200),
    Torus(
        (0.34, -0.5, TOP + 0.4),
        segments,
        ring=0.28,
        tube=0.12,
        rotation=turned(28, 90),
        gloss=0.09,
        sharpness=110,
    ),
    Box((-0.5, -0.55, TOP + 0.2), dots, half=(0.2, 0.2, 0.2), rotation=turned(-18)),
)


def lamp_points(number: int) -> np.ndarray:
    """Return the centers (number², 3) of the lamp's cells."""
    forward = -LAMP / np.linalg.norm(LAMP)
    right = np.cross(forward, [0, 0, 1])
    right /= np.linalg.norm(right)
    up = np.cross(right, forward)
    at = LAMP_SIDE * ((np.arange(number) + 0.5) / number - 0.5)
    return LAMP + (at[:, None, None] * right + at[:, None] * up).reshape(-1, 3)


def shade(
    point: np.ndarray,
    direction: np.ndarray,
    number: np.ndarray,
    lamp: np.ndarray,
    solids: Sequence[Solid] = SOLIDS,
) -> np.ndarray:
    """Return the encoded (sRGB) colors of points of surfaces as they are seen from one side.

    Diffuse light from the lamp, with its shadow, from the fill and from above; the lamp's
    highlight (Blinn and Phong's half vector) and the sky's reflection (Schlick's share), both of
    which move with the eye.

    Args:
        point: (N, 3) on the surfaces.
        direction: (N, 3) unit directions toward them.
        number: (N,) of their solids.
        lamp: (N, 3) points of the lamp, one for each point.
        solids: the scene.

    Returns:
        (N, 3) in [0, 1].
    """
    base, normal = np.zeros_like(point), np.zeros_like(point)
    gloss, sharpness = np.zeros((len(point), 1)), np.ones((len(point), 1))
    for i, solid in enumerate(solids):
        of = number == i
        base[of] = solid.texture(solid.local(point[of]))
        normal[of] = solid.normal(point[of])
        gloss[of], sharpness[of] = solid.gloss, solid.sharpness
    to_lamp = lamp - point
    distance = np.linalg.norm(to_lamp, axis=-1, keepdims=True)
    to_lamp /= distance
    facing = _dot(normal, to_lamp)
    lit = np.zeros(len(point))
    bright = np.flatnonzero(facing[:, 0] > 0)
    start = point[bright] + _LIFT * normal[bright]
    blocked, _ = first_hit(solids, start, to_lamp[bright])
    lit[bright] = blocked >= distance[bright, 0]
    light = lit[:, None] * LAMP_LIGHT
    share_of_sky = 0.5 + 0.5 * normal[:, 2:]
    diffuse = (
        light * np.maximum(facing, 0)
        + FILL_LIGHT * np.maximum(_dot(normal, FILL), 0)
        + GROUND
        + (SKY - GROUND) * share_of_sky
    )
    half = to_lamp - direction
    half /= np.linalg.norm(half, axis=-1, keepdims=True)
    highlight = np.maximum(_dot(normal, half), 0) ** sharpness * (sharpness + 8) / 8
    highlight *= np.maximum(facing, 0)
    away = np.maximum(-_dot(normal, direction), 0)
    mirrored = gloss + (1 - gloss) * 0.35 * (1 - away) ** 5
    reflected = direction + 2 * away * normal
    sky = GROUND + (SKY - GROUND) * (0.5 + 0.5 * reflected[:, 2:])
    linear = (1 - mirrored) * base * diffuse + mirrored * sky + light * gloss * highlight
    linear = np.clip(linear, 0, 1)
    low, high = 12.92 * linear, 1.055 * np.maximum(linear, 0.003) ** (1 / 2.4) - 0.055
    return np.where(linear <= 0.0031308, low, high)


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(-1, keepdims=True)
