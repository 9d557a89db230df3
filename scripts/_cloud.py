"""A smooth cloud whose density and color are known everywhere, rendered by fine quadrature.

The density is a sum of Gaussian blobs, so that the opacity of any ray is known in closed form too;
the color does not depend on the direction. What a fit finds can be held against all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import erf

import numpy as np

PointFunction = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Blob:
    """A Gaussian blob.

    Attributes:
        center: (x, y, z).
        spread: its standard deviation σ, the same every way.
        peak: the density at its center, per unit of length.
        color: (red, green, blue) in [0, 1].
    """

    center: tuple[float, float, float]
    spread: float
    peak: float
    color: tuple[float, float, float]


CLOUD = (
    Blob((0.0, 0.0, -0.15), 0.30, 28.0, (0.91, 0.34, 0.18)),
    Blob((0.62, 0.10, 0.20), 0.20, 40.0, (0.16, 0.62, 0.56)),
    Blob((-0.45, 0.50, 0.25), 0.22, 36.0, (0.93, 0.77, 0.30)),
    Blob((-0.35, -0.60, 0.05), 0.20, 40.0, (0.20, 0.36, 0.66)),
    Blob((0.10, -0.10, 0.65), 0.17, 46.0, (0.60, 0.30, 0.62)),
    Blob((0.45, -0.55, -0.45), 0.18, 44.0, (0.95, 0.90, 0.80)),
)


@dataclass(frozen=True)
class Rendered:
    """What rays gather.

    Attributes:
        color: (N, 3), multiplied by the opacity: on a background b a pixel is
            color + (1 - opacity) b.
        opacity: (N,), 1 - exp(-∫ density).
        depth: (N,), the mean distance at which a ray is stopped among the rays that are: the sum
            of weights times distances over the opacity; 0 where the opacity is 0.
    """

    color: np.ndarray
    opacity: np.ndarray
    depth: np.ndarray


def density(point: np.ndarray, blobs: Sequence[Blob] = CLOUD) -> np.ndarray:
    """Return the density (N,) at points (N, 3)."""
    return _shares(point, blobs).sum(-1)


def color(point: np.ndarray, blobs: Sequence[Blob] = CLOUD) -> np.ndarray:
    """Return the color (N, 3) at points (N, 3): the blobs', by their shares, under slow waves."""
    share = _shares(point, blobs) + 1e-30 / len(blobs)
    mixed = share @ np.array([blob.color for blob in blobs]) / share.sum(-1, keepdims=True)
    waves = 0.85 + 0.15 * np.sin(7 * point[:, :1]) * np.sin(7 * point[:, 1:2] + 4 * point[:, 2:])
    return mixed * waves


def opacity(
    origin: np.ndarray,
    direction: np.ndarray,
    near: float,
    far: float,
    blobs: Sequence[Blob] = CLOUD,
) -> np.ndarray:
    """Return the opacity (N,) of rays between two distances in closed form.

    Along a ray that passes a blob's center at the distance d, nearest to it at t = m, the density
    is peak exp(-d² / 2σ²) exp(-(t - m)² / 2σ²), whose integral is an error function.
    """
    total = np.zeros(len(origin))
    for blob in blobs:
        start = np.asarray(blob.center) - origin
        middle = (start * direction).sum(-1)
        across = (start**2).sum(-1) - middle**2
        scale = np.sqrt(2) * blob.spread
        ends = [np.vectorize(erf)((end - middle) / scale) for end in (near, far)]
        length = np.sqrt(np.pi / 2) * blob.spread * (ends[1] - ends[0])
        total += blob.peak * np.exp(-across / scale**2) * length
    return -np.expm1(-total)


def gather(
    origin: np.ndarray,
    direction: np.ndarray,
    near: float,
    far: float,
    steps: int = 512,
    density: PointFunction = density,
    color: PointFunction = color,
) -> Rendered:
    """Render any field along rays by the midpoint rule.

    Args:
        origin: (N, 3).
        direction: (N, 3), of length 1.
        near: where the rays begin.
        far: where they end.
        steps: of equal length.
        density: (M, 3) points to (M,).
        color: (M, 3) points to (M, 3).
    """
    step = (far - near) / steps
    through = np.ones(len(origin))
    total, distance = np.zeros((len(origin), 3)), np.zeros(len(origin))
    for i in range(steps):
        at = near + (i + 0.5) * step
        point = origin + at * direction
        stopped = through * -np.expm1(-step * density(point))
        seen = np.flatnonzero(stopped > 1e-12)
        total[seen] += stopped[seen, None] * color(point[seen])
        distance += stopped * at
        through = through - stopped
    stopped = 1 - through
    return Rendered(
        total, stopped, np.divide(distance, stopped, where=stopped > 0, out=0 * stopped)
    )


def _shares(point: np.ndarray, blobs: Sequence[Blob]) -> np.ndarray:
    center = np.array([blob.center for blob in blobs])
    spread = np.array([blob.spread for blob in blobs])
    peak = np.array([blob.peak for blob in blobs])
    square = (point**2).sum(-1)[:, None] - 2 * point @ center.T + (center**2).sum(-1)
    return peak * np.exp(-square / (2 * spread**2))
