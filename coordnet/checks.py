"""Checks of arguments: each returns the value in its plain form, or raises `InputError`."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, TypeVar

from .errors import refuse

__all__ = [
    "boolean",
    "box",
    "integer",
    "number",
    "one_of",
    "per_axis",
    "plain",
    "positive",
    "readable_file",
    "seed",
    "weights",
]

T = TypeVar("T")


def integer(
    name: str,
    value: object,
    *,
    least: int | None = None,
    most: int | None = None,
    below: int | None = None,
    remedy: str = "",
) -> int:
    """Return ``value`` as an int within the limits that are given.

    Anything that Python takes as an index is an integer: NumPy's too, but no bool, and no float
    even where it holds a whole number.

    Args:
        name: of the argument, for the message.
        value: what was passed.
        least: smallest value allowed.
        most: largest value allowed.
        below: bound that the value stays under.
        remedy: what to do instead, where the rule does not say it.
    """
    try:
        result = None if isinstance(value, bool) else value.__index__()  # type: ignore[attr-defined]
    except (AttributeError, TypeError):
        result = None
    if result is None or not _within(result, least, most, below=below):
        rule = f"{name} must be an integer{_limits(least, most, below=below)}"
        refuse(rule, _got(name, value), remedy)
    return result


def number(
    name: str,
    value: object,
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    below: float | None = None,
    remedy: str = "",
) -> float:
    """Return ``value`` as a finite float within the limits that are given; see `integer`."""
    try:
        result = math.nan if isinstance(value, (bool, str)) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if not (math.isfinite(result) and _within(result, least, most, above, below)):
        rule = f"{name} must be a finite number{_limits(least, most, above, below)}"
        refuse(rule, _got(name, value), remedy)
    return result


def positive(name: str, value: object, remedy: str = "") -> float:
    """Return ``value`` as a finite float above 0."""
    return number(name, value, above=0, remedy=remedy)


def boolean(name: str, value: object, remedy: str = "") -> bool:
    """Return ``value``, Python's or NumPy's bool; the text 'False' would count as true."""
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    return refuse(f"{name} must be True or False", _got(name, value), remedy)


def one_of(name: str, value: object, choices: Collection[str], remedy: str = "") -> str:
    """Return ``value``, one of the texts in ``choices``."""
    if isinstance(value, str) and value in choices:
        return value
    return refuse(f"{name} must be one of {', '.join(choices)}", _got(name, value), remedy)


def seed(value: object, name: str = "seed") -> int:
    """Return ``value`` as a seed of PyTorch's generators, an integer from 0 to 2^64 - 1."""
    try:
        return integer(name, value, least=0, below=1 << 64)
    except ValueError:
        return refuse(f"{name} must be an integer from 0 to 2^64 - 1", _got(name, value))


def per_axis(
    name: str, value: Any, in_dim: int, check: Callable[[str, object], T]
) -> tuple[T, ...]:
    """Return one value for each axis, from one for all of them or a sequence of one per axis.

    Args:
        name: of the argument, for the message.
        value: one thing, or a list, tuple, array or tensor of ``in_dim`` things.
        in_dim: number of axes.
        check: ``check(name, value)`` returns a single value in its plain form, or raises.
    """
    listed = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        return (check(name, listed),) * in_dim
    if len(listed) != in_dim:
        rule = f"{name} must be one value, or one for each of {in_dim} axes"
        refuse(rule, f"{len(listed)} of them, {_got(name, value)}")
    return tuple(check(name, entry) for entry in listed)


def plain(values: Sequence[T]) -> T | list[T]:
    """Return the one value of all axes where they agree, else the list: what a spec holds."""
    return values[0] if len(set(values)) == 1 else list(values)


def box(
    lower: Any, upper: Any, in_dim: int, *, flat: bool = False, name: str = "lower and upper"
) -> tuple[list[float], list[float]]:
    """Return the lower and the upper bounds of a box as lists of ``in_dim`` floats.

    Args:
        lower: lower bounds, a sequence, array or tensor.
        upper: upper bounds.
        in_dim: number of axes.
        flat: whether an axis may have no extent.
        name: what the two are called.
    """
    low, high = _floats(lower), _floats(upper)
    finite = len(low) == len(high) == in_dim and all(map(math.isfinite, (*low, *high)))
    if finite and all(a < b or (flat and a == b) for a, b in zip(low, high, strict=True)):
        return low, high
    order = "no lower one above its upper one" if flat else "the lower ones below the upper ones"
    rule = f"{name} must be {in_dim} finite numbers each, {order}"
    return refuse(rule, f"{low or lower!r} and {high or upper!r}"[:120])


def weights(values: Any, name: str = "weights") -> Any:
    """Return a tensor or an array of weights, which are finite, at least 0 and not all 0."""
    good = (values >= 0) & (values < math.inf)
    rule = f"{name} must be finite, at least 0 and not all 0"
    if not good.all():
        refuse(rule, f"{float(values[~good][0])}")
    if not (values > 0).any():
        refuse(rule, "zeros alone")
    return values


def readable_file(path: str | os.PathLike[str], noun: str, remedy: str = "") -> Path:
    """Return the path of a regular file that is not empty and may be read.

    Args:
        path: the file.
        noun: what it is to be, "a picture".
        remedy: what to do instead.
    """
    path = Path(path)
    try:
        if path.is_dir():
            fault = "a folder"
        elif not path.exists():
            fault = "no such file"
        elif not path.is_file():
            fault = "not a regular file"
        else:
            with path.open("rb") as file:
                fault = None if file.read(1) else "an empty file (0 bytes)"
    except (OSError, ValueError) as error:
        fault = getattr(error, "strerror", None) or str(error)
    if fault is None:
        return path
    name = " ".join(str(path).split())  # a file's name may run over several lines
    return refuse(f"{noun} must be a readable file", f"{name}: {fault}", remedy)


def _got(name: str, value: object) -> str:
    """Return the argument as it was passed, shortened."""
    text = repr(value)
    return f"{name}={text if len(text) <= 80 else text[:80] + '…'}"


def _within(
    value: float,
    least: float | None,
    most: float | None,
    above: float | None = None,
    below: float | None = None,
) -> bool:
    return (
        (least is None or value >= least)
        and (most is None or value <= most)
        and (above is None or value > above)
        and (below is None or value < below)
    )


def _limits(
    least: float | None,
    most: float | None,
    above: float | None = None,
    below: float | None = None,
) -> str:
    """Return limits in words, to follow a noun: " of at least 1 and at most 7"."""
    limits = {"at least": least, "above": above, "at most": most, "below": below}
    words = [f"{words} {limit:,}" for words, limit in limits.items() if limit is not None]
    if not words:
        return ""
    return (" of " if words[0].startswith("at") else " ") + " and ".join(words)


def _floats(values: Any) -> list[float]:
    """Return numbers as floats; none where they are no sequence of numbers."""
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return []
