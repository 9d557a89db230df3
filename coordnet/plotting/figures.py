"""Figures of our own look: no display, no global state; matplotlib is imported when used."""

from __future__ import annotations

import io
import math
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..files import ending_of, write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "COLORS",
    "INK",
    "PathLike",
    "as_array",
    "check_ending",
    "decibels",
    "mark_dates",
    "mean",
    "new_figure",
    "save_figure",
    "short",
    "span",
    "tidy",
]

# Okabe and Ito's colors, which the color-blind can tell apart
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444")
INK = "#333333"
_FORMATS = {".png": {"Software": None}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
_DPI = 150

PathLike = str | os.PathLike[str]


def new_figure(width: float, height: float, title: str = "") -> Figure:
    """Return an empty figure of ``width`` by ``height`` inches that needs no display."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    if title:  # names of files may hold a dollar sign
        figure.suptitle(title, fontsize=12, color=INK, parse_math=False)
    return figure


def save_figure(figure: Figure, path: PathLike) -> None:
    """Write a figure atomically as PNG, PDF or SVG, by its ending.

    Raises:
        InputError: another ending.
        OSError: the folder is missing or cannot be written to.
    """
    kind = check_ending(path)
    _replace_missing_glyphs(figure)
    data = io.BytesIO()
    figure.savefig(data, format=kind[1:], dpi=_DPI, metadata=_FORMATS[kind])
    write_atomic(path, data.getvalue())


def _replace_missing_glyphs(figure: Figure) -> None:
    """Write a box for characters that the fonts lack: matplotlib would draw one, and warn."""
    from matplotlib.font_manager import findfont, get_font
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        assert isinstance(text, Text)
        words = text.get_text()
        if words.isascii() and words.isprintable():
            continue
        fonts = []
        for family in text.get_fontfamily():
            properties = text.get_fontproperties().copy()
            properties.set_family(family)
            fonts.append(get_font(findfont(properties)))
        lacking = {
            character
            for character in words.replace("\n", "")
            if not any(font.get_char_index(ord(character)) for font in fonts)
        }
        text.set_text("".join("□" if character in lacking else character for character in words))


def tidy(axes: Axes, x: str = "", y: str = "", title: str = "") -> None:
    """Label an axes, draw a faint grid and drop the frame's upper and right side."""
    axes.set_xlabel(x, parse_math=False)
    axes.set_ylabel(y, parse_math=False)
    if title:
        axes.set_title(title, fontsize=10, loc="left", parse_math=False)
    axes.grid(True, color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def mark_dates(axes: Axes) -> None:
    """Write the numbers along the x axis, days since 1970-01-01, as dates."""
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator()
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))


def check_ending(path: PathLike) -> str:
    """Return the ending of a figure's file name, or refuse it."""
    return ending_of(path, "a figure", _FORMATS)


def as_array(values: Any) -> np.ndarray:
    """Return a NumPy array, of a tensor on any device too."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if str(values.dtype) == "torch.bfloat16":
            values = values.float()
    return np.asarray(values)


def mean(values: np.ndarray) -> float:
    """Return the mean in float64, 0 of nothing."""
    return float(np.mean(values, dtype=np.float64)) if values.size else 0.0


def decibels(mean_square: float, peak: float) -> float:
    """Return the PSNR, infinity without an error."""
    return math.inf if mean_square == 0 else 10 * math.log10(peak**2 / mean_square)


def short(value: float) -> str:
    """Return a number in a few characters."""
    return f"{value:.0f}" if value >= 100 else f"{value:.2g}"


def span(x: np.ndarray) -> tuple[float, float]:
    """Return limits around ``x`` with a little room, also where all are equal."""
    low, high = (float(x.min()), float(x.max())) if x.size else (0.0, 1.0)
    room = 0.02 * (high - low) or 0.5 * max(abs(low) * 1e-6, 1.0)
    return low - room, high + room
