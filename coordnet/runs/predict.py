"""Predictions of a fitted table at given times."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from ..errors import refuse
from ..field import Field
from ..files import atomic, writing
from ..series.prediction import predict_table, predict_times
from ..series.settings import TableSettings
from ..text import plural, readable
from ..training import choose_device
from .render import check_output
from .run import Run

__all__ = ["predict_run"]


def predict_run(
    run: str | os.PathLike[str],
    times: Any,
    output: Path | TextIO | None = None,
    *,
    x: str | None = None,
    unit: str | None = None,
    derivative: bool = False,
    device: str = "auto",
    overwrite: bool = False,
    say: Callable[[str], object] | None = None,
) -> np.ndarray:
    """Predict the values of a fitted table at given times, in their order, repeated ones too.

    Times are what the table's were: dates in ISO 8601, with an offset from UTC or none, or
    numbers in the same unit. ``unit`` states another for numbers; where the table has dates, they
    then count from its origin.

    The output holds every row of the file, its cells as they stand there, in the file's own
    delimiter and decimal sign (tabs where it has blanks; a header where it has none), and behind
    them a column ``NAME fit`` for each value, then, if asked for, ``NAME slope``. A row without a
    time keeps empty cells there.

    Args:
        run: the run folder, or its model file.
        times: a path of a table with the column of times, or an array of numbers, of
            `numpy.datetime64` or of text.
        output: the CSV file to write, or an open text file; None writes nothing.
        x: the column of times by name or place; by default the one of the fitted table's name, or
            the only one of a file without a header.
        unit: the unit of times that are numbers, where it is not the run's.
        derivative: whether to add the slopes, by automatic differentiation, in the values' unit
            per unit of the run's axis; those of a network of ReLUs jump where it bends.
        device: "auto" or a torch device.
        overwrite: whether an existing file may be replaced.
        say: takes sentences for the console.

    Returns:
        float64 (N, D), a row for each of the times, NaN where a time is missing; with the slopes
        (N, 2 D), behind the values.

    Raises:
        InputError: no such run, or one of another kind; a file without that column, or that
            cannot be read; times that do not belong to the run; an output that exists.
        RuntimeError: the output could not be written.

    Example:
        >>> predict_run("runs/temperatures", [0.0, 0.5, 24.0])
    """
    chosen = str(choose_device(device))
    if isinstance(output, Path):
        check_output(output, overwrite)
    opened = Run.open(run, chosen)
    if opened.kind.name != "table":
        got, remedy = f"a run of {opened.kind.noun}", "coordnet render writes what others hold."
        refuse("predictions are made by the run of a table", got, remedy)
    field, settings = opened.model, TableSettings.from_dict(opened.about)
    assert isinstance(field, Field)
    if not isinstance(times, (str, os.PathLike)):
        if output is not None:
            refuse("an output takes a file of times", "an array")
        return predict_times(field, settings, times, unit, derivative=derivative)
    table = predict_table(field, settings, Path(times), x=x, unit=unit, derivative=derivative)
    if say is not None:
        for note in table.notes:
            say(f"note: {note}")
    if isinstance(output, Path):
        with writing(output), atomic(output) as file:
            for lines in table.lines():
                file.write(lines.encode())
        if say is not None:
            say(f"wrote {readable(output)}: {plural(len(table.values), 'row')}")
    elif output is not None:
        output.writelines(table.lines())
    return table.values
