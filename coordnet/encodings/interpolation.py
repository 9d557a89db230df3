"""Multilinear interpolation on a stack of vertex tables, and its transpose.

Interpolation is linear in the tables: features = A · tables, where each row of A holds the 2^d
corner weights of every level. So the gradient of the tables is Aᵀ · grad, and the gradient of
that again A · grad: two functions, each the other's backward, give derivatives of any order.

A level is worked through at a time, so that its lookups stay in the cache; pairs of features
travel as one complex number, which halves the number of gathers and scatters.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ..memory import empty
from ..parallel import SERIAL, run_all
from .phase import fold

__all__ = ["Level", "interpolate"]

# tiny-cuda-nn's primes; the first axis is not multiplied
_PRIMES = (1, 2654435761, 805459861, 3674653429, 2097192037, 1434869437, 2165219737)


@dataclass(frozen=True)
class Level:
    """One level: where its vertices lie and where its rows are.

    Attributes:
        scale: cells per unit along each axis; a coordinate u lies at u * scale + ½.
        vertices: number of vertices along each axis.
        periodic: whether each axis wraps around, with period 1.
        offset: the level's first row in the table.
        rows: number of its rows.
        hashed: whether vertices are hashed into the rows, or have one each.
    """

    scale: tuple[float, ...]
    vertices: tuple[int, ...]
    periodic: tuple[bool, ...]
    offset: int
    rows: int
    hashed: bool

    @functools.cached_property
    def strides(self) -> tuple[int, ...]:
        """Rows from one vertex to the next along each axis, where nothing is hashed."""
        found = [1]
        for number in self.vertices[:-1]:
            found.append(found[-1] * number)
        return tuple(found)


def interpolate(
    x: Tensor, tables: Tensor, levels: tuple[Level, ...], smooth: bool, dtype: torch.dtype
) -> Tensor:
    """Return the interpolated features of ``(N, d)`` coordinates, level by level.

    Args:
        x: coordinates, shape ``(N, d)``, any real dtype.
        tables: rows of all levels, shape ``(rows, F)``.
        levels: the levels.
        smooth: weigh with 3f² - 2f³ (smoothstep) instead of f.
        dtype: dtype of the features.

    Returns:
        Shape ``(N, len(levels) * F)``.
    """
    tables = tables.to(dtype)
    ordinary = x.requires_grad or _transformed(x, tables) or not supports_complex(x.device)
    if ordinary or torch.compiler.is_compiling():
        return _plain(x, tables, levels, smooth)
    lookup = _Lookup(x, levels, smooth, dtype, keep=tables.requires_grad)
    return _Gather.apply(tables, lookup)  # type: ignore[no-any-return]


def _transformed(*tensors: Tensor) -> bool:
    """Whether torch.func transforms a tensor, or forward-mode differentiation is under way."""
    from torch._C import _functorch  # type: ignore[attr-defined]

    wrapped = any(_functorch.is_functorch_wrapped_tensor(tensor) for tensor in tensors)
    return wrapped or getattr(forward_ad, "_current_level", 0) >= 0


def supports_complex(device: torch.device) -> bool:
    """Whether complex numbers can be gathered and scattered on ``device``."""
    return device.type in ("cpu", "cuda", "meta")


def _unit(x: Tensor, levels: tuple[Level, ...]) -> Tensor:
    """Coordinates in float64 where there is one, axis by axis, periodic axes folded: (d, N)."""
    wide = torch.float32 if x.device.type == "mps" else torch.float64
    u = x.to(wide).t().contiguous()
    if any(levels[0].periodic):
        one = torch.ones(1, dtype=wide, device=x.device)
        rows = [fold(r, one) if p else r for r, p in zip(u, levels[0].periodic, strict=True)]
        u = torch.stack(rows)
    return u


def _cells(u: Tensor, level: Level) -> tuple[Tensor, Tensor]:
    """Return the lower vertex (d, N) of each coordinate's cell, and the fractions above it."""
    scale = torch.tensor(level.scale, dtype=u.dtype, device=u.device)
    position = (u * scale[:, None]).add_(0.5)
    cell = position.floor()
    return cell, position.sub_(cell)


def _vertices(cell: Tensor, level: Level, inside: bool) -> list[tuple[Tensor, Tensor | int]]:
    """Return for each axis the lower vertex, and the way from it to the upper one.

    A coordinate outside the unit interval lands on vertices beyond the last; they are wrapped
    around, so that every row exists.
    """
    found: list[tuple[Tensor, Tensor | int]] = []
    for first, number, periodic in zip(cell, level.vertices, level.periodic, strict=True):
        if periodic or not inside:
            low = first.remainder(number)
            high = (first + 1).remainder(number)
            found.append((low, high - low))
        else:
            found.append((first, 1))
    return found


def _rows(vertices: list[tuple[Tensor, Tensor | int]], level: Level, out: Tensor) -> None:
    """Fill ``out`` (2^d, N), int32, with the rows of the corners; bit i of a corner is axis i."""
    start = out[0]
    changes: list[Tensor | int] = []
    if level.hashed:
        mask = level.rows - 1
        for axis, (low, way) in enumerate(vertices):
            prime = _PRIMES[axis]
            first = low * prime if axis else low
            second = first + way * prime
            changes.append(((first ^ second) & mask).int())
            if axis:
                start.bitwise_xor_((first & mask).int())
            else:
                start.copy_(first & mask)
    else:
        for axis, (low, way) in enumerate(vertices):
            stride = level.strides[axis]
            if axis:
                start.add_(low, alpha=stride)
            else:
                start.copy_(low)
            changes.append(way * stride if isinstance(way, int) else (way * stride).int())
        start += level.offset
    number = 1
    for change in changes:
        new = out[number : 2 * number]
        if level.hashed:
            torch.bitwise_xor(out[:number], change, out=new)
        else:
            torch.add(out[:number], change, out=new)
        number *= 2
    if level.hashed:
        out += level.offset


def _weights(fraction: Tensor, smooth: bool, out: Tensor) -> None:
    """Fill ``out`` (2^d, N) with the corner weights of fractions (d, N)."""
    if smooth:
        fraction = fraction * fraction * (3 - 2 * fraction)
    fraction = fraction.to(out.dtype)
    out[1] = fraction[0]
    torch.sub(1, fraction[0], out=out[0])
    number = 2
    for row in fraction[1:]:
        torch.mul(out[:number], row, out=out[number : 2 * number])
        out[:number] -= out[number : 2 * number]
        number *= 2


class _Lookup:
    """The matrix A of one batch: rows and weights, kept or worked out anew for each use."""

    def __init__(
        self, x: Tensor, levels: tuple[Level, ...], smooth: bool, dtype: torch.dtype, keep: bool
    ) -> None:
        self.levels, self.smooth, self.dtype = levels, smooth, dtype
        self.u = _unit(x.detach(), levels)
        self.number = len(x)
        on_cpu = x.device.type == "cpu"
        # looking would make a CUDA device wait
        self.inside = on_cpu and len(x) > 0 and bool(((self.u >= 0) & (self.u <= 1)).all())
        corners = 2 ** len(self.u)
        most = SERIAL // corners if on_cpu else max(1, len(x))
        parts = max(1, math.ceil(len(x) / most))
        step = max(1, math.ceil(len(x) / parts))
        self.slices = [slice(i, min(i + step, len(x))) for i in range(0, len(x), step)]
        self.kept = keep
        self.filled = False
        shape = (len(levels) if keep else 0, corners, len(x))
        self.rows = empty(shape, torch.int32, x.device)
        self.weights = empty(shape, dtype, x.device)

    def each(self, work: Callable[[slice, int, Tensor, Tensor], None]) -> None:
        """Call ``work(samples, level, rows (2^d, n) int32, weights (2^d, n))`` for all blocks.

        Levels are shared out among threads on a CPU.
        """

        def do(level: int) -> None:
            for samples in self.slices:
                if self.kept:
                    rows, weights = self.rows[level, :, samples], self.weights[level, :, samples]
                else:
                    shape = (self.rows.shape[1], samples.stop - samples.start)
                    rows = self.u.new_empty(shape, dtype=torch.int32)
                    weights = self.u.new_empty(shape, dtype=self.dtype)
                if not self.filled:
                    self.fill(samples, self.levels[level], rows, weights)
                work(samples, level, rows, weights)

        tasks = [functools.partial(do, level) for level in range(len(self.levels))]
        if self.u.device.type == "cpu":
            run_all(tasks)
        else:
            for task in tasks:
                task()
        self.filled = self.kept

    def fill(self, samples: slice, level: Level, rows: Tensor, weights: Tensor) -> None:
        cell, fraction = _cells(self.u[:, samples], level)
        cell = cell.to(torch.int64 if level.hashed else torch.int32)
        _rows(_vertices(cell, level, self.inside), level, rows)
        _weights(fraction, self.smooth, weights)


def _columns(tables: Tensor) -> Tensor:
    """View rows of F numbers as rows of F/2 complex ones, where F is even."""
    if tables.shape[1] % 2:
        return tables
    return torch.view_as_complex(tables.contiguous().unflatten(1, (-1, 2)))


def _numbers(columns: Tensor) -> Tensor:
    """The inverse of `_columns`, in the last axis."""
    return torch.view_as_real(columns).flatten(-2) if columns.is_complex() else columns


class _Gather(torch.autograd.Function):
    """features = A · tables."""

    @staticmethod
    def forward(ctx: Any, tables: Tensor, lookup: _Lookup) -> Tensor:
        ctx.lookup, ctx.rows = lookup, len(tables)
        columns = _columns(tables)
        width = columns.shape[1]
        out = empty((len(lookup.levels), lookup.number, width), columns.dtype, tables.device)

        def gather(samples: slice, level: int, rows: Tensor, weights: Tensor) -> None:
            index = rows.reshape(-1)
            for column in range(width):
                # a column by itself: gathers of single numbers are the quick ones
                found = columns[:, column].index_select(0, index).view(rows.shape)
                found *= weights
                number = len(found)
                while number > 2:
                    number //= 2
                    found[:number] += found[number : 2 * number]
                torch.add(found[0], found[1], out=out[level, samples, column])

        lookup.each(gather)
        return _numbers(out.movedim(0, 1).contiguous()).flatten(1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return _Scatter.apply(grads[0], ctx.lookup, ctx.rows), None  # type: ignore[return-value]


class _Scatter(torch.autograd.Function):
    """tables = Aᵀ · features."""

    @staticmethod
    def forward(ctx: Any, features: Tensor, lookup: _Lookup, number: int) -> Tensor:
        ctx.lookup = lookup
        levels = len(lookup.levels)
        parts = _columns(features.reshape(-1, features.shape[1] // levels))
        width = parts.shape[1]
        # (levels, columns, N)
        parts = parts.view(-1, levels, width).permute(1, 2, 0).contiguous()
        out = torch.zeros((width, number), dtype=parts.dtype, device=parts.device)

        def scatter(samples: slice, level: int, rows: Tensor, weights: Tensor) -> None:
            index = rows.reshape(-1).long()
            for column in range(width):
                share = parts[level, column, samples] * weights
                out[column].scatter_add_(0, index, share.view(-1))

        lookup.each(scatter)
        return _numbers(out.t().contiguous())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return _Gather.apply(grads[0], ctx.lookup), None, None  # type: ignore[return-value]


def _plain(x: Tensor, tables: Tensor, levels: tuple[Level, ...], smooth: bool) -> Tensor:
    """The same in ordinary operations, differentiable in x too, as often as one likes."""
    u = _unit(x, levels)
    features = []
    for level in levels:
        scale = torch.tensor(level.scale, dtype=u.dtype, device=u.device)
        vertices = _vertices(_cells(u.detach(), level)[0].long(), level, inside=False)
        position = u * scale[:, None] + 0.5
        fraction = position - position.detach().floor()
        if smooth:
            fraction = fraction * fraction * (3 - 2 * fraction)
        fraction = fraction.to(tables.dtype)
        total: Tensor | None = None
        for corner in range(2 ** len(u)):
            chosen = [(corner >> axis) & 1 for axis in range(len(u))]
            vertex = [
                low + way if bit else low for bit, (low, way) in zip(chosen, vertices, strict=True)
            ]
            if level.hashed:
                row = vertex[0]
                for number, prime in zip(vertex[1:], _PRIMES[1:], strict=False):
                    row = row ^ (number * prime)
                row = row & (level.rows - 1)
            else:
                row = vertex[0]
                for number, stride in zip(vertex[1:], level.strides[1:], strict=True):
                    row = row + number * stride
            weight = torch.ones_like(fraction[0])
            for bit, part in zip(chosen, fraction, strict=True):
                weight = weight * (part if bit else 1 - part)
            share = tables[row + level.offset] * weight[:, None]
            total = share if total is None else total + share
        assert total is not None
        features.append(total)
    return torch.cat(features, -1)
