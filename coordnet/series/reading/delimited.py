"""Text files of delimited cells: their encoding, their delimiter, their rows with line numbers."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TextIO

from ...errors import refuse

__all__ = ["TextForm", "find_form", "mend_name", "quoted", "read_rows"]

_HEAD_BYTES = 1 << 16
_SAMPLE_LINES = 100
# UTF-32's mark begins with UTF-16's, so it is looked for first.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
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


@dataclass(frozen=True)
class TextForm:
    """How a file's bytes become rows of cells.

    Attributes:
        encoding: the name of its codec.
        delimiter: the character between cells; a space stands for any run of white space.
        delimiter_name: the same in words, such as ``"semicolons"``.
    """

    encoding: str
    delimiter: str
    delimiter_name: str


def find_form(path: Path, *, single: bool = False) -> TextForm:
    """Find out how ``path`` is encoded and delimited, from its first lines.

    The delimiter is the one of tab, semicolon, comma, bar and white space that stands in most of
    the first 100 lines, the earlier in this list where several do. A first line ``sep=;``, as
    spreadsheets write it, decides alone.

    Args:
        path: the file.
        single: whether lines of one cell each are allowed; commas are then the delimiter.

    Raises:
        InputError: the file is missing, a folder, unreadable, empty or binary, or its lines hold
            one cell each.
    """
    encoding = _find_encoding(path)
    with _open(path, encoding) as file:
        lines = list(islice(_Lines(file), _SAMPLE_LINES))
    if not lines:
        refuse(
            f"a table must hold at least one line of cells: {str(path)!r}",
            "blank or '#' comment lines only",
            "Give a file with a column of positions and a column of values.",
        )
    if match := _SEP_LINE.fullmatch(lines[0].strip(" \n")):
        delimiter = match[1]
        return TextForm(encoding, delimiter, _DELIMITERS[delimiter])
    counts = {
        mark: sum(mark in line.strip() for line in lines) for mark in _DELIMITERS if mark != " "
    }
    counts[" "] = sum(len(line.split()) > 1 for line in lines)
    if all(_SPACED.fullmatch(line.strip()) for line in lines[1:] or lines):
        counts[","] = 0  # decimal commas
    # A space is the last resort however often it stands: names and dates hold spaces.
    if any(2 * counts[mark] >= len(lines) for mark in counts if mark != " "):
        counts[" "] = 0
    delimiter = max(counts, key=lambda mark: counts[mark])
    if single and delimiter == " " and counts[" "] < len(lines) - 1:
        counts[" "] = 0  # '2010-01-01' beside '2010-01-01 05:30': one column
    if not counts[delimiter]:
        if single:
            return TextForm(encoding, ",", _DELIMITERS[","])
        refuse(
            f"a table must have at least two columns, x and a value: {str(path)!r}",
            f"one column, first line {lines[0].strip()[:40]!r}",
            "Separate the cells by commas, semicolons, tabs, bars or spaces.",
        )
    return TextForm(encoding, delimiter, _DELIMITERS[delimiter])


def read_rows(path: Path, form: TextForm) -> Iterator[tuple[int, list[str]]]:
    """Yield each row's line number (from 1; its last line where quotes span several) and cells.

    Blank lines, lines that begin with ``#`` and a leading ``sep=`` line are passed over.

    Raises:
        InputError: a quote that is not closed or not followed by a delimiter, or a cell of more
            than 131,072 characters.
    """
    with _open(path, form.encoding) as file:
        lines = _Lines(file)
        source = (
            (" ".join(line.split()) for line in lines) if form.delimiter == " " else iter(lines)
        )
        reader = csv.reader(
            _without_sep(source), delimiter=form.delimiter, skipinitialspace=True, strict=True
        )
        try:
            for row in reader:
                yield lines.number, row
        except csv.Error as error:
            refuse(
                f"every quoted cell must be closed and end at a delimiter: {str(path)!r}",
                f"line {lines.number}: {error}",
                "Mend the quotes in that line, or before it where a quote was left open.",
            )


def mend_name(name: str) -> tuple[str, bool]:
    """Return a name without stray bytes, and whether it had any.

    Bytes that are not UTF-8 arrive as lone surrogates; they are read as Latin-1 instead, so that
    the degree sign of an old spreadsheet comes out right.
    """
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return name.encode("utf-8", "surrogateescape").decode("latin-1"), True
    return name, False


def quoted(cell: str, marks: str = ",;|\t") -> str:
    """Return a cell in quotes where a reader would take it apart, or for a comment.

    Args:
        cell: its text.
        marks: the characters that may be delimiters.
    """
    if any(mark in cell for mark in marks + '"\n\r') or cell.startswith("#"):
        return '"' + cell.replace('"', '""') + '"'
    return cell


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


def _open(path: Path, encoding: str) -> TextIO:
    # Stray bytes must not stop a file whose numbers are plain: they matter in names alone.
    errors = "surrogateescape" if encoding == "utf-8-sig" else "replace"
    return open(path, encoding=encoding, errors=errors)


def _find_encoding(path: Path) -> str:
    """Tell the codec from the byte-order mark; refuse what is not a text file."""
    if path.is_dir():
        refuse("a table must be a file", f"the folder {str(path)!r}", "Name a file in it.")
    try:
        with open(path, "rb") as file:
            head = file.read(_HEAD_BYTES)
    except FileNotFoundError:
        refuse("the table's file must exist", repr(str(path)), "Check the path.")
    except OSError as error:
        reason = error.strerror or type(error).__name__
        refuse(
            "the table's file must be readable",
            f"{str(path)!r}: {reason}",
            "Check its permissions.",
        )
    if not head:
        refuse(
            "a table must hold at least one row",
            f"{str(path)!r}, a file of 0 bytes",
            "Check that writing it had finished.",
        )
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    if match := _BINARY.search(head):
        refuse(
            f"a table must be a text file (CSV): {str(path)!r}",
            f"the byte {match[0][0]:#04x} at offset {match.start()}",
            "Save it as CSV in UTF-8.",
        )
    return "utf-8-sig"
