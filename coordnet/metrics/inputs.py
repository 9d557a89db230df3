"""Checks of the two arrays that a metric compares."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from .. import checks
from ..errors import refuse
from ..modes import as_tensor

__all__ = ["Values", "peak_of", "same_shape"]

Values = Tensor | np.ndarray


def same_shape(prediction: Values, target: Values) -> tuple[Tensor, Tensor]:
    """Return both as tensors on the CPU, in their own dtypes.

    Raises:
        InputError: shapes that differ, nothing to compare, or complex numbers.
    """
    a, b = _on_cpu(prediction), _on_cpu(target)
    if a.shape != b.shape:
        shapes = f"{tuple(a.shape)} and {tuple(b.shape)}"
        refuse("prediction and target must have one shape", shapes)
    if a.numel() == 0:
        refuse("an error needs at least one element", "none")
    if a.is_complex() or b.is_complex():
        refuse("an error is one of real numbers", "complex numbers")
    return a, b


def peak_of(peak: float | None, *arrays: Values) -> float:
    """Return the peak that is stated, or 1.0 where all of the arrays hold floats.

    Raises:
        InputError: integers, whose peak nothing tells, or a peak that is not above 0.
    """
    if peak is not None:
        return checks.positive("peak", peak)
    for values in arrays:
        if isinstance(values, Tensor):
            integer = not values.is_floating_point() and values.dtype != torch.bool
        else:
            integer = values.dtype.kind in "iu"
        if integer:
            rule = "integers must be compared with a stated peak"
            refuse(rule, f"dtype {values.dtype}, no peak", "Pass peak=255 for bytes, say.")
    return 1.0


def _on_cpu(values: Values) -> Tensor:
    if isinstance(values, np.ndarray):
        # PyTorch takes no other byte order, no negative strides (a flipped picture), and warns
        # of memory that is read-only
        values = values.astype(values.dtype.newbyteorder("="), copy=not values.flags.writeable)
        values = np.ascontiguousarray(values)
    return as_tensor(values).detach().cpu()
