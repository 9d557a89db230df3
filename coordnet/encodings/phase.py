"""Sines and cosines of large arguments, exactly reduced, and their derivatives of any order.

The float32 product ``x * frequency`` is wrong before any sine is taken: at 10^4 periods and the
1024th harmonic it is off by more than a turn. Here the argument is reduced first:

* `fold` brings a coordinate into one period, so that ``x`` and ``x + m * period`` give the same
  bits wherever the sum itself was exact;
* phases are kept in *turns* (1 turn = 2π) in float64, the nearest integer is taken off, and only
  what is left is rounded to float32;
* multiples 1 … k of one angle come from products of complex numbers (`multiples.py`).

Compiled, exported and traced code takes the same steps in ordinary operations.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ..constants import supports_float64
from ..memory import empty
from ..modes import is_forward_mode, is_traced, is_transformed, no_autocast
from .multiples import multiples

__all__ = ["difference", "encode", "fold"]

_CPU_VALUES = 1 << 17
_GPU_VALUES = 1 << 24
# up to here float64 holds every whole number
_EXACT_INTEGERS = 1 << 53
_LOW_BITS = (1 << 32) - 1
# axes from which on a matrix product is quicker than a sum over the axes
_MANY_AXES = 7


def fold(x: Tensor, period: Tensor) -> Tensor:
    """Return x modulo ``period``, from 0 to period: the same bits for x and x + m * period.

    Exact for x >= 0. Below 0 the period is added to an exact fmod: that sum rounds to half a unit
    in the last place of the period where no x + m * period >= 0 is a float64 number, else it is
    exact too. int64 beyond 2^53, which float64 does not hold, is folded in two exact halves.

    Args:
        x: float64 or int64 coordinates, shape ``(..., d)``.
        period: float64, shape ``(d,)``.
    """
    if x.dtype != torch.int64:
        return torch.remainder(x, period)
    high, low = _halves(x)
    halves = fold(fold(high, period) + fold(low, period), period)
    return torch.where(x.abs() <= _EXACT_INTEGERS, fold(x.double(), period), halves)


def difference(x: Tensor, origin: Tensor) -> Tensor:
    """Return x - origin in float64, for int64 coordinates beyond 2^53 too (nanosecond stamps)."""
    if x.dtype == torch.int64:
        high, low = _halves(x)
        return (high - origin) + low
    return x.to(torch.float64) - origin


def _halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """Split int64 numbers into two float64 ones whose sum they are, exactly."""
    high = (x >> 32).to(torch.float64) * float(_LOW_BITS + 1)
    return high, (x & _LOW_BITS).to(torch.float64)


def encode(
    x: Tensor,
    cycles: Tensor,
    period: Tensor | None,
    dtype: torch.dtype,
    steps: Tensor | None = None,
) -> Tensor:
    """Return sin and cos of 2π(cycles · x / period), side by side, in one tensor.

    Args:
        x: coordinates, shape ``(..., d)``, any real dtype.
        cycles: float64; ``(d, k)`` for k frequencies on each axis by itself, or ``(1, M, d)``
            for M wave vectors over all axes.
        period: float64, shape ``(d,)``; the cycles are then integers. None: cycles are per
            unit of x.
        dtype: of the features, float32 or float64.
        steps: `steps_up_to` k where ``cycles`` are 1 … k on every axis, which is quicker.

    Returns:
        Shape ``(..., 2 d k)`` or ``(..., 2 M)``.
    """
    device = x.device
    if not supports_float64(device):
        return encode(x.cpu(), cycles, period, dtype, steps).to(device)
    if x.dtype != torch.int64 and not x.is_floating_point():
        x = x.to(torch.float64)  # not int64, in which uint64 would wrap around
    with no_autocast(device):
        if is_traced():
            angle = _angles(x, cycles, period, dtype)
            return torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)
        if not is_forward_mode():
            if is_transformed() or (x.requires_grad and torch.is_grad_enabled()):
                return _SinCos.apply(x, cycles, period, steps, dtype)  # type: ignore[no-any-return]
            # a Function binds its arguments slowly: half the time of a few rows
            return _SinCos.forward(x, cycles, period, steps, dtype)
        still = x.detach()
        out = _SinCos.apply(still, cycles, period, steps, dtype)
        sin, cos = _pairs(out)
        step = _project((x - still).to(dtype), _angular(cycles, period, dtype))  # 0
        moved = [sin * step.cos() + cos * step.sin(), cos * step.cos() - sin * step.sin()]
        return torch.stack(moved, -1).flatten(-2)


def _angular(cycles: Tensor, period: Tensor | None, dtype: torch.dtype) -> Tensor:
    """Radians per unit of x, in the shape of ``cycles``."""
    if period is not None:
        cycles = cycles / (period[:, None] if cycles.ndim == 2 else period)
    return (cycles * math.tau).to(dtype)


class _SinCos(torch.autograd.Function):
    """Features whose derivatives are made of the features: d sin = ω cos, d cos = -ω sin.

    A first derivative reads the output. Where it is to be differentiated again the features are
    encoded again, as a part of its graph, which goes on as often as one likes.
    """

    @staticmethod
    def forward(
        x: Tensor, cycles: Tensor, period: Tensor | None, steps: Tensor | None, dtype: torch.dtype
    ) -> Tensor:
        number = cycles.numel() if cycles.ndim == 2 else cycles.shape[1]
        # what is returned is the whole of its memory, not a view: it may be changed in place
        out = empty((*x.shape[:-1], 2 * number), dtype, x.device)
        flat = x if x.ndim == 2 else x.reshape(-1, x.shape[-1])
        if steps is not None and dtype == torch.float32 and period is not None:
            turns = fold(_wide(flat), period) / period
            turns = turns if turns.shape[1] == 1 else turns.reshape(-1, 1)
            multiples(turns, steps, out.view(-1, cycles.shape[1], 2))
        else:
            _waves(flat, cycles, period, out.view(-1, 2 * number))
        return out

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, cycles, period, ctx.steps, ctx.dtype = inputs
        ctx.save_for_backward(x, cycles, period)
        # an alias, which shares the count of changes in place
        ctx.features = output.detach()
        ctx.version = 0 if output.is_inference() else output._version

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, cycles, period = ctx.saved_tensors
        (grad,) = grads
        out = ctx.features
        if torch.is_grad_enabled() or out._version != ctx.version:
            # with a graph of their own, or since a next layer has changed them in place
            out = _SinCos.apply(x, cycles, period, ctx.steps, ctx.dtype)
        with no_autocast(grad.device):
            grad_sin, grad_cos = _pairs(grad)
            sin, cos = _pairs(out)
            slope = grad_sin * cos - grad_cos * sin
            omega = _angular(cycles, period, slope.dtype)
            if cycles.ndim == 2:
                grad_x = (slope.reshape(*slope.shape[:-1], *cycles.shape) * omega).sum(-1)
            else:  # sums, not a matrix product, which TF32 would round to 10 bits
                axes = omega[0].unbind(-1)
                grad_x = torch.stack([(slope * axis).sum(-1) for axis in axes], -1)
        return grad_x.to(x.dtype), None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Tensor, int]:
        x, cycles, period, steps, dtype = args
        if in_dims[1] is None and in_dims[2] is None:
            assert in_dims[0] is not None
            return _SinCos.apply(x.movedim(in_dims[0], 0), cycles, period, steps, dtype), 0

        def item(value: Any, axis: int | None, i: int) -> Any:
            return value if axis is None else value.select(axis, i)

        rows = [
            _SinCos.apply(
                item(x, in_dims[0], i),
                item(cycles, in_dims[1], i),
                item(period, in_dims[2], i),
                steps,
                dtype,
            )
            for i in range(info.batch_size)
        ]
        return torch.stack(rows), 0


def _pairs(features: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sines and the cosines."""
    pairs = features.reshape(*features.shape[:-1], features.shape[-1] // 2, 2)
    return pairs[..., 0], pairs[..., 1]


def _wide(x: Tensor) -> Tensor:
    """Return coordinates as float64, but int64 as it is: `fold` takes both."""
    return x if x.dtype == torch.int64 else x.double()


def _angles(x: Tensor, cycles: Tensor, period: Tensor | None, dtype: torch.dtype) -> Tensor:
    """Return 2π(cycles · x / period) less whole turns, in ``dtype``."""
    x = x.to(torch.float64) if period is None else fold(_wide(x), period) / period
    turns = _project(x, cycles, exact=period is not None)
    return ((turns - turns.round()) * math.tau).to(dtype)


def _project(x: Tensor, vectors: Tensor, exact: bool = True) -> Tensor:
    """Return x · v for every vector, summed axis by axis.

    A matrix product orders its sums differently at the edge of a batch; here each row's bits
    depend on that row alone.

    Args:
        x: shape ``(..., d)``.
        vectors: ``(d, k)`` for frequencies on each axis by itself, or ``(1, M, d)``.
        exact: the bits are to be the same in every batch. Without, many axes are summed by a
            matrix product, whose last bit may differ.

    Returns:
        Shape ``(..., d k)`` or ``(..., M)``.
    """
    if vectors.ndim == 2:
        return (x[..., None] * vectors).flatten(-2)
    if not exact and vectors.shape[2] >= _MANY_AXES:
        return x @ vectors[0].T
    columns = vectors[0].unbind(-1)
    total = x[..., :1] * columns[0]
    for axis, column in enumerate(columns[1:], start=1):
        total = total + x[..., axis : axis + 1] * column
    return total


def _waves(x: Tensor, cycles: Tensor, period: Tensor | None, out: Tensor) -> None:
    """Fill ``out`` (N, 2M) with the features of coordinates (N, d), for any ladder, in blocks."""
    values = _CPU_VALUES if x.device.type == "cpu" else _GPU_VALUES
    rows = max(1, values // max(out.shape[1] // 2, x.shape[1]))
    for start in range(0, len(x), rows):
        angle = _angles(x[start : start + rows], cycles, period, out.dtype)
        pairs = out[start : start + rows].view(*angle.shape, 2)
        torch.sin(angle, out=pairs[..., 0])
        torch.cos(angle, out=pairs[..., 1])
