"""Sines and cosines of large arguments, exactly reduced, and their derivatives of any order.

The float32 product ``x * frequency`` is wrong before any sine is taken: at 10^4 periods and the
1024th harmonic it is off by more than a turn. Here the argument is reduced first:

* `fold` brings a coordinate into one period without any rounding, so that ``x`` and
  ``x + m * period`` give the same bits wherever the sum itself was exact;
* phases are kept in *turns* (1 turn = 2π) in float64, the nearest integer is taken off, and only
  what is left is rounded to float32;
* multiples 1 … k of one angle come from complex doubling: with w_j = sin jφ + i cos jφ,
  w_(j+m) = w_j · e^(-imφ). The factor is evaluated in float64 for each power of two, so the
  error is that of log2(k) float32 products.
"""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from ..constants import supports_float64
from ..memory import empty, scratch
from ..parallel import SERIAL

__all__ = ["encode", "fold", "no_autocast"]

_CPU_VALUES = 1 << 17
_GPU_VALUES = 1 << 24


def fold(x: Tensor, period: Tensor) -> Tensor:
    """Return x minus the multiple of ``period`` that brings it into (-period/2, period/2].

    Exact: fmod is, and so is the subtraction of two floats within a factor of 2 of each other.

    Args:
        x: float64 coordinates, shape ``(..., d)``.
        period: float64, shape ``(d,)``.
    """
    rest = torch.fmod(x, period)
    half = period / 2
    rest = torch.where(rest > half, rest - period, rest)
    # + 0.0 turns -0 into 0: both are the same point of the circle
    return torch.where(rest <= -half, rest + period, rest) + 0.0


def encode(
    x: Tensor, cycles: Tensor, period: Tensor | None, dtype: torch.dtype, harmonics: int = 0
) -> Tensor:
    """Return sin and cos of 2π(cycles · x / period), side by side, in one tensor.

    Args:
        x: coordinates, shape ``(..., d)``, any real dtype.
        cycles: float64; ``(d, k)`` for k frequencies on each axis by itself, or ``(1, M, d)``
            for M wave vectors over all axes.
        period: float64, shape ``(d,)``; the cycles are then whole numbers. None: cycles are per
            unit of x.
        dtype: of the features, float32 or float64.
        harmonics: k where ``cycles`` are 1 … k on every axis, which is quicker; 0 otherwise.

    Returns:
        Shape ``(..., 2 d k)`` or ``(..., 2 M)``.
    """
    device = x.device
    if not supports_float64(device):
        return encode(x.cpu(), cycles, period, dtype, harmonics).to(device)
    if not x.is_floating_point():
        x = x.to(torch.float64)
    with no_autocast(device):
        if not _forward_mode():
            return _SinCos.apply(x, cycles, period, harmonics, dtype)  # type: ignore[no-any-return]
        still = x.detach()
        out = _SinCos.apply(still, cycles, period, harmonics, dtype)
        sin, cos = _pairs(out)
        step = _project((x - still).to(dtype), _angular(cycles, period, dtype))  # 0
        moved = [sin * step.cos() + cos * step.sin(), cos * step.cos() - sin * step.sin()]
        return torch.stack(moved, -1).flatten(-2)


def _forward_mode() -> bool:
    """Whether forward-mode differentiation is under way.

    The ``jvp`` of an `autograd.Function` is not itself differentiated in forward mode: a second
    derivative would silently be 0. The addition theorems, in plain operations, have them all.
    """
    return getattr(forward_ad, "_current_level", 0) >= 0


def no_autocast(device: torch.device) -> AbstractContextManager[Any]:
    """Keep float32 and float64 as they are; the meta device has no autocast."""
    # not `is_autocast_available`, which the compiler of PyTorch 2.10 and 2.11 cannot trace
    return nullcontext() if device.type == "meta" else torch.autocast(device.type, enabled=False)


def _angular(cycles: Tensor, period: Tensor | None, dtype: torch.dtype) -> Tensor:
    """Radians per unit of x, in the shape of ``cycles``."""
    if period is not None:
        cycles = cycles / (period[:, None] if cycles.ndim == 2 else period)
    return (cycles * math.tau).to(dtype)


class _SinCos(torch.autograd.Function):
    """Features whose derivatives are made of the features themselves.

    d sin = ω cos, d cos = -ω sin: the backward reads the saved output, which is itself part of
    the graph, so that it can be differentiated again, as often as one likes.
    """

    @staticmethod
    def forward(
        x: Tensor, cycles: Tensor, period: Tensor | None, harmonics: int, dtype: torch.dtype
    ) -> Tensor:
        flat = x.reshape(-1, x.shape[-1])
        if 0 < harmonics < SERIAL and dtype == torch.float32:
            out = _harmonics(flat, period, harmonics)
        else:
            out = _waves(flat, cycles, period, dtype)
        return (
            out.reshape(*x.shape[:-1], -1)
            if flat.numel()
            else out.new_empty(*x.shape[:-1], out.shape[-1])
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        x, cycles, period, _, _ = inputs
        ctx.x_dtype = x.dtype
        ctx.save_for_backward(output, cycles, period)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        out, cycles, period = ctx.saved_tensors
        (grad,) = grads
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
        return grad_x.to(ctx.x_dtype), None, None, None, None

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *args: Any) -> tuple[Tensor, int]:
        x, cycles, period, harmonics, dtype = args
        if in_dims[1] is None and in_dims[2] is None:
            assert in_dims[0] is not None
            return _SinCos.apply(x.movedim(in_dims[0], 0), cycles, period, harmonics, dtype), 0

        def item(value: Any, axis: int | None, i: int) -> Any:
            return value if axis is None else value.select(axis, i)

        rows = [
            _SinCos.apply(
                item(x, in_dims[0], i),
                item(cycles, in_dims[1], i),
                item(period, in_dims[2], i),
                harmonics,
                dtype,
            )
            for i in range(info.batch_size)
        ]
        return torch.stack(rows), 0


def _pairs(features: Tensor) -> tuple[Tensor, Tensor]:
    """Return the sines and the cosines."""
    pairs = features.reshape(*features.shape[:-1], features.shape[-1] // 2, 2)
    return pairs[..., 0], pairs[..., 1]


def _project(x: Tensor, vectors: Tensor) -> Tensor:
    """Return x · v for every vector, summed axis by axis.

    A matrix product would do, but orders its sums differently at the edge of a batch: here each
    row's bits depend on that row alone.

    Args:
        x: shape ``(..., d)``.
        vectors: ``(d, k)`` for frequencies on each axis by itself, or ``(1, M, d)``.

    Returns:
        Shape ``(..., d k)`` or ``(..., M)``.
    """
    if vectors.ndim == 2:
        return (x[..., None] * vectors).flatten(-2)
    columns = vectors[0].unbind(-1)
    total = x[..., :1] * columns[0]
    for axis, column in enumerate(columns[1:], start=1):
        total = total + x[..., axis : axis + 1] * column
    return total


def _waves(x: Tensor, cycles: Tensor, period: Tensor | None, dtype: torch.dtype) -> Tensor:
    """Features of ``(N, d)`` coordinates for any ladder, in blocks."""
    number = cycles.numel() if cycles.ndim == 2 else cycles.shape[1]
    out = empty((len(x), number, 2), dtype, x.device)
    values = _CPU_VALUES if x.device.type == "cpu" else _GPU_VALUES
    rows = max(1, values // max(1, number))
    many = max(65_536 // rows, 1) * rows  # coordinates are fewer: all threads fold them
    for first in range(0, len(x), many):
        chunk = x[first : first + many].to(torch.float64)
        if period is not None:
            chunk = fold(chunk, period) / period
        for start in range(0, len(chunk), rows):
            turns = _project(chunk[start : start + rows], cycles)
            turns.sub_(turns.round()).mul_(math.tau)
            angle = turns.to(dtype)
            target = out[first + start : first + start + len(angle)]
            target[..., 0] = torch.sin(angle)
            target[..., 1] = torch.cos(angle)
    return out.flatten(1)


def _harmonics(x: Tensor, period: Tensor | None, k: int) -> Tensor:
    """float32 features of ``(N, d)`` coordinates for the harmonics 1 … k, by doubling.

    Complex products round differently in PyTorch's vectorised loop and in its remainder. On a
    CPU they are therefore taken on numbers of rows that threads share out in whole rows: a
    row's bits depend neither on its place in the batch nor on the thread count.
    """
    assert period is not None
    d = x.shape[-1]
    out = empty((len(x) * d, k), torch.complex64, x.device)
    # N·d angles, one row of features each
    turns = (fold(x.to(torch.float64), period) / period).flatten()
    powers = [1 << j for j in range((k - 1).bit_length())]
    most = 65_536 if x.device.type == "cpu" else max(1, _GPU_VALUES // k)
    for start in range(0, len(turns), most):
        target = out[start : start + most]
        first, *factors = _doubled(turns[start : start + most], len(powers))
        target[:, 0] = first
        # 8 columns of a row are a line of the cache: the first few need no short runs
        _multiply(target, powers[:3], factors[:3], 65_536)
        _multiply(target, powers[3:], factors[3:], 8192)
    return torch.view_as_real(out).reshape(len(x), 2 * d * k)


def _doubled(turns: Tensor, number: int) -> Tensor:
    """Return complex64 sin φ + i cos φ, then e^(-iφ), e^(-2iφ), e^(-4iφ), …: ``number`` of them.

    Doubled in float64, in scratch memory that lasts until the next call. Every operation rounds
    once, so that the bits are those of any loop.
    """
    size, home = (len(turns),), turns.device
    sin, cos, other, another = scratch("angles", (4, *size), torch.float64, home)
    found = scratch("factors", (number + 1, *size), torch.complex64, home)
    torch.mul(turns, math.tau, out=other)
    torch.sin(other, out=sin)
    torch.cos(other, out=cos)
    _narrow(sin, cos, another, out=found[0])
    sin.neg_()
    for factor in found[1:]:
        _narrow(cos, sin, another, out=factor)
        torch.mul(sin, cos, out=other).mul_(2)
        torch.mul(cos, cos, out=another).sub_(sin.square_())
        sin, cos, other, another = other, another, sin, cos
    return found


def _narrow(real: Tensor, imaginary: Tensor, memory: Tensor, out: Tensor) -> None:
    """Round float64 parts to those of complex64 numbers, by way of as much memory as one takes."""
    parts = memory.view(torch.float32).view(2, -1)
    torch.complex(parts[0].copy_(real), parts[1].copy_(imaginary), out=out)


def _multiply(target: Tensor, powers: list[int], factors: list[Tensor], run: int) -> None:
    """Fill columns m … 2m - 1 of each row from those before them, for some powers of two m."""
    k = target.shape[1]
    products = max((min(done, k - done) for done in powers), default=1)
    for rows in _whole_rows(len(target), products, run, target.device):
        for done, factor in zip(powers, factors, strict=True):
            more = min(done, k - done)
            known, new = target[rows, :more], target[rows, done : done + more]
            torch.mul(known, factor[rows, None], out=new)


def _whole_rows(number: int, products: int, most: int, device: torch.device) -> list[slice]:
    """Cut rows into runs of about ``most`` that PyTorch splits between rows, if at all.

    PyTorch deals n elements out to t = ceil(n / 32,768) threads, at most all it has, in equal
    parts. They are whole rows where t divides the number of rows.

    Args:
        number: how many rows there are.
        products: the most in a row of one operation.
        most: the longest run worth having.
        device: where they are.
    """
    if device.type != "cpu":
        return [slice(0, number)]
    single = max(1, SERIAL // products)  # rows that are never split
    threads = torch.get_num_threads()
    run = single
    if threads <= 8:  # 8 threads at most take part in 8 · 32,768 products
        step = math.lcm(*range(1, threads + 1))
        run = max(single, min(8 * single, most) // step * step)
    whole = number // run * run
    found = [slice(i, i + run) for i in range(0, whole, run)]
    return found + [slice(i, min(i + single, number)) for i in range(whole, number, single)]
