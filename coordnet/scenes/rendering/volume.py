"""Volume rendering along rays that have the same number of samples each: plain functions.

Light that reaches the eye along a ray through a medium of density σ (per unit of length, at least
0) and color c, both constant on each of S intervals of length δ (Max 1995; Mildenhall et al.
2020, equation 3):

    τ_i = σ_i δ_i                       optical depth
    T_i = exp(-Σ_{j<i} τ_j)             transmittance: what is left on arrival
    w_i = T_i (1 - exp(-τ_i))           weight: what comes from interval i
    C   = Σ w_i c_i + (1 - Σ w_i) · background

Every function takes any leading axes and is differentiable as often as one likes, `median_depth`
excepted. Lengths and densities are in units of the direction's length. Nothing is checked whose
checking would make a CUDA device wait: densities below 0 and edges out of order give weights
that mean nothing. Half precision is taken to float32 first.

An interval may be infinite, the last one say. Its length is then the largest number of its dtype,
so that next to any density above 0 is opaque, and the density has the gradient 0, the limit for
long intervals. As a place it counts as its start.

`coordnet.scenes.rendering.packed` has the same functions for rays of different numbers of samples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import refuse
from .intervals import finite_lengths, midpoints, optical_depths, samples_or_edges

__all__ = [
    "Rendering",
    "color",
    "distortion_loss",
    "expected_depth",
    "median_depth",
    "midpoints",
    "opacity",
    "render_rays",
    "transmittance",
    "weights",
]

Background = Tensor | Sequence[float] | float | None
RadianceFunction = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]

# rays that let more than this through are taken for rays that meet nothing
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


def transmittance(densities: Tensor, intervals: Tensor) -> Tensor:
    """Return T_i = exp(-Σ_{j<i} σ_j δ_j), what is left of the light on arrival at each sample.

    Args:
        densities: σ, ``(..., S)``.
        intervals: lengths δ, ``(..., S)``, or edges, ``(..., S+1)``.

    Returns:
        ``(..., S)``; the first is 1.
    """
    return torch.exp(-_before(_optical_depths(densities, intervals)))


def weights(densities: Tensor, intervals: Tensor) -> Tensor:
    """Return w_i = T_i (1 - exp(-σ_i δ_i)), the share of the light that comes from each sample.

    Args:
        densities: σ, ``(..., S)``.
        intervals: lengths δ, ``(..., S)``, or edges, ``(..., S+1)``.

    Returns:
        ``(..., S)``; their sum is the opacity 1 - exp(-Σ σ δ).

    Example:
        >>> edges = torch.linspace(0, 2, 65)
        >>> weights(torch.full((64,), 0.5), edges).sum()  # 1 - exp(-0.5 · 2)
        tensor(0.6321)
    """
    depths = _optical_depths(densities, intervals)
    return torch.exp(-_before(depths)) * -torch.expm1(-depths)


def opacity(weights: Tensor) -> Tensor:
    """Return Σ w: ``(..., S)`` to ``(...)``."""
    return weights.sum(-1)


def color(weights: Tensor, colors: Tensor, background: Background = None) -> Tensor:
    """Return Σ w_i c_i + (1 - Σ w_i) · background.

    Args:
        weights: ``(..., S)``.
        colors: ``(..., S, C)``.
        background: numbers that broadcast to ``(..., C)``; None adds nothing, which is black.

    Returns:
        ``(..., C)``.
    """
    if colors.shape[-2:-1] != weights.shape[-1:]:
        refuse(
            "colors must have one row per weight",
            f"shapes {tuple(colors.shape)} and {tuple(weights.shape)}",
            "Pass weights (..., S) and colors (..., S, C).",
        )
    seen = (weights[..., None] * colors).sum(-2)
    return over_background(seen, opacity(weights), background)


def over_background(seen: Tensor, opacity: Tensor, background: Background) -> Tensor:
    """Return seen + (1 - opacity) · background, ``(..., C)``; None adds nothing."""
    if background is None:
        return seen
    if not isinstance(background, Tensor):
        background = torch.as_tensor(background, dtype=seen.dtype, device="cpu")
    # the host need not wait until the numbers are there
    behind = background.to(seen.device, seen.dtype, non_blocking=True)
    return seen + (1 - opacity)[..., None] * behind


def expected_depth(weights: Tensor, distances: Tensor, *, normalize: bool = True) -> Tensor:
    """Return the mean distance of what is seen, Σ w_i t_i / Σ w_i.

    Args:
        weights: ``(..., S)``.
        distances: t, ``(..., S)``, or edges, ``(..., S+1)``, whose midpoints are taken.
        normalize: divide by the opacity. Σ w_i t_i alone has a bounded gradient.

    Returns:
        ``(...)``, in lengths of the direction; 0 where the opacity is below 1e-10.
    """
    if samples_or_edges("distances", weights, distances) == "edges":
        distances = midpoints(distances)
    total = (weights * distances).sum(-1)
    return normalized(total, opacity(weights)) if normalize else total


def normalized(total: Tensor, opacity: Tensor) -> Tensor:
    """Return total / opacity, or 0 where the opacity is below 1e-10."""
    seen = opacity > _NOTHING
    return torch.where(seen, total, 0.0) / torch.where(seen, opacity, 1.0)


@torch.no_grad()
def median_depth(weights: Tensor, edges: Tensor) -> Tensor:
    """Return the distance at which half of what a ray shows has been gathered.

    Exact for a density that is constant on each interval: light fades exponentially inside it.
    No gradients are recorded.

    Args:
        weights: ``(..., S)``.
        edges: ``(..., S+1)``.

    Returns:
        ``(...)``, in lengths of the direction; 0 where the opacity is below 1e-10.
    """
    if samples_or_edges("edges", weights, edges) != "edges":
        refuse(
            "the median depth needs the edges of the intervals",
            f"{edges.shape[-1]} numbers for {weights.shape[-1]} weights",
            "Pass edges of shape (..., S+1).",
        )
    if not weights.shape[-1]:
        return weights.sum(-1)
    gathered = weights.cumsum(-1)
    half = gathered[..., -1:] / 2
    at = (gathered < half).sum(-1, keepdim=True).clamp(max=weights.shape[-1] - 1)
    edges = edges.expand(*weights.shape[:-1], edges.shape[-1])
    return crossing(
        half[..., 0],
        (gathered - weights).gather(-1, at)[..., 0],
        weights.gather(-1, at)[..., 0],
        edges.gather(-1, at)[..., 0],
        edges.gather(-1, at + 1)[..., 0],
    )


def crossing(half: Tensor, before: Tensor, weight: Tensor, start: Tensor, end: Tensor) -> Tensor:
    """Return where, between start and end, the light gathered reaches ``half``.

    Args:
        half: half of the opacity.
        before: what is gathered at ``start``.
        weight: what the interval adds.
        start: start of the interval.
        end: its end.
    """
    left = 1 - before
    # T(t) = left · exp(-σ (t - start)): a ratio of logarithms; 0 where the interval is opaque
    ratio = torch.log1p(-(half - before) / left) / torch.log1p(-weight / left)
    inside = finite_lengths(end - start) * ratio.clamp(0, 1)
    return torch.where(half > _NOTHING / 2, start + inside, 0.0)


def distortion_loss(weights: Tensor, edges: Tensor) -> Tensor:
    """Return Σ_ij w_i w_j |m_i - m_j| + ⅓ Σ_i w_i² δ_i, small where the weights lie together.

    The regularizer of mip-NeRF 360 (Barron et al. 2022, equation 15), with midpoints m and
    lengths δ. The double sum is evaluated in O(S), without cancellation, as
    2 Σ_k (m_{k+1} - m_k) · Σ_{i≤k} w_i · Σ_{j>k} w_j.

    Args:
        weights: ``(..., S)``.
        edges: ``(..., S+1)``, in any unit: the paper's is a normalized distance in [0, 1].

    Returns:
        ``(...)``, one number per ray, in the unit of the edges.
    """
    if samples_or_edges("edges", weights, edges) != "edges":
        refuse(
            "the distortion loss needs the edges of the intervals",
            f"{edges.shape[-1]} numbers for {weights.shape[-1]} weights",
            "Pass edges of shape (..., S+1).",
        )
    gaps = midpoints(edges).diff(dim=-1)
    below = weights.cumsum(-1)[..., :-1]
    above = weights.flip(-1).cumsum(-1).flip(-1)[..., 1:]
    lengths = finite_lengths(edges.diff(dim=-1))
    return 2 * (gaps * below * above).sum(-1) + (weights**2 * lengths).sum(-1) / 3


def render_rays(
    field: RadianceFunction,
    origins: Tensor,
    directions: Tensor,
    edges: Tensor,
    *,
    background: Background = None,
    distances: Tensor | None = None,
) -> Rendering:
    """Render rays through a field that is constant on each interval.

    Args:
        field: any callable from positions ``(..., S, 3)`` and directions ``(..., S, 3)`` to
            densities ``(..., S)``, at least 0, per length of the direction, and colors
            ``(..., S, C)``.
        origins: ``(..., 3)``.
        directions: ``(..., 3)``; unit vectors make distances lengths.
        edges: of the intervals, increasing, ``(..., S+1)``.
        background: numbers that broadcast to ``(..., C)``; None is black.
        distances: where the field is evaluated, ``(..., S)``: `sampling.stratified`, say;
            None takes the midpoints.

    Raises:
        InputError: shapes that do not fit together, of what is passed or what the field returns.

    Example:
        The original NeRF evaluates at the start of each interval; the last one has no end:

        >>> t = stratified(ray_edges(2.0, 6.0, 64), generator)
        >>> edges = torch.cat([t, torch.full_like(t[..., :1], torch.inf)], -1)
        >>> seen = render_rays(field, origins, directions, edges, distances=t, background=1.0)
    """
    for name, each in (("origins", origins), ("directions", directions)):
        if each.shape[-1:] != (3,):
            refuse(f"{name} must have 3 numbers a ray", f"shape {tuple(each.shape)}", "Pass xyz.")
    at = midpoints(edges) if distances is None else distances
    if at.shape[-1] != edges.shape[-1] - 1:
        refuse(
            "distances must be one fewer than the edges",
            f"shapes {tuple(at.shape)} and {tuple(edges.shape)}",
            "Pass distances (..., S) and edges (..., S+1).",
        )
    positions = origins[..., None, :] + at[..., None] * directions[..., None, :]
    densities, colors = field(positions, directions[..., None, :].expand_as(positions))
    if densities.shape != positions.shape[:-1] or colors.shape[:-1] != positions.shape[:-1]:
        refuse(
            "a field must return one density and one color per position",
            f"shapes {tuple(densities.shape)} and {tuple(colors.shape)} "
            f"for positions {tuple(positions.shape)}",
            "Return densities (..., S) and colors (..., S, C).",
        )
    shares = weights(densities, edges)
    return Rendering(
        color(shares, colors, background),
        opacity(shares),
        expected_depth(shares, at.expand_as(shares)),
        shares,
    )


def _before(values: Tensor) -> Tensor:
    """Return the sums of all values before each, along the last axis."""
    # not the sum with itself taken off: ∞ - ∞
    return F.pad(values.cumsum(-1), (1, 0))[..., :-1]


def _optical_depths(densities: Tensor, intervals: Tensor) -> Tensor:
    """Return σ δ, ``(..., S)``, in float32 at least."""
    if samples_or_edges("intervals", densities, intervals) == "edges":
        intervals = intervals.diff(dim=-1)
    return optical_depths(densities, intervals)
