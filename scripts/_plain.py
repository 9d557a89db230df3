"""Encodings as their formulas are usually written: what the benchmarks compare with."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

# tiny-cuda-nn's hash: vertex numbers times these, exclusive or
PRIMES = (1, 2654435761, 805459861)


def fourier(x: Tensor, omega: Tensor) -> Tensor:
    """Return sines and cosines, in the dtype of ``x``.

    Args:
        x: coordinates ``(N, d)``.
        omega: radians per unit, ``(d, k)`` for k frequencies on each axis, or ``(1, M, d)`` for M
            vectors over all axes.
    """
    omega = omega.to(x.dtype)
    angle = x[..., None] * omega if omega.ndim == 2 else x @ omega[0].T
    return torch.stack([torch.sin(angle), torch.cos(angle)], -1).flatten(1)


@dataclass(frozen=True)
class Level:
    """One level of a grid; numbers for each axis.

    Attributes:
        scale: cells per unit; u lies at u · scale + ½.
        sides: vertices along the axes.
        first: its first row in the table of all levels.
        rows: number of its rows.
        dense: whether every vertex has a row of its own; otherwise they are hashed.
    """

    scale: tuple[float, ...]
    sides: tuple[int, ...]
    first: int
    rows: int
    dense: bool

    def index(self, vertex: Tensor) -> Tensor:
        """Return the rows of vertices ``(..., d)``, first axis fastest."""
        place = vertex[..., 0]
        if self.dense:
            for axis in range(1, vertex.shape[-1]):
                place = place + vertex[..., axis] * math.prod(self.sides[:axis])
        else:
            for axis in range(1, vertex.shape[-1]):
                place = place ^ (vertex[..., axis] * PRIMES[axis])
            place = place % self.rows
        return place + self.first


def grid_levels(
    in_dim: int,
    number: int,
    base: float | Sequence[float],
    finest: float | Sequence[float],
    log2_rows: int | None,
) -> list[Level]:
    """Return the levels of a hash grid as Instant-NGP lays them out; None: all dense.

    Two details are coordnet's: a dense level has cells + 1 vertices along an axis, and its rows
    are not rounded up to a multiple of 8. So both can read one table.

    Args:
        in_dim: number of axes.
        number: of levels.
        base: cells of the coarsest level, one number or one per axis.
        finest: cells of the finest level.
        log2_rows: binary logarithm of the most rows of a level.
    """
    ends = [
        list(each) if isinstance(each, Sequence) else [each] * in_dim for each in (base, finest)
    ]
    levels, first = [], 0
    for i in range(number):
        part = i / max(1, number - 1)
        cells = [low * (high / low) ** part for low, high in zip(*ends, strict=True)]
        sides = tuple(math.ceil(each - 1e-9) + 1 for each in cells)
        rows = math.prod(sides)
        dense = log2_rows is None or rows <= 2**log2_rows
        rows = rows if dense or log2_rows is None else 2**log2_rows
        levels.append(Level(tuple(each - 1 for each in cells), sides, first, rows, dense))
        first += rows
    return levels


def _corners(x: Tensor, level: Level) -> tuple[list[Tensor], list[Tensor]]:
    """Return rows ``(N,)`` and weights ``(N,)`` of the 2^d corners around each coordinate."""
    position = x * torch.tensor(level.scale, dtype=x.dtype, device=x.device) + 0.5
    cell = position.floor()
    fraction = position - cell
    rows, weights = [], []
    for corner in itertools.product((0, 1), repeat=x.shape[-1]):
        step = torch.tensor(corner, device=x.device)
        rows.append(level.index(cell.long() + step))
        weights.append(torch.where(step == 1, fraction, 1 - fraction).prod(-1))
    return rows, weights


def grid_by_gather(x: Tensor, tables: Tensor, levels: list[Level]) -> Tensor:
    """Interpolate by ``tables[index] * weight`` in loops over levels and corners.

    Args:
        x: coordinates ``(N, d)`` in the unit cube, in the dtype of the tables.
        tables: ``(rows, F)``.
        levels: what `grid_levels` returned.

    Returns:
        ``(N, levels · F)``.
    """
    parts = []
    for level in levels:
        rows, weights = _corners(x, level)
        shares = [tables[r] * w[:, None] for r, w in zip(rows, weights, strict=True)]
        parts.append(functools.reduce(torch.add, shares))
    return torch.cat(parts, -1)


def grid_by_embedding_bag(x: Tensor, tables: Tensor, levels: list[Level]) -> Tensor:
    """Interpolate by one `F.embedding_bag` with the corners' weights, all levels at once."""
    found = [_corners(x, level) for level in levels]
    rows = torch.stack([torch.stack(rows, -1) for rows, _ in found], 1)
    weights = torch.stack([torch.stack(weights, -1) for _, weights in found], 1)
    bags = F.embedding_bag(
        rows.flatten(0, 1), tables, mode="sum", per_sample_weights=weights.flatten(0, 1)
    )
    return bags.view(len(x), -1)
