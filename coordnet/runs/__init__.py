"""Runs: a fit from a file into a folder, and what is done with the folder."""

from __future__ import annotations

from .._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
