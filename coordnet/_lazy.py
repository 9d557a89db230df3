"""Names that are imported on first use, so that ``import coordnet`` does no work."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Generic, TypeVar

T = TypeVar("T")


def attributes(
    package: str, where: Mapping[str, str], modules: Collection[str] = ()
) -> Callable[[str], Any]:
    """Build a module's ``__getattr__`` (PEP 562).

    Args:
        package: the module's name.
        where: ``{name: submodule}``.
        modules: submodules that are attributes themselves.
    """

    def get(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{where[name]}"), name)

    return get


def listing(package: str, names: Iterable[str]) -> Callable[[], list[str]]:
    """Build a module's ``__dir__`` (PEP 562): what it holds, and names not imported yet."""
    return lambda: sorted({*vars(sys.modules[package]), *names})


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
