"""Picture files: reading and writing, with the bit depth of the file."""

from __future__ import annotations

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
