"""Delimited text as a table of cells: its encoding, delimiter, header, and rows in blocks."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TextIO

from ...checks import readable_file
from ...errors import refuse
from .cells import is_header, is_missing, is_number, looks_numeric, mend_name
from .dates import is_clock, is_date

__all__ = ["Row", "TextTable"]

_HEAD_BYTES = 1 << 16
_SAMPLE_LINES = 100  # decide on the delimiter
_SAMPLE_ROWS = 1000  # decide what the columns hold
_BLOCK_ROWS = 8192  # are held as text at a time
# UTF-32's mark begins with UTF-16's, so it is looked for first.
_MARKS = (
    *((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32")),
    *((codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16")),
)
# Bytes that no text file holds; tab, line feed, vertical tab, form feed, return and the old
# end-of-file mark (0x1A) do occur.
_BINARY = re.compile(rb"[\x00-\x08\x0e-\x19\x1b-\x1f\x7f]")
# By rank: where several stand in as many lines, the earlier wins, because a comma beside tabs or
# semicolons is a decimal comma, and a space beside any of them belongs to a name or a date.
_DELIMITERS = {"\t": "tabs", ";": "semicolons", ",": "commas", "|": "bars", " ": "spaces"}
# '0,5 2,5': the one case in which spaces outrank commas. '1, 2' and '1 ,2' do not match.
_SPACED = re.compile(r"[+-]?\d+(?:,\d+)?(?:\s+[+-]?\d+(?:,\d+)?)+", re.ASCII)
_SEP_LINE = re.compile(r'"?sep=([;,|\t])"?', re.IGNORECASE)

Row = tuple[int, list[str]]
"""A line number, from 1 (the last one where quotes span several), and the cells."""


class TextTable:
    """A text file of delimited cells, with one distinct name for each column.

    Blank lines and lines that begin with ``#`` are passed over. The delimiter is the one of tab,
    semicolon, comma, bar and white space that stands in most of the first 100 lines, the earlier
    in this list where several do; a first line ``sep=;``, as spreadsheets write it, decides alone.

    A column of dates right before one of times of day is taken together with it, as one column
    of moments under both names; where blanks delimit the cells, one name for the two is enough.

    Args:
        path: the file.
        single: whether it may have a single column; the delimiter is then a comma.

    Attributes:
        path: the file.
        delimiter: the character between cells; a space stands for any run of white space.
        names: of the columns; x and y, or x, y1, y2 …, where there is no header.
        sample: the first rows below the header, none where there is but a header.
        has_header: whether there is one.
        notes: sentences on what was not plain.

    Raises:
        InputError: no such file, a folder, an empty or a binary one; one cell a line, unless
            ``single``; rows of several lengths, or quotes left open, in the first rows.
    """

    def __init__(self, path: Path, *, single: bool = False) -> None:
        self.path = path
        self._encoding = _encoding(path)
        self.delimiter = self._find_delimiter(single)
        self.notes: list[str] = []
        if self.delimiter != ",":
            self.notes.append(f"The cells are taken as delimited by {_DELIMITERS[self.delimiter]}.")
        rows = list(islice(self._rows(), _SAMPLE_ROWS))
        if not rows:  # a line that is no row: sep=
            self.names, self.sample, self.has_header = [], [], False
            return
        line, first = rows[0]
        self._date_at = _date_column(rows)
        self._width = len(first if self._date_at is None else rows[min(1, len(rows) - 1)][1])
        head = first if len(first) < self._width else self._join_dates(first)
        self.sample = list(self._checked(rows[1:]))
        self.has_header = is_header(head, self.sample[0][1] if self.sample else ())
        if self.has_header:
            self.names = self._header_names(line, head)
        else:
            self.sample = [*self._checked(rows[:1]), *self.sample]
            values = ["y"] if len(head) == 2 else [f"y{i}" for i in range(1, len(head))]
            self.names = ["x", *values]
            listed = ", ".join(self.names)
            self.notes.append(f"There is no header line: the columns are called {listed}.")
        if self._date_at is not None:
            together = self.names[self._date_at]
            self.notes.append(f"Dates and times of day are taken together, as {together!r}.")

    def blocks(self) -> Iterator[list[Row]]:
        """Yield all rows below the header, in lists of bounded length; again at every call.

        Raises:
            InputError: a row of another length than the first, a quote that is not closed or not
                followed by a delimiter, or a cell of more than 131,072 characters.
        """
        rows = self._rows()
        if self.has_header:
            next(rows)
        checked = self._checked(rows)
        while block := list(islice(checked, _BLOCK_ROWS)):
            yield block

    def find_column(self, column: str | int, role: str) -> int:
        """Return the 0-based place of a column given by name or by place.

        Args:
            column: a name, or a place from 0 (negative ones count from the end); digits as text
                are a place where no column has that name.
            role: ``"x"`` or ``"y"``, for messages.

        Raises:
            InputError: no column of that name or at that place.
        """
        names = self.names
        if isinstance(column, str) and column in names:
            return names.index(column)
        is_place = isinstance(column, str) and re.fullmatch(r"-?[0-9]{1,9}", column)
        place = int(column) if is_place else column
        if not isinstance(place, (str, bool)) and -len(names) <= place < len(names):
            return place % len(names)
        listed = ", ".join(map(repr, names[:20])) + (", …" if len(names) > 20 else "")
        return refuse(
            f"{role} must be the name or the place (from 0) of a column of {str(self.path)!r}",
            f"{role}={column!r}",
            f"The columns are {listed}.",
        )

    def number_columns(self, besides: Sequence[int]) -> list[int]:
        """Return the places of all columns but ``besides`` with a number in the first rows.

        The others are noted as left out.

        Raises:
            InputError: there is none, though there are rows.
        """
        others = [j for j in range(len(self.names)) if j not in besides]
        numeric = [j for j in others if any(is_number(row[j]) for _, row in self.sample)]
        left_out = ", ".join(repr(self.names[j]) for j in others if j not in numeric)
        if not numeric and self.sample:
            known = " and ".join(repr(self.names[j]) for j in besides)
            refuse(
                f"a table must have a column of numbers besides {known}: {str(self.path)!r}",
                f"no numbers in {left_out or 'any other column'}",
            )
        if left_out and self.sample:
            first = len(self.sample)
            self.notes.append(f"Left out, for no numbers in the first {first} rows: {left_out}.")
        return numeric

    def _find_delimiter(self, single: bool) -> str:
        with self._open() as file:
            lines = list(islice(_Lines(file), _SAMPLE_LINES))
        if not lines:
            rule = f"a table must hold at least one line of cells: {str(self.path)!r}"
            refuse(rule, "blank or '#' comment lines only")
        if match := _SEP_LINE.fullmatch(lines[0].strip(" \n")):
            return match[1]
        counts = {mark: sum(mark in line.strip() for line in lines) for mark in _DELIMITERS}
        counts[" "] = sum(len(line.split()) > 1 for line in lines)
        if all(_SPACED.fullmatch(line.strip()) for line in lines[1:] or lines):
            counts[","] = 0  # decimal commas
        # A space is the last resort however often it stands: names and dates hold spaces.
        if any(2 * counts[mark] >= len(lines) for mark in counts if mark != " "):
            counts[" "] = 0
        delimiter = max(counts, key=lambda mark: counts[mark])
        if single and delimiter == " " and counts[" "] < len(lines) - 1:
            return ","  # '2010-01-01' beside '2010-01-01 05:30': one column
        if counts[delimiter] or single:
            return delimiter if counts[delimiter] else ","
        return refuse(
            f"a table must have at least two columns, x and a value: {str(self.path)!r}",
            f"one column, first line {lines[0].strip()[:40]!r}",
            "Separate the cells by commas, semicolons, tabs, bars or spaces.",
        )

    def _open(self) -> TextIO:
        # Stray bytes must not stop a file whose numbers are plain: they matter in names alone.
        errors = "surrogateescape" if self._encoding == "utf-8-sig" else "replace"
        return open(self.path, encoding=self._encoding, errors=errors)

    def _rows(self) -> Iterator[Row]:
        """Yield all rows as they stand in the file."""
        with self._open() as file:
            lines = _Lines(file)
            source = iter(lines)
            if self.delimiter == " ":
                source = (" ".join(line.split()) for line in source)
            reader = csv.reader(
                _without_sep(source), delimiter=self.delimiter, skipinitialspace=True, strict=True
            )
            try:
                for row in reader:
                    yield lines.number, row
            except csv.Error as error:
                rule = "every quoted cell must be closed and end at a delimiter"
                refuse(f"{rule}: {str(self.path)!r}", f"line {lines.number}: {error}")

    def _checked(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Hold the rows to one length, and put dates and times of day together."""
        for line, cells in rows:
            if len(cells) != self._width:
                rule = f"every row must have as many cells as the first, {self._width}"
                delimiter = _DELIMITERS[self.delimiter]
                got = f"{len(cells)} in line {line} (delimited by {delimiter})"
                refuse(f"{rule}: {str(self.path)!r}", got)
            yield line, self._join_dates(cells)

    def _join_dates(self, cells: list[str]) -> list[str]:
        """Return the cells with a date and its time of day as one."""
        j = self._date_at
        if j is None:
            return cells
        pair = cells[j : j + 2]
        return [*cells[:j], "" if any(map(is_missing, pair)) else " ".join(pair), *cells[j + 2 :]]

    def _header_names(self, line: int, cells: list[str]) -> list[str]:
        """Return one distinct name for each cell of the header, and note what was not plain."""
        numbers = ", ".join(cell.strip() for cell in cells if looks_numeric(cell))
        if numbers:
            self.notes.append(f"Line {line} is taken as the header although it holds {numbers}.")
        names: list[str] = []
        for place, cell in enumerate(cells, start=1):
            name = mend_name(" ".join(cell.split())) or f"column {place}"
            if name in names:
                other = f"{name} (column {place})"
                self.notes.append(f"Two columns are called {name!r}; the later is {other}.")
                name = other
            names.append(name)
        if any(mend_name(cell) != cell for cell in cells):
            self.notes.append("The column names are not UTF-8 and were read as Latin-1.")
        return names


class _Lines:
    """Iterates the lines that hold cells; ``number`` is that of the last line read, from 1."""

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self.number = 0

    def __iter__(self) -> Iterator[str]:
        for number, line in enumerate(self._file, start=1):
            self.number = number
            text = line.strip().strip("\x1a")
            if text and text[0] != "#":
                yield line


def _without_sep(lines: Iterator[str]) -> Iterator[str]:
    """Drop a leading ``sep=`` line."""
    for line in lines:
        if not _SEP_LINE.fullmatch(line.strip(" \n")):
            yield line
        break
    yield from lines


def _encoding(path: Path) -> str:
    """Return the codec that the byte-order mark tells; refuse what is no text file."""
    with open(readable_file(path, "a table"), "rb") as file:
        head = file.read(_HEAD_BYTES)
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    if match := _BINARY.search(head):
        got = f"the byte {match[0][0]:#04x} at offset {match.start()}"
        refuse(f"a table must be a text file (CSV): {str(path)!r}", got, "Save it as CSV in UTF-8.")
    return "utf-8-sig"


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
