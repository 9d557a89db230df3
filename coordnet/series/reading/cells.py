"""Cells of text to float64 numbers: missing cells, decimal commas, and what is refused."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import numpy as np

from ...errors import refuse
from .dates import looks_dated

__all__ = [
    "NumberReader",
    "is_header",
    "is_missing",
    "is_number",
    "locate",
    "looks_numeric",
    "mend_name",
    "quote",
]

_MISSING = frozenset({"", "nan", "+nan", "-nan", "na", "n/a", "#n/a", "null", "none"})
# Wide on purpose: '1.234,5' makes a column one of numbers, so that it is refused by name later on
# instead of being passed over as text.
_NUMERIC = re.compile(r"[+-]?(?:[.,]*\d[\d.,]*(?:e[+-]?\d+)?|inf(?:inity)?)", re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


def is_missing(cell: str) -> bool:
    """Tell whether a cell holds no value: empty, ``nan``, ``NA``, ``n/a``, ``null``, ``none``."""
    return cell.strip().lower() in _MISSING


def looks_numeric(cell: str) -> bool:
    """Tell whether a cell is meant as a number, whatever its decimal sign."""
    return _NUMERIC.fullmatch(cell.strip()) is not None


def is_number(cell: str) -> bool:
    """Tell whether a cell is meant as a number and not as a date, as ``31.12.2010`` is."""
    return looks_numeric(cell) and not looks_dated(cell)


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


def mend_name(name: str) -> str:
    """Return a name without stray bytes.

    Bytes that are not UTF-8 arrive as lone surrogates; they are read as Latin-1 instead, so that
    the degree sign of an old spreadsheet comes out right.
    """
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return name.encode("utf-8", "surrogateescape").decode("latin-1")
    return name


def locate(line: int, column: str, cell: str) -> str:
    """Return where a cell stands and, shortened, its text, for messages."""
    text = cell.strip()
    return f"line {line}, column {column!r}: {text if len(text) <= 40 else text[:37] + '...'!r}"


def quote(cell: str, delimiters: str = ",;|\t") -> str:
    """Return a cell in quotes where a reader would split it, or take it for a comment."""
    if any(mark in cell for mark in delimiters + '"\n\r') or cell.startswith("#"):
        return '"' + cell.replace('"', '""') + '"'
    return cell


class NumberReader:
    """Turns one file's cells into numbers, and holds it to one decimal sign.

    A comma inside a number is a decimal comma. It is refused where it could as well separate
    thousands: in a file that is delimited by commas, in one that has decimal points too, and twice
    in a cell. ``1,234;5`` is read as 1.234 and 5, and `note` says so.

    Args:
        path: the file, for messages.
        delimiter: the character between its cells.
    """

    def __init__(self, path: Path, delimiter: str = ",") -> None:
        self._path, self._delimiter = path, delimiter
        self._comma: tuple[str, str] | None = None  # where the first decimal comma is, and its cell
        self._point: str | None = None
        self._only_thousands = True

    def column(self, name: str, cells: Sequence[str], lines: Sequence[int]) -> np.ndarray:
        """Read some cells of one column.

        Args:
            name: the column's, for messages.
            cells: their text, N of them.
            lines: the line numbers, N of them.

        Returns:
            (N,) float64, NaN where a cell is missing.

        Raises:
            InputError: text, an infinite number, or more than one decimal sign.
        """
        text = "\n".join(cells)
        commas = "," in text
        # Cell by cell only until each sign has been met: a second comma in a cell, or a point
        # beside it, makes float() fail later on.
        unsettled = self._comma is None or self._only_thousands
        if (commas and unsettled) or (self._point is None and "." in text):
            self._check_signs(name, cells, lines)
        values = None
        if "_" not in text:  # float() reads 1_000 as 1000, which no table means
            plain = [cell.replace(",", ".") for cell in cells] if commas else cells
            try:
                values = np.fromiter(map(float, plain), np.float64, len(cells))
            except ValueError:
                values = None  # a missing cell, or one to be named
        if values is None:
            pairs = zip(cells, lines, strict=True)
            values = np.array([self._number(name, c, n) for c, n in pairs], dtype=np.float64)
        infinite = np.flatnonzero(np.isinf(values))
        if infinite.size:
            first = int(infinite[0])
            rule = f"every number must be finite: {str(self._path)!r}"
            refuse(rule, locate(lines[first], name, cells[first]))
        return values

    @property
    def decimal_sign(self) -> str:
        """The decimal sign of the cells read so far: a comma where one was met."""
        return "." if self._comma is None else ","

    def note(self) -> str | None:
        """Say that decimal commas were read, if they were."""
        if self._comma is None:
            return None
        cell = self._comma[1]
        note = f"Decimal commas: {cell!r} is read as {float(cell.replace(',', '.'))!r}."
        if self._only_thousands:
            note += " If they separate thousands, remove them from the file."
        return note

    def _check_signs(self, name: str, cells: Sequence[str], lines: Sequence[int]) -> None:
        for cell, line in zip(cells, lines, strict=True):
            text = cell.strip()
            if ("," not in text and "." not in text) or not looks_numeric(text):
                continue
            at = locate(line, name, cell)
            if "," in text:
                if self._delimiter == "," or text.count(",") > 1 or "." in text:
                    self._refuse_signs(at)
                self._only_thousands &= _THOUSANDS.fullmatch(text) is not None
                self._comma = self._comma or (at, text)
            else:
                self._point = self._point or at
            if self._comma and self._point:
                self._refuse_signs(f"{self._comma[0]} and {self._point}")

    def _refuse_signs(self, got: str) -> NoReturn:
        rule = "numbers must have one decimal sign in the whole file and no thousands separators"
        refuse(f"{rule}: {str(self._path)!r}", got)

    def _number(self, name: str, cell: str, line: int) -> float:
        if is_missing(cell):
            return math.nan
        try:
            if "_" not in cell:
                return float(cell.replace(",", "."))
        except ValueError:
            pass
        at = locate(line, name, cell)
        if looks_dated(cell):
            rule = "dates are read in the column of positions alone, where all cells are dates"
            refuse(f"{rule}: {str(self._path)!r}", at, "Name that column (--x).")
        if looks_numeric(cell):
            self._refuse_signs(at)
        return refuse(
            f"every cell of a number column must be a number: {str(self._path)!r} "
            f"(delimited by {self._delimiter!r})",
            at,
            "Leave the cell empty to drop its row.",
        )
