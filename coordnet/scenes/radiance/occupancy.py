"""An occupancy grid that silhouettes have carved."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ...errors import integer_at_least, positive_number, refuse
from ..rendering.occupancy import OccupancyGrid
from .field import check_box

__all__ = ["CarvedGrid"]

_WARM = 4  # refreshes that look at as many cells as are allowed
_MOST_WARM, _MOST = 1 << 18, 1 << 16  # cells in a refresh
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
        low, high = check_box(lower, upper)
        step = positive_number("step_size", step_size, "Pass 1/400 of the diagonal, say.")
        n = integer_at_least(1, "resolution", resolution, "128 is usual.")
        super().__init__(low, high, n, step_size=step, contract=contract)
        if hull is None:
            hull = torch.ones(n, n, n, dtype=torch.bool)
        if hull.shape != (n, n, n) or hull.dtype != torch.bool:
            got = f"{tuple(hull.shape)}, {hull.dtype}"
            refuse(f"a hull must be bool of shape ({n}, {n}, {n})", got, "Pass None for none.")
        if not hull.is_meta and not bool(hull.any()):
            refuse("some cell must be in the hull", "none", "Pass None for no hull.")
        self.register_buffer("hull", hull.clone())
        self.corners = (low, high)
        self.occupied &= self.hull

    def refresh(
        self, density: Callable[[Tensor], Tensor], number: int, generator: torch.Generator
    ) -> None:
        """Look at the densities of some cells and decide anew which are empty.

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
        if number >= _WARM:
            if number % 2 and bool(self.occupied.any()):
                candidates = self.occupied.view(-1).nonzero()[:, 0]
            wanted = min(-(-len(candidates) // 4), _MOST)
        else:
            wanted = min(len(candidates), _MOST_WARM)
        if wanted < len(candidates):
            drawn = torch.randint(len(candidates), (wanted,), generator=generator, device=device)
            candidates = candidates[drawn]
        with torch.no_grad():
            flat = self.densities.view(-1)
            flat.copy_(torch.where(flat < 0, flat, flat * self.decay))
            for cells in candidates.split(_BLOCK):
                found = self._ask(density, cells, generator)
                flat[cells] = torch.maximum(flat[cells], found)
            self._decide()
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
