"""Fourier features whose amplitude falls with their frequency."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .. import checks
from ..errors import refuse
from .combine import Normalized
from .encoding import Encoding
from .fourier import FourierFeatures

__all__ = ["Damped"]


class Damped(Encoding):
    """Fourier features divided by (frequency / lowest frequency)^decay.

    A network takes what is large in its input for what matters: with harmonics of one size it
    fills a hole in the data with all of them alike, wildly; with harmonics that fall like 1/j it
    fills it smoothly, as most periodic signals are, and still fits what the data ask for. (Hourly
    temperatures, a month in three held out, 8 harmonics of the day and of the year: the error at
    the held-out months is 2.69 undamped, 0.60 with ``decay=1``, 0.49 with ``decay=2``.) A linear
    model's least-squares fit does not change.

    Args:
        encoding: `FourierFeatures` of any ladder, without ``include_input``.
        decay: the power p, at least 0; 1 suits jumps, 2 smoother curves. The frequency of a wave
            vector is its length.

    Shape:
        ``(..., in_dim)`` to ``(..., encoding.out_dim)``.

    Raises:
        InputError: other features, or a decay that is no finite number of at least 0.
    """

    scale: Tensor

    def __init__(self, encoding: FourierFeatures, decay: float = 1.0) -> None:
        if not isinstance(encoding, FourierFeatures) or encoding.include_input:
            got = type(encoding).__name__
            got += " with include_input" if isinstance(encoding, FourierFeatures) else ""
            refuse("Damped takes FourierFeatures without include_input", got)
        super().__init__(encoding.in_dim)
        self.encoding = encoding
        self.decay = checks.number("decay", decay, least=0)
        self.periods = encoding.periods
        cycles = encoding.cycles
        lengths = cycles.abs() if cycles.ndim == 2 else cycles[0].norm(dim=-1)[None]
        lowest = lengths.amin(-1, keepdim=True)
        scale = (lengths / lowest) ** -self.decay
        self.register_constant("scale", scale.flatten().repeat_interleave(2))

    @property
    def out_dim(self) -> int:
        """Number of features of the inner encoding."""
        return self.encoding.out_dim

    def spec(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        return {"name": "damped", "encoding": self.encoding.spec(), "decay": self.decay}

    def on_domain(self, lower: Tensor, upper: Tensor) -> Encoding:
        """Put what normalizes the coordinates before the damped features."""
        inner = self.encoding.on_domain(lower, upper)
        if isinstance(inner, Normalized):
            return Normalized(self, lower, upper)
        return self

    def features(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Return the features of checked coordinates in ``dtype``."""
        features = self.encoding.features(x, dtype)
        return features * self.scale.to(features.dtype).to(features.device)
