"""An occupancy grid that silhouettes have carved."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ...checks import integer
from ...errors import refuse
from ..rendering.occupancy_grid import OccupancyGrid

__all__ = ["CarvedGrid"]

_WARMUP = 4  # refreshes that look at as many cells as are allowed
_WARMUP_CELLS, _CELLS = 1 << 18, 1 << 16  # most cells in a refresh
_BLOCK = 1 << 14


class CarvedGrid(OccupancyGrid):
    """An `OccupancyGrid` in which cells outside a hull are always empty.

    Args:
        lower: lower corner of the box.
        upper: upper corner.
        step_size: distance between two samples on a ray, in the box's unit.
        resolution: cells along each axis.
        hull: ``(resolution, resolution, resolution)`` bool, cells that may hold something
            (`visual_hull`); None for all of them.
        contract: as in `OccupancyGrid`.

    Raises:
        InputError: corners that make no box, a step that is no positive number, a hull of another
            shape, or an empty one.
    """

    hull: Tensor

    def __init__(
        self,
        lower: Sequence[float],
        upper: Sequence[float],
        step_size: float,
        resolution: int = 128,
        hull: Tensor | None = None,
        contract: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        cells = integer("resolution", resolution, least=1)
        super().__init__(lower, upper, cells, step_size=step_size, contract=contract)
        shape = tuple(self.resolution)
        if hull is None:
            hull = torch.ones(shape, dtype=torch.bool)
        if hull.shape != shape or hull.dtype != torch.bool:
            rule = f"a hull must be bool of shape {shape}"
            refuse(rule, f"{tuple(hull.shape)}, {hull.dtype}")
        if not hull.is_meta and not bool(hull.any()):
            refuse("some cell must be in the hull", "none")
        self.register_buffer("hull", hull.clone())
        self.occupied &= self.hull

    def refresh(
        self, density: Callable[[Tensor], Tensor], number: int, generator: torch.Generator
    ) -> None:
        """Evaluate the density in some cells and decide which are empty.

        Only cells of the hull are looked at: as many as a step of a fit can bear.

        Args:
            density: from positions ``(M, 3)`` to densities ``(M,)``.
            number: how many refreshes there were before: in the first four all cells of the hull
                are looked at, up to 262,144; later a quarter of them and of the occupied ones by
                turns, up to 65,536.
            generator: draws cells, and a position in each.
        """
        device = self.hull.device
        candidates = self.hull.view(-1).nonzero()[:, 0]
        if number < _WARMUP:
            count = min(len(candidates), _WARMUP_CELLS)
        else:
            if number % 2 and bool(self.occupied.any()):
                candidates = self.occupied.view(-1).nonzero()[:, 0]
            count = min(-(-len(candidates) // 4), _CELLS)
        if count < len(candidates):
            drawn = torch.randint(len(candidates), (count,), generator=generator, device=device)
            candidates = candidates[drawn]
        with torch.no_grad():
            flat = self.densities.view(-1)
            flat.copy_(torch.where(flat < 0, flat, flat * self.decay))
            for cells in candidates.split(_BLOCK):
                values = self._densities_in(density, cells, generator)
                flat[cells] = torch.maximum(flat[cells], values)
            self._threshold_cells()
            self.occupied &= self.hull

    def is_occupied(self, positions: Tensor) -> Tensor:
        """Return which positions ``(M, 3)`` lie in the box, in cells that are not empty."""
        inside = ((positions >= self._lower) & (positions < self._upper)).all(-1)
        return inside & self.occupied.view(-1)[self._cells_at(positions)]

    def _cells_at(self, positions: Tensor) -> Tensor:
        n = self.resolution[0]
        x, y, z = (
            ((positions - self._lower) / self._side).to(torch.int32).clamp_(0, n - 1).unbind(-1)
        )
        return ((x * n + y) * n + z).long()
