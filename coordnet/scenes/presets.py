"""Recipes for scenes: the fast grid, and the original NeRF."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ..encodings import HashGrid, SphericalHarmonics
from ..networks import MLP
from .radiance.field import RadianceField
from .radiance.model import RadianceModel
from .radiance.occupancy_model import OccupancyModel
from .radiance.unbounded import UnboundedModel
from .space import Space

__all__ = ["build_fast", "build_nerf"]

_FEATURES = 15
_WIDTH = 64
_FINEST = 256
_SAMPLES_PER_STEP = 40_000
_STEPS_ACROSS = 416  # along the diagonal of the box: 1.6 a cell of the finest level


def build_fast(
    space: Space,
    hull: torch.Tensor | None,
    seed: int,
    hidden_dim: int | None = None,
    layers: int | None = None,
) -> OccupancyModel:
    """Build Instant-NGP's kind of model (Müller et al., 2022).

    Args:
        space: a box, or all of space about a center.
        hull: the cells that pictures do not show to be empty, ``(R, R, R)`` bool, or None.
        seed: of the start values.
        hidden_dim: width of both networks.
        layers: hidden layers of the color network.
    """
    width = _WIDTH if hidden_dim is None else hidden_dim
    bounds = (space.lower, space.upper) if space.bounded else ([-2.0] * 3, [2.0] * 3)
    corners = [torch.tensor(corner, dtype=torch.float64, device="cpu") for corner in bounds]
    grid = HashGrid(
        3,
        num_levels=4,
        features_per_level=4,
        log2_hashmap_size=19,
        base_resolution=16,
        max_resolution=_FINEST if space.bounded else 2 * _FINEST,
        seed=seed,
    )
    directions = SphericalHarmonics(degree=3)
    field = RadianceField(
        grid.on_domain(*corners),
        directions,
        MLP(grid.out_dim, 1 + _FEATURES, width, 1, seed=seed),
        MLP(
            _FEATURES + directions.out_dim, 3, width, 2 if layers is None else layers, seed=seed + 1
        ),
    )
    if space.bounded:
        step = float(torch.linalg.vector_norm(corners[1] - corners[0])) / _STEPS_ACROSS
        model = OccupancyModel(field, space.lower, space.upper, step_size=step, hull=hull)
    else:
        model = UnboundedModel(field, space.center, space.radius, near=space.near)
    model.samples_per_step = _SAMPLES_PER_STEP
    return model


def build_nerf(
    lower: Sequence[float], upper: Sequence[float], near: float, far: float, seed: int
) -> RadianceModel:
    """Build the original NeRF (Mildenhall et al., 2020)."""
    from .radiance.hierarchical import original_nerf

    return original_nerf(near, far, lower, upper, seed=seed)
