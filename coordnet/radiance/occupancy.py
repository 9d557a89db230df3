"""A grid over a scene's box that knows which of it is empty, and rays that skip that."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..cameras import near_far_box
from ..errors import integer_at_least, positive_number, refuse
from ..rendering.samples import PackedSamples, chosen
from .field import check_box

__all__ = ["OccupancyGrid"]

_COARSE = 4  # cells in a coarse cell, along an axis
_RUN = 8  # steps that are looked up together
_WARM = 4  # refreshes in which all cells are looked at
_DECAY = 0.95
_RISE = 3.0
_OPACITY = 0.01  # of a step, below which a cell counts as empty
_BLOCK = 1 << 14


class OccupancyGrid(nn.Module):
    """Cells of a box, each with a running maximum and a running minimum of the density in it.

    A cell counts as empty where a step through it would be less opaque than 1 %, or than the mean
    of all cells where that is less (Müller et al., 2022); a cell outside the hull always is.
    The minimum says what a ray has certainly passed through: it falls at once to what is found,
    and rises by a factor of 3 at most.

    Args:
        lower: lower corner of the box.
        upper: upper corner.
        step_size: distance between two samples on a ray, in the box's unit.
        resolution: cells along each axis.
        hull: ``(resolution, resolution, resolution)`` bool, cells that may hold something
            (`visual_hull`); None for all of them.

    Raises:
        InputError: corners that make no box, a step that is no positive number, a hull of another
            shape, or an empty one.
    """

    hull: Tensor
    densities: Tensor
    floors: Tensor
    occupied: Tensor

    def __init__(
        self,
        lower: Sequence[float],
        upper: Sequence[float],
        step_size: float,
        resolution: int = 128,
        hull: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.box = check_box(lower, upper)
        self.step_size = positive_number("step_size", step_size, "Pass 1/400 of the diagonal, say.")
        n = self.resolution = integer_at_least(1, "resolution", resolution, "128 is usual.")
        if hull is None:
            hull = torch.ones(n, n, n, dtype=torch.bool)
        if hull.shape != (n, n, n) or hull.dtype != torch.bool:
            got = f"{tuple(hull.shape)}, {hull.dtype}"
            refuse(f"a hull must be bool of shape ({n}, {n}, {n})", got, "Pass None for none.")
        if not hull.is_meta and not bool(hull.any()):
            refuse("some cell must be in the hull", "none", "Pass None for no hull.")
        self.register_buffer("hull", hull.clone())
        self.register_buffer("densities", torch.zeros(n, n, n))
        self.register_buffer("floors", torch.zeros(n, n, n))
        self.register_buffer("occupied", hull.clone())
        self._least = -math.log1p(-_OPACITY) / self.step_size
        self._cells = [(b - a) / n for a, b in zip(*self.box, strict=True)]
        self._derived: tuple[Tensor, ...] | None = None

    def occupancy(self) -> float:
        """Return the share of cells that are not empty."""
        return float(self.occupied.float().mean())

    def refresh(
        self, density: Callable[[Tensor], Tensor], number: int, generator: torch.Generator
    ) -> None:
        """Look at the densities of some cells and decide anew which are empty.

        Args:
            density: from positions ``(M, 3)`` to densities ``(M,)``.
            number: how many refreshes there were before: in the first four all cells of the hull
                are looked at, later a quarter of them and the occupied ones by turns.
            generator: draws cells, and a position in each.
        """
        n, device = self.resolution, self.hull.device
        candidates = self.hull.view(-1).nonzero()[:, 0]
        if number >= _WARM:
            if number % 2:
                candidates = self.occupied.view(-1).nonzero()[:, 0]
            drawn = torch.randint(
                len(candidates), (-(-len(candidates) // 4),), generator=generator, device=device
            )
            candidates = candidates[drawn]
        low = torch.tensor(self.box[0], device=device)
        sides = torch.tensor(self._cells, device=device)
        flat, floors = self.densities.view(-1).mul_(_DECAY), self.floors.view(-1)
        with torch.no_grad():
            for cells in candidates.split(_BLOCK):
                corner = torch.stack(
                    [
                        torch.div(cells, n * n, rounding_mode="floor"),
                        torch.div(cells, n, rounding_mode="floor") % n,
                        cells % n,
                    ],
                    -1,
                )
                place = torch.rand(len(cells), 3, generator=generator, device=device)
                found = density(low + (corner + place) * sides).to(flat.dtype)
                flat[cells] = torch.maximum(flat[cells], found)
                floors[cells] = torch.minimum(_RISE * floors[cells] + self._least, found)
            self._decide()

    def _decide(self) -> None:
        mean = self.densities[self.hull].mean()
        self.occupied = self.hull & (self.densities > mean.clamp(max=self._least))
        self._derived = None

    def march(
        self, origins: Tensor, directions: Tensor, generator: torch.Generator | None = None
    ) -> PackedSamples:
        """Return the samples of rays that lie in cells which are not empty.

        Samples are a step apart. Runs of eight steps are looked up in a coarse grid first, whose
        cells are widened by what a run may reach; so long stretches of nothing cost little.

        Args:
            origins: ``(N, 3)`` float32.
            directions: ``(N, 3)``, unit vectors.
            generator: shifts each ray's samples by a part of a step; without it by half a step.

        Returns:
            Intervals of one step each.
        """
        lower, sides, coarse, low, high, size = self._tables()
        near, far = near_far_box(origins, directions, low, high)
        hit = (far > near).nonzero()[:, 0]
        if not len(hit):
            return PackedSamples.of_rays(hit, near[hit], near[hit], len(origins))
        near, far = near[hit], far[hit]
        step, run = self.step_size, _RUN * self.step_size
        shift = torch.full_like(near, 0.5 * step)
        if generator is not None:
            shift = step * torch.rand(len(hit), generator=generator, device=near.device)
        start = ((origins[hit] - lower) / sides).T[..., None].contiguous()
        slope = (directions[hit] / sides).T[..., None].contiguous()
        runs = torch.arange(int(((far - near) / run).amax().ceil()) or 1, device=near.device)
        middle = near[:, None] + (runs + 0.5) * run
        place = [
            ((a + middle * b) / _COARSE).add_(1).clamp_(0, size - 1).to(torch.int32)
            for a, b in zip(start, slope, strict=True)
        ]
        kept = coarse[((place[0] * size + place[1]) * size + place[2]).long()]
        kept &= middle - 0.5 * run < far[:, None]
        kept = chosen(kept.view(-1), None)
        ray = torch.div(kept, len(runs), rounding_mode="floor")
        which = kept - ray * len(runs)
        first = near[ray] + which * run + shift[ray]
        distance = first[:, None] + step * torch.arange(_RUN, device=near.device)
        n = self.resolution
        place = [
            (a[ray] + distance * b[ray]).to(torch.int32).clamp_(0, n - 1)
            for a, b in zip(start, slope, strict=True)
        ]
        kept = self.occupied.view(-1)[((place[0] * n + place[1]) * n + place[2]).long()]
        kept &= distance < far[ray, None]
        kept = chosen(kept.view(-1), None)
        rays = hit[ray[torch.div(kept, _RUN, rounding_mode="floor")]]
        middles = distance.view(-1)[kept]
        half = 0.5 * step
        return PackedSamples.of_rays(rays, middles - half, middles + half, len(origins))

    def floor(self, positions: Tensor) -> Tensor:
        """Return the running minimum of the density at positions ``(M, 3)`` in the box."""
        return self.floors.view(-1)[self._cell(positions)]

    def is_occupied(self, positions: Tensor) -> Tensor:
        """Return which positions ``(M, 3)`` lie in the box, in cells that are not empty."""
        low, high = (torch.tensor(end, device=positions.device) for end in self.box)
        inside = ((positions >= low) & (positions < high)).all(-1)
        return inside & self.occupied.view(-1)[self._cell(positions)]

    def _cell(self, positions: Tensor) -> Tensor:
        lower, sides, *_ = self._tables()
        n = self.resolution
        x, y, z = ((positions - lower) / sides).to(torch.int32).clamp_(0, n - 1).unbind(-1)
        return ((x * n + y) * n + z).long()

    def _tables(self) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, int]:
        """Return the corner, the cells' sides, the coarse grid, its size, what is occupied."""
        if self._derived is None or self._derived[0].device != self.occupied.device:
            n, device = self.resolution, self.occupied.device
            lower = torch.tensor(self.box[0], device=device)
            sides = torch.tensor(self._cells, device=device)
            padded = F.pad(self.occupied[None, None].float(), (0, -n % _COARSE) * 3)
            coarse = F.max_pool3d(padded, _COARSE)
            reach = [math.ceil(0.5 * _RUN * self.step_size / (_COARSE * s)) for s in self._cells]
            kernel = [2 * each + 1 for each in reach]
            coarse = F.max_pool3d(coarse, kernel, 1, reach)
            coarse = F.pad(coarse[0, 0], (1,) * 6).bool()
            ends = []
            for axis in range(3):
                others = [each for each in range(3) if each != axis]
                there = self.occupied.amax(others).nonzero()[:, 0]
                ends.append((float(there.min()), float(there.max()) + 1) if len(there) else (0, 0))
            low, high = (
                lower + torch.tensor([end[i] for end in ends], device=device) * sides
                for i in (0, 1)
            )
            self._derived = (lower, sides, coarse.view(-1), low, high)
        size = -(-self.resolution // _COARSE) + 2
        lower, sides, coarse, low, high = self._derived
        return lower, sides, coarse, low, high, size

    def _load_from_state_dict(self, *args: object, **kwargs: object) -> None:
        super()._load_from_state_dict(*args, **kwargs)  # type: ignore[arg-type]
        self._derived = None
