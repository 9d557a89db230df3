"""ISO 8601 dates and times of day, to whole nanoseconds and back.

`datetime` knows the calendar, and ends at microseconds: the decimals are read apart.
"""

from __future__ import annotations

import datetime
import re
from typing import NamedTuple

__all__ = ["DAY", "Stamp", "format_stamp", "is_clock", "is_date", "looks_dated", "parse_stamp"]

DAY = 86_400 * 10**9
"""Nanoseconds in a day."""

_EPOCH = datetime.date(1970, 1, 1).toordinal()
_FIRST, _LAST = 1 - _EPOCH, datetime.date.max.toordinal() - _EPOCH

_DATE = r"(\d{4}-\d{2}(?:-\d{2})?)"
_OFFSET = r"[Zz]|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?"
_CLOCK = rf"(\d{{2}}:\d{{2}})(?::(\d{{2}})(?:[.,](\d+))?)?(?: ?({_OFFSET}))?"
_STAMP = re.compile(rf"{_DATE}(?:(?:[Tt]| +){_CLOCK})?", re.ASCII)
_IS_DATE, _IS_CLOCK = re.compile(_DATE, re.ASCII), re.compile(_CLOCK, re.ASCII)
# Wide on purpose: a column of 31.12.2010 is one of dates, to be refused by name.
_DATED = re.compile(
    r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}(?!\d)|\d{4}-\d{2}(?!\d)|\d{1,2}:\d{2}", re.ASCII
)


class Stamp(NamedTuple):
    """A moment.

    Attributes:
        day: days since 1970-01-01, in UTC where the text has an offset.
        nanosecond: of that day, 0 to 86400·10⁹ - 1.
        aware: whether the text has an offset (or Z), so that the moment is known in UTC.
        whole_day: whether the text is a date without a time of day.
    """

    day: int
    nanosecond: int
    aware: bool = False
    whole_day: bool = False


def looks_dated(cell: str) -> bool:
    """Tell whether a cell is meant as a date or a time of day, in ISO 8601 or otherwise."""
    return _DATED.match(cell.strip()) is not None


def is_date(cell: str) -> bool:
    """Tell whether a cell has the form of a date without a time of day."""
    return _IS_DATE.fullmatch(cell.strip()) is not None


def is_clock(cell: str) -> bool:
    """Tell whether a cell has the form of a time of day alone, with or without an offset."""
    return _IS_CLOCK.fullmatch(cell.strip()) is not None


def parse_stamp(text: str) -> Stamp:
    """Read a date (``2010-01-31``; ``2010-01``, its first day) or a date and a time of day.

    Between them stands T or a blank. The time is ``hh:mm``, ``hh:mm:ss`` or with up to nine
    decimals behind a point or a comma, then nothing, Z or an offset ``±hh:mm``, ``±hhmm``,
    ``±hh``. 24:00 is the next day's 00:00. Days have 86,400 seconds: there is no ``:60``.

    Raises:
        ValueError: another form, or a date that no calendar has; the message says which.

    Example:
        >>> parse_stamp("1970-01-02T01:00+02:00")
        Stamp(day=0, nanosecond=82800000000000, aware=True, whole_day=False)
    """
    match = _STAMP.fullmatch(text.strip())
    if match is None:
        raise ValueError("not ISO 8601, as 2010-01-31 or 2010-01-31T12:00:00Z")
    date, clock, second, fraction, offset = match.groups()
    if len(date) == 7:
        if clock is not None:
            raise ValueError("a time of day without a day")
        date += "-01"
    digits = (fraction or "").rstrip("0")
    if len(digits) > 9:
        raise ValueError("finer than a nanosecond")
    if second == "60":
        raise ValueError("a leap second, and days are taken to have 86,400 seconds")
    midnight = clock == "24:00" and second in (None, "00") and not digits
    if midnight or clock is None:
        clock = "00:00"
    elif clock.startswith("24"):
        raise ValueError("no such time of day")
    try:
        moment = datetime.datetime.fromisoformat(
            f"{date}T{clock}:{second or '00'}{(offset or '').upper()}"
        )
    except ValueError as error:
        raise ValueError(f"no such date or time of day: {error}") from None
    seconds = moment.hour * 3600 + moment.minute * 60 + moment.second
    seconds -= int((moment.utcoffset() or datetime.timedelta()).total_seconds())
    more, nanosecond = divmod(seconds * 10**9 + int(digits.ljust(9, "0")), DAY)
    day = moment.toordinal() - _EPOCH + midnight + more
    if not _FIRST <= day <= _LAST:
        raise ValueError("outside of the years 1 to 9999")
    return Stamp(day, nanosecond, aware=offset is not None, whole_day=match[2] is None)


def format_stamp(stamp: Stamp) -> str:
    """Write a moment as `parse_stamp` reads it, with no decimals that are zeros at the end.

    Raises:
        OverflowError: outside of the years 1 to 9999.
    """
    date = datetime.date.fromordinal(stamp.day + _EPOCH).isoformat()
    if stamp.whole_day:
        return date
    seconds, fraction = divmod(stamp.nanosecond, 10**9)
    minutes, second = divmod(seconds, 60)
    text = f"{date}T{minutes // 60:02}:{minutes % 60:02}:{second:02}"
    if fraction:
        text += f".{fraction:09}".rstrip("0")
    return text + ("Z" if stamp.aware else "")
