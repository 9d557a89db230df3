"""Whatever network stands behind a periodic encoding, f(x + mP) is f(x)."""

import itertools
import math

import pytest
import torch
from torch import nn

from coordnet.encodings import Concat, FourierFeatures

TURNS = [1, -1, 2, 3, -7, 64, 999, 1000, -1000]


def _concat(d, period):
    return Concat([FourierFeatures(d, 3, period), FourierFeatures.octave(d, 2, period)])


LADDERS = {
    "harmonic": lambda d, period: FourierFeatures(d, 21, period),
    "octave": lambda d, period: FourierFeatures.octave(d, 6, period),
    "lattice": lambda d, period: FourierFeatures.lattice(d, 3, period),
    "gaussian": lambda d, period: FourierFeatures.gaussian(d, 9, sigma=2.0, period=period),
    "concat": _concat,
}
NETWORKS = {
    "relu": (nn.ReLU, 1),
    "tanh": (nn.Tanh, 2),
    "gelu": (nn.GELU, 3),
    "silu": (nn.SiLU, 4),
    "linear": (nn.Identity, 0),
}


def network(kind, out_dim):
    """A randomly initialized network of out_dim inputs, the same at every call."""
    activation, depth = NETWORKS[kind]
    sizes = [out_dim, *[19] * depth, 2]
    layers = []
    with torch.random.fork_rng():
        torch.manual_seed(depth)
        for i, (a, b) in enumerate(itertools.pairwise(sizes)):
            layers += [nn.Linear(a, b)] + ([activation()] if i < depth else [])
    return nn.Sequential(*layers)


def grid(d, period, step):
    """Multiples of step over one period of every axis, and a little beyond."""
    axes = [torch.arange(-1, 35, dtype=torch.float64) * step % p for p in period]
    return torch.stack([axis.roll(5 * i) for i, axis in enumerate(axes)], -1)


@pytest.fixture(params=LADDERS)
def ladder(request):
    return LADDERS[request.param]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(
    "period",
    [[1.0], [24.0], [0.5], [8.0], [1.0, 1.0], [24.0, 24.0], [1.0, 24.0], [0.25, 16.0]],
    ids=str,
)
def test_bit_for_bit_where_the_shifted_input_is_exact(ladder, dtype, period, same_bits):
    d = len(period)
    encoding = ladder(d, period)
    assert encoding.periods == tuple(period)
    networks = [network(kind, encoding.out_dim).to(dtype) for kind in NETWORKS]
    exact = grid(d, period, step=min(period) / 16)
    x = exact.to(dtype)
    assert torch.equal(x.double(), exact)
    features = encoding(x)
    for m in TURNS:
        turns = torch.tensor([m, -m // 2][:d], dtype=torch.float64)
        exact_shifted = exact + turns * torch.tensor(period, dtype=torch.float64)
        shifted = exact_shifted.to(dtype)
        assert torch.equal(shifted.double(), exact_shifted)  # x + mP is exact in dtype
        assert same_bits(encoding(shifted), features)
        for behind in networks:
            assert same_bits(behind(encoding(shifted)), behind(features))


@pytest.mark.parametrize("period", [[1.0], [32.0], [1.0, 4.0]], ids=str)
def test_bit_for_bit_in_bfloat16(ladder, period, same_bits):
    d = len(period)
    encoding = ladder(d, period)
    field = nn.Sequential(encoding, network("silu", encoding.out_dim))
    exact = grid(d, period, step=min(period) / 8)
    compared = 0
    for m in [1, -2, 5, -8, 16, 100, 1000]:
        shifted = exact + m * torch.tensor(period, dtype=torch.float64)
        fits = (shifted.bfloat16().double() == shifted).all(-1)  # 8 bits hold few of them
        fits &= (exact.bfloat16().double() == exact).all(-1)
        a, b = exact[fits].bfloat16(), shifted[fits].bfloat16()
        assert same_bits(field(a), field(b))
        compared += len(a)
    assert compared >= 50


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.uint8], ids=str)
def test_bit_for_bit_for_whole_numbers(ladder, dtype, same_bits):
    encoding = ladder(1, 24.0)
    x = torch.arange(24)[:, None]
    for m in (1, 5, 9) if dtype == torch.uint8 else (1, -1, 1000, -1000):
        assert same_bits(encoding((x + 24 * m).to(dtype)), encoding(x.to(dtype)))


def test_both_ends_of_a_period_are_one_point(ladder, same_bits):
    for period in (1.0, 24.0, math.tau, 0.3):
        for dtype in (torch.float64, torch.float32):
            if dtype == torch.float32 and period in (math.tau, 0.3):
                continue  # the period itself is no float32 number
            encoding = ladder(1, period)
            ends = torch.tensor([[0.0], [-0.0], [period], [-period], [3 * period]], dtype=dtype)
            features = encoding(ends)
            for row in features[:4]:
                assert same_bits(row, features[0])
            half = encoding(torch.tensor([[period / 2], [-period / 2]], dtype=dtype))
            assert same_bits(half[0], half[1])


def test_float64_with_the_period_2_pi(uniform):
    """x + mP rounds twice: to 1e-12 per harmonic for |m| ≤ 1000."""
    k = 64
    encoding = FourierFeatures(1, k)
    x = uniform((200, 1), -4, 4)
    allowed = 1e-12 * torch.arange(1, k + 1, dtype=torch.float64).repeat_interleave(2)
    for m in TURNS:
        difference = (encoding(x + m * math.tau) - encoding(x)).abs()
        assert (difference <= allowed).all()


def test_float64_networks_with_the_period_2_pi(ladder, uniform):
    encoding = ladder(2, math.tau)
    x = uniform((50, 2), -4, 4)
    for kind in NETWORKS:
        field = nn.Sequential(encoding, network(kind, encoding.out_dim).double())
        for m in (1, -7, 1000):
            assert (field(x + m * math.tau) - field(x)).abs().max() < 1e-10


def test_float32_with_the_period_2_pi_differs_by_the_rounding_of_the_sum_alone(uniform):
    k = 64
    encoding = FourierFeatures(1, k)
    j = torch.arange(1, k + 1, dtype=torch.float64).repeat_interleave(2)
    x = uniform((200, 1), -4, 4).float()
    for m in TURNS:
        shifted = (x + m * math.tau).float()
        rounding = shifted.double() - x.double() - m * math.tau  # exact to 2e-12
        difference = (encoding(shifted) - encoding(x)).double().abs()
        assert (difference <= j * (rounding.abs() + 2e-12) + 2e-6).all()
        # and at the point that the rounded sum stands for, nothing is left of it
        meant = encoding(shifted.double() - m * math.tau)
        assert (encoding(shifted) - meant).abs().max() <= 1e-6
    assert difference.max() > 1e-3  # m = -1000: the rounding is no small matter


def test_include_input_takes_the_period_away():
    encoding = FourierFeatures(1, 2, period=1.0, include_input=True)
    assert encoding.periods == (None,)
    assert not torch.equal(encoding(torch.zeros(1, 1)), encoding(torch.ones(1, 1)))
    assert FourierFeatures.geometric(2, 3).periods == (None, None)
    assert FourierFeatures.gaussian(2, 3).periods == (None, None)


def test_gradients_are_periodic_too(ladder, same_bits):
    encoding = ladder(1, 1.0)
    x = torch.arange(16, dtype=torch.float32)[:, None] / 16
    slopes = []
    for shift in (0.0, 1000.0, -37.0):
        shifted = (x + shift).requires_grad_()
        (slope,) = torch.autograd.grad(encoding(shifted).square().sum(), shifted)
        slopes.append(slope)
    assert same_bits(slopes[0], slopes[1])
    assert same_bits(slopes[0], slopes[2])


def test_shifted_copies_agree_anywhere_in_a_batch(same_bits):
    """f(x) and f(x + P) evaluated in one batch, in other rows."""
    encoding = FourierFeatures(1, 100, period=1.0)
    x = torch.arange(1001, dtype=torch.float32)[:, None] / 1024
    both = encoding(torch.cat([x, x + 3, x - 8]))
    for part in both.split(1001):
        assert same_bits(part, both[:1001])
