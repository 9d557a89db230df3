"""The regressor against scikit-learn's own checks."""

import importlib
import sys

import numpy as np
import pytest

import coordnet as cn

pytest.importorskip("sklearn")
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

from coordnet.series.regressor import PeriodicRegressor

# a weight of 2 and a sample twice are the same to least squares, not to shuffled batches
NETWORK_CANNOT = {"check_sample_weight_equivalence_on_dense_data": "shuffled mini-batches"}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("model", "cannot"),
    [
        (PeriodicRegressor(1.0), {}),
        (PeriodicRegressor(1.0, method="network", hidden_dim=8, steps=30), NETWORK_CANNOT),
    ],
    ids=["linear", "network"],
)
def test_scikit_learn_accepts_it(model, cannot):
    found = check_estimator(model, expected_failed_checks=cannot, on_fail=None)
    bad = [each for each in found if each["status"] == "failed"]
    assert not bad, [(each["check_name"], each["exception"]) for each in bad]
    assert sum(each["status"] == "passed" for each in found) > 40


def test_linear_is_fourier_regression():
    x = np.random.default_rng(0).uniform(0, 100, (200, 1))
    y = np.random.default_rng(1).normal(size=200)
    columns = np.concatenate(
        [f(2 * np.pi * j * x / 7) for j in (1, 2, 3) for f in (np.sin, np.cos)], 1
    )
    other = LinearRegression().fit(columns, y)
    model = PeriodicRegressor(period=7.0, k=3).fit(x, y)
    np.testing.assert_allclose(model.predict(x), other.predict(columns), atol=1e-8)
    np.testing.assert_allclose(model.predict(x + 7), model.predict(x), atol=1e-8)
    assert model.score(x, y) == pytest.approx(other.score(columns, y))


def test_columns_without_a_period():
    generator = np.random.default_rng(0)
    x = generator.uniform(0, 10, (300, 2))
    y = np.stack([np.cos(2 * np.pi * x[:, 1] / 4) + 3 * x[:, 0], x[:, 0]], 1)
    model = PeriodicRegressor(period=[None, 4.0], k=2).fit(x, y)
    np.testing.assert_allclose(model.predict(x), y, atol=1e-9)


def test_the_network_learns_what_changes_with_another_column():
    generator = np.random.default_rng(0)
    x = generator.uniform(0, 10, (800, 2))
    y = np.cos(2 * np.pi * x[:, 0] / 5) * x[:, 1]
    linear = PeriodicRegressor(period=5.0, k=1).fit(x, y)
    network = PeriodicRegressor(period=5.0, k=1, method="network", steps=300).fit(x, y)
    assert linear.score(x, y) < 0.9
    assert network.score(x, y) > 0.98


def test_in_a_search_and_a_pipeline():
    x = np.arange(0, 60, 0.5)[:, None]
    y = sum(np.cos(2 * np.pi * j * x[:, 0] / 6 + j) for j in (1, 2, 3))
    scaled = FunctionTransformer(lambda X: X * 1.0)
    pipeline = make_pipeline(scaled, PeriodicRegressor(period=6.0))
    search = GridSearchCV(pipeline, {"periodicregressor__k": [1, 2, 3]}, cv=3).fit(x, y)
    assert search.best_params_ == {"periodicregressor__k": 3}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"period": -1.0}, "period"),
        ({"period": 1.0, "k": 0}, "k"),
        ({"period": 1.0, "method": "magic"}, "method"),
        ({"period": [1.0, 2.0]}, "entry for each column"),
    ],
)
def test_settings_that_cannot_be(settings, says):
    with pytest.raises(cn.InputError, match=says):
        PeriodicRegressor(**settings).fit(np.ones((5, 1)), np.ones(5))


def test_without_scikit_learn_the_import_fails_as_imports_do(monkeypatch):
    monkeypatch.delitem(sys.modules, "coordnet.series.regressor")
    for name in [name for name in sys.modules if name.partition(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)  # as where it is not installed
    with pytest.raises(ImportError, match=r"pip install 'coordnet\[sklearn\]'") as caught:
        importlib.import_module("coordnet.series.regressor")
    assert caught.value.name.startswith("sklearn")
