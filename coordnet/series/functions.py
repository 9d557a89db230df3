"""Fitted functions at arrays of positions: values, residuals, derivatives, phases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from ..constants import supports_float64
from ..errors import integer_at_least, positive_number, refuse
from ..field import Field
from ..memory import rows_within
from ..modes import no_autocast, own_modes
from .arrays import as_float64, check_samples

__all__ = ["Function", "derivative", "evaluate", "fold_phase", "residuals"]


@runtime_checkable
class Predictor(Protocol):
    """A model that takes and gives arrays, as `HarmonicModel` does."""

    def predict(self, x: Any) -> np.ndarray: ...


# from coordinates (n, d) to values (n, D): a field, any module or callable on tensors, or a model
Function = Callable[[Tensor], Tensor] | Predictor


def evaluate(function: Function, x: Any) -> np.ndarray:
    """Return the values of a fitted function as float64, in bounded memory.

    Args:
        function: a `Field`, any module or callable from tensors ``(n, d)`` to ``(n, D)``, or a
            model with ``predict``.
        x: positions ``(n,)`` or ``(n, d)``; float64 reaches the encoding as such.

    Returns:
        ``(n, D)``, on the CPU.
    """
    if isinstance(function, Predictor):
        found = np.asarray(function.predict(as_float64("x", x)), dtype=np.float64)
        return found[:, None] if found.ndim == 1 else found
    with torch.no_grad():
        parts = []
        for part in _blocks(function, x):
            with no_autocast(part.device):
                parts.append(function(part).detach())
    return np.concatenate([_to_numpy(part) for part in parts])


def residuals(function: Function, x: Any, y: Any) -> np.ndarray:
    """Return y - f(x) as float64, ``(N, D)``.

    Args:
        function: as in `evaluate`.
        x: positions ``(N,)`` or ``(N, d)``.
        y: values ``(N,)`` or ``(N, D)``.
    """
    positions, values = check_samples(x, y)
    found = evaluate(function, positions)
    if found.shape != values.shape:
        got = f"{values.shape[1]} in y, {found.shape[1]} of the function"
        refuse("the function must have as many values as y", got, "Pass the columns it was fitted.")
    return values - found


def derivative(function: Function, x: Any, *, order: int = 1, axis: int = 0) -> np.ndarray:
    """Return the derivative of a fitted function by a coordinate, by automatic differentiation.

    Args:
        function: a `Field`, any module or callable on tensors whose rows do not depend on each
            other, or a `HarmonicModel`.
        x: positions ``(n,)`` or ``(n, d)``, in their own unit.
        order: 1 for the slope, 2 for the curvature, …; networks of ReLUs have none above 1.
        axis: the coordinate.

    Returns:
        ``(n, D)`` float64: the values' unit by x's unit to the power of ``order``.
    """
    order = integer_at_least(1, "order", order, "Pass 1 for the slope.")
    axis = integer_at_least(0, "axis", axis, "Coordinates are counted from 0.")
    called: Any = function
    if isinstance(function, Predictor) and hasattr(called, "to_field"):
        called = called.to_field()
    parts = []
    for part in _blocks(called, x):
        if axis >= part.shape[1]:
            got = f"axis={axis}, {part.shape[1]} coordinates"
            refuse("axis must be a coordinate of x", got, "Coordinates are counted from 0.")
        with own_modes(part.device):
            part = part.clone().requires_grad_()
            values = called(part)
            columns = [_differentiated(column, part, order, axis) for column in values.unbind(-1)]
        parts.append(torch.stack(columns, -1))
    return np.concatenate([_to_numpy(part) for part in parts])


def fold_phase(x: Any, period: float, origin: float = 0.0) -> np.ndarray:
    """Return the phase of positions in turns, from 0 to below 1: ((x - origin) / period) mod 1.

    The remainder is taken before the division, exactly: a Julian date of 2460000 and a period of
    0.3 lose no digit.

    Args:
        x: positions of any shape.
        period: in their unit.
        origin: where the phase is 0.
    """
    length = positive_number("period", period, "Give it in the unit of the positions.")
    rest = np.fmod(as_float64("x", x), length) - np.fmod(float(origin), length)
    rest = np.where(rest < 0, rest + length, rest)
    phase = np.where(rest >= length, rest - length, rest) / length
    return np.where(phase >= 1.0, 0.0, phase) + 0.0


def _differentiated(column: Tensor, x: Tensor, order: int, axis: int) -> Tensor:
    """Return the derivative of one value, (n,), whose rows each depend on their own x alone."""
    for _ in range(order):
        if not column.requires_grad:
            return torch.zeros_like(x[:, axis])
        (slope,) = torch.autograd.grad(column.sum(), x, create_graph=True, materialize_grads=True)
        column = slope[:, axis]
    return column.detach()


def _blocks(function: Any, x: Any) -> Iterator[Tensor]:
    """Yield positions (n, d) block by block, where the function takes them."""
    positions = torch.from_numpy(as_float64("x", x))
    if positions.ndim == 1:
        positions = positions[:, None]
    if positions.ndim != 2:
        refuse("x must have one or two axes", f"shape {tuple(positions.shape)}", "Pass (n, d).")
    home, width = torch.device("cpu"), 64
    if isinstance(function, Field):
        own, width = function.value_mean.device, function.encoding.out_dim
        home = own if supports_float64(own) else home  # the field moves its features itself
    elif isinstance(function, nn.Module):
        home = next((each.device for each in function.parameters()), home)
        if not supports_float64(home):
            positions = positions.float()
    rows = rows_within(4 * width)
    for start in range(0, max(1, len(positions)), rows):
        yield positions[start : start + rows].to(home)


def _to_numpy(values: Tensor) -> np.ndarray:
    return values.detach().cpu().to(torch.float64).numpy()
