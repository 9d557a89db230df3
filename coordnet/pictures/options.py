"""The options of a picture, without importing torch."""

from __future__ import annotations

__all__ = ["PRESETS"]

# name → what it is for, as the command line says it
PRESETS = {
    "fast": "the most dB a second: a grid with a vertex on each pixel, bicubic in between",
    "quality": "smooth everywhere, with fewer parameters: Gaussian features and a wide network",
    "small": "a few per cent of the parameters: Gaussian features and a narrow network",
}
