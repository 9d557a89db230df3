"""A dense grid of trained features."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

from .. import checks
from .grid import Grid
from .signal import SignalShape

__all__ = ["DenseGrid"]


class DenseGrid(Grid):
    """One grid over the unit cube with features at every vertex, interpolated multilinearly.

    The unhashed case of `HashGrid`, with its conventions: ``resolution`` cells along each axis,
    coordinate u at u · (resolution - 1) + ½, or at u · resolution + ½ where the axis wraps.

    Args:
        in_dim: number of input axes, at most 7.
        resolution: cells along each axis, one number or one per axis.
        features: trained features of a vertex.
        interpolation: "linear" or "smoothstep".
        periodic: whether the grid wraps around: True, False, or one of them per axis.
        seed: start values come from this seed; None draws them from PyTorch's global generator.

    Shape:
        ``(..., in_dim)`` to ``(..., features)``.
    """

    renamed: ClassVar[dict[str, str]] = {"features_per_level": "features"}

    def __init__(
        self,
        in_dim: int,
        resolution: int | Sequence[int] = 64,
        features: int = 2,
        interpolation: str = "linear",
        periodic: bool | Sequence[bool] = False,
        seed: int | None = None,
    ) -> None:
        features = checks.integer("features", features, least=1)
        super().__init__(in_dim, features, interpolation, periodic, seed)
        cells = partial(checks.integer, least=1)
        self.resolution = checks.per_axis("resolution", resolution, self.in_dim, cells)
        self._set_levels([[float(number) for number in self.resolution]], None)

    @classmethod
    def for_signal(cls, signal: SignalShape) -> dict[str, Any]:
        """Return settings that suit a signal: on regular cells, a vertex on each center."""
        settings = super().for_signal(signal)
        if signal.regular:
            axes = zip(signal.samples, signal.periods, strict=True)
            settings["resolution"] = [n + (period is None) for n, period in axes]
        return settings

    def spec(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        return {
            "name": "densegrid",
            "in_dim": self.in_dim,
            "resolution": checks.plain(self.resolution),
            "features": self.features_per_level,
            "interpolation": self.interpolation,
            "periodic": checks.plain(self.periodic),
        }
