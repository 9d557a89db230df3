"""The options of a sound, without importing torch."""

from __future__ import annotations

__all__ = ["PRESETS"]

# name → what it is for, as the command line says it
PRESETS = {
    "fast": "the most dB a second: a grid with a vertex for each sample",
    "small": "a quarter of the parameters: a grid with a vertex for every fourth sample",
}
