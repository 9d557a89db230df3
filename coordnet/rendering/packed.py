"""Volume rendering of packed samples: rays of any number of samples each, in one flat list.

The functions of `coordnet.rendering.volume`, with the samples last. Sums along rays are
differences of one running sum over all samples in float64: a few flat operations, no loop over
rays, no atomic additions, so that results repeat bit for bit. In float32 the running sum of
100,000 samples has lost the digits that the last rays need. A single NaN, though, spoils the rays
behind it.

First derivatives of `composite` and `weights` are written out; the other functions are
differentiable as often as one likes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..constants import supports_float64
from ..errors import refuse
from .samples import PackedSamples
from .volume import (
    Background,
    RadianceFunction,
    Rendering,
    crossing,
    finite_lengths,
    normalised,
    optical_depths,
    over_background,
)

__all__ = [
    "Composite",
    "colour",
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
    """What densities and colours amount to along rays.

    Attributes:
        colour: ``(R, C)``, background included.
        opacity: ``(R,)``.
        weights: ``(M,)``.
    """

    colour: Tensor
    opacity: Tensor
    weights: Tensor


def composite(
    densities: Tensor, colours: Tensor, samples: PackedSamples, background: Background = None
) -> Composite:
    """Return colour, opacity and weights of all rays at once, which is the quick way to train.

    Args:
        densities: σ, ``(M,)``, at least 0.
        colours: ``(M, C)``.
        samples: the M samples of R rays.
        background: numbers that broadcast to ``(R, C)``; None is black.

    Raises:
        InputError: densities or colours that are not one per sample.
    """
    _check("densities", densities, samples, 1)
    _check("colours", colours, samples, 2)
    shares, seen, opaque = _Composite.apply(densities, colours, samples)  # type: ignore[misc]
    return Composite(over_background(seen, opaque, background), opaque, shares)


def weights(densities: Tensor, samples: PackedSamples) -> Tensor:
    """Return w_i = T_i (1 - exp(-σ_i δ_i)), ``(M,)``, of densities ``(M,)``."""
    _check("densities", densities, samples, 1)
    return _Composite.apply(densities, None, samples)[0]  # type: ignore[index]


def transmittance(densities: Tensor, samples: PackedSamples) -> Tensor:
    """Return T_i, what is left of the light on arrival at each sample, ``(M,)``."""
    _check("densities", densities, samples, 1)
    depths = optical_depths(densities, samples.intervals)
    depths = depths.clamp(max=_opaque(depths.dtype))
    before: Tensor = _RaySums.apply(depths, samples, "before")  # type: ignore[assignment]
    return torch.exp(-before).to(depths.dtype)


@torch.no_grad()
def visible(densities: Tensor, samples: PackedSamples, threshold: float = 1e-4) -> Tensor:
    """Return whether light arrives at each sample: T_i ≥ threshold, bool ``(M,)``.

    What fails adds less than ``threshold`` to its ray's colour, all of it together:
    ``samples.keep(visible(densities, samples))`` stops rays in opaque matter, so that colours and
    gradients need not be worked out behind it.
    """
    return transmittance(densities, samples) >= threshold


def opacity(weights: Tensor, samples: PackedSamples) -> Tensor:
    """Return Σ w, ``(R,)``."""
    _check("weights", weights, samples, 1)
    return _ray_totals(weights, samples)


def colour(
    weights: Tensor, colours: Tensor, samples: PackedSamples, background: Background = None
) -> Tensor:
    """Return Σ w_i c_i + (1 - Σ w_i) · background, ``(R, C)``, of colours ``(M, C)``."""
    _check("colours", colours, samples, 2)
    columns = [_ray_totals(weights * column, samples) for column in colours.unbind(-1)]
    return over_background(torch.stack(columns, -1), opacity(weights, samples), background)


def expected_depth(
    weights: Tensor,
    samples: PackedSamples,
    distances: Tensor | None = None,
    *,
    normalise: bool = True,
) -> Tensor:
    """Return the mean distance of what is seen, Σ w_i t_i / Σ w_i, ``(R,)``.

    Args:
        weights: ``(M,)``.
        samples: their samples.
        distances: t, ``(M,)``; None takes the midpoints.
        normalise: divide by the opacity. Σ w_i t_i alone has a bounded gradient.

    Returns:
        ``(R,)``, in lengths of the direction; 0 where the opacity is below 1e-10.
    """
    _check("weights", weights, samples, 1)
    at = samples.midpoints if distances is None else distances
    total = _ray_totals(weights * at, samples)
    return normalised(total, opacity(weights, samples)) if normalise else total


@torch.no_grad()
def median_depth(weights: Tensor, samples: PackedSamples) -> Tensor:
    """Return the distance at which half of what a ray shows has been gathered, ``(R,)``.

    As `volume.median_depth`: exact for constant densities; 0 where the weights are all 0.
    """
    _check("weights", weights, samples, 1)
    half = opacity(weights, samples) / 2
    if not len(samples):
        return half
    before: Tensor = _RaySums.apply(weights, samples, "before")  # type: ignore[assignment]
    short = before + weights < half.index_select(0, samples.ray_indices)
    at = samples.offsets[:-1] + _ray_totals(short.to(weights.dtype), samples).round().long()
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
    before: Tensor = _RaySums.apply(weights, samples, "before")  # type: ignore[assignment]
    after: Tensor = _RaySums.apply(weights, samples, "after")  # type: ignore[assignment]
    spread = 2 * gaps * (before + weights) * after
    own = weights**2 * finite_lengths(lengths) / 3
    return _ray_totals(spread + own, samples).to(weights.dtype)


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
            ``(M,)``, at least 0, and colours ``(M, C)``.
        origins: ``(R, 3)``.
        directions: ``(R, 3)``.
        samples: `OccupancyGrid.march` of these rays, say.
        background: numbers that broadcast to ``(R, C)``; None is black.
    """
    positions = samples.positions(origins, directions)
    densities, colours = field(positions, directions.index_select(0, samples.ray_indices))
    seen = composite(densities, colours, samples, background)
    return Rendering(seen.colour, seen.opacity, expected_depth(seen.weights, samples), seen.weights)


def _check(name: str, values: Tensor, samples: PackedSamples, axes: int) -> None:
    if values.ndim != axes or len(values) != len(samples):
        shape = "(M,)" if axes == 1 else "(M, C)"
        refuse(
            f"{name} must be one per sample, shape {shape} with M={len(samples)}",
            f"shape {tuple(values.shape)}",
            "Evaluate the field at samples.positions().",
        )


def _opaque(dtype: torch.dtype) -> float:
    """The optical depth from which on exp(-depth) is 0 in that dtype."""
    return 746.0 if dtype == torch.float64 else 104.0


def _ray_totals(values: Tensor, samples: PackedSamples) -> Tensor:
    """Return the sum of each ray's values, ``(M,)`` to ``(R,)``, in the dtype of the values."""
    return _RayTotals.apply(values, samples)  # type: ignore[return-value]


def _running(values: Tensor, samples: PackedSamples) -> tuple[Tensor, Tensor, Tensor]:
    """Return 0 and the running sums of all values, ``(M+1,)`` float64, with offsets and rays.

    They are on the CPU where the device has no float64.
    """
    home = values.device if supports_float64(values.device) else torch.device("cpu")
    sums = torch.empty(len(values) + 1, dtype=torch.float64, device=home)
    sums[:1] = 0
    torch.cumsum(values.to(home, torch.float64), 0, out=sums[1:])
    return sums, samples.offsets.to(home), samples.ray_indices.to(home)


def _before(values: Tensor, samples: PackedSamples) -> Tensor:
    """Return for each sample the sum of the values before it on its ray, float64."""
    sums, offsets, rays = _running(values, samples)
    return sums[:-1] - sums.index_select(0, offsets[:-1]).index_select(0, rays)


def _after(values: Tensor, samples: PackedSamples) -> Tensor:
    """Return for each sample the sum of the values behind it on its ray, float64."""
    sums, offsets, rays = _running(values, samples)
    return sums.index_select(0, offsets[1:]).index_select(0, rays) - sums[1:]


class _RaySums(torch.autograd.Function):
    """Sums of the values before or behind each sample: each is the other's transpose."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, samples: PackedSamples, side: str) -> Tensor:
        ctx.samples, ctx.side = samples, side
        sums = _before(values, samples) if side == "before" else _after(values, samples)
        return sums.to(values.device, values.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        other = "after" if ctx.side == "before" else "before"
        return _RaySums.apply(grads[0], ctx.samples, other), None, None  # type: ignore[return-value]


class _RayTotals(torch.autograd.Function):
    """Sums over rays, and their transpose: each sample gets its ray's number."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, samples: PackedSamples) -> Tensor:
        ctx.samples = samples
        sums, offsets, _ = _running(values, samples)
        return sums.index_select(0, offsets).diff().to(values.device, values.dtype)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return _spread(grads[0], ctx.samples), None


def _spread(values: Tensor, samples: PackedSamples) -> Tensor:
    """Give each sample its ray's number, or its ray's row."""
    if values.ndim == 2 and values.shape[1] == 4 and values.dtype == torch.float32:
        # one complex number of 16 bytes instead of a row: half the time on a CPU
        packed = values.contiguous().view(torch.complex128)[:, 0]
        return packed.index_select(0, samples.ray_indices).view(torch.float32).view(-1, 4)
    return values.index_select(0, samples.ray_indices)


class _Composite(torch.autograd.Function):
    """Weights, sums of colours and opacities, with their derivatives written out.

    ∂L/∂τ_i = T_{i+1} g_i - Σ_{k>i} w_k g_k,   g_i = ∂L/∂w_i,

    where T_{i+1} is what is left behind sample i.
    """

    @staticmethod
    def forward(
        ctx: Any, densities: Tensor, colours: Tensor | None, samples: PackedSamples
    ) -> tuple[Tensor, Tensor | None, Tensor]:
        ctx.set_materialize_grads(False)
        wide = densities.float() if densities.dtype.itemsize < 4 else densities
        # an infinite interval is the longest there is; from some depth on nothing passes in this
        # dtype, and the running sum stays small
        lengths = samples.intervals.clamp_(max=torch.finfo(samples.starts.dtype).max)
        depths = (wide * lengths).clamp_(max=_opaque(wide.dtype))
        sums, offsets, rays = _running(depths, samples)
        ends = sums.index_select(0, offsets)
        arrival = ends[:-1].index_select(0, rays)
        shares = (arrival - sums[:-1]).exp_()
        # what is left behind a sample is what arrives at the next, except at the end of a ray
        left = torch.empty_like(shares)
        if len(left):
            left[:-1] = shares[1:]
            last = (offsets[1:] - 1).clamp_(min=0)
            final = arrival.index_select(0, last) - sums.index_select(0, last + 1)
            left.index_copy_(0, last, final.exp_())
        shares.sub_(left)
        opaque = -torch.expm1(-ends.diff())
        shares, left, opaque = (
            each.to(densities.device, depths.dtype) for each in (shares, left, opaque)
        )
        seen = None if colours is None else _weighted_sums(shares, colours, samples)
        ctx.samples, ctx.density_dtype = samples, densities.dtype
        ctx.save_for_backward(shares, left, colours)
        return shares, seen, opaque

    @staticmethod
    @once_differentiable
    def backward(  # type: ignore[override]
        ctx: Any, *grads: Tensor | None
    ) -> tuple[Tensor | None, Tensor | None, None]:
        of_shares, of_seen, of_opaque = grads
        shares, left, colours = ctx.saved_tensors
        samples: PackedSamples = ctx.samples
        slopes, of_colours = of_shares, None
        if of_seen is not None:
            if ctx.needs_input_grad[1]:
                of_colours = _scaled_rows(of_seen, shares, samples).to(colours.dtype)
            given = of_seen if of_opaque is None else torch.cat([of_seen, of_opaque[:, None]], -1)
            rows = _spread(given, samples)
            tinted = _row_products(rows[:, : colours.shape[1]], colours)
            if of_opaque is not None:
                tinted = tinted.add_(rows[:, -1])
            slopes = tinted if slopes is None else slopes + tinted
        elif of_opaque is not None:
            spread = _spread(of_opaque, samples)
            slopes = spread if slopes is None else slopes + spread
        if slopes is None or not ctx.needs_input_grad[0]:
            return None, of_colours, None
        behind = _after(shares * slopes, samples).to(slopes.device, slopes.dtype)
        lengths = finite_lengths(samples.intervals)
        of_densities = (left * slopes).sub_(behind).mul_(lengths)
        return of_densities.to(ctx.density_dtype), of_colours, None


def _row_products(one: Tensor, other: Tensor) -> Tensor:
    """Return the scalar products of rows, ``(M,)``; a few columns are quicker one by one."""
    if not 0 < one.shape[1] <= 4:
        return (one * other).sum(1)
    total = one[:, 0] * other[:, 0]
    for column in range(1, one.shape[1]):
        total = total.addcmul_(one[:, column], other[:, column])
    return total


def _scaled_rows(values: Tensor, shares: Tensor, samples: PackedSamples) -> Tensor:
    """Give each sample its ray's row, times its share, ``(M, C)``."""
    if shares.device.type != "cpu":
        return _spread(values, samples) * shares[:, None]
    # bags of one: gathers and scales at once, which takes half the time
    return F.embedding_bag(
        samples.ray_indices.to(torch.int32),
        values,
        torch.arange(len(shares) + 1, dtype=torch.int32),
        mode="sum",
        per_sample_weights=shares,
        include_last_offset=True,
    )


def _weighted_sums(shares: Tensor, colours: Tensor, samples: PackedSamples) -> Tensor:
    """Return Σ w c over each ray, ``(R, C)``."""
    colours = colours.to(shares.dtype)
    if shares.device.type in ("cpu", "cuda"):
        every = torch.arange(len(shares), dtype=torch.int32, device=shares.device)
        return F.embedding_bag(
            every,
            colours,
            samples.offsets.to(torch.int32),
            mode="sum",
            per_sample_weights=shares,
            include_last_offset=True,
        )
    sums = colours.new_zeros(samples.num_rays, colours.shape[1])
    return sums.index_add_(0, samples.ray_indices, shares[:, None] * colours)
