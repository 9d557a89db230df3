"""Multilinear interpolation on a stack of vertex tables, and its transpose.

Interpolation is linear in the tables: features = A · tables, where each row of A holds the 2^d
corner weights of every level. So the gradient of the tables is Aᵀ · grad, and the gradient of
that again A · grad: two functions, each the other's backward, give derivatives of any order.
The weights are never formed: A is one linear interpolation after another along the axes.

Operations run over all levels at once, on blocks that fit the cache, each in the memory of the
block before; pairs of features travel as one complex number, which halves the number of gathers
and scatters.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..memory import empty
from ..modes import is_batched, is_forward_mode, is_traced, is_transformed
from .vertices import PRIMES, Layout, interpolate_plainly, unit_coordinates, wrapped

__all__ = ["interpolate"]

_CPU_VALUES = 1 << 20


def interpolate(
    x: Tensor, tables: Tensor, layout: Layout, smooth: bool, dtype: torch.dtype
) -> Tensor:
    """Return the interpolated features of ``(N, d)`` coordinates, level by level.

    Args:
        x: coordinates, shape ``(N, d)``, any real dtype.
        tables: rows of all levels, shape ``(rows, F)``.
        layout: the levels.
        smooth: weigh with 3f² - 2f³ (smoothstep) instead of f.
        dtype: dtype of the features.

    Returns:
        Shape ``(N, L * F)``.
    """
    tables, recording = tables.to(dtype), torch.is_grad_enabled()
    plain = is_traced() or is_transformed() or is_forward_mode()
    if plain or (recording and x.requires_grad) or x.device.type not in ("cpu", "cuda"):
        return interpolate_plainly(x, tables, layout, smooth)
    recording = recording and tables.requires_grad
    lookup = _Lookup(x.detach(), layout, smooth, dtype, tables.shape[1] % 2 == 0, recording)
    if recording:
        return _Gather.apply(tables, lookup)  # type: ignore[no-any-return]
    return _Gather.forward(tables, lookup)


class _Lookup:
    """The matrix A of one batch, in blocks: rows and fractions, cached or computed each time.

    Attributes:
        width: real numbers that travel together: 2 where features come in pairs, otherwise 1.
    """

    def __init__(
        self,
        x: Tensor,
        layout: Layout,
        smooth: bool,
        dtype: torch.dtype,
        pairs: bool,
        keep: bool,
    ) -> None:
        self.x, self.layout, self.smooth, self.dtype = x, layout, smooth, dtype
        self.width = 2 if pairs else 1
        self.levels = layout.scale.shape[1]
        self.number, axes = x.shape
        step = self.number
        if x.device.type == "cpu":
            step = max(1, _CPU_VALUES // (self.levels * 2**axes))
        self.slices = [
            slice(i, min(i + step, self.number)) for i in range(0, self.number, max(1, step))
        ]
        self.keep, self.cached = keep, dict[int, tuple[Tensor, Tensor]]()
        self._memory: dict[str, Tensor] = {}

    def memory(self, name: str, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """Return uninitialized memory, the same for every block of this batch.

        Fresh memory for every block would cost page faults: a tenth of the time.
        """
        size = math.prod(shape)
        buffer = self._memory.get(name)
        if buffer is None or buffer.numel() < size:
            buffer = self._memory[name] = empty((size,), dtype, self.x.device)
        return buffer[:size].view(shape)

    def block(self, samples: slice) -> tuple[Tensor, Tensor]:
        """Return the rows of some samples, (2^d, L, n), and fractions, (d, L, n, width).

        Both last until the next block.
        """
        pair = self.cached.get(samples.start) or self.compute(samples)
        if self.keep:
            self.cached[samples.start] = pair
        narrow, fraction = pair
        rows = self.memory("rows", narrow.shape, torch.int64).copy_(narrow)
        return rows, self.widened(fraction)

    def compute(self, samples: slice) -> tuple[Tensor, Tensor]:
        """Return int32 rows of some samples, (2^d, L, n), and their fractions, (d, L, n)."""
        layout = self.layout
        u = unit_coordinates(self.x[samples], layout)
        shape = (len(u), self.levels, u.shape[1])
        position = self.memory("positions", shape, u.dtype)
        torch.mul(u[:, None], layout.scale, out=position).add_(0.5)
        # to look would make a CUDA device wait; there every vertex is wrapped
        inside = u.device.type == "cpu" and not any(layout.periodic)
        inside = inside and bool(((u >= 0) & (u <= 1)).all())
        if inside:
            low, ways = position.int(), None
            fraction = position.frac_()
        else:
            cell = position.floor()
            fraction = position.sub_(cell)
            low, high = wrapped(cell.int(), layout)
            ways = high - low
        rows = empty((2 ** len(u), *shape[1:]), torch.int32, u.device)
        self.dense_rows(low, ways, rows[:, : layout.dense])
        if layout.dense < self.levels:
            self.hashed_rows(low, ways, rows[:, layout.dense :])
        if self.smooth:
            fraction = fraction * fraction * (3 - 2 * fraction)
        return rows, fraction.to(self.dtype, copy=True)  # the next block writes over it

    def corners(self, rows: Tensor) -> Tensor:
        """Return memory for the numbers at all corners of a block, (2^d, L, n, width)."""
        return self.memory("corners", (*rows.shape, self.width), self.dtype)

    def dense_rows(self, low: Tensor, ways: Tensor | None, rows: Tensor) -> None:
        """Fill rows (2^d, dense, n); bit i of a corner is axis i."""
        layout = self.layout
        number = layout.dense
        torch.add(low[0, :number], layout.offsets[:number], out=rows[0])
        for axis in range(1, len(low)):
            rows[0].addcmul_(low[axis, :number], layout.strides[axis])
        corners = 1
        for axis in range(len(low)):
            stride = layout.strides[axis]
            change = stride if ways is None else ways[axis, :number] * stride
            torch.add(rows[:corners], change, out=rows[corners : 2 * corners])
            corners *= 2

    def hashed_rows(self, low: Tensor, ways: Tensor | None, rows: Tensor) -> None:
        """Fill rows (2^d, hashed, n) with exclusive ors of multiplied vertex numbers."""
        layout = self.layout
        number, mask = layout.dense, layout.mask
        # only the lowest bits of a product count, and they do not care about the others of its
        # factors: without those it mostly fits 32 bits (to look would make a CUDA device wait)
        narrow = low.device.type == "cpu" and (int(layout.vertices.max()) + 1) * mask < 1 << 31
        dtype = torch.int32 if narrow else torch.int64
        changes = []
        for axis, prime in zip(range(len(low)), PRIMES, strict=False):
            prime = prime & mask
            first = low[axis, number:].to(dtype) * prime
            way = prime if ways is None else ways[axis, number:].to(dtype) * prime
            changes.append(((first ^ (first + way)) & mask).int())
            if axis:
                rows[0].bitwise_xor_((first & mask).int())
            else:
                rows[0] = first & mask
        corners = 1
        for change in changes:
            torch.bitwise_xor(rows[:corners], change, out=rows[corners : 2 * corners])
            corners *= 2
        rows += layout.offsets[number:]

    def widened(self, fraction: Tensor) -> Tensor:
        """Return fractions (d, L, n) once for each of the numbers, (d, L, n, width)."""
        if self.width == 1:
            return fraction[..., None]
        # an ordinary broadcast would be as slow as everything else together
        memory = self.memory("fractions", fraction.shape, self.dtype.to_complex())
        return torch.view_as_real(torch.complex(fraction, fraction, out=memory))


def _columns(tables: Tensor) -> Tensor:
    """View rows of F numbers as rows of F/2 complex ones, where F is even."""
    if tables.shape[1] % 2:
        return tables
    tables = tables.contiguous()
    if tables.storage_offset() % 2:  # a complex number starts at an even place
        tables = tables.clone()
    return torch.view_as_complex(tables.unflatten(1, (-1, 2)))


def _together(numbers: Tensor) -> Tensor:
    """View the last axis, of two real numbers or one, as one number."""
    return torch.view_as_complex(numbers) if numbers.shape[-1] == 2 else numbers[..., 0]


def _numbers(columns: Tensor) -> Tensor:
    """The inverse of `_columns`, in the last axis."""
    return torch.view_as_real(columns).flatten(-2) if columns.is_complex() else columns


class _Gather(torch.autograd.Function):
    """features = A · tables."""

    @staticmethod
    def forward(tables: Tensor, lookup: _Lookup) -> Tensor:
        columns = _columns(tables)
        width = columns.shape[1]
        shape = (lookup.number, lookup.levels, width)
        out = empty(shape, columns.dtype, tables.device)
        for samples in lookup.slices:
            rows, fractions = lookup.block(samples)
            values = lookup.corners(rows)
            lines, target = rows.flatten(0, 1), _together(values).flatten(0, 1)
            for column in range(width):
                # a column by itself: gathers of single numbers are the quick ones, and those
                # from many views of it run side by side
                views = columns[:, column].expand(len(lines), -1)
                torch.gather(views, 1, lines, out=target)
                for axis in reversed(range(len(fractions))):
                    half = 2**axis
                    values[:half].lerp_(values[half : 2 * half], fractions[axis])
                out[samples, :, column] = _together(values[0]).t()
        return _numbers(out).flatten(1)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        tables, ctx.lookup = inputs
        ctx.number = len(tables)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int, None], *args: Any) -> tuple[Tensor, int]:
        tables, lookup = args
        return torch.stack([_Gather.apply(t, lookup) for t in tables.unbind(in_dims[0])]), 0

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        if is_batched(grads[0]):
            return _scatter_plainly(grads[0], ctx.lookup, ctx.number), None
        return _Scatter.apply(grads[0], ctx.lookup, ctx.number), None  # type: ignore[return-value]


class _Scatter(torch.autograd.Function):
    """tables = Aᵀ · features."""

    @staticmethod
    def forward(features: Tensor, lookup: _Lookup, number: int) -> Tensor:
        parts = _columns(features.reshape(-1, features.shape[1] // lookup.levels))
        width = parts.shape[1]
        parts = parts.view(-1, lookup.levels, width)
        # two threads add to a sum each, where two sums cost less than that saves
        lookups = lookup.number * lookup.levels * 2 ** lookup.x.shape[1]
        sums = 2 if parts.device.type == "cpu" and number <= lookups else 1
        out = torch.zeros((sums, number, width), dtype=parts.dtype, device=parts.device)
        for samples in lookup.slices:
            rows, fractions = lookup.block(samples)
            shares = lookup.corners(rows)
            halves = rows.view(sums, -1), _together(shares).view(sums, -1)
            for column in range(width):
                _together(shares[0]).copy_(parts[samples, :, column].t())
                for axis, fraction in enumerate(fractions):
                    half = 2**axis
                    lower, upper = shares[:half], shares[half : 2 * half]
                    torch.mul(lower, fraction, out=upper)
                    lower -= upper
                out[..., column].scatter_add_(1, *halves)
        total = out[0]
        if sums == 2:
            total += out[1]
        return _numbers(total)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        ctx.lookup = inputs[1]

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int, None, None], *args: Any) -> tuple[Tensor, int]:
        features, *rest = args
        return torch.stack([_Scatter.apply(f, *rest) for f in features.unbind(in_dims[0])]), 0

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return _Gather.apply(grads[0], ctx.lookup), None, None  # type: ignore[return-value]


def _scatter_plainly(features: Tensor, lookup: _Lookup, number: int) -> Tensor:
    """Return Aᵀ · features in ordinary operations: what PyTorch makes of A, at any tables."""
    size = (number, features.shape[-1] // lookup.levels)
    with torch.enable_grad():
        tables = torch.zeros(size, dtype=lookup.dtype, device=lookup.x.device, requires_grad=True)
        values = interpolate_plainly(lookup.x, tables, lookup.layout, lookup.smooth)
    (total,) = torch.autograd.grad(values, tables, features, create_graph=torch.is_grad_enabled())
    return total
