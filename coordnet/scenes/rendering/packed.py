"""Volume rendering of packed samples: rays of any number of samples each, in one flat list.

The functions of `coordnet.scenes.rendering.volume`, with the samples last. Sums along rays are
differences of one running sum over all samples in float64: a few flat operations, no loop over
rays, no atomic additions, so that results repeat bit for bit. In float32 the running sum of
100,000 samples has lost the digits that the last rays need. A single NaN, though, spoils the rays
behind it.

First derivatives of `composite` and `weights` are written out; the other functions are
differentiable as often as one likes.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import refuse
from .compositing import composited, opaque_depth
from .intervals import finite_lengths, optical_depths
from .ray_sums import ray_sums, ray_totals
from .samples import PackedSamples
from .volume import Background, RadianceFunction, Rendering, crossing, normalized, over_background

__all__ = [
    "Composite",
    "color",
    "composite",
    "distortion_loss",
    "expected_depth",
    "median_depth",
    "opacity",
    "render_rays",
    "transmittance",
    "visible",
    "weights",
]


class Composite(NamedTuple):
    """What densities and colors amount to along rays.

    Attributes:
        color: ``(R, C)``, background included.
        opacity: ``(R,)``.
        weights: ``(M,)``.
    """

    color: Tensor
    opacity: Tensor
    weights: Tensor


def composite(
    densities: Tensor, colors: Tensor, samples: PackedSamples, background: Background = None
) -> Composite:
    """Return color, opacity and weights of all rays at once, which is the quick way to train.

    Args:
        densities: σ, ``(M,)``, at least 0.
        colors: ``(M, C)``.
        samples: the M samples of R rays.
        background: numbers that broadcast to ``(R, C)``; None is black.

    Raises:
        InputError: densities or colors that are not one per sample.
    """
    _check("densities", densities, samples, 1)
    _check("colors", colors, samples, 2)
    shares, seen, opaque = composited(densities, colors, samples)
    assert seen is not None
    return Composite(over_background(seen, opaque, background), opaque, shares)


def weights(densities: Tensor, samples: PackedSamples) -> Tensor:
    """Return w_i = T_i (1 - exp(-σ_i δ_i)), ``(M,)``, of densities ``(M,)``."""
    _check("densities", densities, samples, 1)
    return composited(densities, None, samples)[0]


def transmittance(densities: Tensor, samples: PackedSamples) -> Tensor:
    """Return T_i, what is left of the light on arrival at each sample, ``(M,)``."""
    _check("densities", densities, samples, 1)
    depths = optical_depths(densities, samples.intervals)
    depths = depths.clamp(max=opaque_depth(depths.dtype))
    before = ray_sums(depths, samples, "before")
    return torch.exp(-before).to(depths.dtype)


@torch.no_grad()
def visible(densities: Tensor, samples: PackedSamples, threshold: float = 1e-4) -> Tensor:
    """Return whether light arrives at each sample: T_i ≥ threshold, bool ``(M,)``.

    What fails adds less than ``threshold`` to its ray's color, all of it together:
    ``samples.keep(visible(densities, samples))`` stops rays in opaque matter, so that colors and
    gradients need not be worked out behind it.
    """
    return transmittance(densities, samples) >= threshold


def opacity(weights: Tensor, samples: PackedSamples) -> Tensor:
    """Return Σ w, ``(R,)``."""
    _check("weights", weights, samples, 1)
    return ray_totals(weights, samples)


def color(
    weights: Tensor, colors: Tensor, samples: PackedSamples, background: Background = None
) -> Tensor:
    """Return Σ w_i c_i + (1 - Σ w_i) · background, ``(R, C)``, of colors ``(M, C)``."""
    _check("colors", colors, samples, 2)
    columns = [ray_totals(weights * column, samples) for column in colors.unbind(-1)]
    return over_background(torch.stack(columns, -1), opacity(weights, samples), background)


def expected_depth(
    weights: Tensor,
    samples: PackedSamples,
    distances: Tensor | None = None,
    *,
    normalize: bool = True,
) -> Tensor:
    """Return the mean distance of what is seen, Σ w_i t_i / Σ w_i, ``(R,)``.

    Args:
        weights: ``(M,)``.
        samples: their samples.
        distances: t, ``(M,)``; None takes the midpoints.
        normalize: divide by the opacity. Σ w_i t_i alone has a bounded gradient.

    Returns:
        ``(R,)``, in lengths of the direction; 0 where the opacity is below 1e-10.
    """
    _check("weights", weights, samples, 1)
    at = samples.midpoints if distances is None else distances
    total = ray_totals(weights * at, samples)
    return normalized(total, opacity(weights, samples)) if normalize else total


@torch.no_grad()
def median_depth(weights: Tensor, samples: PackedSamples) -> Tensor:
    """Return the distance at which half of what a ray shows has been gathered, ``(R,)``.

    As `volume.median_depth`: exact for constant densities; 0 where the opacity is below 1e-10.
    """
    _check("weights", weights, samples, 1)
    half = opacity(weights, samples) / 2
    if not len(samples):
        return half
    before = ray_sums(weights, samples, "before")
    short = before + weights < half.index_select(0, samples.ray_indices)
    at = samples.offsets[:-1] + ray_totals(short.to(weights.dtype), samples).round().long()
    at = torch.minimum(at, samples.offsets[1:] - 1).clamp(min=0)
    parts = (before, weights, samples.starts, samples.ends)
    return crossing(half, *(each.index_select(0, at).to(half.dtype) for each in parts))


def distortion_loss(weights: Tensor, samples: PackedSamples) -> Tensor:
    """Return Σ_ij w_i w_j |m_i - m_j| + ⅓ Σ_i w_i² δ_i of each ray, ``(R,)``.

    As `volume.distortion_loss` (mip-NeRF 360), with the distances of ``samples``.
    """
    _check("weights", weights, samples, 1)
    middle, lengths = samples.midpoints, samples.intervals
    # the gap behind a ray's last sample means nothing, and is multiplied by 0
    gaps = F.pad(middle.diff(), (0, 1)) if len(samples) else middle
    before = ray_sums(weights, samples, "before")
    after = ray_sums(weights, samples, "after")
    spread = 2 * gaps * (before + weights) * after
    own = weights**2 * finite_lengths(lengths) / 3
    return ray_totals(spread + own, samples).to(weights.dtype)


def render_rays(
    field: RadianceFunction,
    origins: Tensor,
    directions: Tensor,
    samples: PackedSamples,
    *,
    background: Background = None,
) -> Rendering:
    """Render rays through a field that is evaluated at the midpoints of their samples.

    Args:
        field: any callable from positions ``(M, 3)`` and directions ``(M, 3)`` to densities
            ``(M,)``, at least 0, and colors ``(M, C)``.
        origins: ``(R, 3)``.
        directions: ``(R, 3)``.
        samples: `OccupancyGrid.march` of these rays, say.
        background: numbers that broadcast to ``(R, C)``; None is black.
    """
    positions = samples.positions(origins, directions)
    densities, colors = field(positions, directions.index_select(0, samples.ray_indices))
    seen = composite(densities, colors, samples, background)
    return Rendering(seen.color, seen.opacity, expected_depth(seen.weights, samples), seen.weights)


def _check(name: str, values: Tensor, samples: PackedSamples, axes: int) -> None:
    if values.ndim != axes or len(values) != len(samples):
        shape = "(M,)" if axes == 1 else "(M, C)"
        refuse(
            f"{name} must be one per sample, shape {shape} with M={len(samples)}",
            f"shape {tuple(values.shape)}",
            "Evaluate the field at samples.positions().",
        )
