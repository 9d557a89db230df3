"""A periodic regressor with scikit-learn's interface (extra ``sklearn``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from ..encodings import Concat, Encoding, FourierFeatures, Identity
from ..errors import integer_at_least, positive_number, refuse
from ..field import Field
from ..networks import MLP
from ..training import FitConfig, fit, fit_linear

try:
    from sklearn.base import BaseEstimator, RegressorMixin
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        f"coordnet.series.regressor needs scikit-learn 1.6 or later ({error}): "
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
            not repeat. Columns beyond the entries do not repeat.
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

    Example:
        >>> model = PeriodicRegressor(period=24.0, k=3).fit(hours[:, None], load)
        >>> model.predict(hours[:, None] + 24.0), model.score(hours[:, None], load)
    """

    def __init__(
        self,
        period: float | Sequence[float | None] = 1.0,
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
        if self.method not in METHODS:
            got = f"method={self.method!r}"
            refuse(f"method must be one of {', '.join(METHODS)}", got, "Choose one of them.")
        weights = None
        if sample_weight is not None:
            weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
            kept = weights > 0
            if not kept.any() or not (weights >= 0).all():
                got = "zeros alone" if not kept.any() else "a negative one"
                refuse("sample_weight must be at least 0, and not all 0", got, "Drop samples.")
            X, y, weights = X[kept], y[kept], weights[kept]
        self._one_column = y.ndim == 1
        values = torch.from_numpy(np.asarray(y, np.float64).reshape(len(y), -1))
        x = torch.from_numpy(X)
        weighed = None if weights is None else torch.from_numpy(weights)
        if self.method == "linear":
            field = self._field(X.shape[1], values.shape[1], 64, 0, 0).double()
            # values as they are: a weight of 2 then counts exactly as a sample that is there twice
            field.set_values(0.0, 1.0)
            self.field_ = fit_linear(field, x, values, weights=weighed)
        else:
            seed = integer_at_least(0, "random_state", self.random_state, "Pass 0, say.")
            sizes = self.hidden_dim, self.num_hidden_layers
            field = self._field(X.shape[1], values.shape[1], *sizes, seed)
            config = FitConfig(steps=self.steps, seed=seed, device="cpu", evaluate=False)
            fit(field, x, values, config, weights=weighed, progress=False)
            # in float64 a prediction does not depend on the rows beside it
            self.field_ = field.double()
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return values ``(N,)``, or ``(N, D)`` where ``y`` had two axes."""
        check_is_fitted(self, "field_")
        X = validate_data(self, X, reset=False, dtype=np.float64)
        with torch.no_grad():
            found = self.field_(torch.from_numpy(X)).double().numpy()
        return found[:, 0] if self._one_column else found

    def _field(self, columns: int, outputs: int, width: int, layers: int, seed: int) -> Field:
        """Return the model to fit, on the CPU, whatever the default device."""
        with torch.device("cpu"):
            encoding = self._encoding(columns)
            return Field(encoding, MLP(encoding.out_dim, outputs, width, layers, seed=seed))

    def _encoding(self, columns: int) -> Encoding:
        """Return harmonics of the periodic columns and the other columns as they are."""
        given = self.period
        periods = list(given) if isinstance(given, (Sequence, np.ndarray)) else [given]
        if len(periods) > columns:
            got = f"{len(periods)} periods for {columns} columns"
            refuse("period has at most one entry for each column", got, "Leave entries away.")
        periods += [None] * (columns - len(periods))
        k = integer_at_least(1, "k", self.k, "Pass k=4, say.")
        parts: list[Encoding] = []
        for each in periods:
            if each is None:
                parts.append(Identity(1))
            else:
                length = positive_number("period", each, "Pass period=24.0, say.")
                parts.append(FourierFeatures(1, k=k, period=length))
        return Concat(parts, [[i] for i in range(columns)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # a period has to be known: on data of any kind a score means nothing
        tags.regressor_tags.poor_score = True
        tags.target_tags.multi_output = True
        return tags
