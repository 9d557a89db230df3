"""The closed-form fit: theorems of least squares and of trigonometric polynomials."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from coordnet import MLP, Field, FourierFeatures, InputError, fit_linear


def linear(encoding, out_dim=1):
    return Field(encoding, MLP(encoding.out_dim, out_dim, num_hidden_layers=0)).double()


def circle(number, period=math.tau):
    return torch.arange(number, dtype=torch.float64)[:, None] * (period / number)


def draw(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("k", [3, 5, 12])
def test_a_trigonometric_polynomial_is_recovered(k):
    """Of degree 3: exactly, on and between the samples, for every k that can hold it."""
    x, fine = circle(32), circle(1001)

    def wave(x):
        return 0.5 + torch.sin(x) - 2 * torch.cos(2 * x) + 0.25 * torch.sin(3 * x)

    field = linear(FourierFeatures(1, k=k))
    assert fit_linear(field, x, wave(x)) is field
    assert (field(x) - wave(x)).abs().max() < 1e-10
    assert (field(fine) - wave(fine)).abs().max() < 1e-10


def test_coefficients_are_the_fourier_sums():
    """On N uniform samples the optimum is the discrete Fourier series, whatever k < N/2."""
    x, y = circle(31), draw(31, 1)
    field = linear(FourierFeatures(1, k=7))
    fit_linear(field, x, y)
    angle = x * torch.arange(1, 8)
    sin, cos = (2 / 31 * (wave * y).sum(0) for wave in (angle.sin(), angle.cos()))
    expected = torch.stack([sin, cos], -1).flatten()
    head = field.network.layers[0]
    torch.testing.assert_close(head.weight[0] * field.value_std, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("out_dim", [1, 3])
def test_the_optimum_is_that_of_the_normal_equations(out_dim):
    """Irregular samples and noise: the residual is orthogonal to every feature."""
    x, y = draw(60, 1) * 10, draw(60, out_dim, seed=1) * 5 + 100
    encoding = FourierFeatures(1, k=5)
    field = linear(encoding, out_dim)
    fit_linear(field, x, y)
    residual = field(x) - y
    assert (encoding(x).T @ residual).abs().max() < 1e-9
    assert residual.sum(0).abs().max() < 1e-9
    design = np.concatenate([np.ones((60, 1)), encoding(x).numpy()], 1)
    best = np.linalg.lstsq(design, y.numpy(), rcond=None)[1].sum()
    assert residual.square().sum().item() == pytest.approx(best, rel=1e-10)


def test_a_lattice_is_the_basis_in_two_dimensions():
    """Degree 2 in each axis, products included."""
    axis = torch.arange(8, dtype=torch.float64) / 8
    x = torch.stack(torch.meshgrid(axis, axis, indexing="ij"), -1)

    def wave(x):
        a, b = (2 * math.pi * x).unbind(-1)
        return (1 + torch.sin(2 * a) * torch.cos(b) - 3 * torch.cos(a - 2 * b))[..., None]

    field = linear(FourierFeatures.lattice(2, k=2, period=1.0))
    fit_linear(field, x, wave(x))
    between = draw(300, 2)
    assert (field(between) - wave(between)).abs().max() < 1e-10
    # axis by axis the products are out of reach
    apart = linear(FourierFeatures(2, k=2, period=1.0))
    fit_linear(apart, x, wave(x))
    assert (apart(x) - wave(x)).abs().max() > 0.5


def test_above_nyquist_the_shortest_solution_is_taken():
    """16 samples of sin 2πt, k = 15: no error on the samples, 0.5 RMSE between them."""
    t = circle(16, 1.0)
    fine = circle(1600, 1.0)
    y = torch.sin(2 * math.pi * t)
    field = linear(FourierFeatures(1, k=15, period=1.0))
    fit_linear(field, t, y)
    assert (field(t) - y).abs().max() < 1e-10
    between = (field(fine) - torch.sin(2 * math.pi * fine)).square().mean().sqrt().item()
    assert between == pytest.approx(0.5, abs=1e-6)
    weights = field.network.layers[0].weight[0] * field.value_std
    # sin t and sin 15t = -sin t on the samples: half of the amplitude each
    assert weights[0].item() == pytest.approx(0.5, abs=1e-10)
    assert weights[28].item() == pytest.approx(-0.5, abs=1e-10)
    assert weights.norm().item() == pytest.approx(math.sqrt(0.5), abs=1e-10)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_aliased_noise_does_not_blow_up(dtype):
    t = torch.arange(400, dtype=dtype)[:, None] * 1.5
    field = linear(FourierFeatures(1, k=15, period=24.0))
    fit_linear(field, t, draw(400, 1))
    assert field.network.layers[0].weight.abs().max() < 1.0


@pytest.mark.parametrize(
    ("k", "x", "y"),
    [
        (1, circle(50), torch.cos(circle(50))),  # one harmonic is enough
        (8, draw(3, 1), draw(3, 1, seed=1)),  # fewer samples than features
        (2, draw(1, 1), draw(1, 1)),
        (2, draw(9, 1), torch.full((9, 1), 4.0)),
    ],
)
def test_what_can_be_exact_is(k, x, y):
    for network in (MLP(2 * k, num_hidden_layers=0), nn.Linear(2 * k, 1)):
        field = Field(FourierFeatures(1, k=k), network).double()
        fit_linear(field, x, y)
        assert (field(x) - y).abs().max() < 1e-10


def test_float32_keeps_its_digits():
    x = circle(50).float()
    field = linear(FourierFeatures(1, k=2)).float()
    fit_linear(field, x, torch.cos(2 * x))
    assert field(x).dtype == torch.float32
    assert (field(x) - torch.cos(2 * x)).abs().max() < 2e-6


@pytest.mark.parametrize(
    "network",
    [
        MLP(4, 1, hidden_dim=8, num_hidden_layers=1),
        nn.Linear(4, 1, bias=False),
        nn.Sequential(nn.Linear(4, 1), nn.Tanh()),
        nn.Identity(),
    ],
    ids=lambda network: type(network).__name__,
)
def test_other_networks_are_refused(network):
    field = Field(FourierFeatures(1, k=2), network)
    with pytest.raises(InputError, match="num_hidden_layers=0"):
        fit_linear(field, circle(5), circle(5) if field.out_dim == 1 else draw(5, 4))
    assert not field.standardized


def test_samples_that_fit_would_refuse():
    field = linear(FourierFeatures(1, k=2))
    for x, y in (
        (circle(5), draw(4, 1)),
        (circle(5), draw(5, 2)),
        (circle(5) * math.nan, draw(5, 1)),
        (torch.zeros(0, 1), torch.zeros(0, 1)),
    ):
        with pytest.raises(InputError):
            fit_linear(field, x, y)


def test_global_state_is_left_alone():
    field = linear(FourierFeatures(1, k=2))
    state = torch.get_rng_state()
    fit_linear(field, circle(9), circle(9))
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("out_dim", [1, 2])
def test_a_whole_weight_stands_for_as_many_samples(out_dim):
    """And a weight of 0 for none."""
    x, y = draw(40, 1), draw(40, out_dim, seed=1)
    times = torch.arange(40) % 4
    weighted, repeated = (linear(FourierFeatures(1, k=3), out_dim) for _ in range(2))
    for field in (weighted, repeated):
        field.set_values(torch.zeros(()), torch.ones(()))
    fit_linear(weighted, x, y, weights=times)
    fit_linear(repeated, x.repeat_interleave(times, 0), y.repeat_interleave(times, 0))
    torch.testing.assert_close(
        weighted.network.layers[0].weight, repeated.network.layers[0].weight, rtol=0, atol=1e-12
    )
