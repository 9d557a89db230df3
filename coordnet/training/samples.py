"""The samples of a fit: tensors, or anything that makes batches when asked."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from ..constants import supports_float64
from ..errors import refuse
from ..field import Field

__all__ = ["Batch", "Samples", "TensorSamples", "check_samples", "shuffled"]

# sample numbers on the device, or a run of samples
Batch = Tensor | slice

_MOST_SHUFFLED = 1 << 25


def check_samples(module: nn.Module, x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Return coordinates ``(N, in_dim)`` and values ``(N, out_dim)``, checked.

    Raises:
        InputError: no tensors, sizes that do not fit, no samples, or numbers that are not finite.
    """
    for name, tensor in (("coordinates", x), ("values", y)):
        if not isinstance(tensor, Tensor):
            got = type(tensor).__name__
            refuse(f"{name} must be a torch tensor", got, "Pass torch.as_tensor(…).")
        if tensor.is_complex():
            refuse(f"{name} must be real numbers", f"dtype {tensor.dtype}", "Pass their parts.")
    if x.ndim < 1 or y.ndim < 1 or x.shape[:-1] != y.shape[:-1] or 0 in (x.numel(), y.numel()):
        refuse(
            "coordinates (…, in_dim) and values (…, out_dim) must share their leading axes, "
            "with at least one sample",
            f"shapes {tuple(x.shape)} and {tuple(y.shape)}",
            "One axis is missing at the end of a 1-D tensor: t[..., None].",
        )
    x, y = x.detach().reshape(-1, x.shape[-1]), y.detach().reshape(-1, y.shape[-1])
    sizes = (x.shape[1], y.shape[1])
    if isinstance(module, Field) and sizes != (module.in_dim, module.out_dim):
        refuse(
            f"the field takes {module.in_dim} coordinates and gives {module.out_dim} values",
            f"{sizes[0]} and {sizes[1]} in the samples",
            "Build the field with these sizes.",
        )
    for name, tensor in (("coordinates", x), ("values", y)):
        good = torch.isfinite(tensor).all(-1)
        if not bool(good.all()):
            row = int((~good).nonzero()[0, 0])
            refuse(
                f"{name} must be finite",
                f"{tensor[row].tolist()} in sample {row}",
                "Drop or repair the sample.",
            )
    return x, y


class Samples(ABC):
    """Coordinates and values, a batch at a time; a subclass need not hold them as numbers."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def batch(self, which: Batch) -> tuple[Tensor, Tensor]:
        """Return coordinates ``(n, in_dim)`` and values ``(n, out_dim)``, on the device."""

    @abstractmethod
    def prepare(self, field: Field) -> None:
        """State the field's domain and the scale of its values, where they are not set."""

    @abstractmethod
    def to(self, device: torch.device) -> Samples:
        """Return the samples for batches on ``device``."""

    @abstractmethod
    def spread(self) -> float:
        """Return the largest value minus the smallest."""

    @property
    @abstractmethod
    def out_dim(self) -> int:
        """Number of values in a sample."""


class TensorSamples(Samples):
    """Samples in two tensors, coordinates ``(N, in_dim)`` and values ``(N, out_dim)``."""

    def __init__(self, x: Tensor, y: Tensor) -> None:
        self.x, self.y = x, y

    def __len__(self) -> int:
        return len(self.x)

    def batch(self, which: Batch) -> tuple[Tensor, Tensor]:
        """Return some of the rows."""
        return self.x[which], self.y[which]

    def prepare(self, field: Field) -> None:
        """Measure domain and scale."""
        field.prepare(self.x, self.y)

    def to(self, device: torch.device) -> TensorSamples:
        """Move what the device can hold.

        Elsewhere a float64 coordinate stays on the CPU, and is encoded there, digits and all.
        """
        x, y = self.x, self.y
        if not supports_float64(device):
            y = y.float() if y.dtype == torch.float64 else y
            return TensorSamples(x if x.dtype == torch.float64 else x.to(device), y.to(device))
        return TensorSamples(x.to(device), y.to(device))

    def spread(self) -> float:
        """Return the range of the values."""
        return float(self.y.amax()) - float(self.y.amin())

    @property
    def out_dim(self) -> int:
        """Number of columns of the values."""
        return self.y.shape[1]


def shuffled(number: int, size: int, generator: torch.Generator) -> Iterator[Tensor | None]:
    """Yield index batches for ever: every sample once an epoch, in a fresh order.

    The end of an epoch is filled up from the next, so that all batches are of one size. None
    stands for all samples in their order. Above 2^25 samples, whose order alone would take
    256 MB and which no fit sees twice, indices are drawn with replacement.
    """
    if size >= number:
        while True:
            yield None
    while number > _MOST_SHUFFLED:
        yield torch.randint(number, (size,), generator=generator, device="cpu")
    rest = torch.empty(0, dtype=torch.int64, device="cpu")
    while True:
        order = torch.cat([rest, torch.randperm(number, generator=generator, device="cpu")])
        full = len(order) // size * size
        yield from order[:full].view(-1, size)
        rest = order[full:]
