"""Modules from specs: plain JSON objects with a name and settings, never code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .errors import InputError, refuse

__all__ = ["build_from"]


def build_from(
    spec: Any, kind: str, *tables: Mapping[str, Callable[..., Any]], nested: tuple[str, ...] = ()
) -> Any:
    """Build what ``spec`` describes, by the first of ``tables`` that has its name.

    Args:
        spec: a dict with ``name`` and the constructor's settings.
        kind: what is built, for messages ("encoding", "network").
        tables: name → constructor.
        nested: settings that are specs, or lists of specs, of the same kind.

    Raises:
        InputError: not a spec, an unknown name, or settings that the constructor refuses.
    """
    if not isinstance(spec, dict) or not isinstance(spec.get("name"), str):
        refuse(
            f"the spec of an {kind} is an object with a name"
            if kind[0] in "aeiou"
            else f"the spec of a {kind} is an object with a name",
            repr(spec)[:80],
            "Save the model again.",
        )
    name = spec["name"]
    table = next((table for table in tables if name in table), None)
    if table is None:
        known = ", ".join(each for table in tables for each in table)
        return refuse(f"the {kind} must be one of: {known}", repr(name)[:80], "Choose one of them.")
    settings = {key: value for key, value in spec.items() if key != "name"}
    for key in nested:
        if isinstance(settings.get(key), list):
            settings[key] = [build_from(s, kind, *tables, nested=nested) for s in settings[key]]
        elif key in settings:
            settings[key] = build_from(settings[key], kind, *tables, nested=nested)
    try:
        return table[name](**settings)
    except InputError:
        raise
    except (AttributeError, TypeError, ValueError, OverflowError, RecursionError) as error:
        return refuse(
            f"the spec of the {kind} {name!r} must hold its settings",
            " ".join(str(error).split()),
            "Save the model again with this version.",
        )
