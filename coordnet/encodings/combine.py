"""Identity, normalized coordinates, and concatenation of encodings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from .. import checks
from ..errors import refuse
from .encoding import Encoding
from .phase import difference

__all__ = ["Concat", "Identity", "Normalized"]


class Identity(Encoding):
    """The coordinates themselves, as float32 (float64 for float64 inputs).

    In a `Field` they are normalized to the unit cube first.

    Args:
        in_dim: number of input axes.

    Shape:
        ``(..., in_dim)`` to ``(..., in_dim)``.
    """

    def __init__(self, in_dim: int) -> None:
        super().__init__(in_dim)

    @property
    def out_dim(self) -> int:
        """Number of features, which is in_dim."""
        return self.in_dim

    def spec(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        return {"name": "identity", "in_dim": self.in_dim}

    def on_domain(self, lower: Tensor, upper: Tensor) -> Encoding:
        """Return the coordinates normalized to the unit cube."""
        return Normalized(self, lower, upper)

    def features(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Return x in ``dtype``."""
        return x.to(dtype)


class Normalized(Encoding):
    """An encoding of u = (x - lower) / (upper - lower), which is [0, 1] on the domain.

    u is taken in float64 and encoded as such, so that Unix seconds keep their digits. Coordinates
    outside the domain give values outside [0, 1]: nothing is clamped. An axis whose bounds are
    equal is only shifted.

    Args:
        encoding: what encodes u.
        lower: lower bounds, one per axis.
        upper: upper bounds, one per axis, none below its lower bound.

    Shape:
        ``(..., in_dim)`` to ``(..., encoding.out_dim)``.

    Raises:
        InputError: bounds that are not finite, not ordered, or not one per axis.
    """

    lower: Tensor
    extent: Tensor

    def __init__(
        self,
        encoding: Encoding,
        lower: Tensor | Sequence[float],
        upper: Tensor | Sequence[float],
    ) -> None:
        super().__init__(encoding.in_dim)
        self.encoding = encoding
        low, high = checks.box(lower, upper, self.in_dim, flat=True)
        self._bounds = (low, high)
        start, end = (torch.tensor(v, dtype=torch.float64, device="cpu") for v in (low, high))
        extent = torch.where(end > start, end - start, 1.0)
        self.register_constant("lower", start)
        self.register_constant("extent", extent)
        self.periods = tuple(
            None if period is None else period * length
            for period, length in zip(encoding.periods, extent.tolist(), strict=True)
        )

    @property
    def out_dim(self) -> int:
        """Number of features of the inner encoding."""
        return self.encoding.out_dim

    def spec(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        lower, upper = self._bounds
        inner = self.encoding.spec()
        return {"name": "normalized", "encoding": inner, "lower": lower, "upper": upper}

    def features(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Return the features of the normalized coordinates."""
        device = self.lower.device  # the CPU where x's device has no float64
        unit = difference(x.to(device), self.lower) / self.extent
        return self.encoding.features(unit, dtype).to(x.device)


class Concat(Encoding):
    """The features of several encodings side by side.

    Two periods on one coordinate, day and year say, are two harmonic blocks:
    ``Concat([FourierFeatures(k=4, period=24.0), FourierFeatures(k=4, period=8766.0)])``.

    Args:
        encodings: one or more encodings.
        axes: for each encoding the input columns that it takes, in its order; None gives every
            encoding all columns, and they must then agree on ``in_dim``.

    Shape:
        ``(..., in_dim)`` to ``(..., sum of out_dims)``.

    Raises:
        InputError: no encoding, sizes that disagree, or columns that do not exist.
    """

    def __init__(
        self, encodings: Sequence[Encoding], axes: Sequence[Sequence[int]] | None = None
    ) -> None:
        parts = list(encodings)
        if not parts:
            refuse("Concat needs at least one encoding", "none")
        sizes = [part.in_dim for part in parts]
        if axes is None:
            in_dim = sizes[0]
            if len(set(sizes)) > 1:
                rule = "encodings side by side must agree on in_dim, or name their columns in axes"
                refuse(rule, f"in_dim={sizes}")
        else:
            column = partial(checks.integer, "a column in axes", least=0)
            axes = [[column(number) for number in columns] for columns in axes]
            if [len(columns) for columns in axes] != sizes:
                rule = "axes must have a list for each encoding, of one column per input axis"
                refuse(rule, f"axes={axes} for in_dim={sizes}")
            in_dim = 1 + max(number for columns in axes for number in columns)
        super().__init__(in_dim)
        self.axes = axes
        self.encodings = nn.ModuleList(parts)
        self.periods = tuple(self._period(axis) for axis in range(in_dim))

    def _parts(self) -> list[tuple[Encoding, list[int]]]:
        everything = [list(range(self.in_dim))] * len(self.encodings)
        parts: list[Any] = list(self.encodings)
        return list(zip(parts, self.axes or everything, strict=True))

    def _period(self, axis: int) -> float | None:
        """The period of an axis, where every encoding of it repeats with the same one."""
        periods = {
            period
            for part, columns in self._parts()
            for period, column in zip(part.periods, columns, strict=True)
            if column == axis
        }
        return periods.pop() if len(periods) == 1 else None

    @property
    def out_dim(self) -> int:
        """Number of features of all encodings together."""
        return sum(part.out_dim for part, _ in self._parts())

    def spec(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        return {
            "name": "concat",
            "encodings": [part.spec() for part, _ in self._parts()],
            "axes": self.axes,
        }

    def on_domain(self, lower: Tensor, upper: Tensor) -> Encoding:
        """Normalize those encodings that expect it."""
        parts = [part.on_domain(lower[columns], upper[columns]) for part, columns in self._parts()]
        return Concat(parts, self.axes)

    def features(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Return the features of all encodings, in their order."""
        if self.axes is None:
            features = [part.features(x, dtype) for part, _ in self._parts()]
        else:
            features = [part.features(x[..., columns], dtype) for part, columns in self._parts()]
        return torch.cat(features, -1)

    def extra_repr(self) -> str:
        """Show the columns; the parts show themselves."""
        return f"axes={self.axes}"
