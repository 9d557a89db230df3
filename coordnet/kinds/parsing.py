"""Options as text: numbers, sizes, and settings by name."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

__all__ = ["intervals", "number_or_auto", "positive", "setting", "size", "whole"]


def whole(least: int) -> Callable[[str], int]:
    """Return what reads an integer of at least ``least`` and below 2^63.

    The readers of this module raise ValueError with what the text must be.
    """

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise ValueError(f"must be a whole number of at least {least}, not {text!r}")
        if number >= 1 << 63:
            raise ValueError(f"must be below 2^63, not {text!r}")
        return number

    return read


def positive(text: str) -> float:
    """Read a finite number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise ValueError(f"must be a finite number above 0, not {text!r}")
    return number


def number_or_auto(text: str) -> int | str:
    """Read "auto", or an integer above 0."""
    return text if text == "auto" else whole(1)(text)


def size(text: str) -> tuple[int, int]:
    """Read the (width, height) of ``WIDTHxHEIGHT``."""
    try:
        width, height = (whole(1)(side) for side in text.lower().split("x"))
    except ValueError:
        raise ValueError(f"must be WIDTHxHEIGHT in pixels, not {text!r}") from None
    return width, height


def intervals(text: str) -> str:
    """Read an interval between checkpoints, which stays text."""
    from ..training.interval import interval

    interval(text)
    return text


def setting(text: str) -> str:
    """Read ``name=value``, which stays text."""
    name, equals, _ = text.partition("=")
    if not equals or not name.replace(".", "").isidentifier():
        raise ValueError(f"must be name=value, not {text!r}")
    return text


def plain_value(text: str) -> object:
    """Return a setting's value: JSON where the text is JSON (30, 0.5, [1, 2], null), else text."""
    try:
        return json.loads(text, parse_constant=float)
    except ValueError:
        return {"None": None, "True": True, "False": False}.get(text, text)
