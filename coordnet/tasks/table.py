"""Tables: one position or time, and values over it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ..datasets import (
    describe_periods,
    nyquist_harmonic,
    nyquist_warning,
    read_table,
    write_table,
)
from ..datasets.header import is_header
from ..encodings import Concat, Encoding
from ..errors import refuse
from ..field import Field
from ..plotting import save_signal
from ..rendering import render_points
from ..training import TensorSamples
from .options import FitOptions
from .presets import Recipe
from .run_folder import RunFolder, writing
from .sentences import plural, readable
from .task import Say, Task, build_ladder, refuse_unused

__all__ = ["TableTask"]

_REPEATING = ("harmonic", "octave", "lattice", "gaussian")
_MOST_HARMONICS = 8
_FINE = 2000


class TableTask(Task):
    """A table: coordinates are the float64 positions, values the other columns."""

    kind: ClassVar[str] = "table"
    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".tsv", ".txt", ".dat")

    def __init__(self, path: Path, options: FitOptions) -> None:
        refuse_unused(options, "a table", "tile", "wrap", "page", "preset")
        self.path = path
        self.table = read_table(path, x=options.x, y=options.y or None)
        self.periods = options.periods
        names = (self.table.x_name, *self.table.y_names)
        if len(set(names)) < len(names):
            got = f"--x {names[0]} with --y {' --y '.join(names[1:])}"
            refuse("a column may be used once", got, "Leave the second away.")
        self.notes = list(self.table.notes)
        self.warnings = []
        harmonics = options.encoding in (None, "harmonic", "lattice")
        for period in options.periods:
            sentence, warnings = describe_periods(self.table.x, period)
            self.notes.append(sentence)
            self.warnings += warnings
            k = _default_k(self.table.x, period) if options.k is None else options.k
            warning = nyquist_warning(self.table.x, period, k) if harmonics else None
            if warning is not None:
                self.warnings.append(warning)

    def positions(self) -> Tensor:
        """Return the positions ``(N, 1)``, float64."""
        return torch.from_numpy(self.table.x)[:, None]

    def samples(self) -> TensorSamples:
        """Return positions ``(N, 1)`` and values ``(N, D)``, both float64."""
        return TensorSamples(self.positions(), torch.from_numpy(self.table.y))

    def recipe(self, options: FitOptions) -> Recipe:
        """Return harmonics where there is a period, Gaussian features where there is none."""
        name = options.encoding or ("harmonic" if options.periods else "gaussian")
        return Recipe(name, {}, hidden_dim=64, layers=2, steps=2000)

    def encoding(self, options: FitOptions, recipe: Recipe) -> Encoding:
        """Build one block per period, or one over the domain where there is none."""
        name = recipe.encoding
        x = self.table.x
        span = float(x[-1] - x[0]) or 1.0
        if options.periods:
            if name not in _REPEATING:
                remedy = f"Choose --encoding {' or '.join(_REPEATING)}, or drop --period."
                refuse("--period needs an encoding that repeats", f"--encoding {name}", remedy)
            parts = [self._periodic(name, period, options) for period in options.periods]
            return parts[0] if len(parts) == 1 else Concat(parts)
        # without a period nothing may repeat inside the domain, nor its ends meet
        defaults = _defaults(name, 2.0 * span, 8.0, len(x), _MOST_HARMONICS)
        if name == "gaussian":
            defaults["period"] = None
        return build_ladder(name, 1, options, defaults)

    def _periodic(self, name: str, period: float, options: FitOptions) -> Encoding:
        """Build the block of one period."""
        x = self.table.x
        defaults = _defaults(name, period, 8.0 / period, len(x), _default_k(x, period))
        if options.sigma is not None:
            options = replace(options, sigma=options.sigma / period)
        return build_ladder(name, 1, options, defaults)

    def describe(self) -> dict[str, Any]:
        """Return the columns, the range and the periods."""
        x = self.table.x
        return {
            "x_name": self.table.x_name,
            "y_names": list(self.table.y_names),
            "range": [float(x[0]), float(x[-1])],
            "samples": len(x),
            "periods": list(self.periods),
        }

    def summary(self) -> str:
        """Return the number of rows and the columns."""
        names = ", ".join(self.table.y_names)
        return f"{plural(len(self.table.x), 'row')} of {names} over {self.table.x_name}"

    def write_outputs(self, folder: RunFolder, field: Field) -> dict[str, float]:
        """Write reconstruction.csv and comparison.png."""
        table = self.table
        device = next(field.parameters()).device
        fitted = render_points(field, self.positions(), device=device)
        columns: list[tuple[str, np.ndarray]] = []
        for i, name in enumerate(table.y_names):
            columns.append((name, table.y[:, i]))
            columns.append((f"{name} fit", fitted[:, i].astype(np.float64)))
            columns.append((f"{name} error", fitted[:, i] - table.y[:, i]))
        _write_columns(folder.file("reconstruction.csv"), table.x_name, table.x, columns)
        # fine enough to show the shortest period, and bounded
        span = float(table.x[-1] - table.x[0])
        cycles = span / min(self.periods) if self.periods else 0
        fine = np.linspace(table.x[0], table.x[-1], int(min(max(_FINE, 20 * cycles), 200_000)))
        curve = render_points(field, torch.from_numpy(fine)[:, None], device=device)
        save_signal(
            folder.file("comparison.png"),
            table.x,
            table.y,
            fine,
            curve,
            names=(table.x_name, *table.y_names),
            periods=self.periods,
            title=readable(self.path.name),
        )
        return {}

    @staticmethod
    def render(
        field: Field, settings: dict[str, Any], output: Path, options: dict[str, Any], say: Say
    ) -> None:
        """Write the fitted values at evenly spaced positions as CSV.

        Args:
            field: the fitted field.
            settings: what `describe` returned.
            output: the CSV file.
            options: ``size`` as the number of positions, or None, for as many as were fitted.
            say: takes sentences for the console.
        """
        if output.suffix.lower() != ".csv":
            refuse("a table is rendered to a .csv file", f"{str(output)!r}", "Pass -o curve.csv.")
        number = options["size"] or settings["samples"]
        if not isinstance(number, int):
            width, height = number
            rule = "the size of a table is a number of positions"
            refuse(rule, f"--size {width}x{height}", f"Pass --size {width}, say.")
        low, high = settings["range"]
        x = np.linspace(low, high, number)
        values = render_points(
            field, torch.from_numpy(x)[:, None], device=next(field.parameters()).device
        )
        names = settings["y_names"]
        columns = [(name, values[:, i].astype(np.float64)) for i, name in enumerate(names)]
        with writing(output):
            _write_columns(output, settings["x_name"], x, columns)
        where = f"from {low:.10g} to {high:.10g}"
        say(f"wrote {readable(output)}: {plural(number, 'position')} {where}")

    def evaluate(self, field: Field, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the metrics of the field at this table's positions."""
        from ..metrics import psnr, rmse

        if self.table.y.shape[1] != len(settings["y_names"]):
            refuse(
                f"the table must have {len(settings['y_names'])} columns of values",
                f"{self.table.y.shape[1]}",
                "Pass a table of the same columns.",
            )
        device = next(field.parameters()).device
        values = render_points(field, self.positions(), device=device).astype(np.float64)
        peak = float(np.ptp(self.table.y)) or 1.0
        return {
            "psnr": psnr(values, self.table.y, peak=peak),
            "rmse": rmse(values, self.table.y),
            "peak": peak,
            "samples": len(values),
        }


def _write_columns(
    path: Path, x_name: str, x: np.ndarray, columns: list[tuple[str, np.ndarray]]
) -> None:
    """Write a table under names that are distinct, the first of them no number."""
    named = {x_name if is_header([x_name], ["0"]) else f"x {x_name}": x}
    for name, values in columns:
        while name in named:
            name += "'"
        named[name] = values
    write_table(path, named)


def _default_k(x: np.ndarray, period: float) -> int:
    """Eight harmonics, or as many as samples on a grid can tell apart."""
    limit = nyquist_harmonic(x, period)
    return _MOST_HARMONICS if limit is None else max(1, min(_MOST_HARMONICS, limit))


def _defaults(name: str, period: float, sigma: float, samples: int, k: int) -> dict[str, Any]:
    """Settings of each ladder over one period."""
    octaves = max(1, int(math.log2(max(2, samples // 4))))
    known: dict[str, dict[str, Any]] = {
        "harmonic": {"k": k, "period": period},
        "lattice": {"k": k, "period": period},
        "octave": {"k": min(10, octaves), "period": period},
        "gaussian": {"k": 64, "sigma": sigma, "period": period},
        "geometric": {"k": 32, "C": 10_000.0, "scale": 2 * samples / period},
    }
    return known.get(name, {})
