"""The command line: argument parsing and nothing else."""

from __future__ import annotations

from .main import main

__all__ = ["main"]
