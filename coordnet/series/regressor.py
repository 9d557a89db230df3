"""Periodic regressor with scikit-learn's interface (extra ``sklearn``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..checks import integer, one_of, positive
from ..encodings import Concat, FourierFeatures, Identity
from ..errors import refuse
from ..field import Field
from ..networks import MLP
from ..training import FitConfig, fit
from .harmonics import fit_harmonics

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        f"coordnet.series.PeriodicRegressor needs scikit-learn 1.6 or later ({error}): "
        "pip install 'coordnet[sklearn]'",
        name=error.name,
    ) from error

__all__ = ["PeriodicRegressor"]

METHODS = ("linear", "network")


class PeriodicRegressor(RegressorMixin, BaseEstimator):
    """Regression on columns that repeat, for scikit-learn's pipelines and searches.

    Columns with a period become k harmonics each; columns without one go in as they are,
    normalized over the training data. A linear model on that, solved exactly, or a network.

    Args:
        period: the period of the first column, or one entry a column, None for a column that does
            not repeat. Columns beyond the entries do not repeat. It must be given: there is no
            usual period.
        k: harmonics of each periodic column.
        method: "linear", least squares in closed form: fast, repeatable, and the right answer
            where effects of several columns add up; or "network", an MLP on the same features,
            for shapes that change with other columns.
        hidden_dim: width of the network.
        num_hidden_layers: its hidden layers.
        steps: steps of its fit.
        random_state: its seed.

    Attributes:
        field_: the fitted `Field`.
        n_features_in_: number of columns.

    See Also:
        fit_harmonics: the same linear model on arrays, with standard errors and weights.
        find_period: the period where it is not known.

    Notes:
        The linear model is the one of `fit_harmonics` with ``dependent="shortest"``: where the
        samples cannot tell the harmonics apart, the shortest coefficients are taken. It equals
        scikit-learn's ``LinearRegression`` on Fourier columns. A network is trained on the CPU in
        float32 and predicts in float64, so that a prediction does not depend on the rows beside it.

    Example:
        >>> model = PeriodicRegressor(period=24.0, k=3).fit(hours[:, None], load)
        >>> model.predict(hours[:, None] + 24.0), model.score(hours[:, None], load)
    """

    _required_parameters = ("period",)  # tells scikit-learn's checks that it has no default

    def __init__(
        self,
        period: float | Sequence[float | None] | None,
        k: int = 4,
        *,
        method: str = "linear",
        hidden_dim: int = 64,
        num_hidden_layers: int = 2,
        steps: int = 1000,
        random_state: int = 0,
    ) -> None:
        self.period = period
        self.k = k
        self.method = method
        self.hidden_dim = hidden_dim
        self.num_hidden_layers = num_hidden_layers
        self.steps = steps
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PeriodicRegressor:
        """Fit to samples.

        Args:
            X: ``(N, d)``.
            y: ``(N,)`` or ``(N, D)``.
            sample_weight: of the squared errors, ``(N,)``; a weight of 0 leaves a sample out.

        Raises:
            InputError: a period, k or method that cannot be; ValueError as scikit-learn has it.
        """
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
        method = one_of("method", self.method, METHODS)
        periods = self._periods(X.shape[1])
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
            positive_weight = weights > 0
            if not positive_weight.any() or not (weights >= 0).all():
                got = "a negative one" if positive_weight.any() else "zeros alone"
                refuse("sample_weight must be at least 0, and not all 0", got)
            X, y, weights = X[positive_weight], y[positive_weight], weights[positive_weight]
        self._one_column = y.ndim == 1
        values = np.asarray(y, np.float64).reshape(len(y), -1)
        solve = self._fit_linear if method == "linear" else self._fit_network
        self.field_ = solve(X, values, weights, periods)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return values ``(N,)``, or ``(N, D)`` where ``y`` had two axes."""
        check_is_fitted(self, "field_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        with torch.no_grad():
            values = self.field_(torch.from_numpy(X)).double().numpy()
        return values[:, 0] if self._one_column else values

    def _periods(self, columns: int) -> list[float | None]:
        """Return the period of each column, None where it does not repeat."""
        setting = self.period
        periods = list(setting) if isinstance(setting, (Sequence, np.ndarray)) else [setting]
        if len(periods) > columns:
            got = f"{len(periods)} periods for {columns} columns"
            refuse("period must have at most one entry for each column", got)
        periods = [None if p is None else positive("period", p) for p in periods]
        return [*periods, *[None] * (columns - len(periods))]

    def _fit_linear(
        self, x: np.ndarray, y: np.ndarray, weights: Any, periods: list[float | None]
    ) -> Field:
        axes = [axis for axis, period in enumerate(periods) if period is not None]
        model = fit_harmonics(
            x,
            y,
            [period for period in periods if period is not None],
            integer("k", self.k, least=1),
            trend=[int(period is None) for period in periods],
            axes=axes,
            weights=weights,
            dependent="shortest",
        )
        return model.to_field()

    def _fit_network(
        self, x: np.ndarray, y: np.ndarray, weights: Any, periods: list[float | None]
    ) -> Field:
        seed = integer("random_state", self.random_state, least=0)
        k = integer("k", self.k, least=1)
        with torch.device("cpu"):
            encoding = Concat(
                [
                    Identity(1) if period is None else FourierFeatures(1, k=k, period=period)
                    for period in periods
                ],
                [[i] for i in range(len(periods))],
            )
            sizes = self.hidden_dim, self.num_hidden_layers
            field = Field(encoding, MLP(encoding.out_dim, y.shape[1], *sizes, seed=seed))
        config = FitConfig(steps=self.steps, seed=seed, device="cpu", evaluate=False)
        fit(field, x, y, config, weights=weights, progress=False)
        return field.double()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # a period has to be known: on data of any kind a score means nothing
        tags.regressor_tags.poor_score = True
        tags.target_tags.multi_output = True
        return tags
