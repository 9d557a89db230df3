"""Volume rendering: colors, opacities and depths of rays, as plain functions.

Light that reaches the eye along a ray through a medium of density σ (per unit of length, at least
0) and color c, both constant on each of S intervals of length δ (Max 1995; Mildenhall et al.
2020, equation 3):

    τ_i = σ_i δ_i                       optical depth
    T_i = exp(-Σ_{j<i} τ_j)             transmittance: what is left on arrival
    w_i = T_i (1 - exp(-τ_i))           weight: what comes from interval i
    C   = Σ w_i c_i + (1 - Σ w_i) · background

``samples`` is one of two things, and values have one number per interval in its shape:

* edges ``(..., S+1)`` of rays with S intervals each; values are ``(..., S)``, colors
  ``(..., S, C)``, results ``(...)``. Gradients reach the edges.
* `PackedSamples`, M intervals of R rays in one list; values are ``(M,)``, colors ``(M, C)``,
  results ``(R,)``. Sums along rays are differences of one running sum over all samples in
  float64: a few flat operations, no loop over rays, no atomic additions, so that results repeat
  bit for bit. (In float32 the running sum of 100,000 samples has lost the digits that the last
  rays need.) A single NaN, though, spoils the rays behind it.

All are differentiable as often as one likes, but for `median_depth`, and for `weights` and
`composite` of packed samples, whose first derivatives are written out. Lengths and densities are
in units of the direction's length. Nothing is checked whose checking would make a CUDA device
wait: densities below 0 and edges out of order give weights that mean nothing. Half precision is
taken to float32 first.

An interval may be infinite, the last one say. Its length is then the largest number of its dtype,
so that next to any density above 0 is opaque, and the density has the gradient 0, the limit for
long intervals. As a place it counts as its start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import refuse
from .compositing import composited, opaque_depth
from .intervals import finite_lengths, midpoints, optical_depths
from .packed_samples import PackedSamples
from .ray_samples import (
    Samples,
    check_values,
    lengths,
    ray_total,
    sample_points,
    sums_after,
    sums_before,
)

__all__ = [
    "Rendering",
    "color",
    "composite",
    "distortion_loss",
    "expected_depth",
    "median_depth",
    "midpoints",
    "opacity",
    "render_rays",
    "transmittance",
    "visible",
    "weights",
]

Background = Tensor | Sequence[float] | float | None
RadianceFunction = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]

# opacity below which a ray counts as one that meets nothing
_NOTHING = 1e-10


class Rendering(NamedTuple):
    """What is seen along rays.

    Attributes:
        color: ``(..., C)``, background included.
        opacity: ``(...)``, Σ w, from 0 to 1.
        depth: ``(...)``, the expected distance in lengths of the direction; 0 where a ray meets
            nothing.
        weights: of the samples, ``(..., S)``, or ``(M,)`` packed.
    """

    color: Tensor
    opacity: Tensor
    depth: Tensor
    weights: Tensor


def transmittance(densities: Tensor, samples: Samples) -> Tensor:
    """Return T_i = exp(-Σ_{j<i} σ_j δ_j), what is left of the light on arrival at each sample.

    Args:
        densities: σ, one per sample.
        samples: edges or packed samples.
    """
    check_values("densities", densities, samples)
    depths = optical_depths(densities, lengths(samples))
    if isinstance(samples, PackedSamples):  # the running sum of all rays stays small
        depths = depths.clamp(max=opaque_depth(depths.dtype))
    return torch.exp(-sums_before(depths, samples)).to(depths.dtype)


@torch.no_grad()
def visible(densities: Tensor, samples: Samples, threshold: float = 1e-4) -> Tensor:
    """Return whether light arrives at each sample, T_i ≥ threshold, as bools.

    What fails adds less than ``threshold`` to its ray's color, all of it together: of packed
    samples, ``samples.keep(visible(densities, samples))`` stops rays in opaque matter, so that
    colors and gradients need not be worked out behind it.
    """
    return transmittance(densities, samples) >= threshold


def weights(densities: Tensor, samples: Samples) -> Tensor:
    """Return w_i = T_i (1 - exp(-σ_i δ_i)), the share of the light that comes from each sample.

    Args:
        densities: σ, one per sample.
        samples: edges or packed samples.

    Returns:
        One per sample; the sum over a ray is its opacity 1 - exp(-Σ σ δ).

    Example:
        >>> edges = torch.linspace(0, 2, 65)
        >>> weights(torch.full((64,), 0.5), edges).sum()  # 1 - exp(-0.5 · 2)
        tensor(0.6321)
    """
    check_values("densities", densities, samples)
    if isinstance(samples, PackedSamples):
        return composited(densities, None, samples)[0]
    depths = optical_depths(densities, lengths(samples))
    return torch.exp(-sums_before(depths, samples)) * -torch.expm1(-depths)


def opacity(weights: Tensor, samples: Samples) -> Tensor:
    """Return Σ w of each ray."""
    check_values("weights", weights, samples)
    return ray_total(weights, samples)


def color(
    weights: Tensor, colors: Tensor, samples: Samples, background: Background = None
) -> Tensor:
    """Return Σ w_i c_i + (1 - Σ w_i) · background of each ray.

    Args:
        weights: one per sample.
        colors: one row per sample, ``(..., S, C)`` or ``(M, C)``.
        samples: edges or packed samples.
        background: numbers that broadcast to the result; None adds nothing, which is black.

    Returns:
        ``(..., C)`` or ``(R, C)``.
    """
    check_values("weights", weights, samples)
    check_values("colors", colors, samples, rows=True)
    if isinstance(samples, PackedSamples):
        columns = [ray_total(weights * column, samples) for column in colors.unbind(-1)]
        total = torch.stack(columns, -1)
    else:
        total = (weights[..., None] * colors).sum(-2)
    return _over_background(total, ray_total(weights, samples), background)


def composite(
    densities: Tensor,
    colors: Tensor,
    samples: Samples,
    background: Background = None,
    *,
    distances: Tensor | None = None,
) -> Rendering:
    """Return color, opacity, depth and weights of rays at once, the quick way to train.

    Args:
        densities: σ, one per sample, at least 0.
        colors: one row per sample, ``(..., S, C)`` or ``(M, C)``.
        samples: edges or packed samples.
        background: as in `color`.
        distances: as in `expected_depth`.

    Raises:
        InputError: densities or colors that are not one per sample.
    """
    check_values("densities", densities, samples)
    check_values("colors", colors, samples, rows=True)
    if isinstance(samples, PackedSamples):
        shares, total, opaque = composited(densities, colors, samples)
        assert total is not None
        over = _over_background(total, opaque, background)
    else:
        shares = weights(densities, samples)
        over, opaque = color(shares, colors, samples, background), shares.sum(-1)
    return Rendering(over, opaque, expected_depth(shares, samples, distances=distances), shares)


def expected_depth(
    weights: Tensor, samples: Samples, *, distances: Tensor | None = None, normalize: bool = True
) -> Tensor:
    """Return the mean distance of what is seen along each ray, Σ w_i t_i / Σ w_i.

    Args:
        weights: one per sample.
        samples: edges or packed samples.
        distances: t, one per sample; None takes the midpoints.
        normalize: divide by the opacity. Σ w_i t_i alone has a bounded gradient.

    Returns:
        One per ray, in lengths of the direction; 0 where the opacity is below 1e-10.
    """
    check_values("weights", weights, samples)
    if distances is not None:
        check_values("distances", distances, samples)
    total = ray_total(
        weights * (sample_points(samples) if distances is None else distances), samples
    )
    if not normalize:
        return total
    opaque = ray_total(weights, samples)
    seen = opaque > _NOTHING
    return torch.where(seen, total, 0.0) / torch.where(seen, opaque, 1.0)


@torch.no_grad()
def median_depth(weights: Tensor, samples: Samples) -> Tensor:
    """Return the distance at which half of what a ray shows has been gathered.

    Exact for a density that is constant on each interval: light fades exponentially inside it.
    No gradients are recorded.

    Args:
        weights: one per sample.
        samples: edges or packed samples.

    Returns:
        One per ray, in lengths of the direction; 0 where the opacity is below 1e-10.
    """
    check_values("weights", weights, samples)
    if not isinstance(samples, PackedSamples):
        lead, number = weights.shape[:-1], weights.shape[-1]
        edges = samples.detach().expand(*lead, number + 1).reshape(lead.numel(), number + 1)
        return median_depth(weights.flatten(), PackedSamples.of_edges(edges)).reshape(lead)
    half = ray_total(weights, samples) / 2
    if not len(samples):
        return half
    before = sums_before(weights, samples)
    short = before + weights < half.index_select(0, samples.ray_indices)
    at = samples.offsets[:-1] + ray_total(short.to(weights.dtype), samples).round().long()
    at = torch.minimum(at, samples.offsets[1:] - 1).clamp(min=0)
    before, weight, start, end = (
        values.index_select(0, at).to(half.dtype)
        for values in (before, weights, samples.starts, samples.ends)
    )
    left = 1 - before
    # T(t) = left · exp(-σ (t - start)): a ratio of logarithms; 0 where the interval is opaque
    ratio = torch.log1p(-(half - before) / left) / torch.log1p(-weight / left)
    inside = finite_lengths(end - start) * ratio.clamp(0, 1)
    return torch.where(half > _NOTHING / 2, start + inside, 0.0)


def distortion_loss(weights: Tensor, samples: Samples) -> Tensor:
    """Return Σ_ij w_i w_j |m_i - m_j| + ⅓ Σ_i w_i² δ_i, small where the weights lie together.

    The regularizer of mip-NeRF 360 (Barron et al. 2022, equation 15), with midpoints m and
    lengths δ. The double sum is evaluated in O(S), without cancellation, as
    2 Σ_k (m_{k+1} - m_k) · Σ_{i≤k} w_i · Σ_{j>k} w_j.

    Args:
        weights: one per sample.
        samples: edges or packed samples, in any unit: the paper's is a distance in [0, 1].

    Returns:
        One per ray, in the unit of the samples.
    """
    check_values("weights", weights, samples)
    # the gap behind a ray's last sample means nothing, and is multiplied by 0
    gaps = F.pad(sample_points(samples), (0, 1)).diff(dim=-1)
    between = 2 * gaps * (sums_before(weights, samples) + weights) * sums_after(weights, samples)
    own = weights**2 * finite_lengths(lengths(samples)) / 3
    return ray_total(between + own, samples).to(weights.dtype)


def render_rays(
    field: RadianceFunction,
    origins: Tensor,
    directions: Tensor,
    samples: Samples,
    *,
    background: Background = None,
    distances: Tensor | None = None,
) -> Rendering:
    """Render rays through a field that is constant on each interval.

    Args:
        field: any callable from positions and directions, ``(..., S, 3)`` or ``(M, 3)``, to
            densities, one per position, at least 0, per length of the direction, and colors, one
            row of C per position.
        origins: ``(..., 3)`` or ``(R, 3)``.
        directions: the same; unit vectors make distances lengths.
        samples: edges, increasing, or packed samples: `OccupancyGrid.march` of these rays, say.
        background: as in `color`.
        distances: where the field is evaluated, one per sample: `ray_sampling.stratified`, say;
            None takes the midpoints.

    Raises:
        InputError: shapes that do not fit together, of what is passed or what the field returns.

    Example:
        The original NeRF evaluates at the start of each interval; the last one has no end:

        >>> t = stratified(ray_edges(2.0, 6.0, 64), generator)
        >>> edges = torch.cat([t, torch.full_like(t[..., :1], torch.inf)], -1)
        >>> rendering = render_rays(field, origins, directions, edges, distances=t, background=1.0)
    """
    if origins.shape[-1:] != (3,) or directions.shape[-1:] != (3,):
        rule = "origins and directions must have 3 numbers a ray"
        refuse(rule, f"shapes {tuple(origins.shape)} and {tuple(directions.shape)}")
    if distances is not None:
        check_values("distances", distances, samples)
    if isinstance(samples, PackedSamples):
        positions = samples.positions(origins, directions, distances)
        toward = directions.index_select(0, samples.ray_indices)
    else:
        at = midpoints(samples) if distances is None else distances
        positions = origins[..., None, :] + at[..., None] * directions[..., None, :]
        toward = directions[..., None, :].expand_as(positions)
    densities, colors = field(positions, toward)
    if densities.shape != positions.shape[:-1] or colors.shape[:-1] != positions.shape[:-1]:
        refuse(
            "a field must return one density and one color per position",
            f"shapes {tuple(densities.shape)} and {tuple(colors.shape)} "
            f"for positions {tuple(positions.shape)}",
        )
    return composite(densities, colors, samples, background, distances=distances)


def _over_background(total: Tensor, opacity: Tensor, background: Background) -> Tensor:
    if background is None:
        return total
    if not isinstance(background, Tensor):
        background = torch.as_tensor(background, dtype=total.dtype, device="cpu")
    # the host need not wait until the numbers are there
    background = background.to(total.device, total.dtype, non_blocking=True)
    return total + (1 - opacity)[..., None] * background
