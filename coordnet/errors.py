"""The error that coordnet raises for its users' input: the rule, and the value that broke it."""

from __future__ import annotations

import importlib
from typing import Any, NoReturn

__all__ = ["InputError", "boolean", "integer_at_least", "positive_number", "refuse"]


class InputError(ValueError):
    """An argument, a file or a tensor that coordnet cannot use.

    Attributes:
        rule: what must hold.
        got: the value that broke it, as text.
        remedy: what to do instead, empty where the rule says it.
    """

    def __init__(self, rule: str, got: object, remedy: str = "") -> None:
        self.rule, self.got, self.remedy = rule, str(got), remedy
        super().__init__(f"{rule}; got {got}" + (f". {remedy}" if remedy else ""))

    def __reduce__(self) -> tuple[type[InputError], tuple[str, str, str]]:
        """Pickle the parts: a worker process sends its errors so."""
        return type(self), (self.rule, self.got, self.remedy)


def refuse(rule: str, got: object, remedy: str = "") -> NoReturn:
    """Raise an `InputError`."""
    raise InputError(rule, got, remedy)


# former names of what is in checks.py, until every room has moved there; imported late, since
# checks.py stands on this module


def boolean(name: str, value: object) -> bool:
    """`checks.boolean`."""
    return _checks().boolean(name, value)


def integer_at_least(minimum: int, name: str, value: object, remedy: str) -> int:
    """`checks.integer`."""
    return _checks().integer(name, value, least=minimum, remedy=remedy)


def positive_number(name: str, value: object, remedy: str) -> float:
    """`checks.positive`."""
    return _checks().positive(name, value, remedy)


def _checks() -> Any:
    return importlib.import_module("coordnet.checks")
