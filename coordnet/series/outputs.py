"""Files from the fit of a table: the reconstruction, the figure, the curve as CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from ..errors import refuse
from ..field import Field
from ..files import writing
from ..rendering.grids import render_points
from ..text import plural
from .figures import save_signal
from .reading.header import is_header
from .reading.tables import Table, write_table
from .reading.times import TimeAxis
from .settings import TableSettings

__all__ = ["render_table", "values_at", "write_table_outputs"]

_FINE = 2000


def values_at(field: Field, x: np.ndarray) -> np.ndarray:
    """Return the field's values at positions (N,), as float64 (N, D)."""
    device = next(field.parameters()).device
    values = render_points(field, torch.from_numpy(x)[:, None], device=device)
    return values.astype(np.float64)


def write_table_outputs(
    folder: Path, field: Field, table: Table, periods: tuple[float, ...], title: str
) -> np.ndarray:
    """Write reconstruction.csv and comparison.png; return the fitted values at the rows.

    Args:
        folder: the run folder.
        field: the fitted field.
        table: what was fitted.
        periods: in the unit of the table's positions.
        title: a line above the figure.
    """
    fitted = values_at(field, table.x)
    columns: list[tuple[str, np.ndarray]] = []
    for i, name in enumerate(table.y_names):
        columns.append((name, table.y[:, i]))
        columns.append((f"{name} fit", fitted[:, i]))
        columns.append((f"{name} error", fitted[:, i] - table.y[:, i]))
    reconstruction = folder / "reconstruction.csv"
    _write_columns(reconstruction, table.x_name, table.x, table.time, columns)
    # fine enough to show the shortest period, and bounded
    span = float(table.x[-1] - table.x[0])
    cycles = span / min(periods) if periods else 0
    fine = np.linspace(table.x[0], table.x[-1], int(min(max(_FINE, 20 * cycles), 200_000)))
    save_signal(
        folder / "comparison.png",
        table.x,
        table.y,
        fine,
        values_at(field, fine),
        names=(table.time.label(table.x_name), *table.y_names),
        periods=periods,
        title=title,
        calendar=(table.x_name + " (UTC)" * table.time.start.aware, table.time.days)
        if table.time.dated
        else None,
    )
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
        refuse("a table is rendered to a .csv file", f"{str(output)!r}", "Pass -o curve.csv.")
    x = np.linspace(settings.low, settings.high, number or settings.samples)
    values = values_at(field, x)
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
