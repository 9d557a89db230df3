import math

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.signals.harmonics import fit_harmonics
from coordnet.signals.spectrum import derivative, fold, spectrum


def test_the_spectrum_of_a_closed_form():
    def wave(x):
        t = 2 * math.pi * x / 5
        return torch.cat([2 + 3 * torch.cos(2 * t - 0.5), torch.sin(t)], 1)

    found = spectrum(wave, 5.0, harmonics=4)
    np.testing.assert_allclose(found.mean, [2, 0], atol=1e-12)
    np.testing.assert_allclose(found.amplitude[:, 0], [0, 3, 0, 0], atol=1e-12)
    assert found.phase[1, 0] == pytest.approx(0.5)
    assert found.phase[0, 1] == pytest.approx(math.pi / 2)
    assert found.beyond.max() < 1e-12


def test_what_lies_above_half_the_samples_is_not_folded_back():
    # a square wave: harmonics fall like 1/j, b_j = 4 / (π j)
    found = spectrum(lambda x: torch.sign(torch.sin(2 * math.pi * (x + 1e-9))), 1.0, harmonics=8)
    expected = [4 / (math.pi * j) if j % 2 else 0 for j in range(1, 9)]
    np.testing.assert_allclose(found.amplitude[:, 0], expected, atol=1e-5)
    assert found.samples > 4096
    rest = 1 - 0.5 * sum(np.square(expected))
    assert found.beyond[0] ** 2 == pytest.approx(rest, rel=1e-3)


def test_the_spectrum_of_a_field_is_its_coefficients():
    x = np.arange(50.0)
    model = fit_harmonics(x, np.random.default_rng(0).normal(size=50), 12.5, 3)
    found = spectrum(model.field, 12.5, harmonics=5)
    for harmonic, size, phase in zip(
        model.harmonics(), found.amplitude[:, 0], found.phase[:, 0], strict=False
    ):
        assert size == pytest.approx(harmonic.amplitude, abs=1e-10)
        assert math.cos(phase - harmonic.phase) == pytest.approx(1)
    assert found.amplitude[3:].max() < 1e-10


def test_derivatives():
    x = torch.linspace(0, 7, 40, dtype=torch.float64)[:, None]

    def wave(t):
        return torch.cat([torch.sin(3 * t), t**2, 0 * t + 1], 1)

    np.testing.assert_allclose(derivative(wave, x)[:, 0], 3 * torch.cos(3 * x[:, 0]))
    np.testing.assert_allclose(derivative(wave, x)[:, 1], 2 * x[:, 0])
    second = derivative(wave, x, order=2)
    np.testing.assert_allclose(second[:, 0], -9 * torch.sin(3 * x[:, 0]), atol=1e-12)
    np.testing.assert_allclose(second[:, 1], 2)
    assert not second[:, 2].any()
    field = cn.Field(cn.FourierFeatures(k=2), cn.MLP(4, 2, 8, 1, seed=0)).double()
    step = 1e-6
    slope = (field(x + step) - field(x - step)) / (2 * step)
    np.testing.assert_allclose(derivative(field, x), slope.detach(), atol=1e-6)
    with pytest.raises(cn.InputError, match=r"\(N, 1\)"):
        derivative(wave, x[:, 0])


def test_folding_keeps_the_digits_of_julian_days():
    n = np.arange(100)
    x = 2_460_000.5 + 0.25 * n
    np.testing.assert_array_equal(fold(x, 1.0), (0.5 + 0.25 * n) % 1)
    assert fold([-1e-30], 1.0) == [0.0]
    assert fold([5.0], 2.0, origin=4.5) == [0.5]
    with pytest.raises(cn.InputError, match="period"):
        fold([1.0], 0.0)
