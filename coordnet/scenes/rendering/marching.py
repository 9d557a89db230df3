"""Ray marching in even steps, past the empty cells of a grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import refuse
from ..cameras.bounds import near_far_box
from .packed_samples import PackedSamples, chosen

__all__ = [
    "Rays",
    "Table",
    "corners",
    "joined",
    "march_everywhere",
    "march_past_empty",
    "reach",
]

# steps that are looked at together first, in a grid that joins so many cells along each axis
_LOG_STEPS, _JOINED = 3, 4
_STEPS = 1 << _LOG_STEPS
_CUDA_VALUES = 1 << 26
_MAX_STEPS = 1 << 20


@dataclass(frozen=True)
class Rays:
    """Rays that are walked along in steps.

    Step k of a ray lies between place(k) and place(k + 1), what is outside [near, far] cut off:
    the steps of a ray fill [near, far] without gaps. place(k) = first + k · step; with a
    ``cone``, steps grow with the distance t from t = step / cone on: step · max(1, cone t / step).
    With a ``turn`` they are even in inverse distance from t = turn on: step · max(1, (t / turn)²).

    Attributes:
        constants: float32 (10, R): origin (3), direction (3), first, step, near, far.
        most: no ray has more steps than this.
        cone: growth of the steps; 0 for none.
        turn: where steps begin to be even in inverse distance; 0 for nowhere.
        whole: bool (R,), False for rays that have more steps than ``most`` and end early; None
            where there are none.
    """

    constants: Tensor
    most: int
    cone: float = 0.0
    turn: float = 0.0
    whole: Tensor | None = None

    @classmethod
    def along(
        cls,
        origins: Tensor,
        directions: Tensor,
        step: Tensor,
        near: Tensor,
        far: Tensor,
        *,
        cone: float = 0.0,
        turn: float = 0.0,
        most: float | None = None,
        generator: torch.Generator | None = None,
    ) -> Rays:
        """Divide rays into steps.

        Args:
            origins: (R, 3).
            directions: (R, 3).
            step: length of a step without growth, (R,).
            near: where steps begin, (R,).
            far: where they end, (R,); where that is not beyond near, or not finite, there are none.
            cone: growth of the steps.
            turn: where steps begin to be even in inverse distance.
            most: steps of the longest ray, where that is known, or at which longer ones end; to
                measure it makes a CUDA device wait.
            generator: shifts the steps of each ray by a random part of a step.
        """
        good = (far > near) & far.isfinite() & step.isfinite()
        begin, end = near / step, far / step
        if turn:
            begin, end = (
                torch.where(end > turn, 2 * turn - turn**2 / end, end) / step for end in (near, far)
            )
        if cone:
            turn, growth = 1 / cone, math.log1p(cone)
            begin, end = (
                place.clamp(max=turn) + (place * cone).clamp(min=1).log() / growth
                for place in (begin, end)
            )
        needed, whole = torch.where(good, end - begin, 0.0), None
        if most is None:
            most = float(needed.max()) if len(step) else 0.0
        else:
            whole = needed <= math.ceil(most) + 1
        if most > _MAX_STEPS:
            refuse(
                f"a ray may have at most {_MAX_STEPS:,} steps",
                f"{most:.3g}",
            )
        if generator is not None:
            begin = begin - torch.rand(begin.shape, generator=generator, device=begin.device)
        first = begin if cone else begin * step
        rows = [*origins.unbind(-1), *directions.unbind(-1), first, step, near, far]
        constants = torch.where(good, torch.stack(rows), 0.0)
        # two more: a shifted ray begins within a step, and ends within one
        return cls(constants, math.ceil(most) + 2, cone, turn, whole)

    def __len__(self) -> int:
        return self.constants.shape[1]

    def places(self, constants: Tensor, steps: Tensor) -> Tensor:
        """Return where steps begin, clamped to [near, far].

        Args:
            constants: (10, n), those of some of the rays.
            steps: float32 whole numbers, (W, n) or (W, 1).
        """
        first, step, near, far = constants[6:]
        if self.cone:
            at = steps + first
            turn, growth = 1 / self.cone, math.log1p(self.cone)
            places = at.clamp(max=turn).add_(
                ((at - turn).clamp_(min=0) * growth).expm1_(), alpha=turn
            )
            places *= step
        else:
            places = (steps * step).add_(first)
            if self.turn:
                beyond = self.turn**2 / (2 * self.turn - places).clamp_(min=1e-30)
                places = torch.where(places > self.turn, beyond, places)
        return torch.minimum(torch.maximum(places, near, out=places), far, out=places)


Lookup = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Table:
    """A grid of truth values, flat, z fastest, with one more layer of cells beyond each end.

    The layers repeat the last cells, so that a point on the upper faces is in a cell.

    Attributes:
        values: bool, flat.
        cells: number of cells along each axis, without the layers.
        strides: from one cell to the next along each axis.
    """

    values: Tensor
    cells: tuple[int, int, int]
    strides: tuple[int, int, int]

    @classmethod
    def of(cls, grid: Tensor) -> Table:
        """Lay out a bool grid (X, Y, Z)."""
        x, y, z = grid.shape
        padded = F.pad(grid.float()[None], (0, 1, 0, 1, 0, 1), mode="replicate")[0]
        return cls(padded.bool().flatten(), (x, y, z), ((y + 1) * (z + 1), z + 1, 1))

    def at(self, position: list[Tensor]) -> Tensor:
        """Look up positions in units of cells: x, y, z of one shape, which are overwritten."""
        x, y, z = (
            place.clamp_(0, cells).int() for place, cells in zip(position, self.cells, strict=True)
        )
        index = torch.add(z, y, alpha=self.strides[1]).add_(x, alpha=self.strides[0])
        return self.values.index_select(0, index.flatten()).view(index.shape)

    def along(self, constants: Tensor, places: Tensor, scale: float = 1.0) -> Tensor:
        """Return which steps between places (W+1, n) have an occupied cell at their middle, (W, n).

        Args:
            constants: (10, n), of `Rays` in units of cells.
            places: of the steps, (W+1, n).
            scale: cells of this table per cell of the rays.
        """
        starts, ends = places[:-1], places[1:]
        twice = starts + ends
        origin, halves = constants[:3] * scale, constants[3:6] * (scale / 2)
        position = [(twice * halves[axis]).add_(origin[axis]) for axis in range(3)]
        return self.at(position).logical_and_(ends > starts)


def reach(step: float) -> int:
    """Return how many cells apart the middles of a step and of its group of steps may be.

    Args:
        step: the longest step along an axis, in cells.
    """
    return math.floor(step * _STEPS / 2 + 1e-3) + 1


def march_everywhere(rays: Rays, occupied: Lookup, capacity: int | None) -> PackedSamples:
    """Look at every step of every ray.

    With a capacity no size depends on values, and a CUDA device need not wait. No rays have no
    samples, whatever the capacity.
    """
    number, most, device = len(rays), rays.most, rays.constants.device
    if not number:
        none = rays.constants.new_zeros(0)
        return PackedSamples.of_rays(none.long(), none, none, 0)
    steps = torch.arange(most + 1, dtype=torch.float32, device=device)[:, None]
    mask = torch.empty((number, most), dtype=torch.bool, device=device)
    width = max(1, (_at_once() if device.type == "cpu" else _CUDA_VALUES) // most)
    for i in range(0, number, width):
        some = slice(i, i + width)
        constants = rays.constants[:, some]
        mask[some] = occupied(constants, rays.places(constants, steps)).t()
    at = chosen(mask.flatten(), capacity)
    ray, step = at // most, (at % most).to(torch.float32)
    places = rays.places(rays.constants.index_select(1, ray), torch.stack([step, step + 1]))
    offsets = F.pad(mask.sum(1).cumsum(0), (1, 0))
    starts, ends = places
    if capacity is None:
        return PackedSamples(ray, starts, ends, offsets)
    return PackedSamples.within(ray, starts, ends, offsets, rays.whole)


def march_past_empty(
    rays: Rays, table: Table, joined: Table, corners: tuple[list[float], list[float]]
) -> PackedSamples:
    """The same samples, on a CPU, without looking at most of the steps.

    Groups of steps are looked up in the joined grid first, and only where rays pass the box that
    holds everything.

    Args:
        rays: in units of cells.
        table: what is occupied.
        joined: cells of it joined, occupied where any cell within `reach` is.
        corners: of the box that holds all occupied cells, in cells.
    """
    first, step, near, far = rays.constants[6:]
    enter, leave = near_far_box(rays.constants[:3].t(), rays.constants[3:6].t(), *corners)
    enter, leave = torch.maximum(enter, near), torch.minimum(leave, far)
    begin = ((enter - first) / step - 1).div_(_STEPS).floor_().clamp_(min=0)
    end = ((leave - first) / step + 1).div_(_STEPS).ceil_()
    among = chosen(leave > enter, None)
    begin, number = begin[among], (end - begin)[among]
    parts = []
    if len(among):
        width = max(1, _at_once() // int(number.max() + 1))
        for i in range(0, len(among), width):
            some = slice(i, i + width)
            most = int(number[some].max())
            parts += _some_rays(rays, among[some], begin[some], most, table, joined)
    if not parts:
        return PackedSamples.of_rays(among[:0], first[:0], first[:0], len(rays))
    ray, starts, ends = (torch.cat(column) for column in zip(*parts, strict=True))
    return PackedSamples.of_rays(ray, starts, ends, len(rays))


def _some_rays(
    rays: Rays, among: Tensor, begin: Tensor, number: int, table: Table, joined: Table
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """Yield rays, starts and ends of samples, in order.

    Args:
        rays: all of them.
        among: which to look at, (n,).
        begin: the first group of steps of each, (n,).
        number: of groups of steps from there.
        table: what is occupied.
        joined: where groups of steps may meet anything.
    """
    constants = rays.constants.index_select(1, among)
    groups = torch.arange(number + 1, dtype=torch.float32, device=begin.device)[:, None] + begin
    mask = joined.along(constants, rays.places(constants, groups * _STEPS), 1 / _JOINED)
    at = chosen(mask.t().flatten(), None)
    row = at // number
    first = (begin.index_select(0, row) + at % number) * _STEPS
    steps = torch.arange(_STEPS + 1, dtype=torch.float32, device=begin.device)[:, None]
    width = _at_once() // _STEPS
    for i in range(0, len(row), width):
        these = row[i : i + width]
        some = constants.index_select(1, these)
        places = rays.places(some, steps + first[i : i + width])
        mask = table.along(some, places)
        # step by step of group after group, as they follow each other on the rays
        at = chosen(mask.t().flatten(), None)
        group = at >> _LOG_STEPS
        entry = (at & (_STEPS - 1)) * len(these) + group
        flat = places.flatten()
        yield (
            among.index_select(0, these.index_select(0, group)),
            flat.index_select(0, entry),
            flat.index_select(0, entry + len(these)),
        )


def _at_once() -> int:
    """Return how many steps to look at together: what the cache holds, enough for all threads."""
    return 1 << 15 if torch.get_num_threads() == 1 else 1 << 17


def joined(occupied: Tensor, away: int) -> Tensor:
    """Join cells, and the cells up to ``away`` from them, that are occupied anywhere."""
    grid = occupied.float()[None, None]
    for axis, cells in enumerate(occupied.shape):
        window, stride = [1, 1, 1], [1, 1, 1]
        window[axis], stride[axis] = _JOINED + 2 * away, _JOINED
        more = -cells % _JOINED + away
        pads = [0] * 6
        pads[4 - 2 * axis : 6 - 2 * axis] = away, more
        grid = F.max_pool3d(F.pad(grid, pads), window, stride)
    return grid[0, 0] > 0


def corners(occupied: Tensor) -> tuple[list[float], list[float]]:
    """Return the box that holds the occupied cells, in cells, a little enlarged."""
    lower, upper = [], []
    for axis in range(3):
        others = [other for other in range(3) if other != axis]
        where = occupied.any(others[1]).any(others[0]).nonzero()
        lower.append(float(where.min()) - 0.01 if len(where) else 0.0)
        upper.append(float(where.max()) + 1.01 if len(where) else 0.0)
    return lower, upper
