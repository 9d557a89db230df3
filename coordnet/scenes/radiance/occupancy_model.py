"""The fast scene model: a radiance field and an occupancy grid that skips empty space."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ...checks import box
from ..rendering import volume
from ..rendering.packed_samples import PackedSamples, chosen
from .carved_grid import CarvedGrid
from .field import RadianceField, require_keys
from .model import REFRESH_EVERY, RadianceModel, RenderOutput

__all__ = ["OccupancyModel"]

_INVISIBLE = 1e-4  # transmittance below which nothing more is seen


class OccupancyModel(RadianceModel):
    """A `RadianceField`, sampled where its `CarvedGrid` knows of something.

    Samples are a step apart; those in empty cells are left out, and no color is worked out behind
    what lets less than 1e-4 of the light through.

    Args:
        field: density and color.
        lower: lower corner of the box that holds the scene.
        upper: upper corner.
        step_size: distance between samples; a four-hundredth of the box's diagonal where None.
        resolution: cells of the occupancy grid along each axis.
        hull: which of them may hold something, from `visual_hull`; None for all.
        contract: as in `OccupancyGrid`.
    """

    def __init__(
        self,
        field: RadianceField,
        lower: Sequence[float],
        upper: Sequence[float],
        step_size: float | None = None,
        resolution: int = 128,
        hull: Tensor | None = None,
        contract: Callable[[Tensor], Tensor] | None = None,
    ) -> None:
        super().__init__()
        if step_size is None:
            step_size = math.dist(*box(lower, upper, 3)) / 400
        self.field = field
        self.grid = CarvedGrid(lower, upper, step_size, resolution, hull, contract)

    @property
    def box(self) -> tuple[list[float], list[float]]:
        """The lower and the upper corner of what the scene lies in."""
        return self.grid.corners

    def density(self, positions: Tensor) -> Tensor:
        """Return densities ``(N,)``; 0 in cells that are known to be empty."""
        densities = self.field.density(positions)
        return torch.where(self.grid.is_occupied(positions), densities, 0.0)

    def color(self, positions: Tensor, directions: Tensor) -> Tensor:
        """Return colors ``(N, 3)``."""
        return self.field(positions, directions)[1]

    def render(
        self,
        origins: Tensor,
        directions: Tensor,
        generator: torch.Generator | None = None,
        max_samples: int | None = None,
    ) -> RenderOutput:
        """Render rays; see `RadianceModel.render`."""
        with torch.no_grad():
            samples, positions = self.sample(origins, directions, generator, max_samples)
        densities, features = self.geometry(positions)
        scale = self.gradient_scale(samples)
        densities = _scale_gradient(densities, scale)
        # all densities count, or what lies in front could grow opaque unopposed; colors do not
        visible = volume.visible(densities, samples, _INVISIBLE)
        # their number would have to be waited for: with room for a fixed one all get a color
        seen = chosen(visible, None) if max_samples is None else slice(None)
        encoded = self.field.directions(directions)[samples.ray_indices[seen]]
        colors = self.field.color(features[seen], encoded)
        colors = _scale_gradient(colors, None if scale is None else scale[seen, None])
        if isinstance(seen, slice):
            colors = torch.where(visible[:, None], colors, 0.0)
        else:
            colors = colors.new_zeros(len(samples), 3).index_copy(0, seen, colors)
        number = len(samples) if samples.needed is None else samples.needed
        rendering = volume.composite(densities, colors, samples)
        return RenderOutput((rendering,), number, samples.complete)

    def geometry(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return densities and features at points of the grid; see `RadianceField.geometry`."""
        return self.field.geometry(points)

    def sample(
        self,
        origins: Tensor,
        directions: Tensor,
        generator: torch.Generator | None,
        max_samples: int | None = None,
    ) -> tuple[PackedSamples, Tensor]:
        """Return samples along rays and where the field is asked for them, ``(M, 3)``."""
        samples = self.grid.march(origins, directions, generator=generator, max_samples=max_samples)
        return samples, samples.positions(origins, directions)

    def gradient_scale(self, samples: PackedSamples) -> Tensor | None:
        """Return a factor for the gradient of each sample, ``(M,)``; None for 1."""
        return None

    def refresh(self, step: int, generator: torch.Generator) -> None:
        """Refresh the occupancy grid, every 16 steps of a fit."""
        if step % REFRESH_EVERY == 0 and step > 0:
            self.grid.refresh(self.cell_density, step // REFRESH_EVERY - 1, generator)

    def cell_density(self, points: Tensor) -> Tensor:
        """Return densities at points of the grid, by which it decides which cells are empty."""
        return self.field.density(points)

    def occupied_fraction(self) -> float:
        """Return the fraction of the grid's cells that are not empty."""
        return float(self.grid.fraction())

    def spec(self) -> dict[str, Any]:
        """Return everything but the tensors, as plain JSON values."""
        lower, upper = self.grid.corners
        return {
            "field": self.field.spec(),
            "lower": lower,
            "upper": upper,
            "step_size": self.grid.step_size,
            "resolution": self.grid.resolution[0],
        }

    @classmethod
    def from_spec(cls, spec: object) -> OccupancyModel:
        """Build a model with fresh weights from what `spec` returned.

        Raises:
            InputError: where it is no such thing.
        """
        names = ("lower", "upper", "step_size", "resolution")
        spec = require_keys("a scene model", spec, ("field", *names))
        return cls(RadianceField.from_spec(spec["field"]), *(spec[name] for name in names))


def _scale_gradient(values: Tensor, scale: Tensor | None) -> Tensor:
    """Return the same values, with their gradients times ``scale``."""
    if scale is None:
        return values
    return torch.lerp(values.detach(), values, scale.to(values.dtype))
