"""What an encoding's settings follow from where the user leaves them open: the signal's shape."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["SignalShape", "constructors_with", "settings_for"]


@dataclass(frozen=True)
class SignalShape:
    """What is known of a signal before it is fitted; tuples have one entry for each axis.

    Attributes:
        kind: "image", "audio" or "table".
        samples: number of samples along the axis.
        extent: length of the domain, in the coordinate's own unit.
        density: samples in a unit.
        periods: the period with which the signal repeats, in that unit, or None.
        harmonics: so many harmonics of a period the samples suggest.
    """

    kind: str
    samples: tuple[int, ...]
    extent: tuple[float, ...]
    density: tuple[float, ...]
    periods: tuple[float | None, ...]
    harmonics: int

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
        each = [2.0 * extent if period is None else period for period, extent in pairs]
        return each[0] if len(set(each)) == 1 else each


def settings_for(name: str, signal: SignalShape) -> dict[str, Any]:
    """Return the settings of an encoding in ENCODINGS that suit a signal.

    They are its `Encoding.for_signal`'s.
    """
    from . import ENCODINGS

    build = ENCODINGS[name]
    return getattr(build, "__self__", build).for_signal(name, signal)


def by_parameters(build: Callable[..., Any], signal: SignalShape) -> dict[str, Any]:
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


def constructors_with(*parameters: str) -> list[str]:
    """Return the names in ENCODINGS whose constructor has one of these parameters."""
    from . import ENCODINGS

    return [
        name
        for name, build in ENCODINGS.items()
        if set(parameters) & inspect.signature(build).parameters.keys()
    ]


def ladder_settings(name: str, signal: SignalShape) -> dict[str, Any]:
    """Return the settings of a ladder of `FourierFeatures`; none of another name."""
    most = max(signal.samples)
    if name == "harmonic":
        return {"k": signal.harmonics, "period": signal.wavelengths}
    if name == "lattice":
        k = 12 if signal.kind == "image" else signal.harmonics
        return {"k": k, "period": signal.wavelengths}
    if name == "octave":
        k = {"image": most.bit_length() - 1, "audio": most.bit_length()}.get(
            signal.kind, min(10, int(math.log2(max(2, most // 4))))
        )
        return {"k": max(1, k), "period": signal.wavelengths}
    if name == "geometric":
        k = 32 if signal.kind == "table" else 64
        return {"k": k, "C": 10_000.0, "scale": list(signal.density)}
    if name != "gaussian":
        return {}
    # sigma counts cycles over the domain, or in a unit where there is a period
    period = signal.wavelengths if signal.repeats else None
    if signal.kind == "image":
        return {"k": 256, "sigma": 30.0, "period": period}
    if signal.kind == "audio":
        # the spread that fitted best, of music and speech: about 600 Hz at 44.1 kHz
        return {"k": 256, "sigma": max(1.0, round(most / 75, 2)), "period": period}
    domain = signal.periods[0] or 1.0
    return {"k": 64, "sigma": 8.0 / domain, "period": period}
