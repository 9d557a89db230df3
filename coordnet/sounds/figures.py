"""Figure of a sound and its fit: waveforms, their error and spectrograms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import refuse
from ..plotting.figures import (
    COLORS,
    PathLike,
    as_array,
    check_ending,
    new_figure,
    save_figure,
    tidy,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["SoundFigure", "save_sound"]

_COLUMNS = 1500  # of an envelope
_FRAMES = 800  # of a spectrogram
_WINDOW = 1024  # samples in a frame
_MAX_CHANNELS = 4
_RANGE = 90.0  # dB


class SoundFigure:
    """Figure of a sound and its fit, drawn from blocks: its memory does not grow with them.

    Above, for each channel (the first four), the envelopes of target and fit and that of the
    error: the minimum and the maximum in each of 1500 stretches of time. Below, the spectrograms
    of target and fit on one scale of dB, summed over those channels: frames of 1024 samples
    (fewer of a short sound) under a Hann window, at most 800 of them, evenly spaced.

    Args:
        number: samples in each channel.
        channels: number of channels C.
        rate: samples a second.
        title: a line above the panels.

    Example:
        >>> figure = SoundFigure(len(target), channels=2, rate=44_100)
        >>> figure.add(target, fit)
        >>> figure.save("comparison.png")
    """

    def __init__(self, number: int, channels: int, rate: float, *, title: str = "") -> None:
        self.number, self.channels, self.rate, self.title = number, channels, rate, title
        self.plotted = min(channels, _MAX_CHANNELS)
        self.columns = min(number, _COLUMNS)
        # target, fit and error; minimum and maximum
        self._envelopes = np.full((3, 2, self.columns, self.plotted), np.inf, np.float32)
        self._envelopes[:, 1] = -np.inf
        self._squares = np.zeros((2, channels))  # of target and error
        self.window = min(_WINDOW, number, 1 << max(4, (number // 8).bit_length() - 1))
        spare = number - self.window
        self.hop = max(1, self.window // 4, -(-spare // (_FRAMES - 1)))
        self.frames = 1 + spare // self.hop
        self._power = np.zeros((2, self.frames, self.window // 2 + 1), np.float32)
        self._tail = np.empty((2, 0, self.plotted), np.float32)
        self._tail_start = self._frame = self._done = 0

    def add(self, target: Any, fit: Any) -> None:
        """Take the next samples, ``(n, C)`` each, on one scale."""
        first, second = (as_array(x).astype(np.float32, copy=False) for x in (target, fit))
        if first.shape != second.shape or first.ndim != 2 or first.shape[1] != self.channels:
            rule = f"target and fit must be blocks of one shape (n, {self.channels})"
            refuse(rule, f"shapes {first.shape} and {second.shape}")
        if self._done + len(first) > self.number:
            rule = f"the figure is one of {self.number:,} samples"
            refuse(rule, f"{self._done + len(first):,}")
        if not len(first):
            return
        error = second.astype(np.float64) - first
        self._squares += [np.square(first, dtype=np.float64).sum(0), np.square(error).sum(0)]
        pair = np.stack([first, second])[..., : self.plotted]
        self._widen(np.concatenate([pair, error[None, :, : self.plotted].astype(np.float32)]))
        self._transform(pair)
        self._done += len(first)

    def _widen(self, block: np.ndarray) -> None:
        """Widen the envelopes by a block of target, fit and error."""
        column = np.arange(self._done, self._done + block.shape[1]) * self.columns // self.number
        starts = np.flatnonzero(np.diff(column, prepend=-1))
        for side, reduce in enumerate((np.minimum, np.maximum)):
            extremes = reduce.reduceat(block, starts, axis=1)
            where = (slice(None), side, column[starts])
            self._envelopes[where] = reduce(self._envelopes[where], extremes)

    def _transform(self, block: np.ndarray) -> None:
        """Transform the frames that end in this block, and keep what later ones begin with."""
        tail = np.concatenate([self._tail, block], axis=1)
        end = self._tail_start + tail.shape[1]
        hann = 0.5 - 0.5 * np.cos(2 * math.pi * (np.arange(self.window) + 0.5) / self.window)
        while self._frame < self.frames and self._frame * self.hop + self.window <= end:
            at = self._frame * self.hop - self._tail_start
            spectrum = np.fft.rfft(tail[:, at : at + self.window] * hann[:, None], axis=1)
            self._power[:, self._frame] = np.square(np.abs(spectrum)).sum(-1)
            self._frame += 1
        start = min(self._frame * self.hop, end) if self._frame < self.frames else end
        start = max(start, self._tail_start)
        self._tail, self._tail_start = tail[:, start - self._tail_start :].copy(), start

    def save(self, path: PathLike) -> None:
        """Write the figure: PNG, PDF or SVG.

        Raises:
            InputError: another ending, or samples that are still missing.
        """
        check_ending(path)
        if self._done < self.number:
            refuse(f"the figure needs all {self.number:,} samples", f"{self._done:,}")
        title = self.title
        if self.plotted < self.channels:
            title = f"{title} (the first {self.plotted} of {self.channels} channels)".strip()
        figure = new_figure(11.0, 3.4 + 2.4 * self.plotted, title)
        grid = figure.add_gridspec(
            2 * self.plotted + 1, 2, height_ratios=[*([2, 1] * self.plotted), 4], hspace=0.0
        )
        for channel in range(self.plotted):
            above = figure.add_subplot(grid[2 * channel, :])
            below = figure.add_subplot(grid[2 * channel + 1, :], sharex=above)
            self._waveform(above, below, channel)
        self._spectrograms(figure, [figure.add_subplot(grid[-1, side]) for side in (0, 1)])
        save_figure(figure, path)

    def _waveform(self, above: Axes, below: Axes, channel: int) -> None:
        """Draw target and fit, and their difference beneath."""
        seconds = (np.arange(self.columns) + 0.5) / self.columns * self.number / self.rate
        if self.columns == self.number:
            seconds = np.arange(self.number) / self.rate
        styles = (
            (above, COLORS[-1], 0.9, "target"),
            (above, COLORS[0], 0.55, "fit"),
            (below, COLORS[1], 0.8, ""),
        )
        for (axes, color, opacity, label), (low, high) in zip(styles, self._envelopes, strict=True):
            low, high = low[:, channel], high[:, channel]
            style = {"color": color, "alpha": opacity, "label": label}
            if self.columns == self.number:
                mark = "o" if self.number < 40 else ""
                axes.plot(seconds, low, marker=mark, markersize=3.0, linewidth=0.8, **style)
            else:
                axes.fill_between(seconds, low, high, linewidth=0.3, **style)
        signal, error = self._squares[:, channel]
        above.set_title(_ratio(signal, error), fontsize=9.5, loc="right")
        above.legend(loc="upper left", ncols=2, fontsize=8.5, framealpha=0.85)
        above.tick_params(labelbottom=False)
        above.set_xlim(0.0, self.number / self.rate)
        tidy(above, y=f"channel {channel}" if self.channels > 1 else "amplitude")
        tidy(below, x="seconds" if channel == self.plotted - 1 else "", y="error")

    def _spectrograms(self, figure: Figure, panels: list[Axes]) -> None:
        """Draw the power of target and fit, in dB below the target's largest."""
        if self.window < 16:
            for axes in panels:
                axes.set_axis_off()
            panels[0].text(0.0, 0.5, "too short for a spectrogram")
            return
        top = float(self._power[0].max()) or float(self._power.max()) or 1.0
        floor = top * 10 ** (-_RANGE / 10)
        length = self.number / self.rate
        picture = None
        for axes, power, name in zip(panels, self._power, ("target", "fit"), strict=True):
            decibels = 10 * np.log10(np.maximum(power.T, floor) / top)
            picture = axes.imshow(
                decibels,
                origin="lower",
                aspect="auto",
                extent=(0.0, length, 0.0, self.rate / 2000),
                cmap="magma",
                vmin=-_RANGE,
                vmax=0.0,
                interpolation="nearest",
            )
            tidy(axes, x="seconds", y="kHz" if axes is panels[0] else "", title=name)
            axes.grid(False)
        assert picture is not None
        figure.colorbar(picture, ax=panels, label="dB", pad=0.01, fraction=0.04)


def save_sound(path: PathLike, target: Any, fit: Any, rate: float, *, title: str = "") -> None:
    """Write a `SoundFigure` of whole arrays.

    Args:
        path: the file to write: PNG, PDF or SVG.
        target: ``(N,)`` or ``(N, C)`` samples.
        fit: the same shape.
        rate: samples a second.
        title: a line above the panels.
    """
    check_ending(path)
    first, second = as_array(target), as_array(fit)
    if first.ndim == 1:
        first, second = first[:, None], second[:, None]
    if first.ndim != 2 or not first.size:
        refuse("a sound must be an array (N, C) with samples", f"shape {first.shape}")
    number, channels = first.shape
    figure = SoundFigure(number, channels, rate, title=title)
    figure.add(first, second)
    figure.save(path)


def _ratio(signal: float, error: float) -> str:
    """Return the signal-to-noise ratio in words."""
    if signal == 0:
        return "silent"
    return "exact" if error == 0 else f"SNR {10 * math.log10(signal / error):.2f} dB"
