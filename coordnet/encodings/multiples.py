"""Multiples 1 … k of an angle by one complex product each: sin and cos of about 2 √k angles.

With m about √k and w_j = sin jφ + i cos jφ, w_(j + gm) = w_j · e^(-igmφ): the angles jφ (j ≤ m) and
gmφ are reduced in float64 and rounded once, so the error is that of two sines and one product.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

__all__ = ["multiples"]

# products at a time: what they are made of then stays in the cache
_CPU_PRODUCTS = 1 << 18
_GPU_PRODUCTS = 1 << 24
# PyTorch runs an operation on fewer than 32,768 elements in one piece (at::internal::GRAIN_SIZE)
_GRAIN = 32_768


def multiples(turns: Tensor, harmonics: Tensor, out: Tensor) -> None:
    """Fill ``out`` with sin and cos of 2π j · turns for j = 1 … k.

    A row's bits depend neither on its place in the batch nor on the number of threads.

    Args:
        turns: float64, shape ``(n, 1)``, within a turn.
        harmonics: float64, 1 … k.
        out: float32, shape ``(n, k, 2)``.
    """
    waves = torch.view_as_complex(out)
    number, k = waves.shape
    if not number:
        return
    m = 1 << (k.bit_length() // 2)
    steps = harmonics
    if k > m:
        steps = torch.cat([harmonics.narrow(0, 0, m), harmonics[m - 1 : k - 1 : m].neg()])
    most = max(1, (_CPU_PRODUCTS if turns.device.type == "cpu" else _GPU_PRODUCTS) // k)
    if number <= most:
        _fill(waves, turns, steps, m)
    else:
        for rows in (slice(i, i + most) for i in range(0, number, most)):
            _fill(waves[rows], turns[rows], steps, m)


def _fill(waves: Tensor, turns: Tensor, steps: Tensor, m: int) -> None:
    """Fill complex ``waves`` (n, k) from the ``steps`` 1 … m, -m, -2m, …."""
    number, k = waves.shape
    angle = turns * steps
    angle = angle.sub_(angle.round()).mul_(math.tau).float()
    sin, cos = angle.sin(), angle.cos_()
    if k <= m:
        torch.complex(sin, cos, out=waves)
        return
    base, more = waves.narrow(1, 0, m), steps.numel() - m
    torch.complex(sin.narrow(1, 0, m), cos.narrow(1, 0, m), out=base)
    factors = torch.complex(cos.narrow(1, m, more), sin.narrow(1, m, more))
    groups = k // m - 1
    if groups:
        out = waves.narrow(1, m, groups * m).view(number, groups, m)
        some = factors if groups == more else factors.narrow(1, 0, groups)
        _multiply(base.unsqueeze(1), some.unsqueeze(2), out)
    rest = k - (groups + 1) * m
    if rest:
        _multiply(waves.narrow(1, 0, rest), factors[:, -1:], waves.narrow(1, k - rest, rest))


def _multiply(waves: Tensor, factors: Tensor, out: Tensor) -> None:
    """Fill ``out`` with products of complex numbers, whole rows by whole rows."""
    runs = _whole_rows(len(out), out.numel() // len(out), out.device)
    if len(runs) == 1:
        torch.mul(waves, factors, out=out)
        return
    for rows in runs:
        torch.mul(waves[rows], factors[rows], out=out[rows])


def _whole_rows(number: int, products: int, device: torch.device) -> list[slice]:
    """Cut rows into runs that PyTorch splits between rows, if at all.

    Complex products round differently in PyTorch's vectorized loop and in its remainder, where
    the part of a thread ends. PyTorch deals n elements out to t = ceil(n / 32,768) threads, at
    most all it has, in equal parts: they are whole rows where t divides the number of rows.

    Args:
        number: how many rows there are.
        products: the products in a row.
        device: where they are.
    """
    single = max(1, (_GRAIN - 1) // max(1, products))  # rows that are never split
    if device.type != "cpu" or number <= single:
        return [slice(0, number)]
    threads = torch.get_num_threads()
    run = single
    if threads <= 8:  # 8 threads at most take part in 8 · 32,768 products
        step = math.lcm(*range(1, threads + 1))
        run = max(single, min(8 * single, number) // step * step)
    even = number // run * run
    runs = [slice(i, i + run) for i in range(0, even, run)]
    return runs + [slice(i, min(i + single, number)) for i in range(even, number, single)]
