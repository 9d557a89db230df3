"""The column of positions: numbers or dates, put on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import refuse
from .cells import NumberReader, is_missing, place
from .dates import looks_dated, parse_stamp
from .delimited import TextForm
from .times import TimeAxis, choose_axis, scaled
from .units import find_unit, ratio

__all__ = ["PositionReader", "positions_on"]

_MISSING = np.iinfo(np.int64).min


class PositionReader:
    """Reads one file's column of positions, which holds numbers or dates, never both.

    Args:
        path: the file, for messages.
        name: the column's name.
        sample: its first cells; the first that is not missing tells numbers from dates, and
            where all are missing, the axis.
        numbers: reads the cells where they are numbers.
        unit: the unit of the numbers, or the one that dates are counted in; None for none, or
            for the usual one.
        axis: an axis that the positions are to be put on; None to choose one.

    Raises:
        InputError: an unknown unit, or a column that cannot be put on ``axis``.
    """

    def __init__(
        self,
        path: Path,
        name: str,
        sample: Sequence[str],
        numbers: NumberReader,
        *,
        unit: str | None = None,
        axis: TimeAxis | None = None,
    ) -> None:
        self._path, self._name, self._numbers = path, name, numbers
        self._unit = None if unit is None else find_unit(unit)
        self._axis = axis
        first = next((each for each in sample if not is_missing(each)), None)
        self.dated = (axis is not None and axis.dated) if first is None else looks_dated(first)
        self._first: dict[bool, str] = {}  # with an offset or without → the first such place
        self._whole_days = True
        self._months = False
        if axis is not None:
            self._factor = self._check_axis(axis)

    def _check_axis(self, axis: TimeAxis) -> Fraction:
        """Return what the numbers are multiplied by; refuse what does not belong on the axis."""
        what = f"{self._name!r} in {str(self._path)!r}"
        if self.dated and not axis.dated:
            wanted = f"numbers in {axis.unit}" if axis.unit else "plain numbers"
            refuse(f"the positions must be {wanted}", f"dates: {what}", "Convert the dates.")
        if self.dated and self._unit is not None:
            got = f"{self._unit} for dates: {what}"
            refuse("a unit belongs to positions that are numbers", got, "Leave it away.")
        if not self.dated and axis.dated and self._unit is None:
            remedy = f"Write them as dates, or say the unit in which they count from {axis.origin}."
            refuse("the positions must be dates", f"numbers: {what}", remedy)
        if self.dated or self._unit is None:
            return Fraction(1)
        if axis.unit is None:
            got = f"{self._unit}: {what}"
            refuse("positions without a known unit stay plain numbers", got, "Leave it away.")
        return ratio(self._unit, axis.unit)

    def column(self, cells: Sequence[str], lines: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Read some cells.

        Args:
            cells: their text, N of them.
            lines: the line numbers, N of them.

        Returns:
            N rows for `resolve`, and (N,) bool, which of them are missing.

        Raises:
            InputError: text, an infinite number or more than one decimal sign; a date that is
                not ISO 8601, or dates with and without offsets from UTC.
        """
        if not self.dated:
            numbers = self._numbers.column(self._name, cells, lines)
            return numbers, np.isnan(numbers)
        moments = [self._moment(each, line) for each, line in zip(cells, lines, strict=True)]
        found = np.array(moments, dtype=np.int64).reshape(-1, 2)
        return found, found[:, 0] == _MISSING

    def _moment(self, cell: str, line: int) -> tuple[int, int]:
        if is_missing(cell):
            return _MISSING, 0
        try:
            stamp = parse_stamp(cell)
        except ValueError as error:
            return refuse(
                f"dates must be written as ISO 8601, in the whole column: {str(self._path)!r}",
                f"{place(line, self._name, cell)}, {error}",
                "Write 2010-01-31 or 2010-01-31T12:00:00, or numbers such as hours since the "
                "first row.",
            )
        self._whole_days &= stamp.whole_day
        self._months |= stamp.whole_day and len(cell.strip()) == 7
        if stamp.aware not in self._first:
            self._first[stamp.aware] = place(line, self._name, cell)
            self._check_offsets()
        return stamp.day, stamp.nanosecond

    def _check_offsets(self) -> None:
        """Refuse dates with and without offsets, and those that differ from the axis."""
        if len(self._first) == 2:
            refuse(
                f"all dates must have an offset from UTC (or Z), or none: {str(self._path)!r}",
                f"{self._first[False]} and {self._first[True]}",
                "Add the offset where it is missing.",
            )
        if self._axis is not None and self._axis.start.aware not in self._first:
            (got,) = self._first.values()
            offsets = "an offset from UTC (or Z)" if self._axis.start.aware else "no offset"
            refuse(
                f"the dates must have {offsets}, as those on the axis {self._axis}: "
                f"{str(self._path)!r}",
                got,
                "Write them as the fitted ones.",
            )

    def resolve(self, rows: np.ndarray, notes: list[str]) -> tuple[np.ndarray, TimeAxis]:
        """Return what was read as numbers of one axis, and the axis.

        Args:
            rows: what `column` returned, put together, without the missing ones.
            notes: gains sentences on what was chosen and taken for granted.

        Returns:
            (N,) float64, and what the numbers mean.
        """
        if not self.dated:
            if self._axis is None:
                return rows, TimeAxis(self._unit)
            return scaled(rows, self._factor), self._axis
        if self._axis is not None:
            return self._axis.numbers(rows), self._axis
        aware = True in self._first
        axis = choose_axis(rows, aware, self._unit)
        note = f"The dates in {self._name!r} are counted in {axis}"
        if aware:
            note += ", UTC"
        elif not self._whole_days:
            note += ", on a clock of 24 hours every day, since they have no offsets from UTC"
        notes.append(f"{note}.")
        if self._months:
            notes.append("Months without a day are taken as their first day.")
        return axis.numbers(rows), axis


def positions_on(axis: TimeAxis, times: Any, unit: str | None = None) -> np.ndarray:
    """Return an array of times as numbers of an axis.

    Args:
        axis: what the numbers mean.
        times: (N,) or (N, 1) numbers, `numpy.datetime64` (which have no offset from UTC),
            `datetime.datetime`, or text in ISO 8601.
        unit: the unit of numbers, where it is not the axis' own; on an axis of dates they count
            from its origin.

    Returns:
        (N,) float64.

    Raises:
        InputError: another shape or type, a number that is not finite, no ISO 8601, or times that
            do not belong on the axis.
    """
    found = np.asarray(times)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1:
        refuse("times must be one-dimensional", f"shape {found.shape}", "Pass one column.")
    if found.dtype.kind == "M":
        found = np.datetime_as_string(found)
    path = Path("times")
    numbers = NumberReader(path, TextForm("utf-8", ",", "commas"))
    if found.dtype.kind in "iuf":
        found = found.astype(np.float64)
        if not np.isfinite(found).all():
            bad = int(np.flatnonzero(~np.isfinite(found))[0])
            refuse("times must be finite", f"times[{bad}] = {found[bad]}", "Leave it away.")
        reader = PositionReader(path, "times", ["0"], numbers, unit=unit, axis=axis)
        return reader.resolve(found, [])[0]
    cells = [each.isoformat() if isinstance(each, date) else each for each in found.tolist()]
    if not all(isinstance(each, str) for each in cells):
        got = f"dtype {found.dtype}"
        refuse("times are numbers, dates or text in ISO 8601", got, "Convert them.")
    reader = PositionReader(path, "times", cells, numbers, unit=unit, axis=axis)
    moments, missing = reader.column(cells, range(1, len(cells) + 1))
    if missing.any():
        bad = int(np.flatnonzero(missing)[0])
        refuse("no time may be missing", f"times[{bad}] = {cells[bad]!r}", "Leave it away.")
    return reader.resolve(moments, [])[0]
