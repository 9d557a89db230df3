"""The error that coordnet raises for its users' input: the rule, and the value that broke it."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["InputError", "refuse"]


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
