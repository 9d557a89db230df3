"""Settings of a fitted table, as its run saves them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from ..errors import refuse
from ..files import JsonObject
from .reading.time_axis import TimeAxis

__all__ = ["TableSettings"]


@dataclass(frozen=True)
class TableSettings:
    """What rendering, evaluating and predicting need to know of a table that was fitted.

    Attributes:
        x_name: name of the column of positions.
        y_names: names of the columns of values.
        low: the first position that was fitted.
        high: the last.
        samples: number of rows.
        periods: in the unit of the positions.
        time: what the positions mean.
        trend: whether the signal may drift beside its periods.
        weights: where the weights are from, or None.
    """

    x_name: str
    y_names: tuple[str, ...]
    low: float
    high: float
    samples: int
    periods: tuple[float, ...] = ()
    time: TimeAxis = TimeAxis()  # noqa: RUF009 (it never changes)
    trend: bool = False
    weights: str | None = None

    @property
    def repeats(self) -> bool:
        """Whether the fit goes on by repeating itself."""
        return bool(self.periods) and not self.trend

    def ends(self) -> list[str]:
        """Return the ends of the fitted range as text, dates where they are dates."""
        if self.time.dated:
            return self.time.texts(np.array([self.low, self.high]))
        unit = f" {self.time.unit}" if self.time.unit else ""
        return [f"{end:.10g}{unit}" for end in (self.low, self.high)]

    def to_dict(self) -> JsonObject:
        """Return the settings as plain JSON values."""
        return {
            "x_name": self.x_name,
            "y_names": list(self.y_names),
            "range": [self.low, self.high],
            "samples": self.samples,
            "periods": list(self.periods),
            "time": self.time.to_dict(),
            "trend": self.trend,
            "weights": self.weights,
        }

    @classmethod
    def from_dict(cls, spec: Mapping[str, Any]) -> TableSettings:
        """Return the settings that `to_dict` described.

        Raises:
            InputError: where they are no such thing.
        """
        try:
            low, high = map(float, spec["range"])
            settings = cls(
                x_name=spec["x_name"],
                y_names=tuple(spec["y_names"]),
                low=low,
                high=high,
                samples=int(spec["samples"]),
                periods=tuple(map(float, spec["periods"])),
                time=TimeAxis.from_dict(spec.get("time")),
                trend=bool(spec.get("trend")),
                weights=spec.get("weights"),
            )
        except (KeyError, OverflowError, TypeError, ValueError) as error:
            return _refuse(f"{type(error).__name__}: {error}")
        names = (settings.x_name, *settings.y_names)
        if not all(isinstance(name, str) for name in names) or len(names) < 2:
            _refuse(f"the columns {names}"[:80])
        if not (-math.inf < low <= high < math.inf and settings.samples > 0):
            _refuse(f"{settings.samples} samples from {low} to {high}")
        return settings


def _refuse(got: str) -> NoReturn:
    rule = "a run of a table must state its columns, its range and its periods"
    refuse(rule, " ".join(got.split()), "Fit the table again.")
