"""Grids of trained features: multiresolution hash grids, and one dense grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import integer_at_least, positive_number, refuse
from ..modes import no_autocast
from .combine import Normalized
from .defaults import SignalShape
from .encoding import Encoding
from .grid_interpolation import interpolate
from .vertices import Layout

__all__ = ["DenseGrid", "HashGrid"]

_INTERPOLATIONS = ("linear", "smoothstep")
_LARGEST_TABLE = 30
_MOST_ROWS = 2**31
_MOST_CELLS = 2**30
_MOST_LEVELS = 1024
_WHOLE = ("vertices", "strides", "offsets")


class _Grid(Encoding):
    """Levels of vertices over the unit cube, each with trained features."""

    tables: Tensor
    scale: Tensor
    vertices: Tensor
    strides: Tensor
    offsets: Tensor

    def __init__(
        self,
        in_dim: int,
        features: int,
        interpolation: str,
        periodic: bool | Sequence[bool],
        seed: int | None,
    ) -> None:
        super().__init__(in_dim)
        if self.in_dim > 7:
            refuse("a grid has at most 7 axes", f"in_dim={in_dim}", "Use Fourier features.")
        self.features_per_level = integer_at_least(
            1, "features_per_level", features, "2 is the usual number."
        )
        if interpolation not in _INTERPOLATIONS:
            refuse(
                f"interpolation must be one of {', '.join(_INTERPOLATIONS)}",
                f"interpolation={interpolation!r}",
                "Choose one of them.",
            )
        self.interpolation = interpolation
        wraps = self._each_axis("periodic", periodic)
        if not all(isinstance(each, bool) for each in wraps):
            refuse(
                "periodic must be True, False, or one of them per axis",
                f"periodic={periodic!r}",
                f"Pass {self.in_dim} of them.",
            )
        self.periodic = tuple(wraps)
        self.periods = tuple(1.0 if each else None for each in wraps)
        self._seed = None if seed is None else integer_at_least(0, "seed", seed, "Pass seed=0.")
        if self._seed is not None and self._seed >= 1 << 64:
            refuse("seed must be below 2^64", f"seed={seed}", "Pass seed=0, say.")

    def _each_axis(self, name: str, value: Any) -> list[Any]:
        """Return what is given as one thing or one per axis as a list of one per axis."""
        each = list(value) if isinstance(value, Sequence) else [value] * self.in_dim
        if len(each) != self.in_dim:
            got = f"{name}={value!r}"
            refuse(f"{name} must be one for all axes or one per axis", got, f"Pass {self.in_dim}.")
        return each

    def _set_levels(self, cells: list[list[float]], most: int | None) -> None:
        """Lay out the levels and draw the start values.

        Args:
            cells: for each level the cells along each axis; rounded up where an axis wraps.
            most: the most rows of a level; None for no limit.
        """
        scale, vertices, strides, offsets = [], [], [], [0]
        self.dense_levels = 0
        for each in cells:
            # 1e-9: 16 · b^15 may come out as 512.0000000001
            whole = [math.ceil(c - 1e-9) for c in each]
            axes = list(zip(each, whole, self.periodic, strict=True))
            scale.append([float(w) if wraps else c - 1 for c, w, wraps in axes])
            vertices.append([w if wraps else w + 1 for _, w, wraps in axes])
            rows = math.prod(vertices[-1])
            if most is None or rows <= most:
                self.dense_levels += 1
                strides.append([math.prod(vertices[-1][:axis]) for axis in range(self.in_dim)])
            else:
                rows = most
            offsets.append(offsets[-1] + rows)
        if offsets[-1] >= _MOST_ROWS:
            refuse(
                f"the rows of a grid must number less than {_MOST_ROWS:,}",
                f"{offsets[-1]:,}",
                "Pass a lower resolution or a smaller table.",
            )
        self._mask = (most or 1) - 1
        self.register_constant(
            "scale", torch.tensor(scale, dtype=torch.float64, device="cpu").T[..., None]
        )
        home = torch.get_default_device()
        self._numbers = (vertices, strides, offsets[:-1])
        self._place()
        size = (offsets[-1], self.features_per_level)
        self.tables = nn.Parameter(torch.empty(size, dtype=torch.float32, device=home))
        if home.type == "meta":
            return
        generator = None
        if self._seed is not None:
            generator = torch.Generator().manual_seed(self._seed)
        with torch.no_grad():
            start = torch.empty(size, dtype=torch.float32, device="cpu")
            self.tables.copy_(start.uniform_(-1e-4, 1e-4, generator=generator))

    def layout(self) -> Layout:
        """Return where the vertices and the rows of the levels lie."""
        whole = (self.vertices, self.strides, self.offsets)
        return Layout(self.scale, *whole, self.dense_levels, self._mask, self.periodic)

    def _place(self) -> None:
        """Put the whole numbers of the layout where its float64 numbers are."""
        vertices, strides, offsets = (
            torch.tensor(numbers, dtype=torch.int32, device=self.scale.device)
            for numbers in self._numbers
        )
        strides = strides.reshape(self.dense_levels, self.in_dim)
        vertices, strides = (e.T[..., None].contiguous() for e in (vertices, strides))
        # buffers, so that torch.func stacks them; they follow from the settings and are not saved
        for name, whole in zip(_WHOLE, (vertices, strides, offsets[:, None]), strict=True):
            self.register_buffer(name, whole, persistent=False)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        super()._apply(fn, recurse)
        self._place()
        return self

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self._place()  # with assign=True the numbers may have left the meta device

    @property
    def num_levels(self) -> int:
        """Number of levels."""
        return self.scale.shape[1]

    @property
    def out_dim(self) -> int:
        """Number of features: those of every level."""
        return self.num_levels * self.features_per_level

    def on_domain(self, lower: Tensor, upper: Tensor) -> Encoding:
        """Bring the domain to the unit cube; a periodic axis is in periods already."""
        wraps = torch.tensor(self.periodic, device=lower.device)
        lower, upper = lower.clone(), upper.clone()
        lower[wraps], upper[wraps] = 0.0, 1.0
        with self.scale.device:  # not on the default device
            return Normalized(self, lower, upper)

    def features(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Return the features of ``x``, shape ``(..., in_dim)`` to ``(..., out_dim)``."""
        home = self.scale.device  # the CPU where x's device has no float64
        flat, smooth = x.reshape(-1, self.in_dim).to(home), self.interpolation == "smoothstep"
        with no_autocast(home):
            found = interpolate(flat, self.tables.to(home), self.layout(), smooth, dtype)
        return found.to(x.device).reshape(*x.shape[:-1], self.out_dim)


class HashGrid(_Grid):
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
        super().__init__(in_dim, features_per_level, interpolation, periodic, seed)
        number = integer_at_least(1, "num_levels", num_levels, "16 is the usual number.")
        size = integer_at_least(
            1, "log2_hashmap_size", log2_hashmap_size, "Pass 15 to 19 for a picture."
        )
        if number > _MOST_LEVELS:
            got = f"num_levels={num_levels}"
            refuse(f"num_levels must be at most {_MOST_LEVELS}", got, "16 is the usual number.")
        if size > _LARGEST_TABLE:
            refuse(
                f"log2_hashmap_size must be at most {_LARGEST_TABLE}",
                f"log2_hashmap_size={size}",
                "Pass 15 to 19 for a picture.",
            )
        base = [
            integer_at_least(1, "base_resolution", each, "16 is usual.")
            for each in self._each_axis("base_resolution", base_resolution)
        ]
        if max_resolution is None:
            max_resolution = base_resolution if number == 1 else 512
        finest = [
            positive_number("max_resolution", each, "Pass the number of pixels.")
            for each in self._each_axis("max_resolution", max_resolution)
        ]
        if max(finest) > _MOST_CELLS:
            refuse(
                f"max_resolution must be at most {_MOST_CELLS:,}",
                f"max_resolution={max_resolution}",
                "Pass the number of pixels along an axis.",
            )
        if any(top < bottom for bottom, top in zip(base, finest, strict=True)):
            refuse(
                "max_resolution must not be below base_resolution",
                f"{max_resolution} and {base_resolution}",
                "Swap them, or pass a smaller base_resolution.",
            )
        if number == 1 and finest != base:
            refuse(
                "a grid of one level has one resolution",
                f"base_resolution={base_resolution!r} and max_resolution={max_resolution!r}",
                "Leave max_resolution out, or pass two levels or more.",
            )
        self.log2_hashmap_size = size
        self.base_resolution, self.max_resolution = _plain(base), _plain(finest)
        ends = list(zip(base, finest, strict=True))
        parts = [level / max(1, number - 1) for level in range(number)]
        self._set_levels([[b * (f / b) ** part for b, f in ends] for part in parts], 2**size)

    def spec(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        return {
            "name": "hashgrid",
            "in_dim": self.in_dim,
            "num_levels": self.num_levels,
            "features_per_level": self.features_per_level,
            "log2_hashmap_size": self.log2_hashmap_size,
            "base_resolution": self.base_resolution,
            "max_resolution": self.max_resolution,
            "interpolation": self.interpolation,
            "periodic": list(self.periodic),
        }


class DenseGrid(_Grid):
    """One grid over the unit cube with features at every vertex, interpolated multilinearly.

    The unhashed case of `HashGrid`, with its conventions: ``resolution`` cells along each axis,
    coordinate u at u · (resolution - 1) + ½, or at u · resolution + ½ where the axis wraps.

    Args:
        in_dim: number of input axes, at most 7.
        resolution: cells along each axis, one number or one per axis.
        features_per_level: trained features of a vertex.
        interpolation: "linear" or "smoothstep".
        periodic: whether the grid wraps around: True, False, or one of them per axis.
        seed: start values come from this seed; None draws them from PyTorch's global generator.

    Shape:
        ``(..., in_dim)`` to ``(..., features_per_level)``.
    """

    def __init__(
        self,
        in_dim: int,
        resolution: int | Sequence[int] = 64,
        features_per_level: int = 2,
        interpolation: str = "linear",
        periodic: bool | Sequence[bool] = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(in_dim, features_per_level, interpolation, periodic, seed)
        self.resolution = [
            integer_at_least(1, "resolution", cells, "Pass cells per axis.")
            for cells in self._each_axis("resolution", resolution)
        ]
        self._set_levels([[float(cells) for cells in self.resolution]], None)

    @classmethod
    def for_signal(cls, name: str, signal: SignalShape) -> dict[str, Any]:
        """Return settings that suit a signal: of a picture, a vertex on each pixel's center."""
        settings = super().for_signal(name, signal)
        if signal.kind == "image":
            wraps = settings["periodic"]
            pairs = zip(signal.samples, wraps, strict=True)
            settings["resolution"] = [number if each else number + 1 for number, each in pairs]
        return settings

    def spec(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        return {
            "name": "densegrid",
            "in_dim": self.in_dim,
            "resolution": self.resolution,
            "features_per_level": self.features_per_level,
            "interpolation": self.interpolation,
            "periodic": list(self.periodic),
        }


def _plain(each: list[Any]) -> Any:
    """One number where all axes agree: the spec reads as the call did."""
    return each[0] if len(set(each)) == 1 else each
