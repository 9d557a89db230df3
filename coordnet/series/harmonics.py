"""Harmonic regression: sums of sines, and a trend, solved exactly by least squares."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..encodings import Concat, Encoding, FourierFeatures, Polynomial
from ..errors import integer_at_least, positive_number, refuse
from ..field import Field
from ..memory import rows_within
from ..networks import MLP
from ..training import LeastSquares, least_squares
from .arrays import as_float64, check_samples, check_weights
from .spectrum import Spectrum

__all__ = ["HarmonicModel", "fit_harmonics"]

_PERIOD = "Give it in the unit of its column of x."


@dataclass(frozen=True)
class HarmonicModel:
    """y = c₀ + Σ_p Σ_j (a_pj sin 2πjx/P_p + b_pj cos 2πjx/P_p) + Σ_q c_q t^q, and how sure it is.

    t = (x - center) / (half the extent) of the samples is the coordinate of the trend.

    Attributes:
        periods: P_p, in the unit of their columns of x.
        k: number of harmonics of each period.
        axes: the column of x that each period belongs to.
        trend: degree of the trend in each column of x, 0 for none.
        lower: smallest x of the samples in each column.
        upper: largest x.
        names: of the P coefficients, in their order: "const", then "sin(1,24)", "cos(1,24)", …
            period by period (statsmodels' names), then "trend" and "trend^2" ….
        coefficients: ``(P, D)``, for D columns of values.
        covariance: ``(D, P, P)`` of the coefficients, where residuals are independent.
        residual_variance: ``(D,)``, the weighted sum of squared residuals divided by N - rank.
        explained: ``(D,)``, R²: 1 minus that sum divided by the one about the weighted mean.
        log_likelihood: ``(D,)``, of independent Gaussian residuals.
        samples: N, those of weight 0 not counted.
        rank: number of independent coefficients; below P the shortest coefficients were taken.
    """

    periods: tuple[float, ...]
    k: tuple[int, ...]
    axes: tuple[int, ...]
    trend: tuple[int, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    names: tuple[str, ...]
    coefficients: np.ndarray
    covariance: np.ndarray
    residual_variance: np.ndarray
    explained: np.ndarray
    log_likelihood: np.ndarray
    samples: int
    rank: int

    @property
    def standard_errors(self) -> np.ndarray:
        """Of the coefficients, ``(P, D)``."""
        return np.sqrt(np.diagonal(self.covariance, axis1=1, axis2=2)).T

    @property
    def aic(self) -> np.ndarray:
        """Akaike's information criterion of each column, 2 rank - 2 log likelihood."""
        return 2.0 * self.rank - 2.0 * self.log_likelihood

    @property
    def bic(self) -> np.ndarray:
        """Schwarz's information criterion of each column, rank log N - 2 log likelihood."""
        return self.rank * math.log(self.samples) - 2.0 * self.log_likelihood

    def predict(self, x: Any) -> np.ndarray:
        """Return the fitted values ``(n, D)`` at positions ``(n,)`` or ``(n, d)``."""
        return np.concatenate([part @ self.coefficients for part in self._designs(x)])

    def predict_with_error(self, x: Any, *, new: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return fitted values and their standard errors, ``(n, D)`` each.

        Args:
            x: positions ``(n,)`` or ``(n, d)``.
            new: whether the error is that of a new sample of weight 1, not of the fitted curve:
                the residual variance is then added.
        """
        values, errors = [], []
        for part in self._designs(x):
            values.append(part @ self.coefficients)
            variance = np.stack([((part @ each) * part).sum(1) for each in self.covariance], 1)
            errors.append(np.sqrt(variance + (self.residual_variance if new else 0.0)))
        return np.concatenate(values), np.concatenate(errors)

    def spectrum(self, number: int = 0) -> Spectrum:
        """Return amplitude and phase of each harmonic of a period, with their standard errors.

        The errors follow from the covariance of sine and cosine to first order; where an amplitude
        is below about three of them, neither it nor the phase is normally distributed.

        Args:
            number: of the period, from 0.
        """
        number = integer_at_least(0, "number", number, "Periods are counted from 0.")
        if number >= len(self.periods):
            got = f"number={number}, {len(self.periods)} periods"
            refuse("number must be that of a period", got, "Periods are counted from 0.")
        first = 1 + 2 * sum(self.k[:number])
        rows = slice(first, first + 2 * self.k[number])
        sin, cos = self.coefficients[rows][0::2], self.coefficients[rows][1::2]
        block = self.covariance[:, rows, rows]
        places = np.arange(0, 2 * self.k[number], 2)
        ss, cc = block[:, places, places].T, block[:, places + 1, places + 1].T
        sc = block[:, places, places + 1].T
        amplitude = np.hypot(sin, cos)
        some = np.where(amplitude > 0, amplitude, 1.0)
        along = (sin**2 * ss + cos**2 * cc + 2 * sin * cos * sc) / some**2
        across = (cos**2 * ss + sin**2 * cc - 2 * sin * cos * sc) / some**4
        none = amplitude == 0
        return Spectrum(
            period=self.periods[number],
            mean=self.coefficients[0],
            amplitude=amplitude,
            phase=np.arctan2(sin, cos),
            amplitude_error=np.sqrt(np.where(none, (ss + cc) / 2, along)),
            phase_error=np.sqrt(np.where(none, np.inf, across)),
        )

    def to_field(self) -> Field:
        """Return the same function as a float64 `Field`, to be saved, rendered and differentiated.

        Its encoding holds the harmonics and the trend, its network is one linear layer. Cast it
        with ``.float()`` for a device without float64.
        """
        with torch.device("cpu"):
            encoding = _encoding(self.periods, self.k, self.axes, self.trend)
            outputs = self.coefficients.shape[1]
            network = MLP(encoding.out_dim, outputs, num_hidden_layers=0, seed=0)
            field = Field(encoding, network, (self.lower, self.upper)).double()
        field.set_values(0.0, 1.0)
        with torch.no_grad():
            head: Any = network.layers[0]
            head.bias.copy_(torch.from_numpy(self.coefficients[0]))
            head.weight.copy_(torch.from_numpy(self.coefficients[1:].T.copy()))
        return field

    def _designs(self, x: Any) -> list[np.ndarray]:
        positions = as_float64("x", x)
        positions = positions[:, None] if positions.ndim == 1 else positions
        if positions.ndim != 2 or positions.shape[1] != len(self.trend):
            rule = f"x must have {len(self.trend)} columns, as in the fit"
            refuse(rule, f"shape {positions.shape}", "Pass shape (n, d).")
        encoding = self._encoding()
        rows = rows_within(2 * encoding.out_dim)
        starts = range(0, max(1, len(positions)), rows)
        return [_design(encoding, positions[i : i + rows]).numpy() for i in starts]

    def _encoding(self) -> Encoding:
        plain = _encoding(self.periods, self.k, self.axes, self.trend)
        return _on_domain(plain, self.lower, self.upper)


def fit_harmonics(
    x: Any,
    y: Any,
    periods: float | Sequence[float] = (),
    k: int | Sequence[int] = 1,
    *,
    trend: int | Sequence[int] = 0,
    axes: Sequence[int] | None = None,
    weights: Any = None,
    dependent: str = "refuse",
) -> HarmonicModel:
    """Fit harmonics of known periods, and a trend, by weighted least squares in float64.

    The same numbers as an ordinary regression on Fourier columns: statsmodels' ``OLS`` and ``WLS``
    on its ``Fourier(period, order=k)``, scikit-learn's ``LinearRegression``.

    Args:
        x: positions ``(N,)`` or ``(N, d)``, in any order.
        y: values ``(N,)`` or ``(N, D)``; each column is a regression of its own.
        periods: one or several, in the unit of x; 24 and 8766 on hours, say.
        k: number of harmonics, for all periods or for each.
        trend: degree of the polynomial beside them, for all columns of x or for each: 0 is none
            (there always is a constant), 1 a straight line.
        axes: the column of x that each period belongs to; all to column 0 by default.
        weights: ``(N,)``, 1/σ² where errors σ are known; only their ratios count. None for 1.
        dependent: what to do where the samples cannot tell the columns apart (k above Nyquist,
            periods that share a harmonic, fewer samples than coefficients): "refuse", or
            "shortest" for the solution of the shortest coefficients, whose standard errors say
            nothing of what was left open.

    Raises:
        InputError: samples that are no finite numbers; sizes that do not fit together; a column
            of x without a period or trend; dependent columns, unless "shortest" was asked for.

    Example:
        >>> model = fit_harmonics(hours, temperatures, 24.0, k=3, trend=1)
        >>> model.predict(hours), model.spectrum().amplitude
    """
    positions, values = check_samples(x, y)
    each = tuple(_plain("periods", periods))
    lengths = tuple(positive_number("period", period, _PERIOD) for period in each)
    orders = _one_each("k", k, len(lengths), "period", 1)
    degrees = _one_each("trend", trend, positions.shape[1], "column of x", 0)
    places = tuple(axes) if axes is not None else (0,) * len(lengths)
    if len(places) != len(lengths):
        refuse("axes must name a column for each period", f"axes={axes}", "Pass one per period.")
    for place in places:
        integer_at_least(0, "a column in axes", place, "Columns are counted from 0.")
    used = {*places, *(i for i, degree in enumerate(degrees) if degree)}
    if used != set(range(positions.shape[1])):
        rule = "every column of x must have a period or a trend, and every period a column"
        got = f"{positions.shape[1]} columns, of which {sorted(used)} are used"
        refuse(rule, got, "Pass axes= for the periods, and trend=1 for other columns.")
    if dependent not in ("refuse", "shortest"):
        refuse("dependent must be refuse or shortest", f"{dependent!r}", "Choose one of them.")
    weight = check_weights(weights, len(positions))
    seen = weight > 0
    positions, values, weight = positions[seen], values[seen], weight[seen]
    lower, upper = (tuple(f(positions, axis=0).tolist()) for f in (np.min, np.max))
    encoding = _on_domain(_encoding(lengths, orders, places, degrees), lower, upper)
    design = _design(encoding, positions)
    found = least_squares(design, torch.from_numpy(values), torch.from_numpy(weight))
    if found.rank < design.shape[1] and dependent == "refuse":
        refuse(
            "the samples must tell all coefficients apart",
            f"{design.shape[1]} coefficients of which {found.rank} are independent on "
            f"{len(positions)} samples",
            "Pass a smaller k or trend, or dependent='shortest'.",
        )
    return HarmonicModel(
        periods=lengths,
        k=orders,
        axes=places,
        trend=degrees,
        lower=lower,
        upper=upper,
        names=_names(lengths, orders, degrees),
        coefficients=found.solution.numpy(),
        samples=len(positions),
        rank=found.rank,
        **_statistics(found, values, weight),
    )


def _statistics(found: LeastSquares, values: np.ndarray, weight: np.ndarray) -> dict[str, Any]:
    """Return the statistics of the residuals; with none to spare the variance is NaN."""
    number = len(values)
    left = found.residual.numpy()
    spare = number - found.rank
    variance = left / spare if spare > 0 else np.full_like(left, np.nan)
    mean = weight @ values / weight.sum()
    total = weight @ np.square(values - mean)
    with np.errstate(divide="ignore"):
        logs = -0.5 * number * (np.log(2 * math.pi * left / number) + 1)
    explained = np.where(total > 0, 1 - left / np.where(total > 0, total, 1.0), 0.0)
    return {
        "covariance": variance[:, None, None] * found.inverse.numpy(),
        "residual_variance": variance,
        "explained": explained,
        "log_likelihood": logs + 0.5 * np.log(weight).sum(),
    }


def _encoding(
    periods: Sequence[float], k: Sequence[int], axes: Sequence[int], trend: Sequence[int]
) -> Encoding:
    """Return the features beside the constant, of coordinates in their own unit."""
    with torch.device("cpu"):
        blocks: list[tuple[Encoding, list[int]]] = [
            (FourierFeatures(1, k=order, period=period), [axis])
            for period, order, axis in zip(periods, k, axes, strict=True)
        ]
        for axis, degree in enumerate(trend):
            if degree:
                blocks.append((Polynomial(1, degree), [axis]))
        if len(blocks) == 1:
            return blocks[0][0]
        return Concat([block for block, _ in blocks], [columns for _, columns in blocks])


def _on_domain(encoding: Encoding, lower: Sequence[float], upper: Sequence[float]) -> Encoding:
    """Return the features with the trend's coordinate normalized, Julian dates too."""
    with torch.device("cpu"):
        low, high = (torch.tensor(each, dtype=torch.float64) for each in (lower, upper))
        return encoding.on_domain(low, high)


def _design(encoding: Encoding, positions: np.ndarray) -> torch.Tensor:
    """Return [1, features] in float64."""
    with torch.no_grad():
        features = encoding(torch.from_numpy(np.ascontiguousarray(positions)))
    return torch.cat([torch.ones_like(features[:, :1]), features], 1)


def _names(periods: Sequence[float], k: Sequence[int], trend: Sequence[int]) -> tuple[str, ...]:
    names = ["const"]
    for period, order in zip(periods, k, strict=True):
        for j in range(1, order + 1):
            names += [f"sin({j},{period:.10g})", f"cos({j},{period:.10g})"]
    several = len(trend) > 1
    for axis, degree in enumerate(trend):
        for power in range(1, degree + 1):
            name = "trend" if power == 1 else f"trend^{power}"
            names.append(f"{name}[{axis}]" if several else name)
    return tuple(names)


def _one_each(name: str, value: Any, number: int, what: str, least: int) -> tuple[int, ...]:
    """Return one whole number for each of ``number`` things."""
    remedy = f"Pass one number, or one for each {what}."
    found = _plain(name, value) if np.ndim(value) else [value] * number
    if len(found) != number:
        refuse(f"{name} must be one number or one for each {what}", f"{name}={value!r}", remedy)
    return tuple(integer_at_least(least, name, each, remedy) for each in found)


def _plain(name: str, value: Any) -> list[Any]:
    """Return a number, a sequence or an array of them as a list."""
    if isinstance(value, (str, bytes)) or np.ndim(value) > 1:
        refuse(f"{name} must be a number or a list of them", f"{value!r}", "Pass [24.0, 8766.0].")
    return np.asarray(value).tolist() if np.ndim(value) else [value]
