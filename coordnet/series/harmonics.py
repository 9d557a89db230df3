"""Least-squares harmonic regression: sums of sines of known periods, and a trend."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..checks import integer, one_of, positive
from ..encodings import Concat, Encoding, FourierFeatures, Polynomial
from ..errors import refuse
from ..field import Field
from ..memory import rows_within
from ..networks import MLP
from ..training import LeastSquares, least_squares
from .arrays import as_float64, check_samples, check_weights
from .spectrum import Spectrum

__all__ = ["HarmonicModel", "fit_harmonics"]


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
            variance = np.stack([((part @ c) * part).sum(1) for c in self.covariance], 1)
            errors.append(np.sqrt(variance + (self.residual_variance if new else 0.0)))
        return np.concatenate(values), np.concatenate(errors)

    def spectrum(self, number: int = 0) -> Spectrum:
        """Return amplitude and phase of each harmonic of a period, with their standard errors.

        The errors follow from the covariance of sine and cosine to first order; where an amplitude
        is below about three of them, neither it nor the phase is normally distributed.

        Args:
            number: of the period, from 0.
        """
        number = integer("number", number, least=0, below=len(self.periods))
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
            refuse(
                f"x must have {len(self.trend)} columns, as in the fit", f"shape {positions.shape}"
            )
        encoding = self._encoding()
        rows = rows_within(2 * encoding.out_dim)
        starts = range(0, max(1, len(positions)), rows)
        return [_design(encoding, positions[i : i + rows]).numpy() for i in starts]

    def _encoding(self) -> Encoding:
        plain = _encoding(self.periods, self.k, self.axes, self.trend)
        return _normalized(plain, self.lower, self.upper)


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
    columns = positions.shape[1]
    if isinstance(periods, (str, bytes)) or np.ndim(periods) > 1:
        refuse("periods must be a number or a list of them", f"{periods!r}")
    lengths = tuple(positive("periods", period) for period in np.atleast_1d(periods).tolist())
    orders = _per("period", "k", k, len(lengths), 1)
    degrees = _per("column of x", "trend", trend, columns, 0)
    places = tuple(axes) if axes is not None else (0,) * len(lengths)
    if len(places) != len(lengths):
        refuse("axes must name a column for each period", f"axes={axes}")
    places = tuple(integer("a column in axes", place, least=0) for place in places)
    used = {*places, *(i for i, degree in enumerate(degrees) if degree)}
    if used != set(range(columns)):
        rule = "every column of x must have a period or a trend, and every period a column"
        refuse(rule, f"{columns} columns, of which {sorted(used)} are used")
    one_of("dependent", dependent, ("refuse", "shortest"))
    weight = check_weights(weights, len(positions))
    counted = weight > 0
    positions, values, weight = positions[counted], values[counted], weight[counted]
    lower, upper = (tuple(f(positions, axis=0).tolist()) for f in (np.min, np.max))
    encoding = _normalized(_encoding(lengths, orders, places, degrees), lower, upper)
    design = _design(encoding, positions)
    fit = least_squares(design, torch.from_numpy(values), torch.from_numpy(weight))
    if fit.rank < design.shape[1] and dependent == "refuse":
        refuse(
            "the samples must tell all coefficients apart",
            f"{design.shape[1]} coefficients of which {fit.rank} are independent on "
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
        coefficients=fit.solution.numpy(),
        samples=len(positions),
        rank=fit.rank,
        **_statistics(fit, values, weight),
    )


def _statistics(fit: LeastSquares, values: np.ndarray, weight: np.ndarray) -> dict[str, np.ndarray]:
    """Return the statistics of the residuals; with none to spare the variance is NaN."""
    number = len(values)
    squares = fit.residual.numpy()
    freedom = number - fit.rank
    variance = squares / freedom if freedom > 0 else np.full_like(squares, np.nan)
    mean = weight @ values / weight.sum()
    total = weight @ np.square(values - mean)
    with np.errstate(divide="ignore"):
        logs = -0.5 * number * (np.log(2 * math.pi * squares / number) + 1)
    return {
        "covariance": variance[:, None, None] * fit.inverse.numpy(),
        "residual_variance": variance,
        "explained": np.where(total > 0, 1 - squares / np.where(total > 0, total, 1.0), 0.0),
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


def _normalized(encoding: Encoding, lower: Sequence[float], upper: Sequence[float]) -> Encoding:
    """Return the features with the trend's coordinate normalized, Julian dates too."""
    with torch.device("cpu"):
        low, high = (torch.tensor(bound, dtype=torch.float64) for bound in (lower, upper))
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


def _per(what: str, name: str, value: Any, number: int, least: int) -> tuple[int, ...]:
    """Return one integer for each of ``number`` things, from one for all or one for each."""
    values = np.asarray(value).tolist() if np.ndim(value) else [value] * number
    if np.ndim(value) > 1 or len(values) != number:
        refuse(f"{name} must be one number or one for each {what}", f"{name}={value!r}")
    return tuple(integer(name, entry, least=least) for entry in values)
