"""The base class of trained grids: levels of vertices over the unit cube."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .. import checks
from ..errors import refuse
from ..modes import no_autocast
from .combine import Normalized
from .encoding import Encoding
from .grid_interpolation import interpolate
from .vertices import Layout

__all__ = ["MAX_CELLS", "Grid"]

MAX_CELLS = 2**30  # along an axis
_MAX_ROWS = 2**31  # rows are numbered in 32 bits
_MAX_AXES = 7


class Grid(Encoding):
    """Levels of vertices over the unit cube, each vertex with trained features.

    Args:
        in_dim: number of input axes, at most 7.
        features_per_level: trained features of a vertex.
        interpolation: "linear" or "smoothstep".
        periodic: whether the grid wraps around: True, False, or one of them per axis.
        seed: of the start values; None draws them from PyTorch's global generator.
    """

    tables: Tensor
    scale: Tensor
    vertices: Tensor
    strides: Tensor
    offsets: Tensor

    def __init__(
        self,
        in_dim: int,
        features_per_level: int,
        interpolation: str,
        periodic: bool | Sequence[bool],
        seed: int | None,
    ) -> None:
        super().__init__(checks.integer("in_dim", in_dim, least=1, most=_MAX_AXES))
        self.features_per_level = features_per_level
        self.interpolation = checks.one_of("interpolation", interpolation, ("linear", "smoothstep"))
        self.periodic = checks.per_axis("periodic", periodic, self.in_dim, checks.boolean)
        self.periods = tuple(1.0 if wraps else None for wraps in self.periodic)
        self._seed = None if seed is None else checks.seed(seed)

    def _set_levels(self, cells: list[list[float]], max_rows: int | None) -> None:
        """Lay out the levels and draw the start values.

        Args:
            cells: for each level the cells along each axis; rounded up where an axis wraps.
            max_rows: the most rows of a level, a power of 2; None for no limit.
        """
        scale, vertices, strides, offsets = [], [], [], [0]
        self.dense_levels = 0
        for level in cells:
            # 1e-9: 16 · b^15 may come out as 512.0000000001
            ceiled = [math.ceil(c - 1e-9) for c in level]
            axes = list(zip(level, ceiled, self.periodic, strict=True))
            scale.append([float(n) if wraps else c - 1 for c, n, wraps in axes])
            vertices.append([n if wraps else n + 1 for _, n, wraps in axes])
            rows = math.prod(vertices[-1])
            if max_rows is None or rows <= max_rows:
                self.dense_levels += 1
                strides.append([math.prod(vertices[-1][:axis]) for axis in range(self.in_dim)])
            else:
                rows = max_rows
            offsets.append(offsets[-1] + rows)
        if offsets[-1] >= _MAX_ROWS:
            refuse(f"the rows of a grid must number less than {_MAX_ROWS:,}", f"{offsets[-1]:,}")
        self._mask = (max_rows or 1) - 1
        self._integers = (vertices, strides, offsets[:-1])
        self.register_constant(
            "scale", torch.tensor(scale, dtype=torch.float64, device="cpu").T[..., None]
        )
        self.derive()
        device = torch.get_default_device()
        size = (offsets[-1], self.features_per_level)
        self.tables = nn.Parameter(torch.empty(size, dtype=torch.float32, device=device))
        if device.type == "meta":
            return
        generator = None if self._seed is None else torch.Generator().manual_seed(self._seed)
        with torch.no_grad():
            start = torch.empty(size, dtype=torch.float32, device="cpu")
            self.tables.copy_(start.uniform_(-1e-4, 1e-4, generator=generator))

    def derive(self) -> None:
        """Put the integers of the layout where its float64 numbers are."""
        vertices, strides, offsets = (
            torch.tensor(numbers, dtype=torch.int32, device=self.scale.device)
            for numbers in self._integers
        )
        strides = strides.reshape(self.dense_levels, self.in_dim)
        # buffers, so that torch.func stacks them; they follow from the settings and are not saved
        self.register_buffer("vertices", vertices.T[..., None].contiguous(), persistent=False)
        self.register_buffer("strides", strides.T[..., None].contiguous(), persistent=False)
        self.register_buffer("offsets", offsets[:, None], persistent=False)

    def layout(self) -> Layout:
        """Return where the vertices and the rows of the levels lie."""
        return Layout(
            self.scale,
            self.vertices,
            self.strides,
            self.offsets,
            self.dense_levels,
            self._mask,
            self.periodic,
        )

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
        with self.scale.device:  # not on the default device
            return Normalized(self, lower.masked_fill(wraps, 0.0), upper.masked_fill(wraps, 1.0))

    def features(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Return the features of ``x``, shape ``(..., in_dim)`` to ``(..., out_dim)``."""
        device = self.scale.device  # the CPU where x's device has no float64
        flat, smooth = x.reshape(-1, self.in_dim).to(device), self.interpolation == "smoothstep"
        with no_autocast(device):
            features = interpolate(flat, self.tables.to(device), self.layout(), smooth, dtype)
        return features.to(x.device).reshape(*x.shape[:-1], self.out_dim)
