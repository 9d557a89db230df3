"""Closed-form harmonic regression against other libraries and closed forms."""

import math

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.signals.harmonics import fit_harmonics


def series(number=400, seed=0):
    generator = np.random.default_rng(seed)
    x = np.sort(generator.uniform(0, 2000, number))
    y = 3 + 2 * np.cos(2 * np.pi * x / 24 - 0.7) + 0.5 * np.sin(4 * np.pi * x / 24)
    y += 1.5 * np.sin(2 * np.pi * x / 365.25) + 0.001 * x + 0.3 * generator.normal(size=number)
    return x, y


def test_what_was_put_in_comes_out():
    x = np.arange(96) / 4
    y = 3 + 2 * np.cos(2 * np.pi * x / 24 - 0.7) + 0.5 * np.sin(4 * np.pi * x / 24)
    model = fit_harmonics(x, y, 24.0, 3)
    first, second, third = model.harmonics()
    assert first.amplitude == pytest.approx(2, abs=1e-12)
    assert first.phase == pytest.approx(0.7, abs=1e-12)
    assert (second.amplitude, second.phase) == pytest.approx((0.5, math.pi / 2), abs=1e-12)
    assert third.amplitude < 1e-12
    assert model.coefficients[0, 0] == pytest.approx(3)
    assert model.r_squared[0] == pytest.approx(1)


def test_the_same_as_statsmodels():
    sm = pytest.importorskip("statsmodels.api")
    x, y = series()
    model = fit_harmonics(x, y, [24.0, 365.25], [3, 2], trend=1)
    u = 2 * (x - x.min()) / (x.max() - x.min()) - 1
    columns = [np.ones_like(x)]
    for period, k in ((24.0, 3), (365.25, 2)):
        for j in range(1, k + 1):
            columns += [np.sin(2 * np.pi * j * x / period), np.cos(2 * np.pi * j * x / period)]
    design = np.stack([*columns, u], 1)
    other = sm.OLS(y, design).fit()
    np.testing.assert_allclose(model.coefficients[:, 0], other.params, atol=1e-8)
    np.testing.assert_allclose(model.standard_errors[:, 0], other.bse, rtol=1e-8)
    np.testing.assert_allclose(model.covariance(), other.cov_params(), atol=1e-10)
    np.testing.assert_allclose(model.predict(x)[:, 0], other.fittedvalues, atol=1e-8)
    assert model.r_squared[0] == pytest.approx(other.rsquared, abs=1e-10)
    # the criteria but for a constant of the number of samples
    constant = len(x) * (1 + math.log(2 * math.pi))
    assert model.aic[0] == pytest.approx(other.aic - constant)
    assert model.bic[0] == pytest.approx(other.bic - constant)
    weights = np.random.default_rng(1).uniform(0.2, 3, len(x))
    weighted = fit_harmonics(x, y, [24.0, 365.25], [3, 2], trend=1, weights=weights)
    other = sm.WLS(y, design, weights=weights).fit()
    np.testing.assert_allclose(weighted.coefficients[:, 0], other.params, atol=1e-8)
    np.testing.assert_allclose(weighted.standard_errors[:, 0], other.bse, rtol=1e-8)


def test_the_same_as_scikit_learn_and_statsmodels_fourier_columns():
    linear_model = pytest.importorskip("sklearn.linear_model")
    deterministic = pytest.importorskip("statsmodels.tsa.deterministic")
    pandas = pytest.importorskip("pandas")
    y = np.random.default_rng(0).normal(size=200)
    index = pandas.RangeIndex(200)
    columns = deterministic.Fourier(24, 4).in_sample(index).to_numpy()
    other = linear_model.LinearRegression().fit(columns, y)
    model = fit_harmonics(np.arange(200.0), y, 24.0, 4)
    np.testing.assert_allclose(model.coefficients[1:, 0], other.coef_, atol=1e-8)
    np.testing.assert_allclose(
        model.predict(np.arange(200))[:, 0], other.predict(columns), atol=1e-8
    )


def test_the_field_gives_the_same_values_and_survives_saving(tmp_path):
    x, y = series()
    model = fit_harmonics(x, np.stack([y, -2 * y], 1), [24.0, 365.25], 2, trend=2)
    at = torch.linspace(-100, 2500, 301, dtype=torch.float64)[:, None]
    found = model.predict(at[:, 0].numpy())
    np.testing.assert_allclose(model.field(at).detach().numpy(), found, atol=1e-10)
    cn.save(model.field, tmp_path / "m.safetensors")
    again = cn.load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again(at).detach(), model.field(at).detach())


def test_standard_errors_are_the_scatter_of_repeated_experiments():
    x = np.arange(100.0)
    truth = 2 * np.cos(2 * np.pi * x / 10 - 1)
    generator = np.random.default_rng(0)
    y = truth[:, None] + 0.5 * generator.normal(size=(100, 2000))
    model = fit_harmonics(x, y, 10.0, 1)
    found = [model.harmonics(column)[0] for column in range(2000)]
    amplitude = np.array([each.amplitude for each in found])
    phase = np.array([each.phase for each in found])
    assert amplitude.std() == pytest.approx(np.mean([h.amplitude_error for h in found]), rel=0.06)
    assert phase.std() == pytest.approx(np.mean([h.phase_error for h in found]), rel=0.06)
    curve = model.predict([3.3])[0]
    assert curve.std() == pytest.approx(model.standard_error_at([3.3]).mean(), rel=0.06)
    assert model.standard_error_at([3.3], of_samples=True).mean() == pytest.approx(0.511, rel=0.03)


def test_samples_of_weight_0_are_not_there():
    x, y = series(60)
    weights = np.ones(60)
    weights[::3] = 0
    y[::3] += 1000
    model = fit_harmonics(x, y, 24.0, 2, weights=weights)
    other = fit_harmonics(np.delete(x, np.s_[::3]), np.delete(y, np.s_[::3]), 24.0, 2)
    np.testing.assert_allclose(model.coefficients, other.coefficients, atol=1e-12)
    assert model.samples == 40


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"periods": 24.0, "k": 13}, "can be told apart"),
        ({"periods": [24.0, 12.0], "k": 2}, "can be told apart"),
        ({"periods": -1.0}, "period"),
        ({"periods": 24.0, "k": 0}, "k"),
        ({"periods": [24.0, 5.0], "k": [1]}, "one for each period"),
        ({"periods": []}, "a period or a trend"),
        ({"periods": 24.0, "weights": [1.0]}, "weights"),
    ],
)
def test_what_cannot_be_fitted(settings, says):
    with pytest.raises(cn.InputError, match=says):
        fit_harmonics(np.arange(24.0), np.arange(24.0), **settings)
