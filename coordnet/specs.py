"""Specs and settings of modules: plain JSON objects with a name and settings, never code."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import InputError, refuse

__all__ = [
    "Setting",
    "build_from",
    "names_with",
    "setting_names",
    "settings_of",
    "settings_text",
]

# sizes that follow from the signal and from the module before, which nobody sets
_SIZES = ("in_dim", "out_dim")


@dataclass(frozen=True)
class Setting:
    """A setting of a constructor.

    Attributes:
        name: of the parameter.
        default: where it is not set; `inspect.Parameter.empty` where it must be.
        annotation: its type, as an object where the annotation could be evaluated, else as text.
        help: what the docstring's Args section says of it, on one line.
    """

    name: str
    default: object
    annotation: object
    help: str

    @property
    def required(self) -> bool:
        """Whether the setting has no default."""
        return self.default is inspect.Parameter.empty


def settings_of(build: Callable[..., object]) -> dict[str, Setting]:
    """Return the settings of a constructor, by name, from its signature and its docstring.

    Args:
        build: a class or another constructor, as ENCODINGS and NETWORKS hold them. Their sizes,
            ``in_dim`` and ``out_dim``, are no settings.
    """
    init = build.__init__ if inspect.isclass(build) else build  # type: ignore[misc]
    try:
        types = typing.get_type_hints(init)
    except (NameError, TypeError):  # names that are imported for type checkers alone
        types = {}
    described = _described(inspect.getdoc(build) or "") or _described(inspect.getdoc(init) or "")
    return {
        name: Setting(
            name,
            parameter.default,
            types.get(name, parameter.annotation),
            described.get(name, ""),
        )
        for name, parameter in inspect.signature(build).parameters.items()
        if name not in _SIZES
    }


def setting_names(build: Callable[..., object]) -> list[str]:
    """Return the names of a constructor's settings; see `settings_of`."""
    return [name for name in inspect.signature(build).parameters if name not in _SIZES]


def names_with(table: Mapping[str, Callable[..., object]], *settings: str) -> list[str]:
    """Return the names in a table whose constructor has one of these settings."""
    return [name for name, build in table.items() if set(settings) & set(setting_names(build))]


def settings_text(spec: Mapping[str, Any]) -> str:
    """Return the settings of a spec as text, "k=16, period=1.0": what ``print(module)`` shows."""
    return ", ".join(f"{key}={value!r}" for key, value in spec.items() if key != "name")


def _described(docstring: str) -> dict[str, str]:
    """Return what the Args section of a docstring says of each argument."""
    _, _, section = docstring.partition("\nArgs:\n")
    lines: dict[str, list[str]] = {}
    last: list[str] = []
    for line in section.splitlines():
        if line.strip() and not line.startswith("    "):
            break
        name, colon, text = line.strip().partition(": ")
        if colon and line[4:5].strip():
            last = lines[name] = [text]
        elif line.strip():
            last.append(line.strip())
    return {name: " ".join(parts) for name, parts in lines.items()}


def build_from(
    spec: Any, kind: str, *tables: Mapping[str, Callable[..., Any]], nested: tuple[str, ...] = ()
) -> Any:
    """Build what ``spec`` describes, by the first of ``tables`` that has its name.

    A class whose settings were once named otherwise says so in ``renamed``, {old name: new name}.

    Args:
        spec: a dict with ``name`` and the constructor's settings.
        kind: what is built, for messages ("encoding", "network").
        tables: name → constructor.
        nested: settings that are specs, or lists of specs, of the same kind.

    Raises:
        InputError: not a spec, an unknown name, or settings that the constructor refuses.
    """
    if not isinstance(spec, dict) or not isinstance(spec.get("name"), str):
        refuse(f"the spec of the {kind} must be an object with a name", repr(spec)[:80])
    name = spec["name"]
    table = next((table for table in tables if name in table), None)
    if table is None:
        known = ", ".join(entry for table in tables for entry in table)
        refuse(f"the {kind} must be one of: {known}", repr(name)[:80])
    build = table[name]
    renamed: Mapping[str, str] = getattr(build, "renamed", {})
    settings = {renamed.get(key, key): value for key, value in spec.items() if key != "name"}
    for key in nested:
        if isinstance(settings.get(key), list):
            settings[key] = [build_from(s, kind, *tables, nested=nested) for s in settings[key]]
        elif key in settings:
            settings[key] = build_from(settings[key], kind, *tables, nested=nested)
    try:
        return build(**settings)
    except InputError:
        raise
    except (AttributeError, TypeError, ValueError, OverflowError, RecursionError) as error:
        got = " ".join(str(error).split())
        refuse(f"the spec of the {kind} {name!r} must hold its settings", got)
