"""What every metric asks of the two arrays it compares."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..errors import refuse

__all__ = ["Values", "same_shape"]

Values = Tensor | np.ndarray


def same_shape(prediction: Values, target: Values) -> tuple[Tensor, Tensor]:
    """Return both as tensors on the CPU, in their own dtypes.

    Raises:
        InputError: shapes that differ, nothing to compare, or complex numbers.
    """
    a, b = _on_cpu(prediction), _on_cpu(target)
    if a.shape != b.shape:
        refuse(
            "prediction and target must have one shape",
            f"{tuple(a.shape)} and {tuple(b.shape)}",
            "Reshape one of them.",
        )
    if a.numel() == 0:
        refuse("an error needs at least one element", "none", "Pass some values.")
    if a.is_complex() or b.is_complex():
        refuse("an error is one of real numbers", "complex numbers", "Compare the parts.")
    return a, b


def _on_cpu(values: Values) -> Tensor:
    if isinstance(values, np.ndarray):
        # PyTorch takes no other byte order, no negative strides (a flipped picture), and warns
        # of memory that is read-only
        values = values.astype(values.dtype.newbyteorder("="), copy=not values.flags.writeable)
        values = np.ascontiguousarray(values)
    return torch.as_tensor(values).detach().cpu()
