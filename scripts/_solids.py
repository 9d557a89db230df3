"""Solids that rays meet in closed form: sphere, box, cylinder and torus, anywhere and any way up.

Every solid answers in its own frame, where it is centerd and upright; `Solid` takes rays there.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

NOTHING = np.inf
_NEAR = 1e-6  # of a surface: a ray that starts on it does not meet it again there

Texture = Callable[[np.ndarray], np.ndarray]
"""(N, 3) points in the solid's own frame to (N, 3) linear RGB."""


def turned(yaw: float = 0.0, pitch: float = 0.0) -> np.ndarray:
    """Return the rotation by ``pitch`` about x, then by ``yaw`` about z, both in degrees."""
    a, b = np.radians([yaw, pitch])
    about_z = [[np.cos(a), -np.sin(a), 0], [np.sin(a), np.cos(a), 0], [0, 0, 1]]
    about_x = [[1, 0, 0], [0, np.cos(b), -np.sin(b)], [0, np.sin(b), np.cos(b)]]
    return np.array(about_z) @ np.array(about_x)


@dataclass(frozen=True, eq=False)
class Solid(abc.ABC):
    """A solid with a texture.

    Attributes:
        center: (x, y, z) in the world.
        texture: its color.
        rotation: (3, 3), from its own frame to the world's.
        gloss: how much of the light above it a surface mirrors, head on.
        sharpness: exponent of the highlight: the larger, the smaller the highlight.
    """

    center: Sequence[float]
    texture: Texture
    rotation: np.ndarray = field(default_factory=lambda: np.eye(3), kw_only=True)
    gloss: float = field(default=0.04, kw_only=True)
    sharpness: float = field(default=60.0, kw_only=True)

    @property
    @abc.abstractmethod
    def radius(self) -> float:
        """Of the sphere about the center that holds the solid."""

    @abc.abstractmethod
    def meet(self, origin: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return the distances (N, any number) of meetings in the own frame, NaN for none."""

    @abc.abstractmethod
    def outward(self, point: np.ndarray) -> np.ndarray:
        """Return the outward normals (N, 3) at points of the surface in the own frame."""

    def hit(self, origin: np.ndarray, direction: np.ndarray) -> np.ndarray:
        """Return how far along each ray the surface is first met, infinity where it is not.

        Args:
            origin: (N, 3) in the world.
            direction: (N, 3), of length 1.
        """
        found = np.full(len(origin), NOTHING)
        start = origin - np.asarray(self.center)
        along = (start * direction).sum(-1)
        near = np.flatnonzero(((start**2).sum(-1) - along**2) <= self.radius**2)
        if len(near):
            local = start[near] @ self.rotation, direction[near] @ self.rotation
            with np.errstate(invalid="ignore", divide="ignore"):
                distances = self.meet(*local)
            distances = np.where(distances > _NEAR, distances, NOTHING)  # NaN compares false
            found[near] = distances.min(-1)
        return found

    def local(self, point: np.ndarray) -> np.ndarray:
        """Take points (N, 3) of the world to the own frame."""
        return (point - np.asarray(self.center)) @ self.rotation

    def normal(self, point: np.ndarray) -> np.ndarray:
        """Return the outward normals (N, 3) in the world, at points of the world."""
        return self.outward(self.local(point)) @ self.rotation.T


@dataclass(frozen=True, eq=False)
class Sphere(Solid):
    """A sphere of radius ``size``."""

    size: float = field(kw_only=True)

    @property
    def radius(self) -> float:
        return self.size

    def meet(self, origin: np.ndarray, direction: np.ndarray) -> np.ndarray:
        along = (origin * direction).sum(-1)
        root = np.sqrt(along**2 - (origin**2).sum(-1) + self.size**2)
        return np.stack([-along - root, -along + root], -1)

    def outward(self, point: np.ndarray) -> np.ndarray:
        return point / self.size


@dataclass(frozen=True, eq=False)
class Box(Solid):
    """A box that reaches ``half`` = (x, y, z) from its center."""

    half: Sequence[float] = field(kw_only=True)

    @property
    def radius(self) -> float:
        return float(np.linalg.norm(self.half))

    def meet(self, origin: np.ndarray, direction: np.ndarray) -> np.ndarray:
        half = np.asarray(self.half)
        one, other = (-half - origin) / direction, (half - origin) / direction
        enter, leave = np.fmin(one, other).max(-1), np.fmax(one, other).min(-1)
        both = np.stack([enter, leave], -1)
        both[enter > leave] = np.nan
        return both

    def outward(self, point: np.ndarray) -> np.ndarray:
        share = point / np.asarray(self.half)
        face = np.abs(share).argmax(-1)
        normal = np.zeros_like(point)
        rows = np.arange(len(point))
        normal[rows, face] = np.sign(share[rows, face])
        return normal


@dataclass(frozen=True, eq=False)
class Cylinder(Solid):
    """A cylinder about z, of radius ``size``, from -half to half."""

    size: float = field(kw_only=True)
    half: float = field(kw_only=True)

    @property
    def radius(self) -> float:
        return float(np.hypot(self.size, self.half))

    def meet(self, origin: np.ndarray, direction: np.ndarray) -> np.ndarray:
        o, d = origin[:, :2], direction[:, :2]
        a, b, c = (d * d).sum(-1), (o * d).sum(-1), (o * o).sum(-1) - self.size**2
        root = np.sqrt(b * b - a * c)
        side = np.stack([(-b - root) / a, (-b + root) / a], -1)
        height = origin[:, 2:] + side * direction[:, 2:]
        side[~(np.abs(height) <= self.half)] = np.nan
        ends = (np.array([-self.half, self.half]) - origin[:, 2:]) / direction[:, 2:]
        across = o[:, None] + ends[..., None] * d[:, None]
        ends[~((across**2).sum(-1) <= self.size**2)] = np.nan
        return np.concatenate([side, ends], -1)

    def outward(self, point: np.ndarray) -> np.ndarray:
        across = np.hypot(point[:, 0], point[:, 1])
        on_end = self.half - np.abs(point[:, 2]) < self.size - across
        normal = np.zeros_like(point)
        normal[:, :2] = point[:, :2] / self.size
        normal[on_end] = 0.0
        normal[on_end, 2] = np.sign(point[on_end, 2])
        return normal


@dataclass(frozen=True, eq=False)
class Torus(Solid):
    """A torus about z: a tube of radius ``tube`` around a circle of radius ``ring``."""

    ring: float = field(kw_only=True)
    tube: float = field(kw_only=True)

    @property
    def radius(self) -> float:
        return self.ring + self.tube

    def meet(self, origin: np.ndarray, direction: np.ndarray) -> np.ndarray:
        # (|p|² + R² - r²)² = 4 R² (x² + y²) along p = o + s d is a quartic in s; s is counted
        # from the point nearest to the center, which keeps its coefficients small
        shift = -(origin * direction).sum(-1)
        o = origin + shift[:, None] * direction
        b = (o**2).sum(-1) + self.ring**2 - self.tube**2
        flat, four = (o[:, :2], direction[:, :2]), 4 * self.ring**2
        c2 = 2 * b - four * (flat[1] ** 2).sum(-1)
        c1 = -2 * four * (flat[0] * flat[1]).sum(-1)
        c0 = b * b - four * (flat[0] ** 2).sum(-1)
        companion = np.zeros((len(o), 4, 4))
        companion[:, 0, 1], companion[:, 0, 2], companion[:, 0, 3] = -c2, -c1, -c0
        companion[:, [1, 2, 3], [0, 1, 2]] = 1.0
        roots = np.linalg.eigvals(companion)
        s = np.where(np.abs(roots.imag) < 1e-6, roots.real, np.nan)
        c2, c1, c0 = c2[:, None], c1[:, None], c0[:, None]
        for _ in range(2):  # Newton: to the last digits
            s = s - (((s * s + c2) * s + c1) * s + c0) / ((4 * s * s + 2 * c2) * s + c1)
        return s + shift[:, None]

    def outward(self, point: np.ndarray) -> np.ndarray:
        across = np.hypot(point[:, 0], point[:, 1])[:, None]
        nearest = np.concatenate([point[:, :2] / across * self.ring, 0 * across], -1)
        return (point - nearest) / self.tube


def first_hit(
    solids: Sequence[Solid], origin: np.ndarray, direction: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distance (N,) to the first surface and the number (N,) of its solid.

    The distance is infinite and the number -1 where a ray meets nothing.
    """
    distances = np.stack([solid.hit(origin, direction) for solid in solids], -1)
    distance = distances.min(-1)
    return distance, np.where(np.isfinite(distance), distances.argmin(-1), -1)
