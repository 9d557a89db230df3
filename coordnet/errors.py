"""The errors coordnet raises: each names the rule, the value that broke it, and the remedy."""

from __future__ import annotations

import math
from typing import NoReturn

__all__ = ["InputError", "boolean", "integer_at_least", "positive_number", "refuse"]


class InputError(ValueError):
    """An argument, a file or a tensor that coordnet cannot use.

    Attributes:
        rule: what must hold.
        got: the value that broke it, as text.
        remedy: what to do instead.
    """

    def __init__(self, rule: str, got: object, remedy: str = "") -> None:
        self.rule, self.got, self.remedy = rule, str(got), remedy
        super().__init__(f"{rule}; got {got}. {remedy}".rstrip())

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, str]]:
        """Pickle the three parts: a worker process sends its errors so."""
        return type(self), (self.rule, self.got, self.remedy)


def refuse(rule: str, got: object, remedy: str = "") -> NoReturn:
    """Raise an `InputError` with its three parts."""
    raise InputError(rule, got, remedy)


def boolean(name: str, value: object) -> bool:
    """Return ``value`` as a bool, or raise `InputError`: the text 'False' would count as true."""
    if value is True or value is False or type(value).__name__ in ("bool_", "bool"):
        return bool(value)
    return refuse(f"{name} must be True or False", f"{name}={value!r}", "Pass a bool.")


def integer_at_least(minimum: int, name: str, value: object, remedy: str) -> int:
    """Return ``value`` as an int, or raise `InputError` where it is not a whole number >= minimum.

    Booleans are refused; floats are refused even where they hold a whole number.
    """
    try:
        number = None if isinstance(value, bool) else value.__index__()  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        number = None
    if number is None or number < minimum:
        refuse(f"{name} must be a whole number of at least {minimum}", f"{name}={value!r}", remedy)
    return number


def positive_number(name: str, value: object, remedy: str) -> float:
    """Return ``value`` as a float, or raise `InputError` where it is not finite and above 0."""
    try:
        number = math.nan if isinstance(value, (bool, str)) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        refuse(f"{name} must be a finite number above 0", f"{name}={value!r}", remedy)
    return number
