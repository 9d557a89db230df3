"""Units of time, each an exact number of nanoseconds, and numbers with a unit."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from ...checks import positive
from ...errors import refuse

__all__ = ["UNITS", "find_unit", "in_unit", "parse_quantity", "ratio"]

_SECOND = 10**9
_DAY = 86_400 * _SECOND

UNITS: dict[str, int] = {
    **{"ns": 1, "us": 10**3, "ms": 10**6, "s": _SECOND},
    **{"min": 60 * _SECOND, "h": 3600 * _SECOND, "d": _DAY, "wk": 7 * _DAY},
    "yr": 36_525 * _DAY // 100,
}
"""Nanoseconds in a unit. A day is 86,400 s; a year is the Julian year of 365.25 days, the
astronomers' (IAU). A month is no unit: months are of several lengths."""

_ALIASES = {
    alias: unit
    for unit, aliases in {
        "ns": "nsec nanosecond nanoseconds",
        "us": "µs μs usec microsecond microseconds",
        "ms": "msec millisecond milliseconds",
        "s": "sec second seconds",
        "min": "mins minute minutes",
        "h": "hr hrs hour hours",
        "d": "day days",
        "wk": "w week weeks",
        "yr": "y a year years",
    }.items()
    for alias in aliases.split()
}
_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?)\s*([A-Za-zµμ]*)"
)
_MAX_LENGTH = 100


def find_unit(text: str) -> str:
    """Return the name in `UNITS` of a unit: ``"hours"``, ``"hr"`` and ``"h"`` are ``"h"``.

    Raises:
        InputError: no unit of time, or one with several meanings (``m``, ``mo``).
    """
    name = _ALIASES.get(text, text)
    if name not in UNITS:
        remedy = "A yr is 365.25 d; m and mo would have several meanings."
        refuse(f"a unit must be one of {', '.join(UNITS)}", repr(text[:_MAX_LENGTH]), remedy)
    return name


def ratio(unit: str, to: str) -> Fraction:
    """Return how many ``to`` one ``unit`` is, exactly."""
    return Fraction(UNITS[unit], UNITS[to])


def parse_quantity(name: str, text: str) -> tuple[Fraction, str | None]:
    """Return the exact number and the unit (or None) of ``"24h"``, ``"365.25 d"``, ``"0.3"``.

    Args:
        name: what the text stands for, for messages.
        text: decimal digits, with or without an exponent and a unit.

    Raises:
        InputError: another form, a number that is not above 0 or beyond float64, an unknown unit.
    """
    match = _QUANTITY.fullmatch(text.strip()) if len(text) <= _MAX_LENGTH else None
    number = float(match[1]) if match else math.nan
    if match is None or not (math.isfinite(number) and number > 0):
        refuse(
            f"{name} must be a number above 0, with or without a unit of {', '.join(UNITS)}",
            f"{name}={text[:_MAX_LENGTH]!r}",
        )
    return Fraction(match[1]), find_unit(match[2]) if match[2] else None


def in_unit(name: str, quantity: str | float, unit: str | None) -> float:
    """Return a quantity in a column's unit, rounded once.

    Args:
        name: what it stands for, for messages.
        quantity: a number in the column's own unit, or text as `parse_quantity` takes it.
        unit: the column's unit, a name in `UNITS`; None where it is not known.

    Raises:
        InputError: as `parse_quantity`; a unit where the column has none; a number beyond float64
            in the column's unit.

    Example:
        >>> in_unit("period", "365.25d", "h")
        8766.0
    """
    if not isinstance(quantity, str):
        return positive(name, quantity)
    exact, own = parse_quantity(name, quantity)
    if own is not None:
        if unit is None:
            refuse(
                f"a {name} with a unit needs times whose unit is known",
                f"{name}={quantity!r} and a column of plain numbers",
                f"Say the column's unit: --unit {own}, say (unit={own!r} from Python).",
            )
        exact *= ratio(own, unit)
    try:
        number = float(exact)
    except OverflowError:
        number = math.inf
    return positive(name, number, f"That is {quantity} in {unit}; choose another unit.")
