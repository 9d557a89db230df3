"""The samples of a fit: tensors, or anything that makes batches when asked."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..constants import supports_float64
from ..errors import refuse
from ..field import Field

__all__ = ["Batch", "Samples", "Shuffler", "TensorSamples", "check_samples", "check_weights"]

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
    hint = "Add the last axis: x[..., None], y[..., None]." if x.ndim == 1 else ""
    alike = x.ndim == 1 and x.shape == y.shape and len(x) > 1
    x, y = x.detach().reshape(-1, x.shape[-1]), y.detach().reshape(-1, y.shape[-1])
    sizes = (x.shape[1], y.shape[1])
    if isinstance(module, Field) and sizes != (module.in_dim, module.out_dim):
        refuse(
            f"the field takes {module.in_dim} coordinates and gives {module.out_dim} values",
            f"{sizes[0]} and {sizes[1]} in the samples",
            hint or "Build the field with these sizes.",
        )
    if alike and not isinstance(module, Field):
        rule = "coordinates (…, in_dim) and values (…, out_dim) have one axis more than samples"
        refuse(rule, f"shapes ({sizes[0]},) and ({sizes[1]},)", hint)
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

    def draw(self, which: Batch, step: int) -> tuple[Tensor, Tensor]:
        """Return what a step, numbered from 0, sees of some samples: them, unless overridden."""
        return self.batch(which)

    @property
    def fixed(self) -> bool:
        """Whether every step sees the samples as they are, so that features may be kept."""
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
    def spread(self) -> float:
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

    def __init__(self, x: Tensor, y: Tensor, weights: Tensor | None = None) -> None:
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
        moved = copy.copy(self)
        moved.x, moved.y = self.x.to(device), self.y
        if not supports_float64(device):
            moved.x = self.x if self.x.dtype == torch.float64 else self.x.to(device)
            moved.y = self.y.float() if self.y.dtype == torch.float64 else self.y
        moved.y = moved.y.to(device)
        if self._weights is not None:
            moved._weights = self._weights.to(device)
        return moved

    def spread(self) -> float:
        """Return the range of the values."""
        return float(self.y.amax()) - float(self.y.amin())

    @property
    def out_dim(self) -> int:
        """Number of columns of the values."""
        return self.y.shape[1]


def check_weights(weights: Any, leading: Sequence[int], out_dim: int) -> Tensor:
    """Return weights of mean 1 as float64 on the CPU, ``(N, 1)`` or ``(N, out_dim)``.

    Args:
        weights: one a sample, ``(*leading)`` or ``(*leading, 1)``, or one a value,
            ``(*leading, out_dim)``; finite, at least 0 and not all 0.
        leading: the leading axes of the samples.
        out_dim: number of values in a sample.

    Raises:
        InputError: anything else.
    """
    lead = tuple(leading)
    if not isinstance(weights, Tensor) or weights.is_complex():
        got = f"dtype {weights.dtype}" if isinstance(weights, Tensor) else type(weights).__name__
        refuse("weights must be a tensor of real numbers", got, "Pass torch.as_tensor(…).")
    if tuple(weights.shape) not in (lead, (*lead, 1), (*lead, out_dim)):
        refuse(
            f"weights are one number a sample, shape {lead}, or one a value, {(*lead, out_dim)}",
            f"shape {tuple(weights.shape)}",
            "Give them the leading axes of the samples.",
        )
    exact = weights.detach().cpu().to(torch.float64)
    good = exact.isfinite() & (exact >= 0)
    if not bool(good.all()) or not bool(exact.any()):
        got = "zeros alone" if bool(good.all()) else f"{float(exact[~good][0])}"
        refuse("weights must be finite, at least 0 and not all 0", got, "Drop those samples.")
    exact = exact / exact.mean()
    return exact.reshape(math.prod(lead), -1)


class Shuffler(Iterator[Tensor | None]):
    """Index batches for ever: every sample once an epoch, in a fresh order.

    The end of an epoch is filled up from the next, so that all batches are of one size. None
    stands for all samples in their order. Above 2^25 samples, whose order alone would take
    256 MB and which no fit sees twice, indices are drawn with replacement.

    Args:
        number: samples.
        size: samples a batch.
        generator: a CPU generator, which the shuffler alone may use.
    """

    def __init__(self, number: int, size: int, generator: torch.Generator) -> None:
        self.number, self.size, self.generator = number, size, generator
        # an epoch's order is known by the generator's state before it and what was left over
        self._state = generator.get_state()
        self._rest = self._order = torch.empty(0, dtype=torch.int64, device="cpu")
        self._next = 0

    def __next__(self) -> Tensor | None:
        """Return the next batch, int64 on the CPU."""
        if self.size >= self.number:
            return None
        if self.number > _MOST_SHUFFLED:
            return torch.randint(self.number, (self.size,), generator=self.generator, device="cpu")
        if self._next + self.size > len(self._order):
            self._rest = self._order[self._next :].clone()
            self._shuffle()
        first, self._next = self._next, self._next + self.size
        return self._order[first : self._next]

    def _shuffle(self) -> None:
        self._state = self.generator.get_state()
        order = torch.randperm(self.number, generator=self.generator, device="cpu")
        self._order, self._next = torch.cat([self._rest, order]), 0

    def state_dict(self) -> dict[str, Tensor]:
        """Return what the next batches follow from: a few kilobytes, however many samples."""
        drawn = self.number > _MOST_SHUFFLED
        return {
            "generator": self.generator.get_state() if drawn else self._state,
            "rest": self._rest,
            "position": torch.tensor(self._next, device="cpu"),
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Go on where another shuffler of as many samples and as large batches was.

        Raises:
            ValueError: no state of such a shuffler.
        """
        rest, position = state["rest"], int(state["position"])
        sound = rest.dtype == torch.int64 and rest.ndim == 1 and len(rest) < self.size
        if not sound or bool(((rest < 0) | (rest >= self.number)).any()):
            raise ValueError("the samples left over are none of these samples")
        if not 0 <= position <= self.number + len(rest) or position % self.size:
            raise ValueError(f"no batch begins at sample {position} of an epoch")
        self.generator.set_state(state["generator"])
        self._state, self._rest, self._order, self._next = state["generator"], rest, rest[:0], 0
        if position:
            self._shuffle()
            self._next = position
