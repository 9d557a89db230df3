"""Tables of numbers: a column of positions or times, and one or more columns of values.

`text_table` splits the text into cells, `cells` and `positions` turn them into numbers and dates,
`time_axis` says what the positions mean.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import numpy as np

from ...errors import refuse
from ...files import atomic
from ...text import plural
from .cells import NumberReader, is_header, quote
from .positions import PositionReader
from .text_table import TextTable
from .time_axis import TimeAxis

__all__ = ["Table", "read_table", "write_table"]

_MAX_WEIGHT = 1e100  # so that sums and squares stay far from the ends of float64


@dataclass(frozen=True)
class Table:
    """Positions and the values there, in ascending order of position.

    Attributes:
        x: (N,) float64, positions or times, on the axis ``time``; equal ones stay in the file's
            order.
        y: (N, D) float64, the values in the file's own units.
        x_name: the header's name of the column of ``x``; ``"x"`` without a header.
        y_names: D names; ``"y"`` or ``"y1"``, ``"y2"`` … without a header.
        notes: sentences for the console: what was guessed, dropped, sorted or found twice.
        time: the unit of ``x``, where it is known, and the date of x = 0, where they are dates.
        weights: (N,) float64 above 0, or None where all rows weigh the same.
        weights_name: name of the column that they are from, or None.
        from_errors: whether that is a column of standard errors, and the weights are 1/error².
    """

    x: np.ndarray
    y: np.ndarray
    x_name: str
    y_names: tuple[str, ...]
    notes: tuple[str, ...]
    time: TimeAxis = field(default_factory=TimeAxis)
    weights: np.ndarray | None = None
    weights_name: str | None = None
    from_errors: bool = False

    def __repr__(self) -> str:
        names = [self.x_name, *self.y_names[:4]]
        x, *y = (name if len(name) <= 24 else f"{name[:23]}…" for name in names)
        more = f" and {len(self.y_names) - 4} more" if len(self.y_names) > 4 else ""
        return f"Table({len(self.x):,} rows of {', '.join(y)}{more} over {x})"

    @property
    def weighting(self) -> str | None:
        """What the weights are: ``"w"`` for a column of that name, ``"1/e²"`` for its errors."""
        return f"1/{self.weights_name}²" if self.from_errors else self.weights_name


def read_table(
    path: str | os.PathLike[str],
    *,
    x: str | int | None = None,
    y: str | Sequence[str | int] | None = None,
    unit: str | None = None,
    weights: str | int | None = None,
    error: str | int | None = None,
    time: TimeAxis | None = None,
) -> Table:
    """Read a table of numbers from a text file (CSV and its relatives).

    Delimiters are commas, semicolons, tabs, bars or white space; decimal commas are read where the
    delimiter is no comma (so ``1,234;5`` is 1.234 and 5, and a note says so). Blank lines and lines
    that begin with ``#`` are passed over. The first line is a header where it holds neither a
    number nor a date, or where its first cell is text above one. Rows with a missing cell in a
    column that is used (empty, ``nan``, ``NA``, ``n/a``, ``null``, ``none``) are dropped and
    counted, also where only one of several values is missing: a fit takes whole rows. The file is
    UTF-8 with or without a byte-order mark, or UTF-16 or UTF-32 with one.

    Positions are numbers, or dates in ISO 8601: ``2010-01-31``, with a time of day behind T or a
    blank, to nanoseconds, with Z or an offset (``+01:00``) in all rows or in none. Dates become
    float64 numbers of a unit since an origin, each rounded once, and a note says which. With
    offsets they are converted to UTC. Without, they are taken from a clock on which every day has
    24 hours. The clock of a place with daylight saving time is another: an hour is missing in
    spring, one comes twice in autumn, and in summer the sun's noon is at one o'clock. For what
    follows the sun convert such stamps to UTC or to standard time; for what follows the clock
    (loads, traffic) leave them as they are.

    Args:
        path: the file.
        x: name or 0-based place of the column of positions; the first column by default.
        y: names or places of the columns of values; by default all others that hold numbers in the
            first 1000 rows.
        unit: the unit of positions that are numbers (``"h"``, ``"ms"``, ``"d"``, …, see
            `coordnet.series.UNITS`), or the one in which to count dates. Without it numbers have
            none, and dates are counted in days, hours or seconds, after their usual distance.
        weights: name or place of a column of weights, all above 0.
        error: name or place of a column of standard errors; the weights are 1/error².
        time: an axis to put the positions on, such as another table's ``time``.

    Returns:
        The table, sorted by x, with notes on whatever was not plain.

    Raises:
        InputError: no such file, a folder, an empty or a binary file; no rows; a single column; a
            row with more or fewer cells; text or an infinite number in a column that is used, or
            a date in a column of values; another form of dates, or dates with and without
            offsets; mixed decimal signs; a weight or an error that is not above 0, or both
            columns; an unknown column or unit; positions that do not belong on ``time``. Line and
            column are named.
    """
    path = Path(path)
    text = TextTable(path)
    if not text.names:
        _refuse_no_rows(path)
    if weights is not None and error is not None:
        got = f"weights={weights!r} and error={error!r}"
        refuse("rows are weighted by one of them, a column of weights or of errors", got)
    x_at = text.find_column(0 if x is None else x, "x")
    weight_at = [
        text.find_column(column, role)
        for column, role in ((weights, "weights"), (error, "error"))
        if column is not None
    ]
    if y is None:
        y_at = text.number_columns(besides=[x_at, *weight_at])
    else:
        listed = [y] if isinstance(y, (str, int)) else list(y)
        if not listed:
            refuse("y must name at least one column", "y=[]", f"Columns: {', '.join(text.names)}.")
        y_at = [text.find_column(column, "y") for column in listed]

    x_name, names = text.names[x_at], [text.names[j] for j in (*y_at, *weight_at)]
    reader = NumberReader(path, text.delimiter)
    sample = [row[x_at] for _, row in text.sample]
    positions = PositionReader(path, x_name, sample, reader, unit=unit, axis=time)
    blocks: list[tuple[np.ndarray, np.ndarray]] = []
    dropped = _Dropped()
    for block in text.blocks():
        lines = [line for line, _ in block]
        at, missing = positions.column([row[x_at] for _, row in block], lines)
        columns = [
            reader.column(name, [row[j] for _, row in block], lines)
            for name, j in zip(names, (*y_at, *weight_at), strict=True)
        ]
        numbers = np.stack(columns, axis=1)
        if weight_at:
            _check_weights(path, names[-1], numbers[:, -1], error is not None, lines)
        good = dropped.add(missing, numbers, len(y_at), lines)
        blocks.append((at[good], numbers[good]))
    notes = text.notes
    if note := reader.note():
        notes.append(note)
    notes += dropped.notes()
    if not sum(len(at) for at, _ in blocks):
        _refuse_no_rows(path, notes)
    at, axis = positions.resolve(np.concatenate([at for at, _ in blocks]), notes)
    order = _order(at, x_name, axis, notes)
    values = np.concatenate([numbers for _, numbers in blocks])[order]
    return Table(
        x=np.ascontiguousarray(at[order]),
        y=np.ascontiguousarray(values[:, : len(y_at)]),
        x_name=x_name,
        y_names=tuple(names[: len(y_at)]),
        notes=tuple(notes),
        time=axis,
        weights=_weights(values[:, -1], error is not None) if weight_at else None,
        weights_name=names[-1] if weight_at else None,
        from_errors=error is not None,
    )


def write_table(
    path: str | os.PathLike[str],
    columns: Mapping[str, np.ndarray],
    *,
    time: TimeAxis | None = None,
) -> None:
    """Write columns of numbers as CSV with a header; `read_table` gives the same float64 values.

    The write is atomic: an existing file is replaced at the end.

    Args:
        path: the file.
        columns: ``{name: (N,) array}`` of integers or floats; NaN is written as ``nan``.
        time: what the first column means; where that is dates, they are written as dates.

    Raises:
        InputError: no columns, columns that are not one-dimensional, not numbers or not equally
            long, or names that would be read as a row of numbers.
        OSError: the folder is missing or not writable.
    """
    path = Path(path)
    if not columns:
        refuse("a table must have at least one column", "no columns")
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    first = next(iter(arrays.values()))
    length = len(first) if first.ndim else 0
    for name, array in arrays.items():
        if array.ndim != 1 or len(array) != length or array.dtype.kind not in "iuf":
            refuse(
                "columns must be one-dimensional arrays of numbers of one length",
                f"{name!r} with shape {array.shape} and dtype {array.dtype}, first of {length}",
            )
    # tolist() gives Python's own numbers, whose repr is the shortest text that reads back equal.
    cells = [list(map(repr, array.tolist())) for array in arrays.values()]
    if time is not None and time.dated:
        cells[0] = time.texts(first)
    first_row = [column[0] for column in cells] if length else []
    if not is_header(list(arrays), first_row):
        got = f"the names {', '.join(map(repr, arrays))}"
        refuse("a header must not read as a row of numbers", got)
    with atomic(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n", write_through=False)
        text.write(",".join(map(quote, arrays)) + "\n")
        for row in zip(*cells, strict=True):
            text.write(",".join(row) + "\n")
        text.flush()
        text.detach()


def _weights(numbers: np.ndarray, inverse: bool) -> np.ndarray:
    """Return the weights, which are the numbers (n,) or, of standard errors, 1/number²."""
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        return 1.0 / np.square(numbers) if inverse else np.ascontiguousarray(numbers)


def _check_weights(
    path: Path, name: str, numbers: np.ndarray, inverse: bool, lines: Sequence[int]
) -> None:
    """Refuse the first number (n,) that gives no weight; missing ones are passed over."""
    weights = _weights(numbers, inverse)
    good = (numbers > 0) & (weights < _MAX_WEIGHT) & (weights > 1.0 / _MAX_WEIGHT)
    bad = np.flatnonzero(~(good | np.isnan(numbers)))
    if bad.size:
        what = "error must be above 0, 1/error²" if inverse else "weight must be above 0,"
        refuse(
            f"every {what} between {1 / _MAX_WEIGHT:g} and {_MAX_WEIGHT:g}: {str(path)!r}",
            f"line {lines[bad[0]]}, column {name!r}: {float(numbers[bad[0]])!r}",
        )


class _Dropped:
    """Counts the rows that are dropped, and those of them that hold some of their values."""

    def __init__(self) -> None:
        self._lines: list[int] = []
        self._partly = 0

    def add(
        self, no_position: np.ndarray, numbers: np.ndarray, values: int, lines: Sequence[int]
    ) -> np.ndarray:
        """Take in a block and return (n,) bool, which of its rows are complete.

        Args:
            no_position: (n,) bool, whether the position is missing.
            numbers: (n, D + …), NaN where missing.
            values: D.
            lines: n line numbers.
        """
        absent = np.isnan(numbers)
        missing = no_position | absent.any(axis=1)
        self._lines += [lines[i] for i in np.flatnonzero(missing).tolist()]
        absent = absent[:, :values]
        self._partly += int((absent.any(axis=1) & ~absent.all(axis=1)).sum())
        return ~missing

    def notes(self) -> list[str]:
        """Return the count and the first lines, where there are any."""
        lines = self._lines
        if not lines:
            return []
        listed = ", ".join(map(str, lines[:5])) + (", …" if len(lines) > 5 else "")
        where = "line" if len(lines) == 1 else "lines"
        note = f"{plural(len(lines), 'row')} dropped for empty or NaN cells ({where} {listed})."
        if self._partly:
            note += (
                f" {self._partly} of them {'lacks' if self._partly == 1 else 'lack'} only some of "
                "the values: a column fitted alone (--y) keeps its own."
            )
        return [note]


def _order(at: np.ndarray, name: str, axis: TimeAxis, notes: list[str]) -> np.ndarray:
    """Return the order by position, equal ones as they come, and note what was found.

    Args:
        at: (N,) positions, N >= 1.
        name: the column's.
        axis: what they mean.
        notes: gains sentences on sorting and on positions that occur more than once.
    """
    order = np.argsort(at, kind="stable")
    if (np.diff(at) < 0).any():
        notes.append(f"The rows were not in order of {name!r} and have been sorted.")
    repeats = np.flatnonzero(np.diff(at[order]) == 0)
    if repeats.size:
        first = at[order[repeats[0]]]
        where = axis.texts(first[None])[0] if axis.dated else repr(float(first))
        if repeats.size == len(at) - 1:
            notes.append(f"All {len(at)} rows have the same {name!r} = {where}.")
        else:
            count = "1 row repeats" if repeats.size == 1 else f"{repeats.size} rows repeat"
            note = f"{count} an earlier {name!r} (first at {where}); all rows are kept."
            if axis.dated and not axis.start.aware:
                note += " A clock set back in autumn does so: offsets from UTC tell them apart."
            notes.append(note)
    return order


def _refuse_no_rows(path: Path, notes: Sequence[str] = ()) -> NoReturn:
    refuse(
        f"a table must hold at least one row of numbers: {str(path)!r}",
        " ".join(["none.", *notes]).removesuffix("."),
    )
