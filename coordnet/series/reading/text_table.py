"""A text file as a table of cells: its form, the names of its columns, its rows in blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from ...errors import refuse
from .cells import is_missing
from .dates import is_clock, is_date
from .delimited import find_form, read_rows
from .header import take_header

__all__ = ["Row", "TextTable"]

_SAMPLE_ROWS = 1000  # decide what the columns hold
_BLOCK_ROWS = 8192  # are held as text at a time

Row = tuple[int, list[str]]  # a line number and the cells


class TextTable:
    """Opens a text file of delimited cells.

    A column of dates right before one of times of day is taken together with it, as one column
    of moments under both names; where blanks delimit the cells, one name for the two is enough.

    Args:
        path: the file.
        single: whether it may have a single column.

    Attributes:
        path: the file.
        form: its encoding and its delimiter.
        names: one distinct name for each column.
        sample: the first rows below the header, none where there is but a header.
        has_header: whether there is one.
        notes: sentences on what was not plain.

    Raises:
        InputError: no such file, a folder, an empty or a binary one; rows of several lengths, or
            quotes left open, in the first rows.
    """

    def __init__(self, path: Path, *, single: bool = False) -> None:
        self.path = path
        self.form = find_form(path, single=single)
        self.notes: list[str] = []
        if self.form.delimiter != ",":
            self.notes.append(f"The cells are taken as delimited by {self.form.delimiter_name}.")
        rows = list(islice(read_rows(path, self.form), _SAMPLE_ROWS))
        if not rows:  # a line that is no row: sep=
            self.names, self.sample, self.has_header = [], [], False
            return
        line, first = rows[0]
        self._date_at = _date_column(rows)
        self._width = len(first if self._date_at is None else rows[min(1, len(rows) - 1)][1])
        head = first if len(first) < self._width else self._joined(first)
        rows = [(line, head), *self._checked(rows[1:])]
        self.names, self.sample = take_header(rows, self.notes)
        self.has_header = len(self.sample) < len(rows)
        if not self.has_header:
            list(self._checked([(line, first)]))
        if self._date_at is not None:
            together = self.names[self._date_at]
            self.notes.append(f"Dates and times of day are taken together, as {together!r}.")

    def blocks(self) -> Iterator[list[Row]]:
        """Yield all rows below the header, in lists of bounded length; again at every call.

        Raises:
            InputError: a row of another length than the first, or quotes left open.
        """
        rows = read_rows(self.path, self.form)
        if self.has_header:
            next(rows)
        checked = self._checked(rows)
        while block := list(islice(checked, _BLOCK_ROWS)):
            yield block

    def _checked(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Hold the rows to one length, and put dates and times of day together."""
        for line, cells in rows:
            if len(cells) != self._width:
                refuse(
                    f"every row must have as many cells as the first, {self._width}: "
                    f"{str(self.path)!r}",
                    f"{len(cells)} in line {line} (delimited by {self.form.delimiter_name})",
                    "Mend that line, or remove a title above the header.",
                )
            yield line, self._joined(cells)

    def _joined(self, cells: list[str]) -> list[str]:
        """Return the cells with a date and its time of day as one."""
        j = self._date_at
        if j is None:
            return cells
        pair = cells[j : j + 2]
        return [*cells[:j], "" if any(map(is_missing, pair)) else " ".join(pair), *cells[j + 2 :]]


def _date_column(rows: list[Row]) -> int | None:
    """Return the place of a column of dates that stands right before one of times of day."""
    below = [cells for _, cells in rows[1:] or rows]
    width = len(below[0])
    if len(rows[0][1]) not in (width - 1, width):
        return None
    below = [cells for cells in below if len(cells) == width]
    for j in range(width - 1):
        pairs = [cells[j : j + 2] for cells in below]
        full = [pair for pair in pairs if not any(map(is_missing, pair))]
        if full and all(is_date(date) and is_clock(clock) for date, clock in full):
            return j
    return None
