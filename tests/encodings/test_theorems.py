"""What the features are for: orthogonality, spans, kernels, derivatives."""

import itertools
import math

import pytest
import torch

from coordnet.encodings import Concat, FourierFeatures


def with_constant(features):
    return torch.cat([torch.ones(len(features), 1, dtype=features.dtype), features], -1)


def fit(encoding, x, y, driver="gelsd"):
    """Least squares on [1, features]; returns the fitted function."""
    head = torch.linalg.lstsq(with_constant(encoding(x)), y, driver=driver).solution
    return lambda points: with_constant(encoding(points)) @ head


def rms(values):
    return values.square().mean().sqrt().item()


@pytest.mark.parametrize("period", [math.tau, 1.0, 24.0, 0.3])
@pytest.mark.parametrize(("k", "n"), [(1, 3), (5, 11), (5, 12), (16, 400)])
def test_features_are_orthogonal_over_a_sampled_period(k, n, period):
    x = period * torch.arange(n, dtype=torch.float64)[:, None] / n
    features = with_constant(FourierFeatures(1, k, period)(x))
    gram = features.T @ features
    wanted = torch.full((2 * k + 1,), n / 2, dtype=torch.float64)
    wanted[0] = n
    torch.testing.assert_close(gram, wanted.diag(), rtol=0, atol=1e-11)


def test_at_the_nyquist_limit_orthogonality_ends():
    x = torch.arange(10, dtype=torch.float64)[:, None] / 10
    gram = FourierFeatures(1, 5, 1.0)(x)
    gram = gram.T @ gram
    assert (gram - 5 * torch.eye(10)).abs().max() > 1  # sin 5x vanishes on ten samples


def test_lattice_is_orthogonal_over_a_sampled_period():
    n, k, period = 8, 3, [1.0, 24.0]
    axes = [p * torch.arange(n, dtype=torch.float64) / n for p in period]
    x = torch.cartesian_prod(*axes)
    features = with_constant(FourierFeatures.lattice(2, k, period)(x))
    gram = features.T @ features
    wanted = torch.full((len(gram),), n * n / 2, dtype=torch.float64)
    wanted[0] = n * n
    torch.testing.assert_close(gram, wanted.diag(), rtol=0, atol=1e-11)


@pytest.mark.parametrize("period", [math.tau, 24.0])
def test_least_squares_finds_any_trigonometric_polynomial(uniform, period):
    k = 7
    a, b = uniform(k + 1, -1, 1, seed=1), uniform(k + 1, -1, 1, seed=2)

    def polynomial(x):
        phase = math.tau * torch.arange(k + 1, dtype=torch.float64) * x / period
        return (a * torch.cos(phase) + b * torch.sin(phase)).sum(-1, keepdim=True)

    x, fresh = uniform((60, 1), 0, period, seed=3), uniform((200, 1), -period, 3 * period, seed=4)
    fitted = fit(FourierFeatures(1, k, period), x, polynomial(x))
    assert (fitted(fresh) - polynomial(fresh)).abs().max() < 1e-10
    short = fit(FourierFeatures(1, k - 1, period), x, polynomial(x))
    assert rms(short(fresh) - polynomial(fresh)) > 1e-2


def test_least_squares_on_a_lattice_finds_any_polynomial_in_two_dimensions(uniform):
    k, period = 3, torch.tensor([1.0, 24.0], dtype=torch.float64)
    weights = uniform((2 * k + 1, 2 * k + 1), -1, 1, seed=1)

    def basis(phase):  # 1, cos, sin, cos 2, sin 2, … of one axis
        j = torch.arange(1, k + 1)
        waves = torch.stack([torch.cos(j * phase), torch.sin(j * phase)], -1).flatten(-2)
        return with_constant(waves)

    def polynomial(x):
        phase = math.tau * x / period
        return torch.einsum("ni,nj,ij->n", basis(phase[:, :1]), basis(phase[:, 1:]), weights)[
            :, None
        ]

    x, fresh = uniform((200, 2), seed=2) * period, uniform((200, 2), -2, 2, seed=3) * period
    lattice = FourierFeatures.lattice(2, k, period)
    fitted = fit(lattice, x, polynomial(x))
    assert (fitted(fresh) - polynomial(fresh)).abs().max() < 1e-10
    # one axis at a time there are no products of waves
    separate = fit(FourierFeatures(2, k, period), x, polynomial(x))
    assert rms(separate(fresh) - polynomial(fresh)) > 0.1


def test_two_periods_side_by_side_fit_their_sum(uniform):
    def signal(t):
        return torch.sin(math.tau * t / 24) + torch.cos(2 * math.tau * t / 168) - 0.5

    encoding = Concat([FourierFeatures(1, 1, 24.0), FourierFeatures(1, 2, 168.0)])
    assert encoding.periods == (None,)
    x, fresh = uniform((50, 1), 0, 400, seed=1), uniform((100, 1), 0, 4000, seed=2)
    assert (fit(encoding, x, signal(x))(fresh) - signal(fresh)).abs().max() < 1e-10


def test_sixteen_samples_and_fifteen_harmonics_are_good_on_the_grid_only():
    def signal(t):
        return torch.sin(math.tau * t)

    x = torch.arange(16, dtype=torch.float64)[:, None] / 16
    fresh = torch.arange(4000, dtype=torch.float64)[:, None] / 4000
    fitted = fit(FourierFeatures(1, 15, period=1.0), x, signal(x))
    assert (fitted(x) - signal(x)).abs().max() < 1e-10
    assert rms(fitted(fresh) - signal(fresh)) == pytest.approx(0.5, abs=0.01)
    enough = fit(FourierFeatures(1, 7, period=1.0), x, signal(x))
    assert (enough(fresh) - signal(fresh)).abs().max() < 1e-10


def test_a_cosine_needs_the_cosine():
    x = math.tau * torch.arange(50, dtype=torch.float64)[:, None] / 50
    encoding = FourierFeatures(1, k=1)
    assert (fit(encoding, x, torch.cos(x))(x) - torch.cos(x)).abs().max() < 1e-12
    sines = with_constant(encoding(x)[:, ::2])
    left = sines @ torch.linalg.lstsq(sines, torch.cos(x)).solution - torch.cos(x)
    assert left.square().mean().item() == pytest.approx(0.5)


@pytest.mark.parametrize(("d", "k"), [(1, 4), (2, 1), (2, 3), (3, 2)])
def test_lattice_holds_one_of_each_pair_of_vectors(d, k):
    vectors = [tuple(map(int, v)) for v in FourierFeatures.lattice(d, k).cycles[0].tolist()]
    chosen = set(vectors)
    assert len(chosen) == len(vectors) == ((2 * k + 1) ** d - 1) // 2
    for n in itertools.product(range(-k, k + 1), repeat=d):
        opposite = tuple(-i for i in n)
        assert (n in chosen) + (opposite in chosen) == (1 if any(n) else 0)
    assert 2 * len(vectors) == FourierFeatures.lattice(d, k).out_dim


@pytest.mark.parametrize("period", [math.tau, 24.0])
def test_lattice_in_one_dimension_is_the_harmonic_ladder(uniform, same_bits, period):
    x = uniform((50, 1), -100, 100)
    lattice, harmonic = FourierFeatures.lattice(1, 6, period), FourierFeatures(1, 6, period)
    assert same_bits(lattice(x), harmonic(x))
    torch.testing.assert_close(lattice(x.float()), harmonic(x.float()), rtol=0, atol=1e-6)
    assert torch.equal(lattice.frequencies, harmonic.frequencies)


def test_octaves_are_harmonics_of_powers_of_two(uniform, same_bits):
    x = uniform((50, 2), -100, 100)
    octave, harmonic = FourierFeatures.octave(2, 5), FourierFeatures(2, 16)
    columns = torch.tensor([0, 1, 3, 7, 15])
    chosen = harmonic(x).reshape(50, 2, 16, 2)[:, :, columns].flatten(1)
    assert same_bits(octave(x), chosen)


def test_gaussian_features_approach_the_gaussian_kernel(uniform):
    k, sigma = 20_000, 2.0
    encoding = FourierFeatures.gaussian(2, k, sigma=sigma, seed=5)
    x, y = uniform((40, 2), seed=1), uniform((40, 2), seed=2)
    y[:10] = x[:10] + 0.05 * (y[:10] - x[:10])  # some close pairs
    kernel = (encoding(x) * encoding(y)).sum(-1) / k  # mean of cos 2πb·(x - y)
    wanted = torch.exp(-2 * math.pi**2 * sigma**2 * (x - y).square().sum(-1))
    assert (kernel - wanted).abs().max() < 4 / math.sqrt(2 * k)
    assert wanted.max() > 0.8


def test_gaussian_frequencies_have_their_spread_and_no_direction():
    k, sigma = 4000, 10.0
    vectors = FourierFeatures.gaussian(2, k, sigma, seed=1).cycles[0]
    rounded = FourierFeatures.gaussian(2, k, sigma, seed=1, period=1.0).cycles[0]
    for b, variance in ((vectors, sigma**2), (rounded, sigma**2 + 1 / 12)):
        spread = b.T @ b / k
        error = (spread - variance * torch.eye(2)).abs()
        assert error.max() < 4 * variance * math.sqrt(2 / k)
        assert b.mean(0).abs().max() < 4 * sigma / math.sqrt(k)


@pytest.mark.filterwarnings("ignore:.* Gaussian frequencies differ:UserWarning")
@pytest.mark.parametrize("sigma", [0.2, 0.5, 3.0])
def test_gaussian_with_a_period_has_whole_vectors_other_than_zero(sigma):
    encoding = FourierFeatures.gaussian(2, 500, sigma, seed=2, period=[1.0, 4.0])
    cycles = encoding.cycles[0]
    assert torch.equal(cycles, cycles.round())
    assert (cycles != 0).any(-1).all()
    assert not torch.signbit(cycles[cycles == 0]).any()
    if sigma == 3.0:  # sigma is in cycles per unit of x: more cycles in a longer period
        assert cycles.std(0).tolist() == pytest.approx([3.0, 12.0], rel=0.1)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_order_of_the_features(d, dtype, same_bits):
    ladders = [
        FourierFeatures(d, 3),
        FourierFeatures.octave(d, 3),
        FourierFeatures.geometric(d, 3),
        FourierFeatures.gaussian(d, 3),
        FourierFeatures.lattice(d, 1),
    ]
    for encoding in ladders:
        at_zero = encoding(torch.zeros(1, d, dtype=dtype))
        pairs = torch.tensor([0.0, 1.0], dtype=dtype).repeat(encoding.num_frequencies)
        assert same_bits(at_zero[0], pairs)


def test_axis_by_axis_then_frequency_by_frequency():
    x = torch.tensor([[0.1, 0.7]], dtype=torch.float64)
    wanted = [f(j * a) for a in (0.1, 0.7) for j in (1, 2, 3) for f in (math.sin, math.cos)]
    assert FourierFeatures(2, 3)(x)[0].tolist() == pytest.approx(wanted, abs=1e-15)
    raw = FourierFeatures(2, 3, include_input=True)
    assert raw(x)[0].tolist() == pytest.approx([0.1, 0.7, *wanted], abs=1e-15)
    assert raw.out_dim == 14
    assert torch.equal(raw(x.float())[0, :2], x.float()[0])


@pytest.mark.parametrize("d", [1, 2, 3])
def test_frequencies_say_what_the_features_are(uniform, d):
    x = uniform((10, d), -2, 2)
    for encoding in (
        FourierFeatures(d, 3, period=[24.0, 0.3, 1.0][:d]),
        FourierFeatures.octave(d, 3, period=2.0),
        FourierFeatures.geometric(d, 3, C=50.0, scale=[2.0, 1.0, 5.0][:d]),
        FourierFeatures.gaussian(d, 5, sigma=1.0),
        FourierFeatures.gaussian(d, 5, sigma=1.0, period=3.0),
        FourierFeatures.lattice(d, 2, period=[24.0, 0.3, 1.0][:d]),
    ):
        omega = encoding.frequencies
        assert omega.shape == (encoding.num_frequencies, d)
        angle = x @ omega.T
        wanted = torch.stack([torch.sin(angle), torch.cos(angle)], -1).flatten(1)
        torch.testing.assert_close(encoding(x), wanted, rtol=0, atol=1e-12)


def test_third_derivatives_in_closed_form(uniform):
    for encoding in (
        FourierFeatures(1, 6, period=3.0),
        FourierFeatures.geometric(1, 4),
        FourierFeatures.gaussian(1, 5, sigma=1.0),
        FourierFeatures.lattice(1, 4, period=2.0),
    ):
        x = uniform((7, 1), -2, 2).requires_grad_()
        omega = encoding.frequencies[:, 0]
        features = encoding(x)
        for column, wanted in (
            (0, -(omega**3) * torch.cos(omega * x)),
            (1, omega**3 * torch.sin(omega * x)),
        ):
            for i in range(len(omega)):
                slope = features[:, 2 * i + column].sum()
                for _ in range(3):
                    (slope,) = torch.autograd.grad(slope.sum(), x, create_graph=True)
                scale = 1 + abs(omega[i].item()) ** 3
                error = (slope[:, 0] - wanted[:, i]).abs().max().item()
                assert error < 1e-13 * scale


def test_float32_derivatives_stay_accurate_far_from_zero():
    x = torch.tensor([[50_000.25], [-123.0]], requires_grad=True)
    encoding = FourierFeatures(1, 32, period=1.0)
    (slope,) = torch.autograd.grad(encoding(x)[:, 62].sum(), x)  # sin 2π32x
    wanted = 64 * math.pi * torch.cos(64 * math.pi * (x.detach().double() % 1))
    assert (slope - wanted).abs().max() < 1e-3


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_an_ensemble_of_gaussians_under_vmap(uniform, same_bits, dtype):
    members = [FourierFeatures.gaussian(2, 5, sigma=1.0, seed=seed) for seed in range(3)]
    _, constants = torch.func.stack_module_state(members)
    x = uniform((4, 2), seed=1).to(dtype)

    def call(buffers, x):
        return torch.func.functional_call(members[0], buffers, (x,))

    together = torch.func.vmap(call, in_dims=(0, None))(constants, x)
    each = torch.func.vmap(call)(constants, x.expand(3, 4, 2))
    alone = torch.stack([member(x) for member in members])
    assert same_bits(together, alone)
    assert same_bits(each, alone)
    slopes = torch.func.vmap(torch.func.jacrev(call, argnums=1), in_dims=(0, None))(constants, x)
    wanted = torch.stack([torch.func.jacrev(member)(x) for member in members])
    torch.testing.assert_close(slopes, wanted)
