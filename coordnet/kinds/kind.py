"""What is known of a kind of signal before torch is imported."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from .options import FitOptions, RenderOptions

if TYPE_CHECKING:
    from .task import Task

__all__ = ["Kind"]


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

    def load(self) -> type[Task]:
        """Import the kind's task."""
        module, _, name = self.task.partition(":")
        return getattr(importlib.import_module(f"{self.package}.{module}"), name)
