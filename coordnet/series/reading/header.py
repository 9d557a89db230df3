"""The columns of a table of text: their names, which is meant, and which of them hold numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from ...errors import refuse
from .cells import is_missing, looks_numeric
from .dates import looks_dated
from .delimited import mend_name

__all__ = ["find_column", "is_header", "number_columns", "take_header"]

Row = tuple[int, list[str]]


def is_header(first: Sequence[str], second: Sequence[str]) -> bool:
    """Tell whether a file's first row is its header, from the first two rows.

    It is where it holds text and neither a number nor a date, or where its first cell is text
    above a number or a date (``hour,2010,2011`` over ``0,4.5,3.9``). So ``0,oops`` over ``1,2`` is
    a row with a bad cell.
    """

    def is_value(cell: str) -> bool:
        return looks_numeric(cell) or looks_dated(cell)

    def is_text(cell: str) -> bool:
        return not is_value(cell) and not is_missing(cell)

    if not any(map(is_text, first)):
        return False
    if not any(map(is_value, first)):
        return True
    return is_text(first[0]) and bool(second) and is_value(second[0])


def take_header(rows: list[Row], notes: list[str]) -> tuple[list[str], list[Row]]:
    """Return one distinct name for each column, and the rows that are not the header.

    Without a header the columns are called x and y, or x, y1, y2 ….

    Args:
        rows: line numbers and cells of the first rows, at least one.
        notes: gains a sentence on whatever was not plain.
    """
    first = rows[0][1]
    if not is_header(first, rows[1][1] if len(rows) > 1 else ()):
        values = ["y"] if len(first) == 2 else [f"y{i}" for i in range(1, len(first))]
        names = ["x", *values]
        notes.append(f"There is no header line: the columns are called {', '.join(names)}.")
        return names, rows
    numbers = [cell.strip() for cell in first if looks_numeric(cell)]
    if numbers:
        notes.append(
            f"Line {rows[0][0]} is taken as the header although it holds {', '.join(numbers)}."
        )
    names: list[str] = []
    strays = False
    for place, cell in enumerate(first, start=1):
        name, stray = mend_name(" ".join(cell.split()))
        strays |= stray
        if not name:
            name = f"column {place}"
        if name in names:
            notes.append(f"Two columns are called {name!r}; the later is {name} (column {place}).")
            name = f"{name} (column {place})"
        names.append(name)
    if strays:
        notes.append("The column names are not UTF-8 and were read as Latin-1.")
    return names, rows[1:]


def find_column(path: Path, names: Sequence[str], wanted: str | int, role: str) -> int:
    """Return the 0-based place of a column given by name or by place.

    Args:
        path: the file, for messages.
        names: all columns, in order.
        wanted: a name, or a place from 0 (negative ones count from the end); digits as text are
            a place where no column has that name.
        role: ``"x"`` or ``"y"``, for messages.

    Raises:
        InputError: no column of that name or at that place.
    """
    if isinstance(wanted, str) and wanted in names:
        return names.index(wanted)
    is_place = isinstance(wanted, str) and re.fullmatch(r"-?[0-9]{1,9}", wanted)
    place = int(wanted) if is_place else wanted
    if not isinstance(place, (str, bool)) and -len(names) <= place < len(names):
        return place % len(names)
    listed = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
    return refuse(
        f"{role} must be the name or the place (from 0) of a column of {str(path)!r}",
        f"{role}={wanted!r}",
        f"The columns are {listed}.",
    )


def number_columns(
    path: Path, names: Sequence[str], rows: Sequence[Row], taken: Sequence[int], notes: list[str]
) -> list[int]:
    """Return the places of all columns that hold a number in some row, but those ``taken``.

    Args:
        path: the file, for messages.
        names: all columns, in order.
        rows: the first rows below the header.
        taken: the places of the positions, and of weights.
        notes: gains a sentence on the columns left out.

    Raises:
        InputError: there is none, though there are rows.
    """
    others = [j for j in range(len(names)) if j not in taken]
    found = [j for j in others if any(_is_number(row[j]) for _, row in rows)]
    left_out = [names[j] for j in others if j not in found]
    if not found and rows:
        besides = " and ".join(map(repr, (names[j] for j in taken)))
        refuse(
            f"a table must have a column of numbers besides {besides}: {str(path)!r}",
            f"no numbers in {', '.join(map(repr, left_out)) or 'any other column'}",
            "Name the column of positions and the columns of values.",
        )
    if left_out and rows:
        which = ", ".join(map(repr, left_out))
        notes.append(f"Left out, for no numbers in the first {len(rows)} rows: {which}.")
    return found


def _is_number(cell: str) -> bool:
    return looks_numeric(cell) and not looks_dated(cell)
