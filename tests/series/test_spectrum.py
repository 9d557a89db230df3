import math

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.series import derivative, evaluate, fold_phase, harmonic_spectrum, residuals


def test_the_spectrum_of_a_closed_form():
    def wave(x):
        t = 2 * math.pi * x / 5
        return torch.cat([2 + 3 * torch.cos(2 * t - 0.5), torch.sin(t)], 1)

    found = harmonic_spectrum(wave, 5.0, 4)
    np.testing.assert_allclose(found.mean, [2, 0], atol=1e-12)
    np.testing.assert_allclose(found.amplitude[:, 0], [0, 3, 0, 0], atol=1e-12)
    assert found.phase[1, 0] == pytest.approx(0.5)
    assert found.phase[0, 1] == pytest.approx(math.pi / 2)
    assert found.aliasing < 1e-12
    # phases count from 0, wherever the period begins
    later = harmonic_spectrum(wave, 5.0, 4, start=1.3)
    np.testing.assert_allclose(later.phase[1, 0], 0.5, atol=1e-12)
    assert len(harmonic_spectrum(wave, 5.0).amplitude) == 2


def test_what_lies_above_half_the_samples_is_found_out():
    """A square wave, whose harmonics fall like 4 / (π j)."""
    square = harmonic_spectrum(lambda x: torch.sign(torch.sin(2 * math.pi * (x + 1e-9))), 1.0, 8)
    expected = [4 / (math.pi * j) if j % 2 else 0 for j in range(1, 9)]
    np.testing.assert_allclose(square.amplitude[:, 0], expected, atol=2e-5)
    assert square.samples == 1 << 20
    assert square.aliasing > 0
    # harmonic 255 of 256 samples looks like the first
    high = harmonic_spectrum(lambda x: torch.cos(2 * math.pi * 255 * x), 1.0)
    assert len(high.amplitude) == 255
    assert high.amplitude[254, 0] == pytest.approx(1)
    assert high.amplitude[0, 0] < 1e-12


@pytest.mark.parametrize("high", [63, 64, 127, 128, 191, 256, 300])
def test_any_harmonic_is_found_in_its_place(high):
    found = harmonic_spectrum(lambda x: torch.sin(2 * math.pi * high * x), 1.0)
    assert len(found.amplitude) == high
    assert found.amplitude[-1, 0] == pytest.approx(1)


def test_the_period_comes_from_the_field():
    field = cn.Field(cn.FourierFeatures(2, k=2, period=[24.0, 7.0]), cn.MLP(8, 1, 8, 1, seed=0))
    found = harmonic_spectrum(field, axis=1, at=[3.0, 0.0], k=4)
    assert found.period == 7.0
    line = np.stack([np.full(64, 3.0), np.arange(64) * 7 / 64], 1)
    waves = np.fft.rfft(evaluate(field, line)[:, 0]) / 32
    np.testing.assert_allclose(found.amplitude[:2, 0], np.abs(waves[1:3]), atol=1e-3)
    with pytest.raises(cn.InputError, match="needs a period"):
        harmonic_spectrum(cn.Field(cn.Identity(1), cn.MLP(1, 1, 8, 1)))
    for settings in ({"period": -1.0}, {"period": 1.0, "k": 0}, {"period": 1.0, "k": 1 << 20},
                     {"period": 1.0, "axis": 2, "at": [0.0]}):  # fmt: skip
        with pytest.raises(cn.InputError):
            harmonic_spectrum(field, **settings)


def test_derivatives_of_closed_forms():
    x = np.linspace(0, 7, 40)

    def wave(t):
        return torch.cat([torch.sin(3 * t), t**2, 0 * t + 1, torch.ones_like(t)], 1)

    found = derivative(wave, x)
    np.testing.assert_allclose(found[:, 0], 3 * np.cos(3 * x))
    np.testing.assert_allclose(found[:, 1], 2 * x)
    second = derivative(wave, x, order=2)
    np.testing.assert_allclose(second[:, 0], -9 * np.sin(3 * x), atol=1e-12)
    np.testing.assert_allclose(second[:, 1], 2)
    assert not second[:, 2:].any()
    for settings in ({"order": 0}, {"axis": 1}, {"axis": -1}):
        with pytest.raises(cn.InputError):
            derivative(wave, x, **settings)


def test_derivatives_of_a_field_in_its_own_units():
    encoding = cn.Concat([cn.FourierFeatures(k=2, period=24.0), cn.Identity(1)])
    network = cn.MLP(encoding.out_dim, 2, 8, 1, "tanh", seed=0)
    field = cn.Field(encoding, network, ([2_460_000.0], [2_460_100.0])).double()
    field.set_values(torch.tensor([50.0, 0.0]), torch.tensor([10.0, 3.0]))
    x = 2_460_000.0 + np.linspace(0, 100, 50)
    step = 2.0**-10
    slope = (evaluate(field, x + step) - evaluate(field, x - step)) / (2 * step)
    np.testing.assert_allclose(derivative(field, x), slope, atol=1e-5)
    with torch.no_grad():
        np.testing.assert_allclose(derivative(field, x), slope, atol=1e-5)


def test_residuals():
    x = np.arange(5.0)
    np.testing.assert_allclose(residuals(lambda t: 2 * t, x, 2 * x + 1), np.ones((5, 1)))
    with pytest.raises(cn.InputError, match="as many values"):
        residuals(lambda t: t, x, np.ones((5, 2)))


def test_values_of_many_positions_and_of_none():
    field = cn.Field(cn.FourierFeatures(k=3, period=1.0), cn.MLP(6, 1, 8, 1, seed=0))
    x = np.linspace(0, 1, 200_001)
    whole = evaluate(field, x)
    np.testing.assert_allclose(whole[::1000], evaluate(field, x[::1000]), atol=1e-6)
    assert evaluate(field, []).shape == (0, 1)
    with pytest.raises(cn.InputError, match="one or two axes"):
        evaluate(field, np.zeros((2, 2, 1)))


def test_folding_keeps_the_digits_of_julian_days():
    n = np.arange(100)
    x = 2_460_000.5 + 0.25 * n
    np.testing.assert_array_equal(fold_phase(x, 1.0), (0.5 + 0.25 * n) % 1)
    # 0.01 n days from an origin, in periods of 0.3 days
    phase = fold_phase(2_460_000.5 + 0.01 * n, 0.3, origin=2_460_000.5)
    away = np.abs(phase - np.mod(n / 30, 1.0))
    assert np.minimum(away, 1 - away).max() < 1e-8
    assert ((phase >= 0) & (phase < 1)).all()
    assert fold_phase([-1e-30], 1.0) == [0.0]
    assert fold_phase([5.0], 2.0, origin=4.5) == [0.25]
    assert fold_phase([-0.5], 2.0) == [0.75]
    with pytest.raises(cn.InputError, match="period"):
        fold_phase([1.0], 0.0)
