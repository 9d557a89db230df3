"""What a fit lowers: the error of a module at samples, or any loss over items."""

from __future__ import annotations

import contextlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor, nn

from ..constants import supports_float64
from ..errors import refuse
from ..field import Field
from ..memory import empty, rows_within
from ..metrics.psnr_snr import psnr_from_mse
from .config import FitConfig
from .runtime import choose_precision, compiled, dtype_of
from .samples import Batch, Samples

__all__ = ["Objective", "Regression", "in_mode", "measure"]


class Objective(ABC):
    """A module and the loss that `minimize` lowers, over items that are drawn in batches.

    A subclass sets the attributes, and says how many items there are (``__len__``), what they
    cost (`losses`) and how good the module is (`evaluate`).

    Attributes:
        module: what is fitted, whole: its tensors are what a fit saves and restores.
        device: where it runs.
        precision: "bf16" for autocast, or the dtype of the parameters.
        peak: the peak of the PSNR.
        chunk_size: largest number of items that `losses` is asked for at once; it is halved
            where memory runs out.

    Example:
        >>> class Distance(Objective):  # of a vector to a point, one coordinate an item
        ...     def __init__(self, point):
        ...         self.point, self.vector = point, nn.Parameter(torch.zeros(len(point)))
        ...         self.module = nn.ParameterList([self.vector])
        ...         self.device, self.precision = torch.device("cpu"), "float32"
        ...         self.peak, self.chunk_size = 1.0, 1024
        ...     def __len__(self):
        ...         return len(self.point)
        ...     def losses(self, which, rows):
        ...         loss = (self.vector[which] - self.point[which]).square().sum() / rows
        ...         return loss, loss.detach()
        ...     def evaluate(self):
        ...         return psnr(self.vector, self.point), rmse(self.vector, self.point)
        >>> minimize(Distance(torch.rand(5)), steps=300)
    """

    module: nn.Module
    device: torch.device
    precision: str
    peak: float
    chunk_size: int

    @abstractmethod
    def __len__(self) -> int:
        """Number of items to draw from."""

    @abstractmethod
    def losses(self, which: Batch, rows: int) -> tuple[Tensor, Tensor]:
        """Return what some items of a batch add to its loss and to its mean square error.

        Args:
            which: numbers of the items, int64 on the device, or a run of items.
            rows: items in the whole batch, by which sums are divided.

        Returns:
            Two scalars on the device: the first is differentiated, the second is in the
            values' own unit and only shown.
        """

    @abstractmethod
    def evaluate(self) -> tuple[float, float]:
        """Return PSNR in dB and RMSE over all items."""

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
    computed once where the encoding has nothing to train, every step sees the same samples, and
    they fit in ``config.cache_bytes``.

    Args:
        module: what is fitted, on the device.
        samples: its samples, on the device.
        config: the settings.
        device: where it runs.
    """

    def __init__(
        self, module: nn.Module, samples: Samples, config: FitConfig, device: torch.device
    ) -> None:
        self.module, self.samples, self.config, self.device = module, samples, config, device
        values = len(samples) * samples.out_dim
        self.precision = choose_precision(config.precision, device, module, values)
        self.peak = config.peak if config.peak is not None else (samples.value_range() or 1.0)
        width = module.encoding.out_dim if isinstance(module, Field) else 1
        self.chunk_size = rows_within(width, config.block_size)
        self.step = 0
        self._wide = torch.promote_types(dtype_of(module), torch.float32)
        self._std = torch.ones(samples.out_dim, device=device, dtype=self._wide)
        self._cached: tuple[Tensor, Tensor] | None = None
        # built before the first step, when a checkpoint has been loaded into the module
        self._forward: Callable[[Tensor], Tensor] | None = None

    def __len__(self) -> int:
        return len(self.samples)

    def before(self, step: int) -> None:
        """Note the step: samples may be drawn by its number."""
        self.step = step
        if self._forward is None:
            model = self._model()
            self._forward = compiled(model) if self.config.compile else model

    def losses(self, which: Batch, rows: int) -> tuple[Tensor, Tensor]:
        """Return the mean square error of standardized values, weighted, and of the values."""
        assert self._forward is not None, "before(step) comes first"
        inputs, targets = self._fetch(which)
        with self.autocast():
            output = self._forward(inputs)
        if output.is_complex():
            refuse("the module's output must be real", f"{output.dtype}")
        if output.shape != targets.shape:
            refuse(
                "the module's output must have the shape of the values",
                f"{tuple(output.shape)} for values {tuple(targets.shape)}",
            )
        square = (output.to(targets.dtype) - targets).square()
        mse = square.sum(0) / rows
        weights = self.samples.weights(which)
        if weights is None:
            loss = mse.mean()
        else:
            weighted = square * _recordable(weights).to(square.dtype)
            loss = weighted.sum() / (rows * self.samples.out_dim)
        return loss, (mse.detach() * self._std.square()).mean()

    def evaluate(self) -> tuple[float, float]:
        """Return PSNR and RMSE over all samples, unweighted, without autocast."""
        return measure(
            self.module, self.samples, peak=self.peak, clamp=self.config.clamp,
            chunk_size=self.chunk_size,
        )  # fmt: skip

    def _model(self) -> nn.Module:
        """Return what learns standardized values; cache features and values where they may be."""
        field = self.module
        if not isinstance(field, Field):
            return field
        self._std = field.value_std.to(self.device, self._wide)
        features = self._features(field)
        if features is None:
            return nn.Sequential(_Encode(field), field.network)
        self._cached = features, self._standardized(self.samples.batch(slice(None))[1])
        return field.network

    def _fetch(self, which: Batch) -> tuple[Tensor, Tensor]:
        """Return inputs and targets of the model, which may change its inputs in place."""
        if self._cached is not None:
            x, y = self._cached[0][which], self._cached[1][which]
        else:
            x, y = self.samples.draw(which, self.step)
            y = self._standardized(y)
        # a run of rows is a view of what later steps read
        return (x.clone() if isinstance(which, slice) else _recordable(x)), _recordable(y)

    def _standardized(self, values: Tensor) -> Tensor:
        """Return what the model learns: float64 where that is possible, then rounded once."""
        exact = torch.float64 if supports_float64(values.device) else self._wide
        values = values.to(exact)
        if isinstance(self.module, Field):
            scale = (self.module.value_mean, self.module.value_std)
            mean, std = (constant.to(values.device, exact) for constant in scale)
            values = (values - mean) / std
        return values.to(self._wide)

    def _features(self, field: Field) -> Tensor | None:
        """Return the features of all samples, or None where they may not be cached."""
        samples, width = self.samples, field.encoding.out_dim
        dtype = torch.bfloat16 if self.precision == "bf16" else dtype_of(field)
        trained = any(p.requires_grad for p in field.encoding.parameters())
        size = len(samples) * width * dtype.itemsize
        if trained or not samples.fixed or size > self.config.cache_bytes:
            return None
        device = next((p.device for p in field.network.parameters()), torch.device("cpu"))
        features = empty((len(samples), width), dtype, device)
        with torch.no_grad():
            for start in range(0, len(samples), self.chunk_size):
                part = slice(start, start + self.chunk_size)
                features[part] = field.domain_encoding.encode(samples.batch(part)[0], dtype)
        return features


def measure(
    module: nn.Module, samples: Samples, *, peak: float, clamp: bool = False, chunk_size: int
) -> tuple[float, float]:
    """Return PSNR in dB and RMSE of a module at all samples, unweighted, in evaluation mode.

    Args:
        module: from ``(n, in_dim)`` to ``(n, out_dim)``.
        samples: on the module's device.
        peak: of the PSNR, in the values' unit.
        clamp: clamp what the module gives to [0, peak].
        chunk_size: samples at once.
    """
    total = 0.0
    with in_mode(module, training=False), torch.no_grad():
        for first in range(0, len(samples), chunk_size):
            x, y = samples.batch(slice(first, first + chunk_size))
            output = module(x.clone())  # which it may change in place
            if clamp:
                output = output.clamp(0, peak)
            wide = torch.float64 if supports_float64(output.device) else torch.float32
            total += float((output.to(wide) - y.to(output.device, wide)).square().sum())
    mse = total / (len(samples) * samples.out_dim)
    return psnr_from_mse(mse, peak), math.sqrt(mse)


@contextlib.contextmanager
def in_mode(module: nn.Module, *, training: bool) -> Iterator[None]:
    """Put a module into training or evaluation mode, and every part of it back afterwards."""
    modes = [(part, part.training) for part in module.modules()]
    module.train(training)
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


def _recordable(tensor: Tensor) -> Tensor:
    """Return a tensor that gradients can be recorded of, if it was made in inference mode, too."""
    return tensor.clone() if tensor.is_inference() else tensor


class _Encode(nn.Module):
    """The encoding half of a field, whose constants may not be moved a second time."""

    def __init__(self, field: Field) -> None:
        super().__init__()
        self.field = field

    def forward(self, x: Tensor) -> Tensor:
        return self.field.encode(x)
