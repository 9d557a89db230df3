"""The samples of a fit: tensors, or anything that makes batches when asked."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from .. import checks
from ..constants import supports_float64
from ..errors import refuse
from ..field import Field

__all__ = ["Batch", "Samples", "TensorSamples", "as_tensor", "check_samples", "check_weights"]

# sample numbers on the device, or a run of samples
Batch = Tensor | slice


def as_tensor(name: str, values: object) -> Tensor:
    """Return real numbers as a tensor: a tensor as it is, an array or nested lists on the CPU.

    Arrays share their memory with the tensor where they can; lists become float64 or int64.

    Args:
        name: of the argument, for the message.
        values: a tensor, an array of any library that NumPy knows, or lists of numbers.

    Raises:
        InputError: no numbers, complex numbers, or lists of unequal lengths.
    """
    if isinstance(values, Tensor):
        if values.is_complex():
            refuse(f"{name} must be real numbers", f"dtype {values.dtype}")
        return _signed(values.detach())
    if np.ma.is_masked(values):
        refuse(f"{name} must have no masked numbers", "a masked array", "Leave those samples out.")
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        return refuse(f"{name} must be numbers", " ".join(str(error).split())[:120])
    if array.dtype.kind not in "biuf":
        got = type(values).__name__ if array.dtype.kind == "O" else f"dtype {array.dtype}"
        refuse(f"{name} must be real numbers", got)
    if array.dtype.itemsize > 8:  # long double
        array = array.astype(np.float64)
    # what PyTorch takes: the machine's byte order, no negative strides, memory that may be written
    array = np.ascontiguousarray(array, array.dtype.newbyteorder("=")).reshape(array.shape)
    return _signed(torch.from_numpy(array if array.flags.writeable else array.copy()))


def _signed(tensor: Tensor) -> Tensor:
    """Return int64 for unsigned integers that fit into it: PyTorch can do little with those."""
    if tensor.dtype not in (torch.uint16, torch.uint32, torch.uint64):
        return tensor
    signed = tensor.to(torch.int64)
    return signed if tensor.dtype != torch.uint64 or bool((signed >= 0).all()) else tensor


def check_samples(module: nn.Module, x: object, y: object) -> tuple[Tensor, Tensor, torch.Size]:
    """Return coordinates ``(N, in_dim)``, values ``(N, out_dim)`` and their leading axes, checked.

    Raises:
        InputError: no real numbers, sizes that do not fit, no samples, or numbers not finite.
    """
    x, y = as_tensor("coordinates", x), as_tensor("values", y)
    y = y.double() if y.dtype == torch.uint64 else y
    if x.ndim < 1 or y.ndim < 1 or x.shape[:-1] != y.shape[:-1] or 0 in (x.numel(), y.numel()):
        refuse(
            "coordinates (…, in_dim) and values (…, out_dim) must share their leading axes, "
            "with at least one sample",
            f"shapes {tuple(x.shape)} and {tuple(y.shape)}",
            "One axis is missing at the end of a 1-D tensor: t[..., None].",
        )
    leading, flat = x.shape[:-1], x.ndim == 1 and len(x) > 1
    hint = "Add the last axis: x[..., None], y[..., None]." if flat else ""
    x, y = x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1])
    sizes = (x.shape[1], y.shape[1])
    if isinstance(module, Field) and sizes != (module.in_dim, module.out_dim):
        refuse(
            f"the field takes {module.in_dim} coordinates and gives {module.out_dim} values",
            f"{sizes[0]} and {sizes[1]} in the samples",
            hint,
        )
    if flat and sizes[0] == sizes[1] and not isinstance(module, Field):
        rule = "coordinates (…, in_dim) and values (…, out_dim) have one axis more than samples"
        refuse(rule, f"shapes ({sizes[0]},) and ({sizes[1]},)", hint)
    for name, tensor in (("coordinates", x), ("values", y)):
        finite = torch.isfinite(tensor).all(-1)
        if not bool(finite.all()):
            row = int((~finite).nonzero()[0, 0])
            refuse(f"{name} must be finite", f"{tensor[row].tolist()} in sample {row}")
    return x, y, leading


def check_weights(weights: object, leading: Sequence[int], out_dim: int) -> Tensor:
    """Return weights of mean 1 as float64 on the CPU, ``(N, 1)`` or ``(N, out_dim)``.

    Args:
        weights: one a sample, ``(*leading)`` or ``(*leading, 1)``, or one a value,
            ``(*leading, out_dim)``; finite, at least 0 and not all 0.
        leading: the leading axes of the samples.
        out_dim: number of values in a sample.

    Raises:
        InputError: anything else.
    """
    weights, lead = as_tensor("weights", weights), tuple(leading)
    if tuple(weights.shape) not in (lead, (*lead, 1), (*lead, out_dim)):
        refuse(
            f"weights are one number a sample, shape {lead}, or one a value, {(*lead, out_dim)}",
            f"shape {tuple(weights.shape)}",
        )
    exact = checks.weights(weights.cpu().to(torch.float64))
    return (exact / exact.mean()).reshape(math.prod(lead), -1)


class Samples(ABC):
    """Coordinates and values, a batch at a time; a subclass need not hold them as numbers."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def batch(self, which: Batch) -> tuple[Tensor, Tensor]:
        """Return coordinates ``(n, in_dim)`` and values ``(n, out_dim)``, on the device."""

    def draw(self, which: Batch, step: int) -> tuple[Tensor, Tensor]:
        """Return what a step, numbered from 0, sees of some samples: them, unless overridden."""
        return self.batch(which)

    @property
    def fixed(self) -> bool:
        """Whether every step sees the samples as they are, so that features may be cached."""
        return True

    def weights(self, which: Batch) -> Tensor | None:
        """Return the weights of some samples' squared errors, None where all weigh 1."""
        return None

    @abstractmethod
    def prepare(self, field: Field) -> None:
        """State the field's domain and the scale of its values, where they are not set."""

    @abstractmethod
    def to(self, device: torch.device) -> Samples:
        """Return the samples for batches on ``device``."""

    @abstractmethod
    def value_range(self) -> float:
        """Return the largest value minus the smallest."""

    @property
    @abstractmethod
    def out_dim(self) -> int:
        """Number of values in a sample."""


class TensorSamples(Samples):
    """Samples in two tensors.

    Args:
        x: coordinates ``(N, in_dim)``.
        y: values ``(N, out_dim)``.
        weights: of the squared errors, ``(N,)``, ``(N, 1)`` or ``(N, out_dim)``, at least 0 and
            not all 0; their mean is set to 1, so that the learning rate means the same. None
            weighs all alike.
    """

    def __init__(self, x: Tensor, y: Tensor, weights: object = None) -> None:
        self.x, self.y = x, y
        self._weights: Tensor | None = None
        if weights is not None:
            exact = check_weights(weights, (len(y),), y.shape[1])
            self._weights = exact.to(torch.float32).to(y.device)

    def __len__(self) -> int:
        return len(self.x)

    def batch(self, which: Batch) -> tuple[Tensor, Tensor]:
        """Return some of the rows."""
        return self.x[which], self.y[which]

    def weights(self, which: Batch) -> Tensor | None:
        """Return the weights of some rows, ``(n, out_dim)`` or ``(n, 1)``, of mean 1 over all."""
        return None if self._weights is None else self._weights[which]

    def prepare(self, field: Field) -> None:
        """Measure domain and scale."""
        field.prepare(self.x, self.y)

    def to(self, device: torch.device) -> TensorSamples:
        """Move what the device can hold.

        Elsewhere a float64 coordinate stays on the CPU, and is encoded there, digits and all.
        """
        moved, exact = copy.copy(self), supports_float64(device)
        if exact or self.x.dtype != torch.float64:
            moved.x = self.x.to(device)
        y = self.y if exact or self.y.dtype != torch.float64 else self.y.float()
        moved.y = y.to(device)
        if self._weights is not None:
            moved._weights = self._weights.to(device)
        return moved

    def value_range(self) -> float:
        """Return the largest value minus the smallest."""
        return float(self.y.amax()) - float(self.y.amin())

    @property
    def out_dim(self) -> int:
        """Number of columns of the values."""
        return self.y.shape[1]
