"""The multiresolution hash encoding of Instant-NGP."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from .. import checks
from ..errors import refuse
from .grid import MAX_CELLS, Grid

__all__ = ["HashGrid"]

_MAX_LEVELS = 1024
_MAX_LOG2_SIZE = 30


class HashGrid(Grid):
    """Instant-NGP's multiresolution hash encoding (Müller et al., 2022), in plain PyTorch.

    Level l = 0 … L-1 is a grid over the unit cube. With growth b = (max_resolution /
    base_resolution)^(1/(L-1)) and scale_l = base_resolution · b^l - 1, a coordinate u lies at
    u · scale_l + ½ between the vertices 0, 1, …, as in tiny-cuda-nn. A level whose vertices fit
    into ``2^log2_hashmap_size`` rows has a row for each (first axis fastest); a finer one is
    hashed into that many rows: the exclusive or of the vertex numbers, times 1, 2654435761,
    805459861, …, modulo the number of rows. The features of the 2^d corners are interpolated
    multilinearly and all levels put side by side, coarse to fine.

    Two differences from tiny-cuda-nn: dense levels have a vertex more along each axis (there
    the last half cell shares rows with the next line), and their size is not rounded up to 8.

    Coordinates are meant to lie in the unit cube; in a `Field` the domain is brought there.
    Nothing is clamped: outside, vertices wrap around, and the values mean nothing. An axis in
    ``periodic`` repeats with period 1, exactly: its levels have a whole number of cells.

    Args:
        in_dim: number of input axes, at most 7.
        num_levels: number of levels L.
        features_per_level: trained features of a vertex. Even numbers are the quick ones.
        log2_hashmap_size: binary logarithm of the most rows of a level.
        base_resolution: cells of the coarsest level along each axis, one number or one per
            axis.
        max_resolution: cells of the finest level, likewise; None for 512, or for those of the
            coarsest where there is one level.
        interpolation: "linear", or "smoothstep" for continuous first derivatives.
        periodic: whether the grid wraps around: True, False, or one of them per axis.
        seed: start values come from this seed; None draws them from PyTorch's global generator.

    Shape:
        ``(..., in_dim)`` to ``(..., num_levels * features_per_level)``.

    Raises:
        InputError: a size that is too small or too large, or a finest resolution below the
            coarsest.
    """

    def __init__(
        self,
        in_dim: int,
        num_levels: int = 16,
        features_per_level: int = 2,
        log2_hashmap_size: int = 15,
        base_resolution: int | Sequence[int] = 16,
        max_resolution: float | Sequence[float] | None = None,
        interpolation: str = "linear",
        periodic: bool | Sequence[bool] = False,
        seed: int | None = None,
    ) -> None:
        features = checks.integer("features_per_level", features_per_level, least=1)
        super().__init__(in_dim, features, interpolation, periodic, seed)
        levels = checks.integer("num_levels", num_levels, least=1, most=_MAX_LEVELS)
        self.log2_hashmap_size = checks.integer(
            "log2_hashmap_size", log2_hashmap_size, least=1, most=_MAX_LOG2_SIZE
        )
        cells = partial(checks.integer, least=1)
        self.base_resolution = checks.per_axis(
            "base_resolution", base_resolution, self.in_dim, cells
        )
        if max_resolution is None:
            max_resolution = base_resolution if levels == 1 else 512
        cells = partial(checks.number, above=0, most=MAX_CELLS)
        self.max_resolution = checks.per_axis("max_resolution", max_resolution, self.in_dim, cells)
        ends = list(zip(self.base_resolution, self.max_resolution, strict=True))
        got = f"base_resolution={base_resolution!r} and max_resolution={max_resolution!r}"
        if any(top < bottom for bottom, top in ends):
            refuse("max_resolution must not be below base_resolution", got)
        if levels == 1 and any(top != bottom for bottom, top in ends):
            refuse("a grid of one level has one resolution", got)
        parts = [level / max(1, levels - 1) for level in range(levels)]
        sizes = [[low * (high / low) ** part for low, high in ends] for part in parts]
        self._set_levels(sizes, 2**self.log2_hashmap_size)

    def spec(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        return {
            "name": "hashgrid",
            "in_dim": self.in_dim,
            "num_levels": self.num_levels,
            "features_per_level": self.features_per_level,
            "log2_hashmap_size": self.log2_hashmap_size,
            "base_resolution": checks.plain(self.base_resolution),
            "max_resolution": checks.plain(self.max_resolution),
            "interpolation": self.interpolation,
            "periodic": checks.plain(self.periodic),
        }
