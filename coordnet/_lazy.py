"""Lazy imports: package faces whose names, and tables whose entries, are imported on first use."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .errors import InputError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


def attach(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Build ``__getattr__``, ``__dir__`` and ``__all__`` of a package from its stub (PEP 562).

    The stub, ``__init__.pyi``, is what type checkers read; so every public name is written once:
    ``from .module import Name as Name``, or ``from . import module as module``.

    Args:
        package: the package's name.
    """
    stub = ast.parse(pkgutil.get_data(package, "__init__.pyi") or b"")
    where: dict[str, str | None] = {}
    names: list[str] = []
    for node in stub.body:
        if isinstance(node, ast.ImportFrom) and node.level:
            where |= {alias.name: node.module for alias in node.names}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.append(node.target.id)
        elif isinstance(node, ast.FunctionDef):
            names.append(node.name)

    def get(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = where[name]
        if module is None:
            return importlib.import_module(f"{package}.{name}")
        return getattr(importlib.import_module(f"{package}.{module}"), name)

    def listing() -> list[str]:
        return sorted({*vars(sys.modules[package]), *where})

    return get, listing, sorted([*names, *(name for name, at in where.items() if at is not None)])


class Table(Mapping[str, T], Generic[T]):
    """A read-only table of named things, imported when one is looked up; plugins may add to it.

    A plugin is an installed package with an entry point in the table's group; in its pyproject:

        [project.entry-points."coordnet.encodings"]
        triangles = "my_package:Triangles"

    Iterating and ``in`` import nothing. Installed packages are searched once, when a name that is
    not the table's own is looked up, or all names are asked for. A plugin cannot take a name that
    the table has already: it is left out with a `UserWarning`.

    Args:
        package: the package that the entries are relative to.
        entries: ``{name: "submodule:attribute.path"}``.
        group: group of entry points; None for a table without plugins.
    """

    def __init__(self, package: str, entries: Mapping[str, str], group: str | None = None) -> None:
        self._package, self._entries, self._group = package, dict(entries), group
        self._found: dict[str, EntryPoint] | None = None

    def __getitem__(self, name: str) -> T:
        if name not in self._entries:
            return self._load(self._plugins[name])
        module, _, path = self._entries[name].partition(":")
        thing: Any = importlib.import_module(f"{self._package}.{module}")
        for part in path.split("."):
            thing = getattr(thing, part)
        return thing

    def name_of(self, thing: type) -> str | None:
        """Return the name of a class among the table's own entries, without importing any."""
        where = f"{thing.__module__}:{thing.__qualname__}".removeprefix(f"{self._package}.")
        return next((name for name, entry in self._entries.items() if entry == where), None)

    def __iter__(self) -> Iterator[str]:
        yield from self._entries
        yield from self._plugins

    def __len__(self) -> int:
        return len(self._entries) + len(self._plugins)

    def __contains__(self, name: object) -> bool:
        return name in self._entries or name in self._plugins

    @property
    def _plugins(self) -> dict[str, EntryPoint]:
        """The entry points that add to the table, by name."""
        if self._found is None:
            self._found = {}
            for point in () if self._group is None else _entry_points(self._group):
                if point.name in self._entries or point.name in self._found:
                    text = f"{point.name!r} = {point.value!r} in the group {self._group!r}"
                    text = f"the entry point {text} is left out: its name is in use"
                    warnings.warn(text, UserWarning, stacklevel=2)
                else:
                    self._found[point.name] = point
        return self._found

    def _load(self, point: EntryPoint) -> T:
        try:
            return point.load()
        except Exception as error:
            rule = (
                f"the entry point {point.name!r} in {self._group!r} must name what can be imported"
            )
            raise InputError(rule, f"{point.name!r} = {point.value!r}: {error}") from error


def _entry_points(group: str) -> Iterable[EntryPoint]:
    from importlib.metadata import entry_points  # which takes a while to import

    return entry_points(group=group)
