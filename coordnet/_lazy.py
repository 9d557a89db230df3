"""Names that are imported on first use, so that ``import coordnet`` does no work."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Generic, TypeVar

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


class LazyTable(Mapping[str, T], Generic[T]):
    """A read-only table of named things whose modules are imported when one is looked up.

    Iterating, ``in`` and ``len`` import nothing.

    Args:
        package: the package that the entries are relative to.
        entries: ``{name: "submodule:attribute.path"}``.
    """

    def __init__(self, package: str, entries: Mapping[str, str]) -> None:
        self._package, self._entries = package, dict(entries)

    def __getitem__(self, name: str) -> T:
        module, _, path = self._entries[name].partition(":")
        thing: Any = importlib.import_module(f"{self._package}.{module}")
        for part in path.split("."):
            thing = getattr(thing, part)
        return thing

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries
