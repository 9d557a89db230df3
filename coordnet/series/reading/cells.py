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
from .delimited import TextForm

__all__ = ["MISSING", "NumberReader", "is_missing", "looks_numeric", "place"]

MISSING = frozenset({"", "nan", "+nan", "-nan", "na", "n/a", "#n/a", "null", "none"})
"""Cells that hold no value, in lower case and without blanks around them."""

# Wide on purpose: '1.234,5' makes a column one of numbers, so that it is refused by name later on
# instead of being passed over as text.
_NUMERIC = re.compile(r"[+-]?(?:[.,]*\d[\d.,]*(?:e[+-]?\d+)?|inf(?:inity)?)", re.IGNORECASE)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")


def is_missing(cell: str) -> bool:
    """Tell whether a cell holds no value: empty, ``nan``, ``NA``, ``n/a``, ``null``, ``none``."""
    return cell.strip().lower() in MISSING


def looks_numeric(cell: str) -> bool:
    """Tell whether a cell is meant as a number, whatever its decimal sign."""
    return _NUMERIC.fullmatch(cell.strip()) is not None


class NumberReader:
    """Turns one file's cells into numbers, and holds it to one decimal sign.

    A comma inside a number is a decimal comma. It is refused where it could as well separate
    thousands: in a file that is delimited by commas, in one that has decimal points too, and twice
    in a cell. ``1,234;5`` is read as 1.234 and 5, and `note` says so.

    Args:
        path: the file, for messages.
        form: its delimiter.
    """

    def __init__(self, path: Path, form: TextForm) -> None:
        self._path, self._form = path, form
        self._comma: tuple[str, str] | None = None  # where the first decimal comma is, and its cell
        self._point: tuple[str, str] | None = None
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
        # float() reads 1_000 as 1000, which no table means.
        if "_" not in text:
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
            refuse(
                f"every number must be finite: {str(self._path)!r}",
                place(lines[first], name, cells[first]),
                "Correct the cell, or leave it empty to drop the row.",
            )
        return values

    @property
    def decimal_commas(self) -> bool:
        """Whether numbers with a decimal comma were met."""
        return self._comma is not None

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
            stripped = cell.strip()
            if ("," not in cell and "." not in cell) or not looks_numeric(stripped):
                continue
            at = place(line, name, cell)
            if "," in stripped:
                if self._form.delimiter == "," or stripped.count(",") > 1 or "." in stripped:
                    self._refuse_signs(at)
                self._only_thousands &= _THOUSANDS.fullmatch(stripped) is not None
                self._comma = self._comma or (at, stripped)
            else:
                self._point = self._point or (at, stripped)
            if self._comma and self._point:
                self._refuse_signs(f"{self._comma[0]} and {self._point[0]}")

    def _refuse_signs(self, got: str) -> NoReturn:
        refuse(
            "numbers must have one decimal sign in the whole file and no thousands separators: "
            f"{str(self._path)!r}",
            got,
            "Write them with decimal points and without separators.",
        )

    def _number(self, name: str, cell: str, line: int) -> float:
        if is_missing(cell):
            return math.nan
        try:
            if "_" not in cell:
                return float(cell.replace(",", "."))
        except ValueError:
            pass
        if looks_dated(cell):
            refuse(
                "dates are read in the column of positions alone, where all cells are dates: "
                f"{str(self._path)!r}",
                place(line, name, cell),
                "Name that column (--x), or convert the dates to numbers.",
            )
        if looks_numeric(cell):
            self._refuse_signs(place(line, name, cell))
        return refuse(
            f"every cell of a number column must be a number: {str(self._path)!r} "
            f"(read as delimited by {self._form.delimiter_name})",
            place(line, name, cell),
            "Correct the cell, leave it empty to drop the row, or choose other columns.",
        )


def place(line: int, name: str, cell: str) -> str:
    """Return where a cell stands and, shortened, what it holds, for messages."""
    shown = cell.strip()
    return f"line {line}, column {name!r}: {shown if len(shown) <= 40 else shown[:37] + '...'!r}"
