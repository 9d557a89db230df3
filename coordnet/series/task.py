"""Tables: one position or time, and values over it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from ..encodings import Encoding
from ..errors import refuse
from ..field import Field
from ..files import JsonObject
from ..kinds.listener import Listener
from ..kinds.options import RenderOptions
from ..kinds.recipe import Recipe
from ..kinds.task import About, FieldTask
from ..text import plural, readable
from ..training import Checkpoint, FitConfig, FitResult, TensorSamples
from ..training.progress import Notify
from .choices import choose
from .closed_form import fit_exactly, linear_result
from .encoding import build_encoding, default_harmonics
from .functions import evaluate
from .harmonics import HarmonicModel
from .options import SeriesOptions, SeriesRender
from .outputs import FittedTable, render_table, write_outputs
from .reading.tables import read_table
from .reading.time_axis import TimeAxis
from .sampling import describe_periods, nyquist_warning
from .settings import TableSettings

__all__ = ["SeriesTask"]


class SeriesTask(FieldTask[SeriesOptions]):
    """A table: coordinates are the float64 positions, values the other columns.

    Args:
        path: the file.
        options: what the user set.
        listener: told of nothing: tables are read and rendered at once.
        time: the axis to put the positions on, such as that of a run; None to choose one.
    """

    float64: ClassVar[bool] = True
    in_dim: ClassVar[int | None] = 1

    def __init__(
        self,
        path: Path,
        options: SeriesOptions,
        listener: Listener,
        *,
        time: TimeAxis | None = None,
    ) -> None:
        if options.trend and not options.periods:
            rule, remedy = "--trend stands beside a --period", "Add --period, or leave it away."
            refuse(rule, "--trend alone", remedy)
        self.path, self.listener = path, listener
        self.table = read_table(
            path,
            x=options.x,
            y=options.y or None,
            unit=options.unit,
            weights=options.weights,
            error=options.error,
            time=time,
        )
        names = (self.table.x_name, *self.table.y_names)
        if len(set(names)) < len(names):
            got = f"--x {names[0]} with --y {' --y '.join(names[1:])}"
            refuse("a column may be used once", got, "Leave the second away.")
        unit = self.table.time.unit
        self.choices = choose(self.table, options)
        self.periods, self.k = self.choices.periods, self.choices.k
        self.trend = options.trend
        self.notes = [*self.table.notes, *self.choices.notes]
        self.warnings = []
        self.linear: HarmonicModel | None = None
        self._solved_in = 0.0
        if self.table.weights is not None:
            relative = self.table.weights / self.table.weights.mean()
            self.notes.append(
                f"The rows are weighted by {self.table.weighting}, {relative.min():.3g} to "
                f"{relative.max():.3g} times the mean weight."
            )
        harmonics = options.encoding in (None, "harmonic", "lattice")
        for period in self.periods:
            sentence, warnings = describe_periods(self.table.x, period, unit)
            self.notes.append(sentence)
            self.warnings += warnings
            k = default_harmonics(self.table.x, period) if self.k is None else self.k
            warning = nyquist_warning(self.table.x, period, k) if harmonics else None
            if warning is not None:
                self.warnings.append(warning)

    @classmethod
    def for_run(
        cls, path: Path, about: About, options: SeriesOptions, listener: Listener
    ) -> SeriesTask:
        """Read the columns that a run was fitted to, on the run's axis."""
        fitted = TableSettings.from_dict(about)
        columns = replace(options, x=fitted.x_name, y=fitted.y_names)
        return cls(path, columns, listener, time=fitted.time)

    def positions(self) -> Tensor:
        """Return the positions ``(N, 1)``, float64."""
        return torch.from_numpy(self.table.x)[:, None]

    def samples(self) -> TensorSamples:
        """Return positions ``(N, 1)`` and values ``(N, D)``, both float64, and the weights."""
        weights = self.table.weights
        return TensorSamples(
            self.positions(),
            torch.from_numpy(self.table.y),
            None if weights is None else torch.from_numpy(weights),
        )

    def recipe(self, options: SeriesOptions) -> Recipe:
        """Return harmonics where there is a period, Gaussian features where there is none.

        One hidden layer suits a trend: more bend it further than the data show.
        """
        name = options.encoding or ("harmonic" if options.periods else "gaussian")
        return Recipe(name, {}, hidden_dim=64, layers=1 if options.trend else 2, steps=2000)

    def encoding(self, options: SeriesOptions, recipe: Recipe) -> Encoding:
        """Build one ladder per period, or one over the domain where there is none."""
        return build_encoding(
            recipe.encoding, self.table.x, self.periods, replace(options, k=self.k)
        )

    def model(self, options: SeriesOptions, recipe: Recipe) -> Field:
        """Build the field; a linear one is fitted at once."""
        if options.network != "linear":
            return super().model(options, recipe)
        limits = [default_harmonics(self.table.x, period) for period in self.periods]
        k = self.k if self.k is not None else min(limits, default=1)
        start = time.perf_counter()
        self.linear = fit_exactly(self.table, self.choices, k, options)
        self._solved_in = time.perf_counter() - start
        self.solved = True
        return self.linear.to_field()

    def fit(
        self,
        model: Field,
        config: FitConfig,
        stop: Callable[[], bool] | None = None,
        *,
        checkpoint: Checkpoint | None = None,
        notify: Notify | None = None,
    ) -> FitResult:
        """Fit the field in steps; a linear one is solved already."""
        if self.linear is not None:
            return linear_result(self.linear, self.table, config, self._solved_in)
        return super().fit(model, config, stop, checkpoint=checkpoint, notify=notify)

    def about(self) -> TableSettings:
        """Return the columns, the range, the periods and what the positions mean."""
        table = self.table
        return TableSettings(
            x_name=table.x_name,
            y_names=table.y_names,
            low=float(table.x[0]),
            high=float(table.x[-1]),
            samples=len(table.x),
            periods=self.periods,
            time=table.time,
            trend=self.trend,
            weights=table.weighting,
        )

    def describe(self) -> About:
        """Return `about` as plain JSON values."""
        return self.about().to_dict()

    def summary(self) -> str:
        """Return the number of rows and the columns."""
        names = ", ".join(self.table.y_names)
        over = self.table.time.label(self.table.x_name)
        return f"{plural(len(self.table.x), 'row')} of {names} over {over}"

    def write_outputs(self, folder: Path, model: Field) -> dict[str, float]:
        """Write reconstruction.csv and comparison.png; return weighted metrics, if any."""
        title = readable(self.path.name)
        fit = FittedTable(self.table, model, self.choices, self.linear, self.trend, title)
        return self._weighted(write_outputs(folder, fit))

    def _weighted(self, fitted: np.ndarray) -> dict[str, float]:
        """Return the weighted RMSE, and χ² per value where there are errors."""
        weights = self.table.weights
        if weights is None:
            return {}
        square = np.square(fitted - self.table.y).mean(axis=1)
        found = {"weighted_rmse": float(np.average(square, weights=weights)) ** 0.5}
        if self.table.from_errors:
            found["chi2_per_value"] = float(np.mean(weights * square))
        return found

    @classmethod
    def render(
        cls, model: Field, about: About, output: Path, options: RenderOptions, listener: Listener
    ) -> None:
        """Write the fitted values at evenly spaced positions as CSV."""
        assert isinstance(options, SeriesRender)
        fitted = TableSettings.from_dict(about)
        listener.wrote(output, render_table(model, fitted, output, options.size))

    def evaluate(self, model: Field, about: About) -> JsonObject:
        """Return the metrics of the field at this table's positions."""
        from ..metrics.psnr_snr import psnr, rmse

        wanted = len(TableSettings.from_dict(about).y_names)
        if self.table.y.shape[1] != wanted:
            refuse(
                f"the table must have {wanted} columns of values",
                f"{self.table.y.shape[1]}",
                "Pass a table of the same columns.",
            )
        values = evaluate(model, self.table.x)
        peak = float(np.ptp(self.table.y)) or 1.0
        return {
            "psnr": psnr(values, self.table.y, peak=peak),
            "rmse": rmse(values, self.table.y),
            "weighted": False,
            "peak": peak,
            "samples": len(values),
        }
