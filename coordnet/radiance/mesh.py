"""The surface of a scene as a mesh of triangles with colours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from ..errors import integer_at_least, positive_number, refuse
from .field import check_box
from .model import RadianceModel

__all__ = ["Mesh", "extract_mesh", "half_opaque"]

_MOST = 2048
_POINTS = 1 << 16
_SLAB = 1 << 23  # values of a slab: 32 MB


class Mesh(NamedTuple):
    """A surface of triangles.

    Attributes:
        vertices: ``(V, 3)`` float32, in the scene's own unit and axes.
        faces: ``(F, 3)`` int64, numbers of vertices, counterclockwise as seen from outside.
        colours: ``(V, 3)`` float32 in [0, 1].
        normals: ``(V, 3)`` float32, unit vectors that point outwards.
    """

    vertices: np.ndarray
    faces: np.ndarray
    colours: np.ndarray
    normals: np.ndarray


def half_opaque(model: RadianceModel, resolution: int) -> float:
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
    progress: Callable[[int, int], object] | None = None,
) -> Mesh:
    """Extract the surface on which the density has one value, by marching cubes.

    The density is taken at the middles of cubic cells that fill the model's box, and counts as 0
    outside of it, so that the surface is closed. Lewiner's variant of marching cubes (2003) runs
    on one slab of cells after the other, and the slabs are sewn together: memory is that of a
    slab and of the mesh. A vertex is as bright as the surface looks from straight above it: its
    colour is the model's, seen along the inward normal.

    Args:
        model: the scene.
        resolution: cells along the longest side of the box, 2048 at most.
        level: the density on the surface, per unit of length; None takes `half_opaque`: what is
            denser hides what lies a cell behind it.
        progress: called with the numbers of cells done since the last call and in all.

    Raises:
        InputError: no density of the scene reaches the level, or all of its box lies above it;
            a resolution or level out of range; scikit-image is not installed.

    Example:
        >>> mesh = extract_mesh(model, resolution=128)
        >>> write_ply("scene.ply", mesh)
    """
    marching_cubes = _marching_cubes()
    grid = _Grid(model, resolution)
    threshold = math.log(2) / grid.side
    if level is not None:
        threshold = positive_number("level", level, "Pass a density, 10.0 say, or None.")
    mode = model.training
    model.eval()
    try:
        with torch.no_grad():
            vertices, faces = _surface(grid, threshold, marching_cubes, progress)
            normals = vertex_normals(vertices, faces)
            colours = _colours(model, vertices, normals)
    finally:
        model.train(mode)
    return Mesh(vertices, faces, colours, normals)


def vertex_normals(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Return unit normals ``(V, 3)``: the mean of the faces' around a vertex, weighed by area.

    A vertex whose faces cancel or have no area gets (0, 0, 1).
    """
    corners = vertices.astype(np.float64)[faces]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    total = np.zeros((len(vertices), 3))
    for axis in range(3):
        weights = np.repeat(across[:, axis], 3)
        total[:, axis] = np.bincount(faces.reshape(-1), weights, len(vertices))
    length = np.linalg.norm(total, axis=1, keepdims=True)
    flat = length < 1e-30
    return np.where(flat, (0.0, 0.0, 1.0), total / np.where(flat, 1.0, length)).astype(np.float32)


def _marching_cubes() -> Any:
    try:
        from skimage.measure import marching_cubes
    except ImportError:
        refuse(
            "marching cubes needs the package scikit-image",
            "none",
            "Run: pip install 'coordnet[mesh]'",
        )
    return marching_cubes


class _Grid:
    """The cells of a model's box, and their densities.

    Attributes:
        side: of a cell.
        shape: number of cells along each axis.
        peak: the largest density seen so far.
    """

    def __init__(self, model: RadianceModel, resolution: int) -> None:
        resolution = integer_at_least(1, "resolution", resolution, "256 is usual.")
        if resolution > _MOST:
            got = f"resolution={resolution}"
            refuse(f"resolution must be at most {_MOST}", got, "256 is usual.")
        low, high = check_box(*model.box)
        extent = [b - a for a, b in zip(low, high, strict=True)]
        self.model, self.side = model, max(extent) / resolution
        # a side of 2.9999999 cells is one of 3
        self.shape = tuple(max(1, math.ceil(each / self.side - 1e-6)) for each in extent)
        room = [n * self.side - each for n, each in zip(self.shape, extent, strict=True)]
        self.corner = np.array(low) - np.array(room) / 2
        self.device = next(model.parameters()).device
        self.peak = 0.0

    def positions(self, cells: torch.Tensor) -> torch.Tensor:
        """Return the middles ``(N, 3)`` of cells, by their numbers in x-major order."""
        _, ny, nz = self.shape
        index = torch.stack(
            [
                torch.div(cells, ny * nz, rounding_mode="floor"),
                torch.div(cells, nz, rounding_mode="floor") % ny,
                cells % nz,
            ],
            -1,
        )
        corner = torch.tensor(self.corner, dtype=torch.float32, device=self.device)
        return corner + (index + 0.5) * self.side

    def layers(self, first: int, last: int) -> np.ndarray:
        """Return densities of layers first … last - 1 with a border of zeros in y and z."""
        _, ny, nz = self.shape
        found = np.empty((last - first) * ny * nz, np.float32)
        for start in range(0, len(found), _POINTS):
            stop = min(start + _POINTS, len(found))
            cells = torch.arange(start, stop, device=self.device) + first * ny * nz
            found[start:stop] = self.model.density(self.positions(cells)).float().cpu().numpy()
        if not np.isfinite(found).all():
            refuse("densities must be finite", "one that is not", "Fit the scene again.")
        self.peak = max(self.peak, float(found.max()))
        return np.pad(found.reshape(-1, ny, nz), ((0, 0), (1, 1), (1, 1)))

    def slabs(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield slabs that share their outer layers, with the number of their first layer.

        Layers are counted with the border: layer 0 is the zeros below the box.
        """
        nx, ny, nz = self.shape
        thick = max(1, _SLAB // ((ny + 2) * (nz + 2)))
        last = np.zeros((1, ny + 2, nz + 2), np.float32)
        for first in range(0, nx, thick):
            stop = min(first + thick, nx)
            parts = [last, self.layers(first, stop)]
            if stop == nx:
                parts.append(np.zeros_like(last))
            slab = np.concatenate(parts)
            last = slab[-1:].copy()
            yield first, slab


def _surface(
    grid: _Grid,
    level: float,
    marching_cubes: Any,
    progress: Callable[[int, int], object] | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return vertices in the scene's unit, and faces."""
    seam = _Seam()
    vertices, faces, number = [], [], 0
    least = math.inf
    for first, slab in grid.slabs():
        least = min(least, float(slab[1:, 1:-1, 1:-1].min()))
        # a value that is the level itself would put several vertices on one grid point
        slab[slab == np.float32(level)] = np.nextafter(np.float32(level), np.float32(np.inf))
        if slab.min() < level < slab.max():
            points, triangles, _, _ = marching_cubes(slab, level)
            points = points.astype(np.float64)
            points[:, 0] += first
            kept, triangles = seam.join(points, triangles, number, first, first + len(slab) - 1)
            vertices.append(((kept - 0.5) * grid.side + grid.corner).astype(np.float32))
            faces.append(triangles)
            number += len(kept)
        else:
            seam.clear()
        if progress is not None:
            rest = 1 if first else 2
            done = len(slab) - rest if first + len(slab) - 1 <= grid.shape[0] else 0
            progress(done * grid.shape[1] * grid.shape[2], math.prod(grid.shape))
    if not number:
        refuse(
            f"some of the scene must be denser than the level, {level:.4g}",
            f"densities up to {grid.peak:.4g}",
            "The scene is empty, or pass a smaller level.",
        )
    return np.concatenate(vertices), np.concatenate(faces)
