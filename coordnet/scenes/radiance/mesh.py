"""The surface of a scene as a mesh of triangles with colors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import torch

from ...checks import box, integer, positive
from ...errors import refuse
from .model import RadianceModel

__all__ = ["Mesh", "extract_mesh", "half_opaque"]

_MAX_RESOLUTION = 2048
_POINTS = 1 << 16
_SLAB = 1 << 22  # values: 16 MB
_LEAST_GAP = 1e-3

Progress = Callable[[int, int], object]
MarchingCubes = Callable[..., tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]


class Mesh(NamedTuple):
    """A surface of triangles.

    Attributes:
        vertices: ``(V, 3)`` float32, in the scene's own unit and axes.
        faces: ``(F, 3)`` int64, numbers of vertices, counterclockwise as seen from outside.
        colors: ``(V, 3)`` float32 in [0, 1].
        normals: ``(V, 3)`` float32, unit vectors that point outwards.
    """

    vertices: np.ndarray
    faces: np.ndarray
    colors: np.ndarray
    normals: np.ndarray


def half_opaque(model: RadianceModel, resolution: int = 256) -> float:
    """Return the density at which a cell of a grid lets half of the light through, ln 2 / side.

    Args:
        model: the scene.
        resolution: cells along the longest side of its box.
    """
    return math.log(2) / _Grid(model, resolution).side


def extract_mesh(
    model: RadianceModel,
    *,
    resolution: int = 256,
    level: float | None = None,
    progress: Progress | None = None,
) -> Mesh:
    """Extract the surface on which the density has one value, by marching cubes.

    The density σ is taken at the middles of cubic cells that fill the model's box, and counts as
    0 outside of it, so that the surface is closed. Between two middles the surface lies where
    σ / (σ + level), interpolated linearly, is a half: densities differ by powers of ten, and
    their own interpolation would press it against the thinner side. Lewiner's variant of marching
    cubes (2003) runs on one slab of cells after the other, and the slabs are sewn together:
    memory is that of a slab and of the mesh. The color of a vertex is the model's as seen from
    straight above the surface, along the inward normal.

    Args:
        model: the scene.
        resolution: cells along the longest side of the box, 2048 at most.
        level: the density on the surface, per unit of length; None takes `half_opaque`: what is
            denser hides what lies two cells behind it.
        progress: called with the numbers of cells done since the last call and in all.

    Raises:
        InputError: no density reaches the level, or one is not finite; a resolution or a level
            out of range; scikit-image is not installed.

    Example:
        >>> mesh = extract_mesh(model, resolution=128)
        >>> write_ply("scene.ply", mesh)
    """
    marching_cubes = _marching_cubes()
    grid = _Grid(model, resolution, progress)
    threshold = math.log(2) / grid.side
    if level is not None:
        threshold = positive("level", level)
    mode = model.training
    model.eval()
    try:
        with torch.no_grad():
            vertices, faces = _surface(grid, threshold, marching_cubes)
            normals = _vertex_normals(vertices, faces)
            colors = _colors(grid, vertices, normals)
    finally:
        model.train(mode)
    return Mesh(vertices.astype(np.float32), faces, colors, normals.astype(np.float32))


def _marching_cubes() -> MarchingCubes:
    try:
        from skimage.measure import marching_cubes
    except ImportError:
        refuse(
            "marching cubes needs the package scikit-image",
            "an installation without it",
            "Run: pip install 'coordnet[mesh]'",
        )
    return marching_cubes


class _Grid:
    """The cells of a model's box, and their densities.

    Attributes:
        side: of a cell.
        shape: number of cells along each axis.
        corner: the lower corner; where the cells fill more than the box, it is in their middle.
        peak: the largest density so far.
    """

    def __init__(
        self, model: RadianceModel, resolution: int, progress: Progress | None = None
    ) -> None:
        resolution = integer("resolution", resolution, least=1, most=_MAX_RESOLUTION)
        low, high = box(*model.box, 3)
        extent = [b - a for a, b in zip(low, high, strict=True)]
        self.model, self.progress = model, progress
        self.side = max(extent) / resolution
        # 2.9999999 cells are 3
        self.shape = [max(1, math.ceil(length / self.side - 1e-6)) for length in extent]
        excess = np.array(self.shape) * self.side - np.array(extent)
        self.corner = np.array(low) - excess / 2
        self.device = next(model.parameters()).device
        self.peak = 0.0

    def layers(self, first: int, last: int) -> np.ndarray:
        """Return the densities of cells ``first`` … ``last - 1`` along x, ``(n, ny, nz)``."""
        _, ny, nz = self.shape
        densities = np.empty((last - first) * ny * nz, np.float32)
        corner = torch.tensor(self.corner, dtype=torch.float32, device=self.device)
        for start in range(0, len(densities), _POINTS):
            stop = min(start + _POINTS, len(densities))
            cell = torch.arange(start, stop, device=self.device)
            row = torch.div(cell, nz, rounding_mode="floor")
            layer = torch.div(row, ny, rounding_mode="floor")
            index = torch.stack([layer + first, row - layer * ny, cell - row * nz], -1)
            values = self.model.density(corner + (index + 0.5) * self.side)
            densities[start:stop] = values.float().cpu().numpy()
            if self.progress is not None:
                self.progress(stop - start, math.prod(self.shape))
        if not np.isfinite(densities).all():
            refuse("densities must be finite", densities[~np.isfinite(densities)][0])
        self.peak = max(self.peak, float(densities.max()))
        return densities.reshape(-1, ny, nz)

    def slabs(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the number of the first layer and the densities of slabs, a border around all.

        A slab begins with the last layer of the one before. Layer 0 is the border.
        """
        nx, ny, nz = self.shape
        thick = max(1, _SLAB // ((ny + 2) * (nz + 2)))
        border = np.zeros((1, ny + 2, nz + 2), np.float32)
        last = border
        for first in range(0, nx, thick):
            inside = self.layers(first, min(first + thick, nx))
            parts = [last, np.pad(inside, ((0, 0), (1, 1), (1, 1)))]
            if first + thick >= nx:
                parts.append(border)
            slab = np.concatenate(parts)
            last = slab[-1:]
            yield first, slab


def _surface(
    grid: _Grid, level: float, marching_cubes: MarchingCubes
) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices ``(V, 3)`` float64 in the scene's unit, and faces ``(F, 3)``."""
    vertices, faces = [np.empty((0, 3))], [np.empty((0, 3), np.int64)]
    number, seam = 0, np.empty((0, 2))
    sewn = np.empty(0, np.int64)
    for first, slab in grid.slabs():
        share = slab / (slab + np.float32(level))
        # at a half itself several vertices would fall on one point of the grid
        share[np.abs(share - 0.5) < _LEAST_GAP] = 0.5 + _LEAST_GAP
        points, triangles = np.empty((0, 3)), np.empty((0, 3), np.int64)
        if share.min() < 0.5 < share.max():
            points, triangles, _, _ = marching_cubes(share, 0.5, gradient_direction="ascent")
            points, triangles = points.astype(np.float64), triangles.astype(np.int64)
        # vertices on the layer that two slabs share are the same in both, to the last bit
        shared = points[:, 0] == 0
        numbers = np.empty(len(points), np.int64)
        numbers[shared] = sewn[_rows_of(points[shared, 1:], seam)]
        fresh = points[~shared]
        numbers[~shared] = number + np.arange(len(fresh))
        ends = points[:, 0] == len(slab) - 1
        seam, sewn = points[ends, 1:], numbers[ends]
        number += len(fresh)
        fresh[:, 0] += first
        vertices.append(fresh)
        faces.append(numbers[triangles])
    if not number:
        refuse(
            f"some of the scene must be denser than the level, {level:.4g}",
            f"densities up to {grid.peak:.4g} at {' x '.join(map(str, grid.shape))} points",
            "The scene is empty there; or pass a lower level.",
        )
    # layer 1 of the grid with its border is the middle of cell 0
    return grid.corner + (np.concatenate(vertices) - 0.5) * grid.side, np.concatenate(faces)


def _rows_of(points: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return the rows of ``known (K, 2)`` that are equal to those of ``points (N, 2)``."""
    both, rank = np.unique(np.concatenate([known, points]), axis=0, return_inverse=True)
    rank = rank.reshape(-1)
    place = np.empty(len(both), np.int64)
    place[rank[: len(known)]] = np.arange(len(known))
    return place[rank[len(known) :]]


def _vertex_normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return unit normals ``(V, 3)``: the mean of those of the faces around, weighed by area."""
    corners = vertices[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    total = np.stack(
        [
            np.bincount(faces.reshape(-1), np.repeat(across[:, axis], 3), len(vertices))
            for axis in range(3)
        ],
        -1,
    )
    length = np.linalg.norm(total, axis=1, keepdims=True)
    # where faces cancel, any direction is as good as another
    total[length[:, 0] == 0] = (0.0, 0.0, 1.0)
    length[length == 0] = 1.0
    return total / length


def _colors(grid: _Grid, vertices: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Return the model's colors at vertices, seen along the inward normals."""
    colors = np.empty((len(vertices), 3), np.float32)
    for start in range(0, len(vertices), _POINTS):
        part = slice(start, start + _POINTS)
        positions, outward = (
            torch.from_numpy(values[part].astype(np.float32)).to(grid.device)
            for values in (vertices, normals)
        )
        colors[part] = grid.model.color(positions, -outward).float().cpu().numpy()
    return colors.clip(0, 1)
