"""Kinds of signal: what each needs from end to end. Add one: a folder, and its line in KINDS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import Table, attach

if TYPE_CHECKING:
    from .kind import Kind

# name in saved runs → what describes the kind, without importing torch
KINDS: Table[Kind] = Table(
    "coordnet",
    {
        "image": "pictures.options:KIND",
        "audio": "sounds.options:KIND",
        "table": "series.options:KIND",
        "scene": "scenes.options:KIND",
    },
    group="coordnet.kinds",
)

__getattr__, __dir__, __all__ = attach(__name__)
