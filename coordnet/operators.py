"""Differential operators of a field: gradient, divergence, curl, Laplacian, …, by autograd.

All take a function f from points ``(..., d)`` to values ``(..., D)``, or ``(...,)`` for one: a
`Field`, any module or callable, whose rows do not depend on each other. The derivatives have the
dtype of the points: pass float64 points, to a network in float64, for second derivatives to
twelve digits. They may themselves be differentiated, by the points and by the parameters, so that
they can stand in a loss:

    residual = laplacian(field, x) + k**2 * field(x)  # the Helmholtz equation
    residual.square().mean().backward()

Under `torch.no_grad` they work as well and come without a graph. A network of ReLUs is linear in
pieces: its second derivatives are those of the encoding alone.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from . import checks
from .errors import refuse

__all__ = ["curl", "derivative", "divergence", "gradient", "hessian", "jacobian", "laplacian"]

Function = Callable[[Tensor], Tensor]


def gradient(function: Function, x: Tensor) -> Tensor:
    """Return the gradient (∂f/∂x_1, …, ∂f/∂x_d) of a scalar field.

    Args:
        function: from ``(..., d)`` to ``(..., 1)`` or ``(...,)``.
        x: points ``(..., d)``, floating point.

    Returns:
        Shape ``(..., d)``.

    Raises:
        InputError: a function of several values, or of other rows than those of ``x``.
    """
    return _derived(function, x, lambda values, x: _slope(values[0], x), number=1)


def jacobian(function: Function, x: Tensor) -> Tensor:
    """Return the matrix J_ij = ∂f_i/∂x_j.

    Args:
        function: from ``(..., d)`` to ``(..., D)``.
        x: points ``(..., d)``, floating point.

    Returns:
        Shape ``(..., D, d)``.
    """
    return _derived(function, x, _jacobian)


def divergence(function: Function, x: Tensor) -> Tensor:
    """Return div f = Σ_i ∂f_i/∂x_i of a vector field.

    Args:
        function: from ``(..., d)`` to ``(..., d)``.
        x: points ``(..., d)``, floating point.

    Returns:
        Shape ``(...,)``.
    """
    matrix = _derived(function, x, _jacobian, number=_axes(x))
    return matrix.diagonal(dim1=-2, dim2=-1).sum(-1)


def curl(function: Function, x: Tensor) -> Tensor:
    """Return the curl of a vector field in space or in the plane.

    In space (∂f_3/∂y - ∂f_2/∂z, ∂f_1/∂z - ∂f_3/∂x, ∂f_2/∂x - ∂f_1/∂y); in the plane the last of
    these, ∂f_2/∂x - ∂f_1/∂y.

    Args:
        function: from ``(..., d)`` to ``(..., d)``, d = 2 or 3.
        x: points ``(..., d)``, floating point.

    Returns:
        Shape ``(..., 3)`` in space, ``(...,)`` in the plane.
    """
    if _axes(x) not in (2, 3):
        refuse("the curl is one of fields in 2 or 3 dimensions", f"{_axes(x)} coordinates")
    j = _derived(function, x, _jacobian, number=_axes(x))
    if _axes(x) == 2:
        return j[..., 1, 0] - j[..., 0, 1]
    pairs = ((2, 1), (0, 2), (1, 0))
    return torch.stack([j[..., a, b] - j[..., b, a] for a, b in pairs], -1)


def hessian(function: Function, x: Tensor) -> Tensor:
    """Return the second derivatives H_ijk = ∂²f_i / ∂x_j ∂x_k.

    Args:
        function: from ``(..., d)`` to ``(..., D)``.
        x: points ``(..., d)``, floating point.

    Returns:
        Shape ``(..., D, d, d)``.
    """

    def twice(values: list[Tensor], x: Tensor) -> Tensor:
        slopes = (_slope(value, x).unbind(-1) for value in values)
        return torch.stack([_jacobian(list(slope), x) for slope in slopes], -3)

    return _derived(function, x, twice)


def laplacian(function: Function, x: Tensor) -> Tensor:
    """Return Δf = Σ_j ∂²f/∂x_j² of every value.

    Args:
        function: from ``(..., d)`` to ``(..., D)``.
        x: points ``(..., d)``, floating point.

    Returns:
        Shape ``(..., D)``.
    """

    def trace(value: Tensor, x: Tensor) -> Tensor:
        slopes = enumerate(_slope(value, x).unbind(-1))
        return torch.stack([_slope(slope, x)[..., j] for j, slope in slopes]).sum(0)

    return _derived(function, x, lambda values, x: torch.stack([trace(v, x) for v in values], -1))


def derivative(function: Function, x: Tensor, *, order: int = 1, axis: int = 0) -> Tensor:
    """Return ∂^n f / ∂x_j^n of every value.

    Args:
        function: from ``(..., d)`` to ``(..., D)``.
        x: points ``(..., d)``, floating point.
        order: n, at least 1.
        axis: j, the coordinate, counted from 0.

    Returns:
        Shape ``(..., D)``.
    """
    order = checks.integer("order", order, least=1)
    axis = checks.integer("axis", axis, least=0, below=_axes(x))

    def repeated(value: Tensor, x: Tensor) -> Tensor:
        for _ in range(order):
            value = _slope(value, x)[..., axis]
        return value

    return _derived(
        function, x, lambda values, x: torch.stack([repeated(v, x) for v in values], -1)
    )


def _derived(
    function: Function,
    x: Tensor,
    derive: Callable[[list[Tensor], Tensor], Tensor],
    number: int | None = None,
) -> Tensor:
    """Return what ``derive`` makes of the values, each ``(...,)``, and the points they belong to.

    Args:
        function: the field.
        x: the points.
        derive: called while gradients are recorded.
        number: of values that the function must have; None for any.
    """
    _axes(x)
    with_graph = torch.is_grad_enabled()
    with torch.inference_mode(False), torch.enable_grad():
        if x.is_inference():
            x = x.clone()
        point = x if x.requires_grad else x.detach().requires_grad_()
        values = function(point)
        values = values[..., None] if values.shape == x.shape[:-1] else values
        if values.shape[:-1] != x.shape[:-1] or (number and values.shape[-1] != number):
            rows = ", ".join(map(str, x.shape[:-1]))
            rule = f"the function must give {number or 'its'} values for each point of ({rows})"
            refuse(rule, f"shape {tuple(values.shape)}")
        result = derive(list(values.unbind(-1)), point)
    return result if with_graph else result.detach()


def _axes(x: Tensor) -> int:
    """Return the number of coordinates of points."""
    if not isinstance(x, Tensor) or not x.is_floating_point() or x.ndim == 0:
        got = f"{x.dtype} {tuple(x.shape)}" if isinstance(x, Tensor) else type(x).__name__
        refuse("points must be a floating point tensor of shape (..., d)", got)
    return x.shape[-1]


def _jacobian(values: list[Tensor], x: Tensor) -> Tensor:
    return torch.stack([_slope(value, x) for value in values], -2)


def _slope(value: Tensor, x: Tensor) -> Tensor:
    """Return the gradient ``(..., d)`` of a value ``(...,)``, each row of which has its own x."""
    if not value.requires_grad:
        return torch.zeros_like(x)
    (slope,) = torch.autograd.grad(value.sum(), x, create_graph=True, materialize_grads=True)
    return slope
