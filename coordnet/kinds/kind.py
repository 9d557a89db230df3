"""What is known of a kind of signal before torch is imported."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..errors import refuse
from .options import FitOptions, Options, RenderOptions, as_typed, options_of

if TYPE_CHECKING:
    from .task import Task

__all__ = ["Kind"]

OptionsT = TypeVar("OptionsT", bound=Options)


@dataclass(frozen=True)
class Kind:
    """A kind of signal: the options it takes, and where its `Task` is.

    Attributes:
        name: in KINDS and in saved runs.
        noun: for messages and the help, "a picture".
        nouns: "pictures".
        files: what its files are, for the help.
        suffixes: endings of the files.
        task: "module:class" of its `Task`, relative to ``package``.
        presets: name → what it is for.
        options: the options of a fit.
        render: the options of `coordnet render`.
        export: the options of `coordnet export`.
        outputs: patterns of the files that a run leaves besides those of every run.
        folders: whether it may be read from a folder and rendered to one.
        package: what ``task`` is relative to.
    """

    name: str
    noun: str
    nouns: str
    files: str
    suffixes: tuple[str, ...]
    task: str
    presets: Mapping[str, str] = field(default_factory=dict)
    options: type[FitOptions] = FitOptions
    render: type[RenderOptions] = RenderOptions
    export: type[RenderOptions] = RenderOptions
    outputs: tuple[str, ...] = ()
    folders: bool = False
    package: str = "coordnet"

    def reads(self, path: Path) -> bool:
        """Whether a path is of this kind, by its name; a folder by what is in it."""
        if self.folders:
            return self.load().reads(path)
        return path.is_file() and path.suffix.lower() in self.suffixes

    def read(
        self, declared: type[OptionsT], given: Mapping[str, object], noun: str | None = None
    ) -> OptionsT:
        """Return options of the kind from plain values: texts as they are typed, or JSON values.

        Args:
            declared: the kind's ``options``, ``render`` or ``export``.
            given: name to value.
            noun: what takes the options, for messages; None for the kind's noun.

        Raises:
            InputError: an option of another kind, or a value that this one does not take.
        """
        from . import KINDS

        use = next(use for use in ("options", "render", "export") if getattr(self, use) is declared)
        own = dict(options_of(declared))
        for name, value in given.items():
            if name in own and (own[name].choices is None or own[name].takes(value)):
                continue
            # another kind may have it, or that choice
            takers = {
                kind.nouns: flags[name].flag
                for kind in KINDS.values()
                if name in (flags := dict(options_of(getattr(kind, use))))
                and (name not in own or flags[name].takes(value))
            }
            if takers:
                flag = next(iter(takers.values()))
                typed = as_typed(flag, value)
                rule = f"{typed if name in own else flag} belongs to {' and '.join(takers)}"
                refuse(rule, f"{typed} for {noun or self.noun}")
        return declared.read(given, noun or self.noun)

    def load(self) -> type[Task]:
        """Import the kind's task."""
        module, _, name = self.task.partition(":")
        return getattr(importlib.import_module(f"{self.package}.{module}"), name)
