"""Fitted functions at arrays of positions: values, residuals, derivatives, phases."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor, nn

from ..checks import integer, positive
from ..constants import supports_float64
from ..errors import refuse
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
        values = np.asarray(function.predict(as_float64("x", x)), dtype=np.float64)
        return values[:, None] if values.ndim == 1 else values
    parts: list[np.ndarray] = []
    with torch.no_grad():
        for part in _blocks(function, x, 1):
            with no_autocast(part.device):
                parts.append(_to_numpy(function(part)))
    return np.concatenate(parts)


def residuals(function: Function, x: Any, y: Any) -> np.ndarray:
    """Return the residuals y - f(x) as float64, ``(N, D)``.

    Args:
        function: as in `evaluate`.
        x: positions ``(N,)`` or ``(N, d)``.
        y: values ``(N,)`` or ``(N, D)``.
    """
    positions, values = check_samples(x, y)
    fitted = evaluate(function, positions)
    if fitted.shape != values.shape:
        got = f"{values.shape[1]} in y, {fitted.shape[1]} of the function"
        refuse("the function must have as many values as y", got)
    return values - fitted


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
    order = integer("order", order, least=1)
    axis = integer("axis", axis, least=0)
    on_tensors: Any = function
    if isinstance(function, Predictor) and hasattr(on_tensors, "to_field"):
        on_tensors = on_tensors.to_field()
    parts: list[np.ndarray] = []
    for part in _blocks(on_tensors, x, 4):
        if axis >= part.shape[1]:
            refuse("axis must be a coordinate of x", f"axis={axis}, {part.shape[1]} coordinates")
        with own_modes(part.device):
            part = part.clone().requires_grad_()
            values = on_tensors(part)
            columns = [_differentiated(column, part, order, axis) for column in values.unbind(-1)]
        parts.append(_to_numpy(torch.stack(columns, -1)))
    return np.concatenate(parts)


def fold_phase(x: Any, period: float, origin: float = 0.0) -> np.ndarray:
    """Return the phase of positions in turns, from 0 to below 1: ((x - origin) / period) mod 1.

    The remainder is taken before the division, exactly: a Julian date of 2460000 and a period of
    0.3 lose no digit.

    Args:
        x: positions of any shape.
        period: in their unit.
        origin: where the phase is 0.
    """
    length = positive("period", period)
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
    return column


def _blocks(function: Any, x: Any, buffers: int) -> Iterator[Tensor]:
    """Yield positions (n, d) block by block, on the function's device.

    Args:
        function: a field, a module, or any callable.
        x: ``(n,)`` or ``(n, d)``.
        buffers: how many arrays of features are held at a time.
    """
    positions = torch.from_numpy(as_float64("x", x))
    if positions.ndim == 1:
        positions = positions[:, None]
    if positions.ndim != 2:
        refuse("x must have one or two axes", f"shape {tuple(positions.shape)}")
    device, width = torch.device("cpu"), 64
    if isinstance(function, Field):
        own, width = function.value_mean.device, function.encoding.out_dim
        device = own if supports_float64(own) else device  # the field moves its features itself
    elif isinstance(function, nn.Module):
        device = next((p.device for p in function.parameters()), device)
        if not supports_float64(device):
            positions = positions.float()
    rows = rows_within(buffers * width)
    for start in range(0, max(1, len(positions)), rows):
        yield positions[start : start + rows].to(device)


def _to_numpy(values: Tensor) -> np.ndarray:
    return values.detach().cpu().to(torch.float64).numpy()
