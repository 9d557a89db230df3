"""Files of a fitted table: the reconstruction, the harmonics, the figures, the curve as CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import refuse
from ..field import Field
from ..files import write_atomic, writing
from ..text import plural
from .choices import Choices
from .figures import save_signal
from .folded_figures import save_folded, save_k_curve, save_periodogram
from .functions import evaluate
from .harmonics import HarmonicModel
from .reading.cells import is_header
from .reading.tables import Table, write_table
from .reading.time_axis import TimeAxis
from .settings import TableSettings
from .spectrum import Spectrum, harmonic_spectrum

__all__ = ["FittedTable", "render_table", "write_outputs"]

_MIN_CURVE, _MAX_CURVE = 2000, 200_000  # points of the fitted curve in the figure
_NETWORK_HARMONICS = 16
_SHIFTS = 32
_MAX_FOLDED = 5000


@dataclass(frozen=True)
class FittedTable:
    """A table and what was fitted to it.

    Attributes:
        table: the table.
        field: the fitted field.
        choices: the periods, and how they and k were chosen.
        linear: the closed-form model, where there is one.
        trend: whether the field also drifts.
        title: a line above the figures.
    """

    table: Table
    field: Field
    choices: Choices
    linear: HarmonicModel | None = None
    trend: bool = False
    title: str = ""


def write_outputs(folder: Path, fit: FittedTable) -> np.ndarray:
    """Write the files of a run: reconstruction.csv, comparison.png, harmonics.csv, folded.png, ….

    Args:
        folder: the run folder.
        fit: the fitted table.

    Returns:
        (N, D) the fitted values at the rows.
    """
    table, fitted = fit.table, evaluate(fit.field, fit.table.x)
    columns: list[tuple[str, np.ndarray]] = []
    for i, name in enumerate(table.y_names):
        columns.append((name, table.y[:, i]))
        columns.append((f"{name} fit", fitted[:, i]))
        columns.append((f"{name} error", fitted[:, i] - table.y[:, i]))
    _write_columns(folder / "reconstruction.csv", table.x_name, table.x, table.time, columns)
    _write_comparison(folder / "comparison.png", fit)
    _write_harmonics(folder / "harmonics.csv", fit)
    if fit.choices.periods:
        _write_folded(folder / "folded.png", fit, fitted)
    if (search := fit.choices.search) is not None:
        save_periodogram(
            folder / "periodogram.png", search.periodogram.frequencies, search.periodogram.power,
            [candidate.period for candidate in search.candidates],
            unit=table.time.unit or "", title=fit.title,
        )  # fmt: skip
    if (choice := fit.choices.choice) is not None:
        save_k_curve(
            folder / "k.png", choice.candidates, choice.error, choice.standard_error, choice.k,
            title=fit.title,
        )  # fmt: skip
    return fitted


def render_table(
    field: Field, settings: TableSettings, output: Path, number: int | None = None
) -> str:
    """Write the fitted values at evenly spaced positions over the fitted range as CSV.

    Args:
        field: the fitted field.
        settings: what was fitted.
        output: the CSV file.
        number: of positions; None for as many as were fitted.

    Returns:
        What was written, in words.

    Raises:
        InputError: another ending.
        RuntimeError: the file could not be written.
    """
    if output.suffix.lower() != ".csv":
        refuse("a table is rendered to a .csv file", f"{str(output)!r}")
    x = np.linspace(settings.low, settings.high, number or settings.samples)
    values = evaluate(field, x)
    columns = [(name, values[:, i]) for i, name in enumerate(settings.y_names)]
    with writing(output):
        _write_columns(output, settings.x_name, x, settings.time, columns)
    low, high = settings.ends()
    return f"{plural(len(x), 'position')} from {low} to {high}"


def _write_columns(
    path: Path, x_name: str, x: np.ndarray, time: TimeAxis, columns: list[tuple[str, np.ndarray]]
) -> None:
    """Write a table under names that are distinct, the first of them no number."""
    named = {x_name if is_header([x_name], ["0"]) else f"x {x_name}": x}
    for name, values in columns:
        while name in named:
            name += "'"
        named[name] = values
    write_table(path, named, time=time)


def _write_comparison(path: Path, fit: FittedTable) -> None:
    """Draw samples and fit, on points fine enough to show the shortest period."""
    table, periods = fit.table, fit.choices.periods
    low, high = float(table.x[0]), float(table.x[-1])
    cycles = (high - low) / min(periods) if periods else 0
    fine = np.linspace(low, high, int(min(max(_MIN_CURVE, 20 * cycles), _MAX_CURVE)))
    calendar = None
    if table.time.dated:
        calendar = (table.x_name + " (UTC)" * table.time.start.aware, table.time.days)
    save_signal(
        path,
        table.x,
        table.y,
        fine,
        evaluate(fit.field, fine),
        names=(table.time.label(table.x_name), *table.y_names),
        periods=periods,
        title=fit.title,
        calendar=calendar,
    )


def _write_folded(path: Path, fit: FittedTable, fitted: np.ndarray) -> None:
    """Draw the data folded onto each period, above the fit's mean over it where it drifts."""
    table, periods = fit.table, fit.choices.periods
    mixed = fit.trend or len(periods) > 1
    step = -(-len(table.x) // _MAX_FOLDED) if mixed else 1
    x = table.x[::step]
    save_folded(
        path,
        x,
        table.y[::step],
        fitted[::step],
        periods,
        levels=[_mean_around(fit.field, x, period) for period in periods] if mixed else None,
        names=(table.time.label(table.x_name), *table.y_names),
        title=fit.title,
    )


def _mean_around(field: Field, x: np.ndarray, period: float) -> np.ndarray:
    """Return the mean (N, D) of the field over one period around each position (N,)."""
    shifts = ((np.arange(_SHIFTS) + 0.5) / _SHIFTS - 0.5) * period
    total = sum(evaluate(field, x + shift) for shift in shifts.tolist())
    return np.asarray(total) / _SHIFTS


def _write_harmonics(path: Path, fit: FittedTable) -> None:
    """Write amplitude and phase of each harmonic, where the fit has such."""
    periods, spectra = fit.choices.periods, list[Spectrum]()
    if fit.linear is not None:
        spectra = [fit.linear.spectrum(i) for i in range(len(periods))]
    elif len(periods) == 1 and not fit.trend:
        spectra = [harmonic_spectrum(fit.field, periods[0], _NETWORK_HARMONICS)]
    if not spectra:
        return
    head = ["column", "period", "harmonic", "amplitude", "phase"]
    lines = [[*head, "amplitude error", "phase error"] if fit.linear is not None else head]
    for i, name in enumerate(fit.table.y_names):
        for spectrum in spectra:
            columns = [spectrum.amplitude, spectrum.phase]
            columns += [
                e for e in (spectrum.amplitude_error, spectrum.phase_error) if e is not None
            ]
            for j, number in enumerate(spectrum.order):
                cells = (repr(float(column[j, i])) for column in columns)
                lines.append([name, repr(spectrum.period), str(number), *cells])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    write_atomic(path, text.getvalue().encode())
