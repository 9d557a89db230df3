"""Features against fifty digits: of the exact input, the exact period, the exact frequency."""

import math

import mpmath
import numpy as np
import pytest
import torch

from coordnet.encodings import FourierFeatures

BOUND = 1e-6  # float32, every ladder
SPOTS = [1, 2, 3, 5, 64, 127, 511, 512, 513, 1000, 1023, 1024]
PERIODS = [math.tau, 1.0, 24.0, 0.3]


@pytest.fixture
def points(uniform):
    """Points over 10^4 periods to either side, both ends, and some near 0."""

    def draw(period, dtype=torch.float32, n=24):
        far = period * torch.tensor([1e4, -1e4, 9999.75, 0.5, -0.5, 0.25, 1.0], dtype=torch.float64)
        x = torch.cat([far, uniform(n, -1e4, 1e4) * period, uniform(8, -2, 2, seed=1) * period])
        return x.to(dtype)[:, None]

    return draw


def float64(values):
    return torch.tensor(values, dtype=torch.float64)


def spots(features, columns):
    """The (sin, cos) pairs of some columns, shape (N, columns, 2), in float64."""
    pairs = features.double().unflatten(-1, (-1, 2))
    return pairs[:, torch.tensor(columns)]


def plain_error(x, omegas, exact):
    """How far the formula sin(x * ω) in float32 is from the exact sines."""
    angle = x.float() * torch.tensor(omegas).float()
    naive = torch.stack([torch.sin(angle), torch.cos(angle)], -1).double()
    return (naive - exact).abs().max().item()


@pytest.mark.parametrize("period", PERIODS)
def test_harmonics_to_1024_over_ten_thousand_periods(points, exact_pairs, period):
    x = points(period)
    exact = float64([[exact_pairs([a], [j], [period]) for j in SPOTS] for a in x[:, 0].tolist()])
    features = FourierFeatures(1, 1024, period=period)(x)
    assert features.dtype == torch.float32
    assert (spots(features, [j - 1 for j in SPOTS]) - exact).abs().max() <= BOUND
    assert plain_error(x, [j * math.tau / period for j in SPOTS], exact) > 0.5


def test_every_one_of_1024_harmonics(exact_pairs):
    x = torch.tensor([[0.1], [-2.5], [3.1415925], [62000.0], [-31415.926]])
    exact = float64(
        [[exact_pairs([a], [j], [math.tau]) for j in range(1, 1025)] for a in x[:, 0].tolist()]
    )
    features = FourierFeatures(1, 1024)(x).double().unflatten(-1, (-1, 2))
    assert (features - exact).abs().max() <= BOUND


def test_plain_formula_is_off_already_at_256_harmonics_and_ten_periods(uniform, exact_pairs):
    x = uniform((40, 1), 0, 20 * math.pi).float()
    exact = float64([[exact_pairs([a], [255], [math.tau])] for a in x[:, 0].tolist()])
    assert plain_error(x, [255.0], exact) > 100 * BOUND
    features = FourierFeatures(1, 256)(x)
    assert (spots(features, [254]) - exact).abs().max() <= BOUND


@pytest.mark.parametrize("period", PERIODS)
def test_harmonics_in_float64(points, exact_pairs, period):
    """One rounding of the phase, at most 2^-54 of a turn, 1024-fold, and that of the product."""
    x = points(period, torch.float64)
    exact = float64([[exact_pairs([a], [j], [period]) for j in SPOTS] for a in x[:, 0].tolist()])
    features = FourierFeatures(1, 1024, period=period)(x)
    assert features.dtype == torch.float64
    assert (spots(features, [j - 1 for j in SPOTS]) - exact).abs().max() <= 1e-12


def test_default_period_against_the_true_2_pi(points, exact_pairs):
    """The float64 number nearest 2π is off by 2.4e-16: j·|x| times that, relatively, remains."""
    x = points(math.tau, torch.float64)
    with mpmath.workdps(50):
        true = 2 * mpmath.pi
        off = float(abs(true - mpmath.mpf(math.tau)) / true)
    assert off < 4e-17
    exact = float64([[exact_pairs([a], [j], [true]) for j in SPOTS] for a in x[:, 0].tolist()])
    allowed = 1e-12 + off * x.abs()[..., None] * torch.tensor(SPOTS)[None, :, None]
    features = spots(FourierFeatures(1, 1024)(x), [j - 1 for j in SPOTS])
    assert ((features - exact).abs() <= allowed).all()
    assert allowed.max() < 3e-9


@pytest.mark.parametrize("period", PERIODS)
@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, BOUND), (torch.float64, 5e-11)])
def test_octaves_to_2_16_over_ten_thousand_periods(points, exact_pairs, period, dtype, bound):
    x = points(period, dtype)
    cycles = [2**j for j in range(17)]
    exact = float64([[exact_pairs([a], [n], [period]) for n in cycles] for a in x[:, 0].tolist()])
    features = FourierFeatures.octave(1, 17, period=period)(x)
    assert (spots(features, list(range(17))) - exact).abs().max() <= bound
    if period != math.tau:  # there 2^j x is exact in float32, and so is the plain formula
        assert plain_error(x, [n * math.tau / period for n in cycles], exact) > 0.5


def test_octave_20_on_the_unit_interval(uniform, exact_pairs):
    x = torch.cat([uniform((60, 1)), torch.tensor([[1.0], [0.0]])]).float()
    exact = float64([[exact_pairs([a], [2**20], [math.tau])] for a in x[:, 0].tolist()])
    features = FourierFeatures.octave(1, 21)(x)
    assert (spots(features, [20]) - exact).abs().max() <= BOUND
    half = float64([[exact_pairs([a], [2**20], [2.0])] for a in x[:, 0].tolist()])
    assert (spots(FourierFeatures.octave(1, 21, period=2.0)(x), [20]) - half).abs().max() <= BOUND
    assert plain_error(x, [2.0**20 * math.pi], half) > 0.1


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, BOUND), (torch.float64, 2e-9)])
def test_geometric_to_position_one_million(uniform, exact_pairs, dtype, bound):
    k, C = 64, 10_000.0
    x = torch.cat([uniform((20, 1), -1e6, 1e6), torch.tensor([[1e6], [999_999.0], [0.5]])]).to(
        dtype
    )
    with mpmath.workdps(50):
        cycles = [mpmath.mpf(C) ** (-mpmath.mpf(i) / k) / (2 * mpmath.pi) for i in range(k)]
    exact = float64([[exact_pairs([a], [n]) for n in cycles] for a in x[:, 0].tolist()])
    features = spots(FourierFeatures.geometric(1, k, C)(x), list(range(k)))
    assert (features - exact).abs().max() <= bound
    omegas = [C ** (-i / k) for i in range(k)]
    if dtype == torch.float32:
        assert plain_error(x, omegas, exact) > 1e-2


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, BOUND), (torch.float64, 1e-11)])
def test_gaussian_of_sigma_100_on_the_unit_square(uniform, exact_pairs, dtype, bound):
    encoding = FourierFeatures.gaussian(2, 128, sigma=100.0, seed=1)
    x = torch.cat([uniform((20, 2)), torch.tensor([[0.0, 1.0], [1.0, 1.0]])]).to(dtype)
    vectors = encoding.cycles[0].tolist()
    exact = float64([[exact_pairs(a, b) for b in vectors] for a in x.tolist()])
    features = spots(encoding(x), list(range(128)))
    assert (features - exact).abs().max() <= bound
    if dtype == torch.float32:
        angle = math.tau * (x @ encoding.cycles[0].float().T)
        assert (torch.sin(angle) - exact[..., 0]).abs().max() > 10 * bound


@pytest.mark.parametrize(("dtype", "bound"), [(torch.float32, BOUND), (torch.float64, 1e-12)])
@pytest.mark.parametrize("period", [[math.tau] * 2, [24.0, 0.3]])
def test_lattice_over_ten_thousand_periods(uniform, exact_pairs, dtype, bound, period):
    encoding = FourierFeatures.lattice(2, 8, period=period)
    x = (uniform((8, 2), -1e4, 1e4) * torch.tensor(period, dtype=torch.float64)).to(dtype)
    vectors = encoding.cycles[0].tolist()
    exact = float64([[exact_pairs(a, n, period) for n in vectors] for a in x.tolist()])
    features = spots(encoding(x), list(range(len(vectors))))
    assert (features - exact).abs().max() <= bound


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int32, torch.int64])
def test_narrow_and_whole_inputs_are_encoded_as_they_are(exact_pairs, dtype):
    x = torch.tensor([[0.0], [1.0], [3.3], [-200.0], [12345.0]]).to(dtype)
    exact = float64([[exact_pairs([float(a)], [j], [0.3]) for j in (1, 64)] for a in x[:, 0]])
    features = FourierFeatures(1, 64, period=0.3)(x)
    assert (spots(features, [0, 63]) - exact).abs().max() <= BOUND


def test_julian_dates_are_folded_in_float64(exact_pairs):
    n = np.arange(200)
    t = torch.from_numpy(2460000.5 + 0.01 * n)[:, None]
    encoding = FourierFeatures(1, 4, period=0.3)
    exact = float64([[exact_pairs([a], [j], [0.3]) for j in range(1, 5)] for a in t[:, 0].tolist()])
    assert (spots(encoding(t), [0, 1, 2, 3]) - exact).abs().max() <= 1e-12
    assert (spots(encoding(t.float()), [0, 1, 2, 3]) - exact).abs().max() > 0.5  # input, not fold
    # 30 samples a period: what the decimal dates say, as closely as float64 dates can say it
    phase = torch.from_numpy(((2460000.5 * 100 + n) % 30) / 30) * math.tau
    wanted = torch.sin(phase)
    assert (encoding(t)[:, 0] - wanted).abs().max() < 4e-8


def test_huge_and_tiny_coordinates(exact_pairs):
    x = torch.tensor([[1e15], [-3e12], [1e-30], [2.0**60]], dtype=torch.float64)
    for period in (math.tau, 24.0):
        exact = float64([[exact_pairs([a], [3], [period])] for a in x[:, 0].tolist()])
        encoding = FourierFeatures(1, 3, period=period)
        assert (spots(encoding(x), [2]) - exact).abs().max() <= 1e-14
        features = spots(encoding(x.float()), [2])
        exact = float64([[exact_pairs([a], [3], [period])] for a in x[:, 0].float().tolist()])
        assert (features - exact).abs().max() <= BOUND
