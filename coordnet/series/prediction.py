"""Predictions of a fitted table at given times: an array of them, or the rows of a file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import refuse
from ..field import Field
from ..text import plural
from .functions import derivative as slopes, evaluate
from .reading.cells import NumberReader, mend_name, quote
from .reading.positions import PositionReader, positions_on
from .reading.text_table import TextTable
from .settings import TableSettings

__all__ = ["PredictedTable", "predict_table", "predict_times"]


@dataclass(frozen=True)
class PredictedTable:
    """The rows of a file of times, with the predictions behind them.

    Attributes:
        text: the file.
        names: of its columns, then ``NAME fit`` and perhaps ``NAME slope`` for each value.
        values: (N, D) or with slopes (N, 2 D), float64, NaN where a row has no time.
        decimal_sign: the file's.
        notes: sentences on what was not plain.
    """

    text: TextTable
    names: tuple[str, ...]
    values: np.ndarray
    decimal_sign: str
    notes: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """Yield the header, then the rows, in pieces of some thousand lines.

        The cells, the delimiter (tabs where it is blanks) and the decimal sign are the file's.

        Raises:
            InputError: the file is not the one that was read.
        """
        mark = "\t" if self.text.delimiter == " " else self.text.delimiter
        yield mark.join(map(quote, self.names)) + "\n"
        done = 0
        for block in self.text.blocks():
            some = self.values[done : done + len(block)].tolist()
            done += len(block)
            if len(some) < len(block):
                break
            rows = (
                [*(quote(mend_name(cell), mark) for cell in cells), *map(self._cell, numbers)]
                for (_, cells), numbers in zip(block, some, strict=True)
            )
            yield "".join(mark.join(row) + "\n" for row in rows)
        if done != len(self.values):
            got = f"{done} rows, then {len(self.values)}"
            refuse("the file of times must not change while it is read", got)

    def _cell(self, number: float) -> str:
        return "" if number != number else repr(number).replace(".", self.decimal_sign)


def predict_times(
    field: Field,
    settings: TableSettings,
    times: Any,
    unit: str | None = None,
    *,
    derivative: bool = False,
) -> np.ndarray:
    """Predict the values of a fitted table at an array of times.

    Args:
        field: the fitted field.
        settings: what was fitted.
        times: (N,) numbers, `numpy.datetime64`, `datetime.datetime` or text in ISO 8601.
        unit: the unit of times that are numbers, where it is not the fitted table's.
        derivative: whether to add the slopes, per unit of the fitted table's axis.

    Returns:
        (N, D) float64; with the slopes (N, 2 D), behind the values.

    Raises:
        InputError: times that do not belong to the fitted table.
    """
    return _values(field, settings, positions_on(settings.time, times, unit), derivative)


def predict_table(
    field: Field,
    settings: TableSettings,
    path: Path,
    *,
    x: str | int | None = None,
    unit: str | None = None,
    derivative: bool = False,
) -> PredictedTable:
    """Predict the values of a fitted table at the times in a file, row by row.

    Args:
        field: the fitted field.
        settings: what was fitted.
        path: a table with a column of times.
        x: that column by name or place; by default the one of the fitted table's name, or the
            only one of a file without a header.
        unit: the unit of times that are numbers, where it is not the fitted table's.
        derivative: whether to add the slopes, per unit of the fitted table's axis.

    Raises:
        InputError: a file that cannot be read, or without that column or any row; times that do
            not belong to the fitted table.
    """
    text = TextTable(path, single=True)
    notes: list[str] = []
    if not text.has_header and len(text.names) == 1:
        text.names[0] = settings.x_name
    else:
        notes += text.notes
    if not text.sample:
        refuse(f"there must be at least one time: {str(path)!r}", "none")
    place = text.find_column(settings.x_name if x is None else x, "x")
    numbers = NumberReader(path, text.delimiter)
    reader = PositionReader(
        path,
        text.names[place],
        [row[place] for _, row in text.sample],
        numbers,
        unit=unit,
        axis=settings.time,
    )
    rows: list[np.ndarray] = []
    missing: list[np.ndarray] = []
    for block in text.blocks():
        lines = [line for line, _ in block]
        some, absent = reader.column([row[place] for _, row in block], lines)
        rows.append(some[~absent])
        missing.append(absent)
    at, _ = reader.resolve(np.concatenate(rows), notes)
    if note := numbers.note():
        notes.append(note)
    empty = np.concatenate(missing)
    predicted = _values(field, settings, at, derivative)
    values = np.full((len(empty), predicted.shape[1]), np.nan)
    values[~empty] = predicted
    notes += _notes(settings, at, int(empty.sum()), derivative)
    names = list(text.names)
    for kind in ("fit", "slope") if derivative else ("fit",):
        for name in settings.y_names:
            title = f"{name} {kind}"
            while title in names:
                title += "'"
            names.append(title)
    return PredictedTable(text, tuple(names), values, numbers.decimal_sign, tuple(notes))


def _values(field: Field, settings: TableSettings, at: np.ndarray, derivative: bool) -> np.ndarray:
    """Return the values, and perhaps the slopes behind them, at numbers (N,) of the axis."""
    if field.out_dim != len(settings.y_names):
        refuse(f"the field must have {len(settings.y_names)} values", f"{field.out_dim}")
    if not len(at):
        return np.empty((0, (1 + derivative) * field.out_dim))
    values = evaluate(field, at)
    return np.concatenate([values, slopes(field, at)], 1) if derivative else values


def _notes(
    settings: TableSettings, at: np.ndarray, missing: int, derivative: bool
) -> Iterator[str]:
    """Yield sentences on times beyond a fit that does not repeat, the slopes, missing times."""
    beyond = int(((at < settings.low) | (at > settings.high)).sum())
    if beyond and not settings.repeats:
        low, high = settings.ends()
        how = "the trend goes on about straight" if settings.trend else "nothing is known there"
        yield f"{beyond:,} of {plural(len(at), 'time')} beyond {low} to {high}: {how}"
    if derivative and len(at):
        yield f"slopes are per {settings.time.unit or 'unit of ' + settings.x_name}"
    if missing:
        yield f"{plural(missing, 'row')} without a time, left empty"
