"""Occupancy grid: which cells of a box are empty, so that rays can skip them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor

from ...checks import box as checked_box, integer, number, per_axis, positive
from ...constants import ExactConstants
from ...errors import refuse
from ..cameras.bounds import near_far_box
from .marching import Rays, Table, corners, joined, march_everywhere, march_past_empty, reach
from .packed_samples import PackedSamples

__all__ = ["OccupancyGrid"]

T = TypeVar("T")

_MAX_CELLS = 1 << 30
_MAX_REACH = 32  # cells, beyond which rays skip nothing
_CPU_ROWS, _CUDA_ROWS = 1 << 16, 1 << 21


class OccupancyGrid(ExactConstants):
    """A box of cells, each with the largest density met in it lately, and whether it is occupied.

    As in Instant-NGP (Müller et al. 2022, appendix C). While a field is trained, `update` looks
    at its density in cells and lets older values fade; a cell is occupied where one step through
    it would be opaque enough. `march` walks along rays in even steps and keeps those whose
    middle is in an occupied cell. Until its density has been looked at, a cell is occupied.

    Densities, occupied cells and the box are saved in the state_dict.

    Args:
        lower: lower corner of the box, 3 numbers.
        upper: upper corner.
        resolution: cells along each axis, one number or three.
        step_size: length of a step in space; None takes half the shortest side of a cell.
        threshold: a cell is occupied where 1 - exp(-density · step_size) reaches this, or, where
            that is less, where the density reaches the mean over all cells: a scene that is thin
            all over is not lost.
        decay: what densities are multiplied by at each update.
        warmup: training steps in which an update looks at all cells.
        contract: from points in space to points in the box, ``(N, 3)`` to ``(N, 3)``, for scenes
            without bounds; points that land outside the box are empty. The grid, and the points
            that `update` asks for, are then in contracted space.

    Attributes:
        densities: float32, ``(X, Y, Z)``; -1 for cells not looked at.
        occupied: bool, ``(X, Y, Z)``.

    Raises:
        InputError: corners that are no box, or a setting out of range.

    Example:
        >>> grid = OccupancyGrid([-1, -1, -1], [1, 1, 1], resolution=64)
        >>> grid.update(lambda x: 50.0 * (x.norm(dim=-1) < 0.5), step=0)
        >>> samples = grid.march(origins, directions)
        >>> positions = samples.positions(origins, directions)
    """

    densities: Tensor
    occupied: Tensor
    box: Tensor

    def __init__(
        self,
        lower: Sequence[float] | Tensor,
        upper: Sequence[float] | Tensor,
        resolution: int | Sequence[int] = 128,
        *,
        step_size: float | None = None,
        threshold: float = 0.01,
        decay: float = 0.95,
        warmup: int = 256,
        contract: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        super().__init__()
        self.corners = checked_box(lower, upper, 3)
        self.resolution = list(per_axis("resolution", resolution, 3, _one_or_more))
        if math.prod(self.resolution) > _MAX_CELLS:
            rule = f"resolution must make at most {_MAX_CELLS:,} cells in all"
            refuse(rule, f"resolution={resolution}")
        self.threshold = number("threshold", threshold, above=0, below=1)
        self.decay = number("decay", decay, above=0, most=1)
        self.warmup = integer("warmup", warmup, least=0)
        self.contract = contract
        self.register_constant("box", torch.tensor(self.corners, dtype=torch.float64, device="cpu"))
        self.register_buffer("densities", torch.full(self.resolution, -1.0, dtype=torch.float32))
        self.register_buffer("occupied", torch.ones(self.resolution, dtype=torch.bool))
        self._place()
        half_cell = min(self._cell) / 2
        self.step_size = half_cell if step_size is None else positive("step_size", step_size)

    def _place(self) -> None:
        """Put float32 copies of the box beside the cells, and forget what was made of these."""
        sides = [high - low for low, high in zip(*self.corners, strict=True)]
        self._cell = [side / cells for side, cells in zip(sides, self.resolution, strict=True)]
        device = self.occupied.device
        self._lower, self._upper, self._side, self._cells = (
            torch.tensor(values, dtype=torch.float32, device=device)
            for values in (*self.corners, self._cell, self.resolution)
        )
        self.densities = self.densities.float()
        self._tables: dict[str | int, Any] = {}

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        super()._apply(fn, recurse)
        self._place()
        return self

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        if not self.box.is_meta:
            low, high = self.box.tolist()
            self.corners = low, high
        self._place()

    def fraction(self) -> Tensor:
        """Return the fraction of cells that are occupied, a number in a tensor."""
        return self.occupied.float().mean()

    @torch.no_grad()
    def update(
        self,
        density: Callable[[Tensor], Tensor],
        step: int,
        generator: torch.Generator | None = None,
        *,
        cells: int | None = None,
    ) -> None:
        """Evaluate the density in cells and decide which are occupied.

        Up to ``warmup`` training steps every cell is looked at, later ``cells`` of them: half
        drawn from all, half from the occupied ones.

        Args:
            density: from points ``(N, 3)`` in the box to densities ``(N,)``, at least 0, per
                unit of length. It is asked in blocks.
            step: number of training steps done.
            generator: where random cells and points in them come from. Without one the points
                are the cells' centers, and all cells are looked at every time.
            cells: number of cells after the warm-up; None takes half of all.

        Raises:
            InputError: densities of another shape, below 0, NaN or infinite.
        """
        total, device = self.densities.numel(), self.densities.device
        if step < self.warmup or generator is None:
            drawn = torch.arange(total, device=device)
        else:
            count = total // 2 if cells is None else integer("cells", cells, least=2)
            drawn = self._draw_cells(count, generator)
        known = self.densities.flatten()
        known = torch.where(known < 0, known, known * self.decay)
        rows = _CPU_ROWS if device.type == "cpu" else _CUDA_ROWS
        values = [self._densities_in(density, part, generator) for part in drawn.split(rows)]
        new = torch.cat(values) if values else known[:0]
        good = (new >= 0) & new.isfinite()
        if not bool(good.all()):
            remedy = "End the density network with an activation such as exp or softplus."
            refuse("densities must be at least 0 and finite", new[~good][0].item(), remedy)
        known.scatter_reduce_(0, drawn, new, "amax")
        self.densities.copy_(known.view_as(self.densities))
        self._threshold_cells()

    def _draw_cells(self, number: int, generator: torch.Generator) -> Tensor:
        """Draw cells, half of them among the occupied, without waiting for their number."""
        total, device = self.densities.numel(), self.densities.device
        anywhere = torch.randint(total, (number - number // 2,), generator=generator, device=device)
        order = self.occupied.flatten().cumsum(0, dtype=torch.int32)
        u = torch.rand(number // 2, generator=generator, device=device, dtype=torch.float32)
        rank = torch.minimum((u * order[-1]).to(torch.int32) + 1, order[-1])
        among = torch.searchsorted(order, rank).clamp(max=total - 1)
        return torch.cat([anywhere, among])

    def _densities_in(
        self, density: Callable[[Tensor], Tensor], cells: Tensor, generator: torch.Generator | None
    ) -> Tensor:
        """Return the densities at a point in each of the cells."""
        _, y, z = self.resolution
        place = torch.stack([cells // (y * z), cells // z % y, cells % z], -1).to(torch.float32)
        if generator is None:
            place += 0.5
        else:
            place += torch.rand(place.shape, generator=generator, device=place.device)
        values = density(torch.addcmul(self._lower, place, self._side))
        if values.shape != cells.shape:
            rule = "the density function must return one number per point"
            refuse(rule, f"shape {tuple(values.shape)} for points {tuple(place.shape)}")
        return values.float()

    def _threshold_cells(self) -> None:
        """Decide from the densities which cells are occupied."""
        known = self.densities.clamp(min=0)
        # a hair below the mean: it must not round above the densities that are all alike
        mean = known.mean(dtype=torch.float64 if known.device.type == "cpu" else None) * (1 - 1e-6)
        enough = -math.log1p(-self.threshold) / self.step_size
        self.occupied.copy_((self.densities < 0) | (known >= mean.clamp(max=enough)))

    @torch.no_grad()
    def march(
        self,
        origins: Tensor,
        directions: Tensor,
        step_size: float | None = None,
        *,
        near: Tensor | float = 0.0,
        far: Tensor | float | None = None,
        generator: torch.Generator | None = None,
        cone_angle: float = 0.0,
        even_until: float | None = None,
        max_samples: int | None = None,
        max_steps: int | None = None,
    ) -> PackedSamples:
        """March along rays in even steps and keep those whose middle is in an occupied cell.

        The steps of a ray fill the part of it that is in the box, and between near and far,
        without gaps: where all cells are occupied, the samples' lengths add up to it exactly.

        On a CUDA device the number of samples is waited for, unless there is ``max_samples``, and
        with ``contract`` the number of steps, unless there is ``max_steps``. On a CPU, groups of
        steps are looked up in a coarser grid first; the samples are the same.

        Args:
            origins: ``(R, 3)``.
            directions: ``(R, 3)``, of any length; distances are in that length.
            step_size: length of a step in space; None takes the grid's.
            near: distance at which rays begin, ``(R,)`` or a number.
            far: distance at which they end; needed where the grid has no box in space (contract).
            generator: shifts the steps of each ray by a random part of a step.
            cone_angle: with it, steps grow with the distance t once step_size < cone_angle · t,
                as pixels do (1/256 in Instant-NGP).
            even_until: with it, steps grow with the square of the distance from there on: they are
                even in inverse distance, as in contracted space.
            max_samples: a fixed number of samples, whatever there is: ``samples.filled`` tells
                which are real, ``samples.complete`` which rays are whole.
            max_steps: with ``max_samples``, how many steps a ray may have, those in empty cells
                included. Longer ones may lose their ends, and are then not complete.

        Raises:
            InputError: shapes that do not fit, a step that makes more than a million of a ray.
        """
        if origins.ndim != 2 or origins.shape[1] != 3 or directions.shape != origins.shape:
            rule = "origins and directions must have shape (R, 3) both"
            refuse(rule, f"shapes {tuple(origins.shape)} and {tuple(directions.shape)}")
        for name, bound in (("near", near), ("far", far)):
            if isinstance(bound, Tensor) and bound.shape not in ((), (len(origins),)):
                rule = f"{name} must be a number or have shape ({len(origins)},)"
                refuse(rule, f"shape {tuple(bound.shape)}")
        step = self.step_size if step_size is None else positive("step_size", step_size)
        cone = number("cone_angle", cone_angle, least=0, below=1)
        turn = 0.0 if even_until is None else positive("even_until", even_until)
        if cone and turn:
            got = f"cone_angle={cone_angle} and even_until={even_until}"
            refuse("steps grow in one way", got)
        most = None if max_steps is None else float(integer("max_steps", max_steps, least=1))
        if most is not None and max_samples is None:
            refuse("max_steps needs max_samples", f"max_steps={max_steps} alone")
        origins, directions = origins.float(), directions.float()
        steps = step / directions.norm(dim=-1)  # in lengths of the direction
        if self.contract is None:
            enter, leave = near_far_box(origins, directions, self._lower, self._upper)
            origins, directions = (origins - self._lower) / self._side, directions / self._side
            if origins.device.type != "cpu" and most is None:
                most = math.dist(*self.corners) / step  # known without waiting
        else:
            if far is None:
                refuse("rays through contracted space need an end", "far=None")
            enter, leave = torch.zeros_like(steps), torch.full_like(steps, torch.inf)
        rays = Rays.along(
            origins,
            directions,
            steps,
            enter.clamp(min=near).float(),  # type: ignore[arg-type]
            leave.clamp(max=math.inf if far is None else far).float(),  # type: ignore[arg-type]
            cone=cone,
            turn=turn,
            most=most,
            generator=generator,
        )
        even = self.contract is None and not cone and not turn and origins.device.type == "cpu"
        if even and len(rays):
            away = reach(float((directions.abs().amax(-1) * steps).nan_to_num().max()))
            if away <= _MAX_REACH:
                samples = march_past_empty(rays, *self._tables_for(away))
                if max_samples is None:
                    return samples
                return samples.keep(torch.ones_like(samples.starts, dtype=torch.bool), max_samples)
        return march_everywhere(rays, self._lookup, max_samples)

    def _lookup(self, constants: Tensor, places: Tensor) -> Tensor:
        """Return which steps have an occupied cell at their middle, as `Table.along` does."""
        table = self._cached("table", lambda: Table.of(self.occupied))
        if self.contract is None:
            return table.along(constants, places)
        starts, ends = places[:-1], places[1:]
        middle = (starts + ends) / 2
        points = torch.stack(
            [constants[axis] + middle * constants[3 + axis] for axis in range(3)], -1
        )
        inner = (self.contract(points.view(-1, 3)).float() - self._lower) / self._side
        inside = ((inner >= 0) & (inner <= self._cells)).all(-1).view(middle.shape)
        hit = table.at([axis.view(middle.shape) for axis in inner.nan_to_num().unbind(-1)])
        return hit.logical_and_(inside).logical_and_(ends > starts)

    def _tables_for(self, away: int) -> tuple[Table, Table, tuple[list[float], list[float]]]:
        """Return the cells, the cells joined with those ``away`` from them, and their box."""
        table = self._cached("table", lambda: Table.of(self.occupied))
        coarse = self._cached(away, lambda: Table.of(joined(self.occupied, away)))
        return table, coarse, self._cached("corners", lambda: corners(self.occupied))

    def _cached(self, name: str | int, make: Callable[[], T]) -> T:
        """Return ``make()``, once for the occupied cells as they are now."""
        if self.occupied.is_inference():  # whose changes are not counted
            return make()
        now = (id(self.occupied), self.occupied._version)
        if self._tables.get("of") != now:
            self._tables = {"of": now}
        if name not in self._tables:
            self._tables[name] = make()
        return self._tables[name]

    def extra_repr(self) -> str:
        """Show the settings in ``print(module)``."""
        return f"lower={self.corners[0]}, upper={self.corners[1]}, resolution={self.resolution}"


def _one_or_more(name: str, value: object) -> int:
    return integer(name, value, least=1)
