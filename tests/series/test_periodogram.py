import numpy as np
import pytest

import coordnet as cn
from coordnet.series import lomb_scargle
from coordnet.series.periods import sums as sums_module
from coordnet.series.periods.sums import trigonometric_sums


def draw(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("samples", "number"), [(1, 1), (7, 2), (50, 13), (300, 4097)])
def test_sums_are_those_of_the_definition(samples, number):
    generator = draw()
    times = generator.uniform(-100, 100, samples)
    rows = generator.normal(size=(2, samples)) + 1j * generator.normal(size=(2, samples))
    found = trigonometric_sums(times, rows, 1.7, 0.013, number)
    frequencies = 1.7 + 0.013 * np.arange(number)
    expected = rows @ np.exp(2j * np.pi * np.outer(times, frequencies))
    assert np.abs(found - expected).max() < 1e-11 * np.abs(rows).sum(1).max()


def test_sums_in_blocks_are_the_same(monkeypatch):
    times, rows = draw().uniform(-9, 9, 500), draw(1).normal(size=(1, 500))
    whole = trigonometric_sums(times, rows, 0.1, 0.01, 900)
    monkeypatch.setattr(sums_module, "_SAMPLES", 130)
    monkeypatch.setattr(sums_module, "_FREQUENCIES", 256)
    parts = trigonometric_sums(times, rows, 0.1, 0.01, 900)
    np.testing.assert_allclose(parts, whole, atol=1e-10)


def series(number=200, seed=3):
    generator = draw(seed)
    t = np.sort(generator.uniform(0, 100, number)) + 2_460_000.5
    y = 5 + np.sin(2 * np.pi * t / 3.7) + generator.normal(size=number)
    return t, y, generator.uniform(0.1, 2, number)


def test_the_same_numbers_as_scipy():
    signal = pytest.importorskip("scipy.signal")
    t, y, weights = series()
    found = lomb_scargle(t, y, weights)
    angular = 2 * np.pi * found.frequencies
    expected = signal.lombscargle(
        t - t.mean(), y, angular, weights=weights, floating_mean=True, normalize=True
    )
    np.testing.assert_allclose(found.power, expected, atol=1e-10)


@pytest.mark.parametrize("trend", [0, 1, 3])
def test_power_is_what_a_least_squares_fit_explains(trend):
    """Of a sine beside the trend; on a grid up to Nyquist, where the sine vanishes."""
    t = np.arange(60.0)
    y = draw().normal(size=(60, 2)) + 0.01 * t[:, None] ** 2
    weights = draw(1).uniform(0.5, 2, 60)
    found = lomb_scargle(t, y, weights, trend=trend)
    assert 1 / found.frequencies[-1] == pytest.approx(2.0)
    root = np.sqrt(weights)[:, None]
    powers = np.vander(t - 30, trend + 1)

    def left(columns):
        solution = np.linalg.lstsq(root * columns, root * y, rcond=1e-10)[0]
        return np.square(root * (columns @ solution - y)).sum(0)

    for i in range(0, len(found.power), 37):
        angle = 2 * np.pi * found.frequencies[i] * t[:, None]
        share = left(np.hstack([powers, np.cos(angle), np.sin(angle)])) / left(powers)
        assert found.power[i] == pytest.approx(1 - np.sqrt(share.prod()), abs=1e-9)


def test_a_whole_weight_stands_for_as_many_samples_and_order_does_not_matter():
    t, y, _ = series(60)
    times = np.arange(60) % 3
    kept = np.repeat(np.arange(60), times)
    edges = {"min_period": 2.0, "max_period": 30.0}
    one = lomb_scargle(t, y, times, **edges)
    shuffled = draw().permutation(len(kept))
    two = lomb_scargle(t[kept][shuffled], y[kept][shuffled], **edges)
    np.testing.assert_allclose(one.power, two.power, atol=1e-10)


def test_the_grid_of_frequencies():
    t, y, _ = series()
    found = lomb_scargle(t, y, min_period=2.0, max_period=20.0, oversampling=5)
    assert found.step == pytest.approx(0.2 / np.ptp(t))
    assert 0.05 <= found.frequencies[0] < 0.05 + found.step
    assert 0.5 - found.step < found.frequencies[-1] <= 0.5


@pytest.mark.parametrize(
    ("x", "y", "settings", "says"),
    [
        (np.arange(9.0), np.ones(9), {}, "vary"),
        (np.arange(9.0), 2 * np.arange(9.0), {"trend": 1}, "vary"),
        (np.arange(3.0), np.arange(3.0), {}, "distinct positions"),
        (np.zeros(9), np.arange(9.0), {}, "distinct positions"),
        ([0.0, np.nan, 2.0], [1.0, 2.0, 3.0], {}, "finite"),
        (np.arange(9.0), np.arange(8.0), {}, "one N"),
        (np.zeros((9, 2)), np.arange(9.0), {}, "one column"),
        (np.array(["2024-01-01"] * 9, "M8[D]"), np.arange(9.0), {}, "Convert dates"),
        (np.arange(9.0), np.arange(9.0), {"min_period": -1.0}, "min_period"),
        (np.arange(9.0), np.arange(9.0), {"min_period": 9.0}, "min_period"),
        (np.arange(9.0), np.arange(9.0) % 2, {"min_period": 1e-9}, "at most"),
        (np.arange(9.0), np.arange(9.0), {"weights": -np.ones(9)}, "weights"),
        (np.arange(9.0), np.arange(9.0), {"weights": np.zeros(9)}, "weights"),
        (np.arange(9.0), np.arange(9.0), {"trend": -1}, "trend"),
        (np.arange(9.0), np.arange(9.0), {"trend": 99}, "trend"),
    ],
)
def test_what_has_no_periodogram(x, y, settings, says):
    with pytest.raises(cn.InputError, match=says):
        lomb_scargle(x, y, **settings)
