"""The fast scene model: a radiance field behind an occupancy grid."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ...errors import refuse
from ..rendering import packed
from ..rendering.samples import PackedSamples, chosen
from ..rendering.volume import Rendering
from .field import RadianceField
from .model import REFRESH_EVERY, RadianceModel, Seen
from .occupancy import CarvedGrid

__all__ = ["OccupancyModel"]

_OPAQUE = 1e-4  # transmittance below which nothing more is seen


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
            step_size = math.dist(lower, upper) / 400
        self.field = field
        self.grid = CarvedGrid(lower, upper, step_size, resolution, hull, contract)
        self._refreshed = 0

    @property
    def box(self) -> tuple[list[float], list[float]]:
        """The lower and the upper corner of what the scene lies in."""
        return self.grid.corners

    def density(self, positions: Tensor) -> Tensor:
        """Return densities ``(N,)``; 0 in cells that are known to be empty."""
        found = self.field.density(positions)
        return torch.where(self.grid.is_occupied(positions), found, 0.0)

    def color(self, positions: Tensor, directions: Tensor) -> Tensor:
        """Return colors ``(N, 3)``."""
        return self.field(positions, directions)[1]

    def render(
        self,
        origins: Tensor,
        directions: Tensor,
        generator: torch.Generator | None = None,
        max_samples: int | None = None,
    ) -> Seen:
        """Render rays; see `RadianceModel.render`."""
        with torch.no_grad():
            samples, positions = self.sample(origins, directions, generator, max_samples)
        densities, features = self.geometry(positions)
        share = self.gradient_share(samples)
        densities = _scale_gradient(densities, share)
        # all densities count, or what lies in front could grow opaque unopposed; colors do not
        visible = packed.visible(densities, samples, _OPAQUE)
        # their number would have to be waited for: with room for a fixed one all get a color
        seen = chosen(visible, None) if max_samples is None else slice(None)
        turned = self.field.directions(directions)[samples.ray_indices[seen]]
        colors = self.field.color(features[seen], turned)
        colors = _scale_gradient(colors, None if share is None else share[seen, None])
        if isinstance(seen, slice):
            colors = torch.where(visible[:, None], colors, 0.0)
        else:
            colors = colors.new_zeros(len(samples), 3).index_copy(0, seen, colors)
        found = packed.composite(densities, colors, samples)
        depth = packed.expected_depth(found.weights, samples)
        rendering = Rendering(found.color, found.opacity, depth, found.weights)
        number = len(samples) if samples.wanted is None else samples.wanted
        return Seen((rendering,), number, samples.complete)

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

    def gradient_share(self, samples: PackedSamples) -> Tensor | None:
        """Return which part of its gradient each sample passes on, ``(M,)``; None for all of it."""
        return None

    def refresh(self, step: int, generator: torch.Generator) -> None:
        """Refresh the occupancy grid, every 16 steps of a fit."""
        if step % REFRESH_EVERY == 0 and step > 0:
            self.grid.refresh(self.in_a_step, step // REFRESH_EVERY - 1, generator)

    def in_a_step(self, points: Tensor) -> Tensor:
        """Return densities at points of the grid, by which its cells are found to be empty."""
        return self.field.density(points)

    def status(self) -> str:
        """Return the share of the box that is not empty."""
        return f", {100 * float(self.grid.fraction()):.2g} % occupied"

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
    def from_spec(cls, spec: Any) -> OccupancyModel:
        """Build a model with fresh weights from what `spec` returned.

        Raises:
            InputError: where it is no such thing.
        """
        wanted = {"field", "lower", "upper", "step_size", "resolution"}
        if not isinstance(spec, dict) or not wanted <= spec.keys():
            refuse(
                f"a scene model's spec has {', '.join(sorted(wanted))}",
                repr(spec)[:80],
                "Save it again.",
            )
        settings = {name: spec[name] for name in wanted - {"field"}}
        return cls(RadianceField.from_spec(spec["field"]), **settings)


def _scale_gradient(values: Tensor, share: Tensor | None) -> Tensor:
    """Return the same values, a share of whose gradient is passed on."""
    if share is None:
        return values
    return torch.lerp(values.detach(), values, share.to(values.dtype))
