"""Kinds of signal: what each needs from end to end. Add one: a folder, and its line in KINDS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import Table, attach

if TYPE_CHECKING:
    from .task import Task

# kind of signal → the task that knows it
KINDS: Table[type[Task]] = Table(
    "coordnet",
    {
        "image": "pictures.task:ImageTask",
        "table": "series.task:TableTask",
        "audio": "sounds.task:AudioTask",
        "scene": "scenes.task:SceneTask",
    },
    group="coordnet.kinds",
)

__getattr__, __dir__, __all__ = attach(__name__)
