"""What a preset chooses: an encoding, a network and the settings of the fit."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..files import JsonObject

__all__ = ["Recipe"]


@dataclass(frozen=True)
class Recipe:
    """An encoding, the size of the network and the settings of the fit.

    Attributes:
        encoding: a name in ENCODINGS.
        settings: the encoding's settings.
        hidden_dim: width of the network.
        layers: its hidden layers.
        steps: budget where the user sets none.
        config: settings of the fit that differ from `FitConfig`'s.
        note: a sentence for the console, or nothing.
        between: the part of every batch between the pixels, as `PixelSamples` takes it.
    """

    encoding: str
    settings: JsonObject
    hidden_dim: int = 256
    layers: int = 3
    steps: int = 1500
    config: JsonObject = field(default_factory=dict)
    note: str = ""
    between: float = 0.0
