import math

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.series import derivative, evaluate, fit_harmonics, harmonic_spectrum


def series(number=400, seed=0):
    generator = np.random.default_rng(seed)
    x = 2_440_000.5 + np.sort(generator.uniform(0, 2000, number))
    y = 3 + 2 * np.cos(2 * np.pi * x / 24 - 0.7) + 0.5 * np.sin(4 * np.pi * x / 24)
    y += 1.5 * np.sin(2 * np.pi * x / 365.25) + 1e-3 * (x - x[0])
    return x, y + 0.3 * generator.normal(size=number)


def columns_of(x, *periods_and_k):
    waves = [
        f(2 * np.pi * j * np.fmod(x, period) / period)
        for period, k in periods_and_k
        for j in range(1, k + 1)
        for f in (np.sin, np.cos)
    ]
    return np.stack([np.ones_like(x), *waves], 1)


def test_what_was_put_in_comes_out():
    x = np.arange(96) / 4
    y = 3 + 2 * np.cos(2 * np.pi * x / 24 - 0.7) + 0.5 * np.sin(4 * np.pi * x / 24)
    model = fit_harmonics(x, y, 24.0, 3)
    found = model.spectrum()
    np.testing.assert_allclose(found.amplitude[:, 0], [2, 0.5, 0], atol=1e-12)
    np.testing.assert_allclose(found.phase[:2, 0], [0.7, math.pi / 2], atol=1e-12)
    np.testing.assert_allclose(found.wavelength, [24, 12, 8])
    assert model.coefficients[0, 0] == pytest.approx(3)
    assert model.explained[0] == pytest.approx(1)
    names = ("const", "sin(1,24)", "cos(1,24)", "sin(2,24)", "cos(2,24)", "sin(3,24)", "cos(3,24)")
    assert model.names == names


@pytest.mark.parametrize("weighted", [False, True])
def test_every_number_of_statsmodels(weighted):
    sm = pytest.importorskip("statsmodels.api")
    x, y = series()
    unit = (x - (x[0] + x[-1]) / 2) / ((x[-1] - x[0]) / 2)
    design = np.column_stack([columns_of(x, (24.0, 3), (365.25, 2)), unit, unit**2])
    weights = np.random.default_rng(1).uniform(0.2, 3, len(x)) if weighted else None
    model = fit_harmonics(x, y, [24.0, 365.25], [3, 2], trend=2, weights=weights)
    other = sm.WLS(y, design, weights=weights).fit() if weighted else sm.OLS(y, design).fit()
    np.testing.assert_allclose(model.coefficients[:, 0], other.params, atol=1e-8)
    np.testing.assert_allclose(model.standard_errors[:, 0], other.bse, rtol=1e-8)
    np.testing.assert_allclose(model.covariance[0], other.cov_params(), atol=1e-10)
    np.testing.assert_allclose(model.predict(x)[:, 0], other.fittedvalues, atol=1e-8)
    assert model.residual_variance[0] == pytest.approx(other.scale)
    assert model.explained[0] == pytest.approx(other.rsquared)
    assert model.log_likelihood[0] == pytest.approx(other.llf)
    assert model.aic[0] == pytest.approx(other.aic)
    assert model.bic[0] == pytest.approx(other.bic)
    theirs = other.get_prediction(design[:7])
    values, errors = model.predict_with_error(x[:7])
    np.testing.assert_allclose(errors[:, 0], theirs.se_mean, rtol=1e-8)
    np.testing.assert_allclose(values[:, 0], theirs.predicted_mean, atol=1e-8)
    if not weighted:
        _, errors = model.predict_with_error(x[:7], new=True)
        np.testing.assert_allclose(errors[:, 0], theirs.se_obs, rtol=1e-8)


def test_fourier_columns_of_statsmodels_in_scikit_learn():
    linear_model = pytest.importorskip("sklearn.linear_model")
    deterministic = pytest.importorskip("statsmodels.tsa.deterministic")
    pandas = pytest.importorskip("pandas")
    y = np.random.default_rng(0).normal(size=(200, 2))
    columns = deterministic.Fourier(24, 4).in_sample(pandas.RangeIndex(200)).to_numpy()
    other = linear_model.LinearRegression().fit(columns, y)
    model = fit_harmonics(np.arange(200), y, 24.0, 4)
    np.testing.assert_allclose(model.coefficients[1:], other.coef_.T, atol=1e-8)
    np.testing.assert_allclose(model.coefficients[0], other.intercept_, atol=1e-8)
    np.testing.assert_allclose(model.predict(np.arange(200)), other.predict(columns), atol=1e-8)


def test_the_field_is_the_same_function_and_survives_saving(tmp_path):
    x, y = series()
    model = fit_harmonics(x, np.stack([y, -2 * y], 1), [24.0, 365.25], 2, trend=3)
    at = np.linspace(x[0] - 100, x[-1] + 300, 301)
    field = model.to_field()
    np.testing.assert_allclose(evaluate(field, at), model.predict(at), atol=1e-10)
    cn.save(field, tmp_path / "m.safetensors")
    np.testing.assert_array_equal(
        evaluate(cn.load(tmp_path / "m.safetensors"), at), evaluate(field, at)
    )
    assert evaluate(field.float(), x) == pytest.approx(model.predict(x), abs=1e-4)


def test_several_columns_of_positions():
    generator = np.random.default_rng(0)
    x = generator.uniform(0, 30, (300, 3))
    y = np.cos(2 * np.pi * x[:, 2] / 7) + 0.5 * x[:, 0] - 0.1 * x[:, 1] ** 2
    model = fit_harmonics(x, y, 7.0, 2, axes=[2], trend=[1, 2, 0])
    np.testing.assert_allclose(model.predict(x)[:, 0], y, atol=1e-10)
    assert model.names[-3:] == ("trend[0]", "trend[1]", "trend^2[1]")
    np.testing.assert_allclose(evaluate(model.to_field(), x)[:, 0], y, atol=1e-10)
    slopes = derivative(model, x, axis=1)[:, 0]
    np.testing.assert_allclose(slopes, -0.2 * x[:, 1], atol=1e-9)


def test_errors_are_the_scatter_of_repeated_experiments():
    x = np.arange(100.0)
    truth = 2 * np.cos(2 * np.pi * x / 10 - 1)
    y = truth[:, None] + 0.5 * np.random.default_rng(0).normal(size=(100, 2000))
    model = fit_harmonics(x, y, 10.0, 1)
    found = model.spectrum()
    assert found.amplitude[0].std() == pytest.approx(found.amplitude_error.mean(), rel=0.06)
    assert found.phase[0].std() == pytest.approx(found.phase_error.mean(), rel=0.06)
    values, errors = model.predict_with_error([3.3])
    assert values.std() == pytest.approx(errors.mean(), rel=0.06)
    inside = np.abs(values - 2 * math.cos(0.66 * math.pi - 1)) < 1.96 * errors
    assert inside.mean() == pytest.approx(0.95, abs=0.02)


def test_a_whole_weight_stands_for_as_many_samples():
    x, y = series(60)
    times = np.arange(60) % 3
    weighted = fit_harmonics(x, y, 24.0, 2, weights=times)
    repeated = fit_harmonics(np.repeat(x, times), np.repeat(y, times), 24.0, 2)
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, atol=1e-12)
    assert (weighted.samples, repeated.samples) == (40, 60)


def test_what_the_samples_cannot_tell_apart():
    t = np.arange(16) / 16
    with pytest.raises(cn.InputError, match="31 coefficients of which 16"):
        fit_harmonics(t, np.sin(2 * np.pi * t), 1.0, 15)
    model = fit_harmonics(t, np.sin(2 * np.pi * t), 1.0, 15, dependent="shortest")
    np.testing.assert_allclose(model.predict(t)[:, 0], np.sin(2 * np.pi * t), atol=1e-12)
    assert model.coefficients[1, 0] == pytest.approx(0.5)  # and half of its alias
    assert model.rank == 16
    assert np.isnan(model.standard_errors).all()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"periods": [24.0, 12.0], "k": 2}, "tell all coefficients apart"),
        ({"periods": -1.0}, "period"),
        ({"periods": "24"}, "periods must be"),
        ({"periods": 24.0, "k": 0}, "k must"),
        ({"periods": [24.0, 5.0], "k": [1]}, "one for each period"),
        ({"periods": []}, "a period or a trend"),
        ({"periods": 24.0, "axes": [1]}, "columns"),
        ({"periods": 24.0, "axes": [0, 0]}, "a column for each period"),
        ({"periods": 24.0, "weights": [1.0]}, "weights"),
        ({"periods": 24.0, "trend": -1}, "trend"),
        ({"periods": 24.0, "dependent": "never"}, "dependent"),
    ],
)
def test_what_cannot_be_fitted(settings, says):
    with pytest.raises(cn.InputError, match=says):
        fit_harmonics(np.arange(48.0), np.arange(48.0), **settings)


def test_positions_of_another_width():
    model = fit_harmonics(np.arange(48.0), np.arange(48.0), 24.0)
    with pytest.raises(cn.InputError, match="1 columns"):
        model.predict(np.zeros((3, 2)))
    assert model.predict([]).shape == (0, 1)
    with pytest.raises(cn.InputError, match="number"):
        model.spectrum(1)


def test_an_amplitude_of_nothing_has_no_phase():
    model = fit_harmonics(np.arange(48.0), np.zeros(48), 24.0)
    found = model.spectrum()
    assert found.amplitude[0, 0] == 0
    assert found.phase_error[0, 0] == math.inf


def test_the_spectrum_of_the_field_is_that_of_the_model():
    x, y = series()
    model = fit_harmonics(x, y, 24.0, 3)
    one, other = model.spectrum(), harmonic_spectrum(model.to_field(), k=5)
    np.testing.assert_allclose(other.amplitude[:3], one.amplitude, atol=1e-12)
    np.testing.assert_allclose(np.cos(other.phase[:3] - one.phase), 1, atol=1e-12)
    assert other.amplitude[3:].max() < 1e-12
    assert torch.get_default_dtype() == torch.float32
