"""Properties of a signal, and default settings of encodings for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from ..checks import plain

__all__ = ["SignalShape", "matching_settings", "settings_for", "suited_by"]

Build = TypeVar("Build", bound=Callable[..., object])


@dataclass(frozen=True)
class SignalShape:
    """Properties of a signal that are known before it is fitted; tuples have one entry per axis.

    Attributes:
        samples: number of samples along the axis.
        extent: length of the domain, in the coordinate's own unit.
        density: samples in a unit.
        periods: the period with which the signal repeats, in that unit, or None.
        harmonics: number of harmonics of a period that its samples suggest.
        bandwidth: highest frequency worth representing, in cycles per longest wavelength; None for
            half the samples of the longest axis.
        spread: standard deviation of its frequencies, in cycles over the domain or a period.
        frequencies: number of frequencies, over all axes, that an encoding may spend on it.
        regular: whether the samples are the centers of regular cells that fill the domain, and
            are to be met exactly: a picture's pixels.
    """

    samples: tuple[int, ...]
    extent: tuple[float, ...]
    density: tuple[float, ...]
    periods: tuple[float | None, ...]
    harmonics: int
    bandwidth: float | None = None
    spread: float = 8.0
    frequencies: int = 256
    regular: bool = False

    @property
    def repeats(self) -> bool:
        """Whether the signal repeats along any axis."""
        return any(period is not None for period in self.periods)

    @property
    def wavelengths(self) -> float | list[float]:
        """The longest wavelength of each axis, one number where all agree.

        It is the period, or twice the extent where the signal does not repeat: its two ends then
        do not meet.
        """
        pairs = zip(self.periods, self.extent, strict=True)
        return plain([2.0 * extent if period is None else period for period, extent in pairs])


def settings_for(name: str, signal: SignalShape) -> dict[str, Any]:
    """Return the settings that suit a signal, of an encoding in ENCODINGS.

    They come from the constructor's ``for_signal(signal)``: of a class that is
    `Encoding.for_signal`, another constructor has it from `suited_by`. One without has
    `matching_settings`.
    """
    from . import ENCODINGS

    build = ENCODINGS[name]
    if hasattr(build, "for_signal"):
        return build.for_signal(signal)
    return matching_settings(build, signal)


def suited_by(settings: Callable[[SignalShape], dict[str, Any]]) -> Callable[[Build], Build]:
    """Decorate a constructor with the settings that suit a signal, as its ``for_signal``."""

    def decorate(build: Build) -> Build:
        vars(build)["for_signal"] = settings
        return build

    return decorate


def matching_settings(build: Callable[..., object], signal: SignalShape) -> dict[str, Any]:
    """Return settings by the names of a constructor's parameters.

    ``period`` is `SignalShape.wavelengths`, or None where that is its default and nothing repeats;
    ``periodic`` says for each axis whether it repeats; ``k`` is `SignalShape.harmonics`.
    """
    settings: dict[str, Any] = {}
    parameters = inspect.signature(build).parameters
    if "period" in parameters and (signal.repeats or parameters["period"].default is not None):
        settings["period"] = signal.wavelengths
    if "periodic" in parameters:
        settings["periodic"] = [period is not None for period in signal.periods]
    if "k" in parameters:
        settings["k"] = signal.harmonics
    return settings
