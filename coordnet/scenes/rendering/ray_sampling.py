"""Sampling of rays: even edges, strata, and samples drawn from coarse weights.

Randomness comes from the generator that is passed in and from nowhere else; without one, samples
are at the middle of their strata.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ...checks import integer, one_of
from ...errors import refuse

__all__ = ["merge", "ray_edges", "sample_pdf", "stratified"]

_SPACINGS = ("linear", "disparity")


def ray_edges(
    near: Tensor | float,
    far: Tensor | float,
    num_samples: int,
    *,
    spacing: str = "linear",
    device: torch.device | str | None = None,
) -> Tensor:
    """Return the edges of intervals that divide [near, far] evenly.

    Args:
        near: where rays begin, ``(...)`` or a number.
        far: where they end, ``(...)`` or a number.
        num_samples: number of intervals S.
        spacing: "linear", even in distance; "disparity", even in 1 / distance, for scenes that
            reach far: near must then be above 0, and far may be infinite.
        device: of the edges where near and far are numbers.

    Returns:
        ``(..., S+1)``, from near to far.

    Example:
        >>> ray_edges(2.0, 6.0, 4)
        tensor([2., 3., 4., 5., 6.])
    """
    number = integer("num_samples", num_samples, least=1)
    one_of("spacing", spacing, _SPACINGS)
    like = next((end for end in (near, far) if isinstance(end, Tensor)), None)
    if like is None:
        like = torch.zeros((), dtype=torch.float32, device=device)
    # a number is written on the device: to copy it there would make the host wait
    first, last = (
        like.new_full((1,), end)
        if isinstance(end, (int, float))
        else torch.as_tensor(end, dtype=like.dtype, device=like.device)[..., None]
        for end in (near, far)
    )
    part = torch.arange(number + 1, dtype=like.dtype, device=like.device) / number
    if spacing == "linear":
        return first * (1 - part) + last * part
    return 1 / ((1 - part) / first + part / last)


def stratified(edges: Tensor, generator: torch.Generator | None = None) -> Tensor:
    """Return one distance in each interval, uniform in it, or its middle without a generator.

    Args:
        edges: ``(..., S+1)``, finite.
        generator: where the random numbers come from.

    Returns:
        ``(..., S)``, increasing.
    """
    start, end = edges[..., :-1], edges[..., 1:]
    return start + (end - start) * _uniform(start.shape, start, generator)


def sample_pdf(
    edges: Tensor,
    weights: Tensor,
    num_samples: int,
    generator: torch.Generator | None = None,
    *,
    independent: bool = False,
    padding: float = 0.0,
) -> Tensor:
    """Return distances distributed as the weights: hierarchical sampling by the inverse CDF.

    The density is constant on each interval, weight / length up to a factor. F(t), its integral,
    is inverted at one number u in each of N equal strata of [0, 1]: distances come out sorted.
    A ray whose weights are all 0 is sampled evenly from its first to its last edge. No gradients
    are recorded.

    Args:
        edges: ``(..., S+1)``, increasing, finite.
        weights: ``(..., S)``, at least 0.
        num_samples: N.
        generator: where the random u come from; None takes the middles of the strata.
        independent: draw u independently from [0, 1], as the original NeRF does, not one in each
            stratum: the same distribution with more noise.
        padding: what is added to every weight first, so that no interval is never sampled (1e-5
            in the original NeRF, 0.01 in mip-NeRF).

    Returns:
        ``(..., N)``, in order of distance.

    Raises:
        InputError: shapes that do not fit, or ``independent`` without a generator.
    """
    number = integer("num_samples", num_samples, least=1)
    if edges.shape[-1:] != (weights.shape[-1] + 1,) or weights.shape[-1] < 1:
        got = f"shapes {tuple(edges.shape)} and {tuple(weights.shape)}"
        refuse("edges must be one more than the weights", got)
    if independent and generator is None:
        refuse("independent samples need a generator", "generator=None")
    with torch.no_grad():
        cdf, edges = _distribution(edges, weights + padding)
        shape = (*cdf.shape[:-1], number)
        if independent:
            u = torch.rand(shape, generator=generator, dtype=cdf.dtype, device=cdf.device)
            u = u.sort(-1).values
        else:
            strata = torch.arange(number, dtype=cdf.dtype, device=cdf.device)
            u = (strata + _uniform(shape, cdf, generator)) / number
        u = u.clamp(max=1 - torch.finfo(u.dtype).eps / 2)  # below 1 in spite of rounding
        # the last interval whose F(start) ≤ u < 1: never one without weight
        at = torch.searchsorted(cdf, u, right=True).sub_(1).clamp_(0, weights.shape[-1] - 1)
        low, high = cdf.gather(-1, at), cdf.gather(-1, at + 1)
        start, end = edges.gather(-1, at), edges.gather(-1, at + 1)
        return start + (end - start) * ((u - low) / (high - low))


def merge(edges: Tensor, others: Tensor) -> Tensor:
    """Return all edges (or distances) of both, in order: ``(..., A)`` and ``(..., B)`` to A + B.

    Leading axes are broadcast.
    """
    lead = torch.broadcast_shapes(edges.shape[:-1], others.shape[:-1])
    both = [values.expand(*lead, values.shape[-1]) for values in (edges, others)]
    return torch.cat(both, -1).sort(-1).values


def _distribution(edges: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Return F at the edges, from 0 to 1, and the edges, both ``(..., S+1)``."""
    lead = torch.broadcast_shapes(edges.shape[:-1], weights.shape[:-1])
    edges = edges.expand(*lead, edges.shape[-1]).contiguous()
    weights = weights.to(edges.dtype).expand(*lead, weights.shape[-1])
    for instead in (edges.diff(dim=-1), torch.ones_like(weights)):  # no weight; no length either
        weights = torch.where(weights.sum(-1, keepdim=True) > 0, weights, instead)
    cdf = torch.nn.functional.pad(weights.cumsum(-1), (1, 0))
    return cdf / cdf[..., -1:].clone(), edges


def _uniform(
    shape: torch.Size | tuple[int, ...], like: Tensor, generator: torch.Generator | None
) -> Tensor:
    """Return numbers in [0, 1) from the generator, or ½ without one."""
    if generator is None:
        return torch.full(shape, 0.5, dtype=like.dtype, device=like.device)
    return torch.rand(shape, generator=generator, dtype=like.dtype, device=like.device)
