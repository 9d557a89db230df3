"""Tables of numbers: a column of positions or times, and one or more columns of values.

`coordnet.datasets.delimited` finds out the text's form, `coordnet.datasets.header` the columns,
`coordnet.datasets.cells` turns cells into numbers, `coordnet.datasets.sampling` tells how the
positions lie.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import NoReturn

import numpy as np

from ..errors import refuse
from ..files import atomic
from .cells import NumberReader
from .delimited import find_form, read_rows
from .header import find_column, is_header, number_columns, take_header

__all__ = ["Table", "read_table", "write_table"]

_SAMPLE_ROWS = 1000  # decide which columns hold numbers
_BLOCK_ROWS = 8192  # are held as text at a time

Row = tuple[int, list[str]]  # a line number and the cells


@dataclass(frozen=True)
class Table:
    """Positions and the values there, in ascending order of position.

    Attributes:
        x: (N,) float64, positions or times in the file's own unit; equal ones stay in the file's
            order.
        y: (N, D) float64, the values in the file's own units.
        x_name: the header's name of the column of ``x``; ``"x"`` without a header.
        y_names: D names; ``"y"`` or ``"y1"``, ``"y2"`` … without a header.
        notes: sentences for the console: what was guessed, dropped, sorted or found twice.
    """

    x: np.ndarray
    y: np.ndarray
    x_name: str
    y_names: tuple[str, ...]
    notes: tuple[str, ...]


def read_table(
    path: str | os.PathLike[str],
    *,
    x: str | int | None = None,
    y: str | Sequence[str | int] | None = None,
) -> Table:
    """Read a table of numbers from a text file (CSV and its relatives).

    Delimiters are commas, semicolons, tabs, bars or white space; decimal commas are read where the
    delimiter is no comma (so ``1,234;5`` is 1.234 and 5, and a note says so). Blank lines and lines
    that begin with ``#`` are passed over. The first line is a header where it holds no number, or
    where its first cell is text above a number. Rows with a missing cell in a column that is used
    (empty, ``nan``, ``NA``, ``n/a``, ``null``, ``none``) are dropped and counted. The file is
    UTF-8 with or without a byte-order mark, or UTF-16 or UTF-32 with one.

    Args:
        path: the file.
        x: name or 0-based place of the column of positions; the first column by default.
        y: names or places of the columns of values; by default all others that hold numbers in the
            first 1000 rows.

    Returns:
        The table, sorted by x, with notes on whatever was not plain.

    Raises:
        InputError: no such file, a folder, an empty or a binary file; no rows; a single column; a
            row with more or fewer cells; text, a date or an infinite number in a column that is
            used; mixed decimal signs; an unknown column. Line and column are named.
    """
    path = Path(path)
    form = find_form(path)
    rows = read_rows(path, form)
    sample = list(islice(rows, _SAMPLE_ROWS))
    if not sample:
        _refuse_no_rows(path)
    notes: list[str] = []
    if form.delimiter != ",":
        notes.append(f"The cells are taken as delimited by {form.delimiter_name}.")
    width = len(sample[0][1])
    names, body = take_header(sample, notes)
    _check_widths(path, body, width, form.delimiter_name)
    x_at = find_column(path, names, 0 if x is None else x, "x")
    if y is None:
        y_at = number_columns(path, names, body, x_at, notes)
    else:
        wanted = [y] if isinstance(y, (str, int)) else list(y)
        if not wanted:
            refuse("y must name at least one column", "y=[]", f"Columns: {', '.join(names)}.")
        y_at = [find_column(path, names, name, "y") for name in wanted]

    used = [x_at, *y_at]
    reader = NumberReader(path, form)
    blocks: list[np.ndarray] = []
    dropped: list[int] = []
    for block in _in_blocks(chain(body, rows)):
        _check_widths(path, block, width, form.delimiter_name)
        lines = [line for line, _ in block]
        numbers = np.stack(
            [reader.column(names[j], [row[j] for _, row in block], lines) for j in used], axis=1
        )
        missing = np.isnan(numbers).any(axis=1)
        if missing.any():
            dropped += [lines[i] for i in np.flatnonzero(missing)]
            numbers = numbers[~missing]
        blocks.append(numbers)
    values = np.concatenate(blocks) if blocks else np.empty((0, len(used)))
    if note := reader.note():
        notes.append(note)
    if dropped:
        notes.append(_dropped_note(dropped))
    if not len(values):
        _refuse_no_rows(path, notes)
    values = _sorted_by_first(values, names[x_at], notes)
    return Table(
        x=np.ascontiguousarray(values[:, 0]),
        y=np.ascontiguousarray(values[:, 1:]),
        x_name=names[x_at],
        y_names=tuple(names[j] for j in y_at),
        notes=tuple(notes),
    )


def write_table(path: str | os.PathLike[str], columns: Mapping[str, np.ndarray]) -> None:
    """Write columns of numbers as CSV with a header; `read_table` gives the same float64 values.

    The file appears whole or not at all: it is written under another name in the same folder, and
    an existing one is replaced at the end.

    Args:
        path: the file.
        columns: ``{name: (N,) array}`` of integers or floats; NaN is written as ``nan``.

    Raises:
        InputError: no columns, columns that are not one-dimensional, not numbers or not equally
            long, or names that would be read as a row of numbers.
        OSError: the folder is missing or not writable.
    """
    path = Path(path)
    if not columns:
        refuse("a table must have at least one column", "no columns", "Pass {name: values}.")
    arrays = {name: np.asarray(column) for name, column in columns.items()}
    length = len(next(iter(arrays.values()))) if next(iter(arrays.values())).ndim else 0
    for name, array in arrays.items():
        if array.ndim != 1 or len(array) != length or array.dtype.kind not in "iuf":
            refuse(
                "columns must be one-dimensional arrays of numbers of one length",
                f"{name!r} with shape {array.shape} and dtype {array.dtype}, first of {length}",
                "Pass one array for each column.",
            )
    first_row = [str(array[0]) for array in arrays.values()] if length else []
    if not is_header(list(arrays), first_row):
        refuse(
            "a header must not read as a row of numbers",
            f"the names {', '.join(map(repr, arrays))}",
            "Begin with a name that holds a letter.",
        )
    # tolist() gives Python's own numbers, whose repr is the shortest text that reads back equal.
    lists = [array.tolist() for array in arrays.values()]
    with atomic(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n", write_through=False)
        text.write(",".join(map(_quoted, arrays)) + "\n")
        for row in zip(*lists, strict=True):
            text.write(",".join(map(repr, row)) + "\n")
        text.flush()
        text.detach()


def _in_blocks(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Cut the rows into lists of bounded length: text takes ten times the memory of numbers."""
    rows = iter(rows)
    while block := list(islice(rows, _BLOCK_ROWS)):
        yield block


def _check_widths(path: Path, rows: Iterable[Row], width: int, delimiter_name: str) -> None:
    for line, row in rows:
        if len(row) != width:
            refuse(
                f"every row must have as many cells as the first, {width}: {str(path)!r}",
                f"{len(row)} in line {line} (delimited by {delimiter_name})",
                "Mend that line, or remove a title above the header.",
            )


def _dropped_note(lines: list[int]) -> str:
    """Count the rows that were dropped and name the first lines."""
    shown = ", ".join(map(str, lines[:5])) + (", …" if len(lines) > 5 else "")
    rows, where = ("row", "line") if len(lines) == 1 else ("rows", "lines")
    return f"{len(lines)} {rows} dropped for empty or NaN cells ({where} {shown})."


def _sorted_by_first(values: np.ndarray, name: str, notes: list[str]) -> np.ndarray:
    """Sort rows by their first column, equal ones in their order, and note what was found.

    Args:
        values: (N, 1 + D), N >= 1.
        name: the first column's.
        notes: gains sentences on sorting and on positions that occur more than once.
    """
    gaps = np.diff(values[:, 0])
    if (gaps < 0).any():
        values = values[np.argsort(values[:, 0], kind="stable")]
        gaps = np.diff(values[:, 0])
        notes.append(f"The rows were not in order of {name!r} and have been sorted.")
    repeats = np.flatnonzero(gaps == 0)
    if repeats.size:
        first = float(values[repeats[0], 0])
        if repeats.size == len(values) - 1:
            notes.append(f"All {len(values)} rows have the same {name!r} = {first!r}.")
        else:
            count = "1 row repeats" if repeats.size == 1 else f"{repeats.size} rows repeat"
            notes.append(f"{count} an earlier {name!r} (first at {first!r}); all rows are kept.")
    return values


def _refuse_no_rows(path: Path, notes: Sequence[str] = ()) -> NoReturn:
    refuse(
        f"a table must hold at least one row of numbers: {str(path)!r}",
        " ".join(["none.", *notes]).removesuffix("."),
        "Give a file with rows of a position and a value.",
    )


def _quoted(name: str) -> str:
    """Quote a name where the reader would take it apart, or for a comment."""
    if any(mark in name for mark in ',;|\t"\n\r') or name.startswith("#"):
        return '"' + name.replace('"', '""') + '"'
    return name
