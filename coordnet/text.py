"""Numbers, nouns and paths as text."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["plural", "readable"]


def plural(number: int, noun: str) -> str:
    """Return "1 pixel", "1,024 pixels"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def readable(path: Path | str) -> str:
    """Return a path as text that can be printed and stored, whatever bytes are in its name."""
    return os.fsencode(path).decode(errors="replace")
