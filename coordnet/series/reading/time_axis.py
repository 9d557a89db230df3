"""The axis of positions: plain numbers, numbers of a unit, or dates counted from an origin."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction

import numpy as np

from ...errors import refuse
from .dates import DAY, Stamp, format_stamp, parse_stamp
from .units import UNITS, find_unit

__all__ = ["TimeAxis", "scaled"]

_STEPS = (10**9, 10**6, 10**3, 1)  # seconds, milli-, micro-, nanoseconds


@dataclass(frozen=True)
class TimeAxis:
    """What the numbers of a column of positions mean.

    Attributes:
        unit: a name in `UNITS`, such as ``"h"``; None where nobody has said.
        origin: the date and time of day that 0 stands for, as ISO 8601; None where the column
            holds numbers. It ends in Z where the dates have offsets: the axis is UTC then.

    Raises:
        InputError: a unit that there is not, an origin that is no date, or one without a unit.
    """

    unit: str | None = None
    origin: str | None = None

    def __post_init__(self) -> None:
        if self.unit is not None and (not isinstance(self.unit, str) or self.unit not in UNITS):
            got = f"unit={str(self.unit)[:40]!r}"
            refuse(f"a time axis' unit must be one of {', '.join(UNITS)}", got)
        if self.origin is not None:
            try:
                _ = self.start
            except (AttributeError, TypeError, ValueError):
                got = f"origin={str(self.origin)[:40]!r}"
                refuse("a time axis' origin must be an ISO 8601 date", got)
            if self.unit is None:
                refuse("dates must be counted in a unit", "unit=None")

    @property
    def start(self) -> Stamp:
        """The moment that 0 stands for."""
        if self.origin is None:
            return refuse("an axis of numbers has no date", "origin=None")
        return parse_stamp(self.origin)

    @property
    def dated(self) -> bool:
        """Whether positions are dates."""
        return self.origin is not None

    def __str__(self) -> str:
        """Return "h since 2010-01-01T00:00:00Z", "h", or nothing."""
        return " since ".join(part for part in (self.unit, self.origin) if part is not None)

    def label(self, name: str) -> str:
        """Return a column's name with what is known of its unit, for figures."""
        return f"{name} ({self})" if self.unit else name

    def to_dict(self) -> dict[str, str | None]:
        """Return the unit and the origin as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, spec: object) -> TimeAxis:
        """Return the axis that `to_dict` described; one of plain numbers for None.

        Raises:
            InputError: where it is no such thing.
        """
        if spec is None:
            return cls()
        if not isinstance(spec, dict):
            refuse("a time axis must be an object", repr(spec)[:60])
        return cls(spec.get("unit"), spec.get("origin"))

    @classmethod
    def for_dates(cls, stamps: np.ndarray, aware: bool, unit: str | None) -> TimeAxis:
        """Return the usual axis of some dates.

        The unit, where none is asked for: days for dates a day or more apart (by the median), or
        without any time of day; hours for a minute or more; seconds below. The origin: the year's
        first moment for hours and longer units, so that a remainder is an hour of the day and a
        day of the year; the first day's midnight for shorter ones, whose digits would not reach
        back.

        Args:
            stamps: (N, 2) int64 days since 1970-01-01 and the nanosecond of the day.
            aware: whether they are in UTC.
            unit: a unit's name, or None.
        """
        name = find_unit(unit) if unit is not None else _usual_unit(stamps)
        first = int(stamps[:, 0].min())
        if UNITS[name] >= UNITS["h"]:
            year = format_stamp(Stamp(first, 0, whole_day=True))[:4]
            first = parse_stamp(f"{year}-01-01").day
        return cls(name, format_stamp(Stamp(first, 0, aware)))

    def numbers(self, stamps: np.ndarray) -> np.ndarray:
        """Return moments as numbers of this axis, each the float64 nearest to the exact one.

        Args:
            stamps: (N, 2) int64, days since 1970-01-01 and the nanosecond of the day.
        """
        start, unit = self.start, UNITS[str(self.unit)]
        # Python's integers have no end, and their quotient is rounded once.
        pairs = zip(stamps[:, 0].tolist(), stamps[:, 1].tolist(), strict=True)
        counts = ((d - start.day) * DAY + (n - start.nanosecond) for d, n in pairs)
        return np.fromiter((count / unit for count in counts), np.float64, len(stamps))

    def days(self, x: np.ndarray) -> np.ndarray:
        """Return numbers of an axis of dates as days since 1970-01-01, for a figure."""
        start = self.start
        return x * (UNITS[str(self.unit)] / DAY) + (start.day + start.nanosecond / DAY)

    def texts(self, x: np.ndarray) -> list[str]:
        """Return numbers of an axis of dates as the shortest dates that give the same numbers.

        Where all of them are midnights of an axis without offsets, they are dates alone.

        Args:
            x: (N,) positions.

        Raises:
            InputError: an axis without an origin, or a date beyond the years 1 to 9999.
        """
        start, unit = self.start, UNITS[str(self.unit)]
        stamps: list[Stamp] = []
        for number in x.tolist():
            day, nanosecond = divmod(_nanoseconds(number, unit) + start.nanosecond, DAY)
            stamps.append(Stamp(start.day + day, nanosecond, start.aware))
        if not start.aware and not any(stamp.nanosecond for stamp in stamps):
            stamps = [stamp._replace(whole_day=True) for stamp in stamps]
        try:
            return [format_stamp(stamp) for stamp in stamps]
        except (OverflowError, ValueError):
            worst = float(x[np.abs(x).argmax()])
            return refuse("dates must lie in the years 1 to 9999", f"{worst:g} {self}")


def scaled(x: np.ndarray, factor: Fraction) -> np.ndarray:
    """Return x · factor, each rounded once.

    Args:
        x: (N,) float64, finite.
        factor: exact, above 0.

    Raises:
        InputError: a product beyond float64.
    """
    with np.errstate(over="ignore", under="ignore"):
        if float(factor) == factor:
            product = x * float(factor)
        elif float(1 / factor) == 1 / factor:
            product = x / float(1 / factor)
        else:
            product = np.array([_float(Fraction(number) * factor) for number in x.tolist()])
    if not np.isfinite(product).all():
        worst = float(np.abs(x).max())
        refuse("positions must stay finite in another unit", f"{worst!r}")
    return product


def _float(exact: Fraction) -> float:
    try:
        return float(exact)
    except OverflowError:
        return math.inf


def _nanoseconds(number: float, unit: int) -> int:
    """Return the roundest count of nanoseconds that is this many units in float64."""
    exact = Fraction(number) * unit
    for step in _STEPS:
        count = round(exact / step) * step
        if count / unit == number:
            return count
    return round(exact)


def _usual_unit(stamps: np.ndarray) -> str:
    if not stamps[:, 1].any():
        return "d"
    days = stamps[:, 0] - stamps[:, 0].min()
    seconds = np.unique(days * 86_400.0 + stamps[:, 1] / 1e9)
    gap = float(np.median(np.diff(seconds))) if len(seconds) > 1 else math.inf
    return "d" if gap >= 86_400 else "h" if gap >= 60 else "s"
