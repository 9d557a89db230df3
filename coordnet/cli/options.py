"""What the arguments of all commands are made of: the parser, and what turns text into values."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import NoReturn

from ..errors import InputError
from ..series.reading.units import UNITS, parse_quantity
from ..training.interval import interval

__all__ = [
    "Parser",
    "add_runtime",
    "add_unit",
    "interval_text",
    "ladder_size",
    "period",
    "positive",
    "size",
    "whole",
]


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with 2."""
        message = " ".join(message.split())
        self.exit(2, f"{self.prog}: error: {message} ({self.prog} --help)\n")


def whole(least: int) -> Callable[[str], int]:
    """Return what turns an option's text into a whole number of at least ``least``."""

    def convert(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            rule = f"must be a whole number of at least {least}, not {text!r}"
            raise argparse.ArgumentTypeError(rule)
        if number >= 1 << 63:
            raise argparse.ArgumentTypeError(f"must be below 2^63, not {text!r}")
        return number

    return convert


def positive(text: str) -> float:
    """Return the finite number above 0 that an option's text stands for."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise argparse.ArgumentTypeError(f"must be a finite number above 0, not {text!r}")
    return number


def ladder_size(text: str) -> int | str:
    """Return "auto", or a whole number above 0."""
    return text if text == "auto" else whole(1)(text)


def period(text: str) -> float | str:
    """Return "auto", a plain number, or the text of a number with a unit."""
    if text == "auto":
        return text
    try:
        number, unit = parse_quantity("period", text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return float(number) if unit is None else text


def size(text: str) -> int | tuple[int, int]:
    """Return the (width, height) of ``WIDTHxHEIGHT``, or one number of positions."""
    try:
        numbers = [whole(1)(each) for each in text.lower().split("x")]
    except argparse.ArgumentTypeError:
        numbers = []
    if len(numbers) not in (1, 2):
        rule = f"must be WIDTHxHEIGHT in pixels, or a number of positions, not {text!r}"
        raise argparse.ArgumentTypeError(rule)
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def interval_text(text: str) -> str:
    """Return the text of an interval between checkpoints."""
    try:
        interval(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def add_unit(where: argparse._ActionsContainer, about: str) -> None:
    """Add --unit, with what it is the unit of."""
    where.add_argument("--unit", help=f"{about} ({', '.join(UNITS)})")


def add_runtime(where: argparse._ActionsContainer, default: str = "auto") -> None:
    """Add --device."""
    where.add_argument(
        "--device", default=default, help="cpu, cuda, cuda:1, mps (default: the fastest there is)"
    )
