"""Figures: arrays in, files out. No display, no global state; matplotlib is imported when used.

`save_comparison` shows pictures, `save_curve` the course of a fit, `save_signal` samples and the
curve fitted to them, `save_sound` a sound and its spectrogram.
`new_figure` and `save_figure` are for figures of one's own.
"""

from __future__ import annotations

from .audio import SoundFigure, save_sound
from .curves import save_curve
from .figures import COLOURS, new_figure, save_figure, tidy
from .folded import save_folded, save_k_curve, save_periodogram
from .pictures import save_comparison
from .scenes import coloured_depth, save_contact_sheet
from .signals import save_signal

__all__ = [
    "COLOURS",
    "SoundFigure",
    "coloured_depth",
    "new_figure",
    "save_comparison",
    "save_contact_sheet",
    "save_curve",
    "save_figure",
    "save_folded",
    "save_k_curve",
    "save_periodogram",
    "save_signal",
    "save_sound",
    "tidy",
]
