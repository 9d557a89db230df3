"""Sines and cosines at given frequencies: what every ladder of Fourier features is made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor

from .. import checks
from ..errors import refuse
from .combine import Concat, Identity, Normalized
from .degenerate import warn_of_constants
from .encoding import Encoding
from .multiples import steps_up_to
from .phase import encode

__all__ = ["Sinusoids"]


class Sinusoids(Encoding):
    """Sines and cosines of a coordinate, two features for each frequency or wave vector.

    Attributes:
        ladder: name of the constructor in ENCODINGS.
        cycles: float64; ``(d, k)`` for k frequencies on each axis by itself, or ``(1, M, d)`` for
            M wave vectors over all axes: how often a sine turns per period, or per unit of x
            where there is no period.
        period: float64, ``(d,)``, or None.
        include_input: whether x itself stands before the features.
    """

    cycles: Tensor
    period: Tensor | None
    ladder: str
    include_input: bool

    @classmethod
    def _new(cls, in_dim: int) -> Self:
        """Return an encoding without frequencies, for `_set`."""
        self = cls.__new__(cls)
        Encoding.__init__(self, in_dim)
        return self

    def _set(
        self,
        ladder: str,
        cycles: Tensor,
        periods: Sequence[float] | None,
        include_input: bool,
        **settings: Any,
    ) -> None:
        """Take the frequencies; ``settings`` are those of the spec."""
        if not cycles.is_meta and not bool(cycles.isfinite().all()):
            refuse(
                f"the frequencies of {ladder!r} must be finite in float64",
                ", ".join(f"{key}={value!r}" for key, value in settings.items()),
            )
        self.ladder = ladder
        self.include_input = checks.boolean("include_input", include_input)
        self._settings = settings
        self.register_constant("cycles", cycles.contiguous())
        self.derive()
        if periods is None:
            self.period = None
        else:
            self.register_constant("period", constant(periods))
            if not self.include_input:
                self.periods = tuple(periods)

    def derive(self) -> None:
        """Put the steps of the harmonic ladder, which make it quicker, where the cycles are."""
        harmonic = self.ladder == "harmonic"
        self._steps = steps_up_to(self.cycles.shape[1], self.cycles.device) if harmonic else None

    @property
    def axis_aligned(self) -> bool:
        """Whether every feature depends on one axis alone."""
        return self.cycles.ndim == 2

    @property
    def num_frequencies(self) -> int:
        """Number of (sin, cos) pairs."""
        return self.cycles.numel() if self.axis_aligned else self.cycles.shape[1]

    @property
    def out_dim(self) -> int:
        """Number of features: two per frequency, and in_dim more with ``include_input``."""
        return 2 * self.num_frequencies + (self.in_dim if self.include_input else 0)

    @property
    def frequencies(self) -> Tensor:
        """Angular wave vectors ω of the pairs sin ω·x, cos ω·x: radians per unit of x.

        Shape ``(num_frequencies, in_dim)``, float64, in the order of the features.
        """
        if self.axis_aligned:
            vectors = torch.block_diag(*(axis[:, None] for axis in self.cycles))
        else:
            vectors = self.cycles[0]
        vectors = vectors if self.period is None else vectors / self.period
        return vectors * math.tau

    def spec(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        return {
            "name": self.ladder,
            "in_dim": self.in_dim,
            **self._settings,
            "include_input": self.include_input,
        }

    def on_domain(self, lower: Tensor, upper: Tensor) -> Encoding:
        """Put a `Normalized` before what is measured in domain lengths.

        That is a Gaussian ladder without a period (its sigma is in cycles per domain), and the
        raw input of ``include_input``.
        """
        with self.cycles.device:  # not on the default device
            if self.ladder == "geometric":
                warn_of_constants(self.cycles, upper - lower)
            if self.ladder == "gaussian" and self.period is None:
                return Normalized(self, lower, upper)
            if self.include_input:
                bare = self._new(self.in_dim)
                period = None if self.period is None else self.period.tolist()
                bare._set(self.ladder, self.cycles, period, False, **self._settings)
                return Concat([Normalized(Identity(self.in_dim), lower, upper), bare])
            return self

    def features(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Return the features of checked coordinates in ``dtype``."""
        constants = self._buffers  # attributes of a module are looked up slowly
        cycles: Any = constants["cycles"]
        steps = self._steps
        if steps is not None and steps.device != cycles.device:  # of buffers that were swapped
            steps = steps_up_to(cycles.shape[1], cycles.device)
        features = encode(x, cycles, constants.get("period"), dtype, steps)
        if self.include_input:
            features = torch.cat([x.to(features.dtype), features], -1)
        return features


def constant(values: Sequence[float]) -> Tensor:
    """Return float64 numbers on the CPU, whatever the default device is."""
    return torch.tensor(values, dtype=torch.float64, device="cpu")
