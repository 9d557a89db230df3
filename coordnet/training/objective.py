"""What a fit lowers: the error of a module at samples, or anything else that gives a loss."""

from __future__ import annotations

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from ..constants import supports_float64
from ..errors import refuse
from ..field import Field
from ..memory import rows_within
from ..metrics.psnr_snr import psnr_from_mse
from .config import FitConfig
from .features import encode_once
from .runtime import choose_precision, compiled, dtype_of
from .samples import Batch, Samples

__all__ = ["Objective", "Regression"]


class Objective(ABC):
    """A module and the loss that its fit lowers, over items that are drawn in batches.

    Attributes:
        module: what is fitted, whole: its tensors are what a fit saves and restores.
        device: where it runs.
        precision: "bf16" for autocast, or the dtype of the parameters.
        peak: the peak of the PSNR.
        block: most items that `losses` is asked for at once; where memory runs out it is halved.
        values: number of values in an item.
    """

    module: nn.Module
    device: torch.device
    precision: str
    peak: float
    block: int
    values: int

    @abstractmethod
    def __len__(self) -> int:
        """Number of items to draw from."""

    @abstractmethod
    def losses(self, which: Batch, rows: int) -> tuple[Tensor, Tensor]:
        """Return what some items of a batch add to its loss and to its mean square error.

        Args:
            which: numbers of the items, on the device, or a run of items.
            rows: items in the whole batch, by which sums are divided.

        Returns:
            Two scalars on the device: the first is differentiated, the second is in the
            values' own unit and only shown.
        """

    @abstractmethod
    def evaluate(self) -> tuple[float, float]:
        """Return PSNR and RMSE over all items."""

    def before(self, step: int) -> None:  # noqa: B027  (most objectives have nothing to do)
        """Do what is to be done before a step, numbered from 0."""

    def status(self) -> str:
        """Return a few words for the progress bar."""
        return ""

    def state_dict(self) -> dict[str, Tensor]:
        """Return what a checkpoint must hold besides the module's tensors, by name.

        Random generators (``get_state()``), counters as tensors of one number, grids that are
        no buffers of the module: all that later losses follow from.
        """
        return {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Go on from what `state_dict` returned; the tensors are on the CPU.

        Raises:
            ValueError: where it is no such state: it may come from a damaged file.
        """
        if state:
            raise ValueError(f"{min(state)} is not known here")

    def autocast(self) -> contextlib.AbstractContextManager[object]:
        """Return the context of the forward pass."""
        if self.precision != "bf16":
            return contextlib.nullcontext()
        # inside a caller's autocast the cache of cast weights would outlive the steps
        return torch.autocast(self.device.type, torch.bfloat16, cache_enabled=False)


class Regression(Objective):
    """The mean square error of a module at samples.

    A field is taken apart: its network learns standardized values, from features that are
    worked out once where they may be kept.
    """

    def __init__(
        self, module: nn.Module, samples: Samples, config: FitConfig, device: torch.device
    ) -> None:
        self.module, self.samples, self.config, self.device = module, samples, config, device
        values = len(samples) * samples.out_dim
        self.precision = choose_precision(config.precision, device, module, values)
        self.peak = config.peak if config.peak is not None else (samples.spread() or 1.0)
        self.values = samples.out_dim
        dtype = dtype_of(module)
        self.wide = torch.promote_types(dtype, torch.float32)
        self.model: nn.Module = module
        self.mean = torch.zeros(samples.out_dim, device=device, dtype=self.wide)
        self.std = torch.ones_like(self.mean)
        self.kept: tuple[Tensor, Tensor] | None = None
        self.taken = 0
        width = module.encoding.out_dim if isinstance(module, Field) else 1
        self.block = rows_within(width, config.block_size)
        if isinstance(module, Field):
            mean, std = module.value_mean, module.value_std
            self.mean, self.std = mean.to(device, self.wide), std.to(device, self.wide)
            self.model = nn.Sequential(_Encode(module), module.network)
            kept = torch.bfloat16 if self.precision == "bf16" else dtype
            features = encode_once(module, samples, kept, config.cache_bytes, self.block)
            if features is not None:
                self.model = module.network
                self.kept = features, self.standardized(samples.batch(slice(None))[1])
        self.forward = compiled(self.model) if config.compile else self.model

    def __len__(self) -> int:
        return len(self.samples)

    def standardized(self, values: Tensor) -> Tensor:
        """Return what the model learns: float64 where that is possible, then rounded once."""
        if not supports_float64(values.device):
            return (values.to(self.wide) - self.mean) / self.std
        mean, std = self.mean, self.std
        if isinstance(self.module, Field):
            mean, std = self.module.value_mean, self.module.value_std
        return ((values.to(torch.float64) - mean) / std).to(self.wide)

    def fetch(self, which: Batch) -> tuple[Tensor, Tensor]:
        """Return inputs and targets of the model, which may change its inputs in place."""
        if self.kept is not None:
            x, y = self.kept[0][which], self.kept[1][which]
        else:
            x, y = self.samples.draw(which, self.taken)
            y = self.standardized(y)
        # a run of rows is a view of what later steps read
        return _ordinary(x, copied=isinstance(which, slice)), _ordinary(y)

    def before(self, step: int) -> None:
        """Note the step: samples may be drawn by its number."""
        self.taken = step

    def losses(self, which: Batch, rows: int) -> tuple[Tensor, Tensor]:
        """Return the mean square error of standardized values, weighted, and of the values."""
        inputs, targets = self.fetch(which)
        with self.autocast():
            output = self.forward(inputs)
        if output.is_complex():
            refuse("the module's output must be real", f"{output.dtype}", "Return its parts.")
        if output.shape != targets.shape:
            refuse(
                "the module's output must have the shape of the values",
                f"{tuple(output.shape)} for values {tuple(targets.shape)}",
                "Map (N, in_dim) to (N, out_dim): broadcasting would compare other pairs.",
            )
        square = (output.to(targets.dtype) - targets).square()
        error = square.sum(0) / rows
        weights = self.samples.weights(which)
        if weights is None:
            loss = error.mean()
        else:
            loss = (square * _ordinary(weights).to(square.dtype)).sum() / (rows * self.values)
        return loss, (error.detach() * self.std.square()).mean()

    def evaluate(self) -> tuple[float, float]:
        """Return PSNR and RMSE over all samples, unweighted, without autocast."""
        total = 0.0
        wide = torch.float64 if supports_float64(self.device) else torch.float32
        self.module.eval()
        with torch.no_grad():
            for first in range(0, len(self.samples), self.block):
                x, y = self.samples.batch(slice(first, first + self.block))
                output = self.module(x.clone())  # which it may change in place
                if self.config.clamp:
                    output = output.clamp(0, self.peak)
                total += float((output.to(wide) - y.to(output.device, wide)).square().sum())
        self.module.train()
        error = total / (len(self.samples) * self.values)
        return psnr_from_mse(error, self.peak), math.sqrt(error)


def _ordinary(tensor: Tensor, copied: bool = False) -> Tensor:
    """Return a tensor that gradients can be recorded of, if it was made in inference mode, too."""
    return tensor.clone() if copied or tensor.is_inference() else tensor


class _Encode(nn.Module):
    """The encoding half of a field, whose constants may not be moved a second time."""

    def __init__(self, field: Field) -> None:
        super().__init__()
        self.field = field

    def forward(self, x: Tensor) -> Tensor:
        return self.field.encode(x)
