"""The fit loop."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..constants import supports_float64
from ..errors import refuse
from ..field import Field
from ..memory import keep_freed_memory, rows_within
from ..metrics import psnr_from_mse
from .config import FitConfig
from .optimizers import Optimizer, schedule
from .progress import Bar
from .result import FitResult, HistoryPoint, NonFiniteLossError
from .runtime import choose_device, choose_precision
from .samples import check_samples, encode_once, shuffled

__all__ = ["fit"]

_SNAPSHOT_EVERY = 100
_CUDA_READ_EVERY = 20


def fit(
    module: nn.Module,
    coordinates: Tensor,
    values: Tensor,
    config: FitConfig | None = None,
    *,
    stop: Callable[[], bool] | None = None,
) -> FitResult:
    """Fit ``module`` to samples by least squares, in place.

    Shuffled mini-batches; Muon on the hidden matrices with Adam on the rest, or Adam alone;
    warm-up and cosine decay over the budget; bf16 autocast where the machine is fast at it. A
    `Field` first measures the domain of its coordinates and the scale of its values, where
    they are not set, and the features of an encoding without parameters are computed once.

    The module is moved to the chosen device. PyTorch's global state (random generators,
    default dtype and device) is left as it is, and with a budget in steps the same seed gives
    the same losses on one CPU.

    Args:
        module: a `Field`, or any module from ``(N, in_dim)`` to ``(N, out_dim)``.
        coordinates: shape ``(..., in_dim)``, any real dtype; kept in that dtype.
        values: shape ``(..., out_dim)``, in the signal's own unit.
        config: the settings; the defaults take 2000 steps.
        stop: asked before every step; the fit ends where it says True.

    Raises:
        InputError: samples that do not fit the module, or are not finite; nothing to train.
        NonFiniteLossError: the loss became infinite or NaN; the module then holds the last
            good parameters.

    Example:
        >>> result = fit(field, x, y, FitConfig(steps=500))
        >>> result.psnr, result.history[-1].loss
    """
    start = time.perf_counter()
    config = config or FitConfig()
    inner = getattr(module, "_orig_mod", None)
    if isinstance(inner, Field):
        module = inner  # a compiled field: its parts are fitted, on shared parameters
    if not any(p.requires_grad for p in module.parameters()):
        refuse(
            "the module must have a parameter to train",
            f"none in {type(module).__name__}",
            "Call module.requires_grad_().",
        )
    x, y = check_samples(module, coordinates, values)
    device = choose_device(config.device)
    if config.keep_memory:
        keep_freed_memory()
    if isinstance(module, Field):
        module.prepare(x, y)
    module.to(device)
    if x.dtype != torch.float64 or supports_float64(device):
        x = x.to(device)  # elsewhere a float64 coordinate is encoded on the CPU, digits and all
    loop = _Loop(module, x, y, config, device, start)
    modes = [(part, part.training) for part in module.modules()]
    module.train()
    try:
        return loop.result(loop.run(stop))
    finally:
        for part, mode in modes:
            part.training = mode


class _Loop:
    """The state of one fit."""

    def __init__(
        self,
        module: nn.Module,
        x: Tensor,
        y: Tensor,
        config: FitConfig,
        device: torch.device,
        start: float,
    ) -> None:
        self.module, self.config, self.device, self.start = module, config, device, start
        self.precision = choose_precision(config.precision, device, module)
        spread = float(y.amax()) - float(y.amin())
        self.peak = config.peak if config.peak is not None else (spread or 1.0)
        width = module.encoding.out_dim if isinstance(module, Field) else x.shape[1]
        self.block = rows_within(width, config.block_size)
        self.inputs, self.model = x, module
        self.x, self.y = x, y
        weights = next((p for p in module.parameters() if p.is_floating_point()), None)
        self.dtype = weights.dtype if weights is not None else torch.get_default_dtype()
        wide = torch.promote_types(self.dtype, torch.float32)
        if isinstance(module, Field):
            mean, std = (v.cpu() for v in (module.value_mean, module.value_std))
            self.targets = ((y.cpu().to(torch.float64) - mean) / std).to(device, wide)
            self.square_scale = std.square().to(device, wide)
            kept = torch.bfloat16 if self.precision == "bf16" else self.dtype
            features = encode_once(module, x, kept, config.cache_bytes, self.block)
            if features is not None:
                self.inputs, self.model = features, module.network
            else:
                self.model = nn.Sequential(_Encode(module), module.network)
        else:
            self.targets = y.to(device, wide)
            self.square_scale = torch.ones(y.shape[1], device=device, dtype=wide)
        self.optimizer = Optimizer(module, config)
        self.batch_size = min(config.batch_size or 4096, len(x))
        self.losses: list[float] = []
        self.history: list[HistoryPoint] = []
        # loss and mean square error of the steps since the last point of the history
        self.window: list[tuple[float, float]] = []
        self.good = self.snapshot(0)

    def seconds(self) -> float:
        return time.perf_counter() - self.start

    def progress(self, step: int) -> float:
        """The part of the budget that is spent."""
        spent = 0.0
        if self.config.most_steps is not None:
            spent = step / self.config.most_steps
        if self.config.seconds is not None:
            spent = max(spent, self.seconds() / self.config.seconds)
        return spent

    def run(self, stop: Callable[[], bool] | None) -> str:
        """Take steps until a budget is spent; return which one."""
        config = self.config
        generator = torch.Generator().manual_seed(config.seed)
        batches = shuffled(len(self.x), self.batch_size, generator)
        read_every = 1 if self.device.type == "cpu" else _CUDA_READ_EVERY
        pending: list[Tensor] = []
        step = 0
        snapshot = self.good
        label = f"fit on {self.device.type} in {self.precision}"
        with Bar(config, label) as bar:
            while True:
                spent = self.progress(step)
                reason = self.reason_to_stop(step, spent, stop)
                if reason is not None:
                    break
                if step % _SNAPSHOT_EVERY == 0:
                    snapshot = self.snapshot(step)
                pending.append(self.step(next(batches), schedule(config, step, spent)))
                step += 1
                if step % read_every == 0 or step % config.log_every == 0:
                    self.read(pending)
                    self.good = snapshot
                if step % config.log_every == 0:
                    point = self.log(step)
                    bar.show(step, point.seconds, point.loss, point.psnr)
            self.read(pending)
            if step and (not self.history or self.history[-1].step != step):
                point = self.log(step)
                bar.show(step, point.seconds, point.loss, point.psnr)
        return reason

    def reason_to_stop(
        self, step: int, spent: float, stop: Callable[[], bool] | None
    ) -> str | None:
        config = self.config
        if spent >= 1:
            return "steps" if step == config.most_steps else "seconds"
        if stop is not None and stop():
            return "stopped"
        if (
            config.target_psnr is not None
            and self.history
            and self.history[-1].step == step
            and self.history[-1].psnr >= config.target_psnr - 0.5
            and self.evaluate()[0] >= config.target_psnr
        ):
            return "target"
        return None

    def step(self, indices: Tensor | None, rate: float) -> Tensor:
        """Take one step; return the mean square error of each value, on the device."""
        if indices is not None:
            indices = indices.to(self.device)
        rows = self.batch_size
        total: Tensor | None = None
        for first in range(0, rows, self.block):
            part = slice(first, min(first + self.block, rows))
            if indices is None:
                inputs, targets = self.inputs[part], self.targets[part]
            else:
                inputs, targets = self.inputs[indices[part]], self.targets[indices[part]]
            with self.autocast():
                output = self.model(inputs)
            if output.shape != targets.shape:
                refuse(
                    "the module's output must have the shape of the values",
                    f"{tuple(output.shape)} for values {tuple(targets.shape)}",
                    "Map (N, in_dim) to (N, out_dim): broadcasting would compare other pairs.",
                )
            error = (output.to(targets.dtype) - targets).square().sum(0) / rows
            error.mean().backward()
            total = error.detach() if total is None else total + error.detach()
        self.optimizer.step(rate)
        assert total is not None
        return total

    def autocast(self) -> contextlib.AbstractContextManager[object]:
        if self.precision != "bf16":
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    def read(self, pending: list[Tensor]) -> None:
        """Fetch losses from the device; raise at the first that is not finite."""
        if not pending:
            return
        rows = torch.stack(pending).double().cpu()
        scale = self.square_scale.double().cpu()
        pending.clear()
        for row in rows:
            loss = float(row.mean())
            self.losses.append(loss)
            if not math.isfinite(loss):
                self.restore()
                raise NonFiniteLossError(len(self.losses), self.good[0], self.config.learning_rate)
            self.window.append((loss, float((row * scale).mean())))

    def snapshot(self, step: int) -> tuple[int, list[Tensor]]:
        """The state after ``step`` steps; good once the loss it gives is finite."""
        return step, [tensor.detach().clone() for tensor in self.state()]

    def state(self) -> list[Tensor]:
        return [*self.module.parameters(), *self.module.buffers()]

    def restore(self) -> None:
        with torch.no_grad():
            for tensor, kept in zip(self.state(), self.good[1], strict=True):
                tensor.copy_(kept)

    def log(self, step: int) -> HistoryPoint:
        """Add a point to the history from the losses since the last one."""
        loss, error = (sum(column) / len(self.window) for column in zip(*self.window, strict=True))
        self.window.clear()
        point = HistoryPoint(step, self.seconds(), loss, psnr_from_mse(error, self.peak))
        self.history.append(point)
        return point

    def evaluate(self) -> tuple[float, float]:
        """Return PSNR and RMSE over all samples, without autocast."""
        total = 0.0
        self.module.eval()
        with torch.no_grad():
            for first in range(0, len(self.x), self.block):
                part = slice(first, first + self.block)
                output = self.module(self.x[part])
                if self.config.clamp:
                    output = output.clamp(0, self.peak)
                target = self.y[part].to(self.device)
                exact = supports_float64(self.device)
                wide = torch.float64 if exact else torch.float32
                total += float((output.to(wide) - target.to(wide)).square().sum())
        self.module.train()
        error = total / self.y.numel()
        return psnr_from_mse(error, self.peak), math.sqrt(error)

    def result(self, reason: str) -> FitResult:
        psnr, rmse = self.evaluate()
        if not math.isfinite(rmse):  # the last step spoilt what no later loss could tell
            self.restore()
            raise NonFiniteLossError(len(self.losses), self.good[0], self.config.learning_rate)
        return FitResult(
            steps=len(self.losses),
            seconds=self.seconds(),
            psnr=psnr,
            rmse=rmse,
            peak=self.peak,
            stop_reason=reason,
            device=str(self.device),
            precision=self.precision,
            samples=len(self.x),
            parameters=sum(p.numel() for p in self.module.parameters() if p.requires_grad),
            config=self.config,
            losses=self.losses,
            history=self.history,
        )


class _Encode(nn.Module):
    """The encoding half of a field, whose constants may not be moved a second time."""

    def __init__(self, field: Field) -> None:
        super().__init__()
        self.field = field

    def forward(self, x: Tensor) -> Tensor:
        return self.field.encode(x)
