"""The column of positions: numbers or dates, put on one axis."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import refuse
from .cells import NumberReader, is_missing, locate
from .dates import looks_dated, parse_stamp
from .time_axis import TimeAxis, scaled
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
        first = next((cell for cell in sample if not is_missing(cell)), None)
        self.dated = (axis is not None and axis.dated) if first is None else looks_dated(first)
        self._first: dict[bool, str] = {}  # with an offset or without → the first such place
        self._whole_days = True
        self._months = False
        self._factor = Fraction(1) if axis is None else self._factor_to(axis)

    def _factor_to(self, axis: TimeAxis) -> Fraction:
        """Return what the numbers are multiplied by; refuse what does not belong on the axis."""
        what = f"{self._name!r} in {str(self._path)!r}"
        if self.dated and not axis.dated:
            rule = f"numbers in {axis.unit}" if axis.unit else "plain numbers"
            refuse(f"the positions must be {rule}", f"dates: {what}")
        if self.dated and self._unit is not None:
            refuse(
                "a unit belongs to positions that are numbers", f"{self._unit} for dates: {what}"
            )
        if not self.dated and axis.dated and self._unit is None:
            remedy = f"Write them as dates, or say the unit in which they count from {axis.origin}."
            refuse("the positions must be dates", f"numbers: {what}", remedy)
        if self.dated or self._unit is None:
            return Fraction(1)
        if axis.unit is None:
            rule = "positions without a known unit stay plain numbers"
            refuse(rule, f"{self._unit}: {what}")
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
        moments = [self._moment(cell, line) for cell, line in zip(cells, lines, strict=True)]
        stamps = np.array(moments, dtype=np.int64).reshape(-1, 2)
        return stamps, stamps[:, 0] == _MISSING

    def _moment(self, cell: str, line: int) -> tuple[int, int]:
        if is_missing(cell):
            return _MISSING, 0
        try:
            stamp = parse_stamp(cell)
        except ValueError as error:
            return refuse(
                f"dates must be written as ISO 8601, in the whole column: {str(self._path)!r}",
                f"{locate(line, self._name, cell)}, {error}",
                "Write 2010-01-31T12:00:00, or numbers such as hours since the first row.",
            )
        self._whole_days &= stamp.whole_day
        self._months |= stamp.whole_day and len(cell.strip()) == 7
        if stamp.aware not in self._first:
            self._first[stamp.aware] = locate(line, self._name, cell)
            self._check_offsets()
        return stamp.day, stamp.nanosecond

    def _check_offsets(self) -> None:
        """Refuse dates with and without offsets, and those that differ from the axis."""
        if len(self._first) == 2:
            rule = f"all dates must have an offset from UTC (or Z), or none: {str(self._path)!r}"
            refuse(rule, f"{self._first[False]} and {self._first[True]}")
        if self._axis is not None and self._axis.start.aware not in self._first:
            offsets = "an offset from UTC (or Z)" if self._axis.start.aware else "no offset"
            rule = f"the dates must have {offsets}, as those on the axis {self._axis}"
            (got,) = self._first.values()
            refuse(f"{rule}: {str(self._path)!r}", got)

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
        axis = TimeAxis.for_dates(rows, aware, self._unit)
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
    array = np.asarray(times)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        refuse("times must be one-dimensional", f"shape {array.shape}")
    if array.dtype.kind == "M":
        array = np.datetime_as_string(array)
    numeric = array.dtype.kind in "iuf"
    cells = [t.isoformat() if isinstance(t, date) else t for t in array.tolist()]
    if not numeric and not all(isinstance(cell, str) for cell in cells):
        refuse("times must be numbers, dates or text in ISO 8601", f"dtype {array.dtype}")
    path = Path("times")
    sample = ["0"] if numeric else cells
    reader = PositionReader(path, "times", sample, NumberReader(path), unit=unit, axis=axis)
    if numeric:
        rows = array.astype(np.float64)
        missing = ~np.isfinite(rows)
    else:
        rows, missing = reader.column(cells, range(1, len(cells) + 1))
    if missing.any():
        first = int(np.flatnonzero(missing)[0])
        rule = "times must be finite" if numeric else "no time may be missing"
        refuse(rule, f"times[{first}] = {cells[first]!r}")
    return reader.resolve(rows, [])[0]
