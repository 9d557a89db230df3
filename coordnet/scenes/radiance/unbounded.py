"""The fast scene model of unbounded space, contracted into a cube."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ...checks import number, per_axis, positive
from ...errors import refuse
from ..rendering.contraction import contract
from ..rendering.packed_samples import PackedSamples
from .field import RadianceField, require_keys
from .model import RenderOutput
from .occupancy_model import OccupancyModel

__all__ = ["UnboundedModel"]

_EDGE = 2.0  # half the side of the cube that holds all of space
_EVEN = 2.0  # radii up to which samples are even in distance: cameras stand within one


class UnboundedModel(OccupancyModel):
    """An `OccupancyModel` of all of space: what is far takes the outer half of a cube.

    With y = (x - center) / radius the field lies over z = contract(y) in [-2, 2]³ (`contract` of
    mip-NeRF 360, with the largest of the absolute values as norm, so that the cube is filled):
    the cube of half side ``radius`` about the center keeps its shape, and beyond it equal steps
    are equal steps in inverse distance. Samples along a ray are even in distance at first, and in
    inverse distance from two radii on. The field's densities are per length in the cube,

        σ(x) = field(z) · min(1, 2 - ‖z‖)² / radius,

    so that what is far is at the start no more opaque than what is near. Samples within a radius
    of a camera pass on the part t² of their gradient (Philip and Deschaintre, 2023): space close
    to a camera is sampled the more densely the closer it is, and would fill with floating specks
    that this camera alone sees.

    Args:
        field: density and color over the cube [-2, 2]³.
        center: of the part of space that keeps its shape, 3 numbers.
        radius: half its side.
        near: where rays begin, in radii.
        far: where they end, in radii: what lies beyond is painted there.
        step_size: between samples up to two radii, in radii.
        resolution: cells of the occupancy grid along each axis of the cube.

    Raises:
        InputError: a center that is no point, lengths that are not positive, far not above near.
    """

    def __init__(
        self,
        field: RadianceField,
        center: Sequence[float],
        radius: float,
        *,
        near: float = 0.05,
        far: float = 1000.0,
        step_size: float = 1 / 20,
        resolution: int = 128,
    ) -> None:
        cube = [-_EDGE] * 3, [_EDGE] * 3
        super().__init__(field, *cube, step_size, resolution, contract=_contract)
        self.center = list(per_axis("center", center, 3, number))
        self.radius = positive("radius", radius)
        self.near, self.far = positive("near", near), positive("far", far)
        if self.far <= self.near:
            refuse("far must be above near", f"near={near}, far={far}")

    @property
    def box(self) -> tuple[list[float], list[float]]:
        """The corners of the part of space that keeps its shape."""
        lower, upper = ([c + sign * self.radius for c in self.center] for sign in (-1, 1))
        return lower, upper

    def density(self, positions: Tensor) -> Tensor:
        """Return densities ``(N,)`` per unit of length; 0 in cells that are known to be empty."""
        points = _contract(self._scaled(positions))
        densities = self.geometry(points)[0] / self.radius
        return torch.where(self.grid.is_occupied(points), densities, 0.0)

    def color(self, positions: Tensor, directions: Tensor) -> Tensor:
        """Return colors ``(N, 3)``."""
        return super().color(_contract(self._scaled(positions)), directions)

    def render(
        self,
        origins: Tensor,
        directions: Tensor,
        generator: torch.Generator | None = None,
        max_samples: int | None = None,
    ) -> RenderOutput:
        """Render rays; see `RadianceModel.render`."""
        output = super().render(self._scaled(origins), directions, generator, max_samples)
        levels = tuple(v._replace(depth=v.depth * self.radius) for v in output.levels)
        return output._replace(levels=levels)

    def sample(
        self,
        origins: Tensor,
        directions: Tensor,
        generator: torch.Generator | None,
        max_samples: int | None = None,
    ) -> tuple[PackedSamples, Tensor]:
        """Return samples along rays, in radii, and where in the cube they lie, ``(M, 3)``."""
        max_steps = None
        if max_samples is not None:  # all rays have as many, since directions are unit vectors
            length = _evened(self.far) - _evened(self.near)
            max_steps = math.ceil(length / self.grid.step_size)
        samples = self.grid.march(
            origins, directions, near=self.near, far=self.far, generator=generator,
            even_until=_EVEN, max_samples=max_samples, max_steps=max_steps,
        )  # fmt: skip
        return samples, _contract(samples.positions(origins, directions))

    def geometry(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Return densities per radius of space at points of the cube, and features."""
        densities, features = self.field.geometry(points)
        return densities * _shrunk(points).square(), features

    def gradient_scale(self, samples: PackedSamples) -> Tensor:
        """Return t², at most 1, at the distance t of each sample, in radii."""
        return ((samples.starts + samples.ends) / 2).square().clamp(max=1)

    def cell_density(self, points: Tensor) -> Tensor:
        """Return densities at points of the cube, times how much longer a step is there."""
        # at the distance r, a step is (r / even)² long
        return self.field.density(points) * _shrunk(points).square().clamp(min=_EVEN**-2)

    def _scaled(self, positions: Tensor) -> Tensor:
        # on its way to a GPU the host need not wait for it
        center = torch.tensor(self.center, dtype=positions.dtype, device="cpu")
        return (positions - center.to(positions.device, non_blocking=True)) / self.radius

    def spec(self) -> dict[str, Any]:
        """Return everything but the tensors, as plain JSON values."""
        return {
            "field": self.field.spec(),
            "center": self.center,
            "radius": self.radius,
            "near": self.near,
            "far": self.far,
            "step_size": self.grid.step_size,
            "resolution": self.grid.resolution[0],
        }

    @classmethod
    def from_spec(cls, spec: object) -> UnboundedModel:
        """Build a model with fresh weights from what `spec` returned.

        Raises:
            InputError: where it is no such thing.
        """
        names = ("center", "radius", "near", "far", "step_size", "resolution")
        spec = require_keys("an unbounded scene model", spec, ("field", *names))
        settings = {name: spec[name] for name in names}
        return cls(RadianceField.from_spec(spec["field"]), **settings)


def _evened(distance: float) -> float:
    """Return a distance along a ray on the scale on which its samples are even."""
    return distance if distance <= _EVEN else 2 * _EVEN - _EVEN**2 / distance


def _contract(points: Tensor) -> Tensor:
    return contract(points, "max")


def _shrunk(points: Tensor) -> Tensor:
    """Return 1 / distance at points of the cube: 1 in its inner half, 0 at its faces."""
    return (2 - points.abs().amax(-1)).clamp(0, 1)
