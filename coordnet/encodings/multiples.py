"""Multiples 1 … k of an angle by one complex product each: sin and cos of about 2 √k angles.

With m about √k and w_j = sin jφ + i cos jφ, w_(j + gm) = w_j · e^(-igmφ): the angles jφ (j ≤ m) and
gmφ are reduced in float64 and rounded once, so the error is that of two sines and one product.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

__all__ = ["multiples", "steps_up_to"]

# products at a time: what they are made of then stays in the cache
_CPU_PRODUCTS = 1 << 18
_GPU_PRODUCTS = 1 << 24
# PyTorch runs an operation on fewer than 32,768 elements in one piece (at::internal::GRAIN_SIZE)
_GRAIN = 32_768


def steps_up_to(k: int, device: torch.device) -> Tensor:
    """Return the numbers that `multiples` takes sines of: 1 … m, -m, -2m, … for k > m; float64."""
    m = 1 << (k.bit_length() // 2)
    # made on the device, which need not be waited for
    steps = torch.arange(1, min(k, m) + 1, dtype=torch.float64, device=device)
    if k <= m:
        return steps
    return torch.cat([steps, torch.arange(-m, -k, -m, dtype=torch.float64, device=device)])


def multiples(turns: Tensor, steps: Tensor, out: Tensor) -> None:
    """Fill ``out`` with sin and cos of 2π j · turns for j = 1 … k.

    A row's bits depend neither on its place in the batch nor on the number of threads.

    Args:
        turns: float64, shape ``(n, 1)``, within a turn.
        steps: what `steps_up_to` returned for k.
        out: float32, shape ``(n, k, 2)``.
    """
    waves = torch.view_as_complex(out)
    number, k = waves.shape
    if not number:
        return
    m = 1 << (k.bit_length() // 2)
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
    # slices, which take less time than narrow()
    base = waves[:, :m]
    torch.complex(sin[:, :m], cos[:, :m], out=base)
    factors = torch.complex(cos[:, m:], sin[:, m:])
    groups = k // m - 1
    rest = k - (groups + 1) * m
    if groups:
        out = waves[:, m : k - rest].view(number, groups, m)
        _multiply(base[:, None], factors[:, :groups, None], out)
    if rest:
        _multiply(waves[:, :rest], factors[:, -1:], waves[:, k - rest :])


def _multiply(waves: Tensor, factors: Tensor, out: Tensor) -> None:
    """Fill ``out`` with products of complex numbers, whole rows by whole rows."""
    if out.numel() < _GRAIN or out.device.type != "cpu":  # is not split
        torch.mul(waves, factors, out=out)
        return
    for rows in _whole_rows(len(out), out.numel() // len(out)):
        torch.mul(waves[rows], factors[rows], out=out[rows])


def _whole_rows(number: int, products: int) -> list[slice]:
    """Cut rows into runs that PyTorch splits between rows, if at all.

    Complex products round differently in PyTorch's vectorized loop and in its remainder, where
    the part of a thread ends. PyTorch deals n elements out to t = ceil(n / 32,768) threads, at
    most all it has, in equal parts: they are whole rows where t divides the number of rows.

    Args:
        number: how many rows there are.
        products: the products in a row.
    """
    single = max(1, (_GRAIN - 1) // max(1, products))  # rows that are never split
    threads = torch.get_num_threads()
    run = single
    if threads <= 8:  # 8 threads at most take part in 8 · 32,768 products
        step = math.lcm(*range(1, threads + 1))
        run = max(single, min(8 * single, number) // step * step)
    even = number // run * run
    runs = [slice(i, i + run) for i in range(0, even, run)]
    return runs + [slice(i, min(i + single, number)) for i in range(even, number, single)]
