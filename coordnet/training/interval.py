"""How often a checkpoint is written: after a time, or after a number of steps."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from ..errors import refuse

__all__ = ["Interval", "interval"]

_AMOUNT = re.compile(r"(\d+(?:\.\d*)?)\s*(s|min|h|steps?)?", re.ASCII)
_SECONDS = {"s": 1, "min": 60, "h": 3600}
_PATIENCE = 50.0


class Interval(NamedTuple):
    """What must have passed since the last checkpoint.

    Attributes:
        seconds: so many seconds.
        steps: or so many steps.
        patience: and so many times as long as that checkpoint took.
    """

    seconds: float = math.inf
    steps: float = math.inf
    patience: float = 0.0

    def over(self, seconds: float, steps: int, cost: float) -> bool:
        """Whether the interval is over, ``seconds`` and ``steps`` after a save of ``cost`` s."""
        enough = seconds >= self.seconds or steps >= self.steps
        return enough and seconds >= self.patience * cost

    def __str__(self) -> str:
        """Return the interval in words."""
        if self.steps < math.inf:
            return "step" if self.steps == 1 else f"{self.steps:,.0f} steps"
        return f"{self.seconds:g} s"


def interval(every: str | int) -> Interval:
    """Return the interval that is meant.

    Args:
        every: a number of steps (``500``, or ``"500 steps"``), a time (``"30s"``, ``"5min"``,
            ``"1h"``), ``"auto"``: 30 seconds, and longer where saving takes long, so that at
            most a fiftieth of the time goes into it, or ``"never"``.

    Raises:
        InputError: neither of these.
    """
    text = str(every).strip()
    if text == "auto":
        return Interval(seconds=30.0, patience=_PATIENCE)
    if text == "never":
        return Interval()
    match = None if isinstance(every, bool) else _AMOUNT.fullmatch(text)
    if match is not None:
        amount, unit = float(match[1]), match[2] or "steps"
        if unit in _SECONDS and 0 < amount < 1e9:
            return Interval(seconds=amount * _SECONDS[unit])
        if unit not in _SECONDS and amount.is_integer() and 1 <= amount < 1e15:
            return Interval(steps=int(amount))
    return refuse(
        "checkpoints are written after a time (30s, 5min, 1h), after a number of steps (500), "
        "when it is cheap (auto), or never",
        repr(every)[:80],
        "Pass 30s, say.",
    )
