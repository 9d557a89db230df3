"""Predictions of a fitted table at given times."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from ..series.reading.text_table import TextTable
from ..series.reading.cells import NumberReader
from ..series.reading.delimited import mend_name, quoted
from ..series.reading.header import find_column
from ..series.reading.positions import PositionReader, positions_on
from ..errors import refuse
from ..field import Field
from ..files import atomic, writing
from ..series.functions import derivative as slopes
from ..training import choose_device
from .render import check_output
from .run import Run
from ..text import plural, readable
from ..series.outputs import values_at
from ..series.settings import TableSettings

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
    say = say or _nobody
    opened = Run.open(run, chosen)
    if opened.kind.name != "table":
        got, remedy = f"a run of {opened.kind.noun}", "coordnet render writes what others hold."
        refuse("predictions are made by the run of a table", got, remedy)
    field, about = opened.model, TableSettings.from_dict(opened.about)
    assert isinstance(field, Field)
    if field.out_dim != len(about.y_names):
        got = f"{field.out_dim} values"
        refuse(f"the run must give {len(about.y_names)} values", got, "Fit again.")

    def predicted(at: np.ndarray) -> np.ndarray:
        if not len(at):
            return np.empty((0, (1 + derivative) * field.out_dim))
        values = values_at(field, at)
        return np.concatenate([values, slopes(field, at)], 1) if derivative else values

    if not isinstance(times, (str, os.PathLike)):
        if output is not None:
            refuse("an output takes a file of times", "an array", "Pass output=None.")
        return predicted(positions_on(about.time, times, unit))

    text, at, missing, decimal = _read_times(Path(times), about, x, unit, say)
    found_values = predicted(at)
    values = np.full((len(missing), found_values.shape[1]), np.nan)
    values[~missing] = found_values
    if len(at):
        _say_beyond(at, about, say)
        if derivative:
            say(f"note: slopes are per {about.time.unit or 'unit of ' + about.x_name}")
    if missing.any():
        say(f"note: {plural(int(missing.sum()), 'row')} without a time, left empty")
    if output is not None:
        kinds = ("fit", "slope") if derivative else ("fit",)
        more = [f"{name} {kind}" for kind in kinds for name in about.y_names]
        names = _distinct(text.names, more)
        lines = _lines(text, names, values, decimal)
        if isinstance(output, Path):
            with writing(output), atomic(output) as file:
                for each in lines:
                    file.write(each.encode())
            say(f"wrote {readable(output)}: {plural(len(values), 'row')}")
        else:
            for each in lines:
                output.write(each)
    return values


def _nobody(text: str) -> None:
    pass


def _read_times(
    path: Path, about: TableSettings, x: str | None, unit: str | None, say: Callable[[str], object]
) -> tuple[TextTable, np.ndarray, np.ndarray, str]:
    """Return the file, its times on the run's axis, which rows have none, and the decimal sign."""
    text = TextTable(path, single=True)
    notes: list[str] = []
    if not text.has_header and len(text.names) == 1:
        text.names[0] = about.x_name
    else:
        notes += text.notes
    if not text.sample:
        refuse(f"there must be at least one time: {str(path)!r}", "none", "Add rows.")
    place = find_column(path, text.names, about.x_name if x is None else x, "x")
    numbers = NumberReader(path, text.form)
    cells = [row[place] for _, row in text.sample]
    reader = PositionReader(path, text.names[place], cells, numbers, unit=unit, axis=about.time)
    kept: list[np.ndarray] = []
    missing: list[np.ndarray] = []
    for block in text.blocks():
        lines = [line for line, _ in block]
        found, gone = reader.column([row[place] for _, row in block], lines)
        kept.append(found[~gone])
        missing.append(gone)
    at, _ = reader.resolve(np.concatenate(kept), notes)
    if note := numbers.note():
        notes.append(note)
    for note in notes:
        say(f"note: {note}")
    return text, at, np.concatenate(missing), "," if numbers.decimal_commas else "."


def _say_beyond(at: np.ndarray, about: TableSettings, say: Callable[[str], object]) -> None:
    """Say how many times lie beyond the data, where the fit does not go on by repeating."""
    beyond = int(((at < about.low) | (at > about.high)).sum())
    if beyond and not about.repeats:
        low, high = about.ends()
        how = "the trend goes on about straight" if about.trend else "the fit knows nothing there"
        say(f"note: {beyond:,} of {plural(len(at), 'time')} beyond {low} to {high}: {how}")


def _distinct(names: list[str], more: list[str]) -> list[str]:
    """Return the names with more of them, none twice."""
    found = list(names)
    for name in more:
        while name in found:
            name += "'"
        found.append(name)
    return found


def _lines(text: TextTable, names: list[str], values: np.ndarray, decimal: str) -> Iterator[str]:
    """Yield the header, then the rows with their predictions, in pieces of some thousand lines."""
    mark = "\t" if text.form.delimiter == " " else text.form.delimiter
    yield mark.join(map(quoted, names)) + "\n"
    done = 0
    for block in text.blocks():
        some = values[done : done + len(block)].tolist()
        done += len(block)
        if len(some) < len(block):
            break
        yield "".join(
            mark.join(
                [*(quoted(mend_name(cell)[0], mark) for cell in cells), *_numbers(row, decimal)]
            )
            + "\n"
            for (_, cells), row in zip(block, some, strict=True)
        )
    if done != len(values):
        got = f"{done} rows, then {len(values)}"
        refuse("the file of times must not change while it is read", got, "Try again.")


def _numbers(row: list[float], decimal: str) -> list[str]:
    """Return predictions as cells, empty where there are none."""
    return ["" if number != number else repr(number).replace(".", decimal) for number in row]
