"""The vertices of a grid's levels, and interpolation between them in ordinary operations."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import refuse
from .phase import fold

__all__ = ["PRIMES", "Layout", "interpolate_plainly", "unit_coordinates", "wrapped"]

# tiny-cuda-nn's primes; the first axis is not multiplied
PRIMES = (1, 2654435761, 805459861, 3674653429, 2097192037, 1434869437, 2165219737)


@dataclass(frozen=True)
class Layout:
    """Where the vertices of L levels lie in d dimensions, and where their rows are.

    Dense levels, with a row for each vertex, come first; the others are hashed.

    Attributes:
        scale: float64 (d, L, 1), cells per unit; u lies at u · scale + ½.
        vertices: int32 (d, L, 1), vertices along each axis.
        strides: int32 (d, dense, 1), rows from one vertex to the next of a dense level.
        offsets: int32 (L, 1), first row of each level.
        dense: number of dense levels.
        mask: rows of a hashed level, minus 1.
        periodic: whether each axis wraps around, with period 1.
    """

    scale: Tensor
    vertices: Tensor
    strides: Tensor
    offsets: Tensor
    dense: int
    mask: int
    periodic: tuple[bool, ...]


def unit_coordinates(x: Tensor, layout: Layout) -> Tensor:
    """Coordinates axis by axis, (d, N), in float64, periodic axes folded."""
    u = x.to(layout.scale.dtype).t()
    if any(layout.periodic):
        one = torch.ones(1, dtype=u.dtype, device=u.device)
        rows = [fold(r, one) if p else r for r, p in zip(u, layout.periodic, strict=True)]
        u = torch.stack(rows)
    return u


def wrapped(cell: Tensor, layout: Layout) -> tuple[Tensor, Tensor]:
    """Return the vertices (d, L, N) below and above, wrapped around so that every row exists."""
    low = cell.remainder(layout.vertices)
    return low, (low + 1).remainder(layout.vertices)


def interpolate_plainly(x: Tensor, tables: Tensor, layout: Layout, smooth: bool) -> Tensor:
    """What `interpolate` returns, differentiable in x too, as often as one likes.

    Products and sums are taken in the order of the quick way: the values are the same.
    """
    u = unit_coordinates(x, layout)
    position = u[:, None] * layout.scale + 0.5
    cell = position.detach().floor()
    fraction = position - cell
    if smooth:
        fraction = fraction * fraction * (3 - 2 * fraction)
    fraction = fraction.to(tables.dtype)
    ends = tuple(vertices.long() for vertices in wrapped(cell.int(), layout))
    values = []
    for rows in _corner_rows(ends, layout):
        # not tables[rows], whose backward adds up in an order of its threads' own
        corner = tables.index_select(0, rows.reshape(-1))
        values.append(corner.reshape(*rows.shape, tables.shape[1]))  # (L, N, F)
    for axis in reversed(range(len(u))):
        pairs = zip(values[: 2**axis], values[2**axis :], strict=True)
        values = [torch.lerp(low, high, fraction[axis][..., None]) for low, high in pairs]
    return values[0].movedim(0, 1).flatten(1)


def _corner_rows(ends: tuple[Tensor, ...], layout: Layout) -> list[Tensor]:
    """Return the rows (L, N) of every corner; bit i of its number is axis i.

    Args:
        ends: vertices (d, L, N) below and above, int64.
        layout: the levels.
    """
    axes, levels = len(ends[0]), ends[0].shape[1]
    dense = [layout.offsets[: layout.dense]]
    hashed: list[Tensor | int] = [0]
    for axis in range(axes):
        both = [end[axis] for end in ends]
        steps = [end[: layout.dense] * layout.strides[axis] for end in both]
        dense = [row + step for step in steps for row in dense]
        if layout.dense < levels:
            mixed = [end[layout.dense :] * PRIMES[axis] for end in both]
            hashed = [mix ^ row for mix in mixed for row in hashed]
    if layout.dense == levels:
        return dense
    if torch.jit.is_tracing() and torch.onnx.is_in_onnx_export():  # pyright: ignore[reportPrivateImportUsage]
        refuse(
            "PyTorch's older ONNX exporter has no exclusive or, which hashed levels need",
            "torch.onnx.export with dynamo=False",
            "Pass dynamo=True, or a log2_hashmap_size that keeps all levels dense.",
        )
    offsets = layout.offsets[layout.dense :]
    pairs = zip(dense, hashed, strict=True)
    return [torch.cat([first, (second & layout.mask) + offsets]) for first, second in pairs]
