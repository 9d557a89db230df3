"""What the encodings' tests share: exact sines, exact comparison, thread counts."""

import sys
from pathlib import Path

import mpmath
import pytest
import torch

sys.path.append(str(Path(__file__).parent))  # of small_encodings

BITS = {
    torch.float64: torch.int64,
    torch.float32: torch.int32,
    torch.bfloat16: torch.int16,
    torch.float16: torch.int16,
}


def _number(value):
    """The exact value of a float, int or mpmath number."""
    return value if isinstance(value, mpmath.mpf) else mpmath.mpf(value)


@pytest.fixture
def exact_pairs():
    """(x, cycles, period) → float64 tensor (sin, cos) of 2π Σ cycles_i x_i / period_i.

    Fifty digits, of exactly the numbers that are given.
    """

    def pairs(x, cycles, period=None):
        period = [1] * len(x) if period is None else period
        with mpmath.workdps(50):
            turns = mpmath.fsum(
                _number(n) * _number(a) / _number(p)
                for n, a, p in zip(cycles, x, period, strict=True)
            )
            angle = 2 * mpmath.pi * (turns - mpmath.nint(turns))
            return [float(mpmath.sin(angle)), float(mpmath.cos(angle))]

    return pairs


@pytest.fixture
def same_bits():
    """Equal shapes, dtypes and bits (torch.equal takes -0 and 0 for equal)."""

    def same(a, b):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        kind = BITS[a.dtype]
        return torch.equal(a.detach().contiguous().view(kind), b.detach().contiguous().view(kind))

    return same


@pytest.fixture
def set_threads():
    """Set the number of threads; it is put back after the test."""
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


@pytest.fixture
def uniform():
    """(shape, lower, upper, seed) → float64 numbers from a generator of their own."""

    def draw(shape, lower=0.0, upper=1.0, seed=0):
        generator = torch.Generator().manual_seed(seed)
        shape = (shape,) if isinstance(shape, int) else shape
        unit = torch.rand(shape, generator=generator, dtype=torch.float64)
        return lower + (upper - lower) * unit

    return draw
