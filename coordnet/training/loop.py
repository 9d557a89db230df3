"""The loop of a fit: batches, steps, budgets, the history."""

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
from ..memory import rows_within
from ..metrics import psnr_from_mse
from .config import FitConfig
from .features import encode_once
from .optimizers import Optimizer, schedule
from .progress import Bar
from .result import FitResult, HistoryPoint, NonFiniteLossError
from .runtime import choose_precision
from .samples import Samples, shuffled

__all__ = ["Loop"]

_SNAPSHOT_EVERY = 100
_CUDA_READ_EVERY = 20


class Loop:
    """The state of one fit."""

    def __init__(
        self,
        module: nn.Module,
        samples: Samples,
        config: FitConfig,
        device: torch.device,
        start: float,
    ) -> None:
        self.module, self.samples, self.config = module, samples, config
        self.device, self.start = device, start
        self.precision = choose_precision(config.precision, device, module)
        self.peak = config.peak if config.peak is not None else (samples.spread() or 1.0)
        weights = next((p for p in module.parameters() if p.is_floating_point()), None)
        dtype = weights.dtype if weights is not None else torch.get_default_dtype()
        self.wide = torch.promote_types(dtype, torch.float32)
        self.model: nn.Module = module
        self.mean = torch.zeros(samples.out_dim, device=device, dtype=self.wide)
        self.std = torch.ones_like(self.mean)
        self.kept: tuple[Tensor, Tensor] | None = None
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
                self.kept = features, self.standardised(samples.batch(slice(None))[1])
        self.optimizer = Optimizer(module, config)
        self.batch_size = min(config.batch_size or 4096, len(samples))
        self.losses: list[float] = []
        self.history: list[HistoryPoint] = []
        # loss and mean square error of the steps since the last point of the history
        self.window: list[tuple[float, float]] = []
        self.good = self.snapshot(0)

    def standardised(self, values: Tensor) -> Tensor:
        """Return what the model learns: float64 where that is possible, then rounded once."""
        if not supports_float64(values.device):
            return (values.to(self.wide) - self.mean) / self.std
        mean, std = self.mean, self.std
        if isinstance(self.module, Field):
            mean, std = self.module.value_mean, self.module.value_std
        return ((values.to(torch.float64) - mean) / std).to(self.wide)

    def fetch(self, which: Tensor | slice) -> tuple[Tensor, Tensor]:
        """Return inputs and targets of the model."""
        if self.kept is not None:
            return self.kept[0][which], self.kept[1][which]
        x, y = self.samples.batch(which)
        return x, self.standardised(y)

    def seconds(self) -> float:
        """Return the seconds since the fit was called."""
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
        batches = shuffled(len(self.samples), self.batch_size, generator)
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
        """Return why the fit ends before this step, or None."""
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
            inputs, targets = self.fetch(part if indices is None else indices[part])
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
        """Return the context of the forward pass."""
        if self.precision != "bf16":
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, torch.bfloat16)

    def read(self, pending: list[Tensor]) -> None:
        """Fetch losses from the device; raise at the first that is not finite."""
        if not pending:
            return
        rows = torch.stack(pending).cpu().double()
        scale = self.std.cpu().double().square()
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
        """Return the tensors that training may change."""
        return [*self.module.parameters(), *self.module.buffers()]

    def restore(self) -> None:
        """Go back to the last good state."""
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
        wide = torch.float64 if supports_float64(self.device) else torch.float32
        self.module.eval()
        with torch.no_grad():
            for first in range(0, len(self.samples), self.block):
                x, y = self.samples.batch(slice(first, first + self.block))
                output = self.module(x)
                if self.config.clamp:
                    output = output.clamp(0, self.peak)
                total += float((output.to(wide) - y.to(output.device, wide)).square().sum())
        self.module.train()
        error = total / (len(self.samples) * self.samples.out_dim)
        return psnr_from_mse(error, self.peak), math.sqrt(error)

    def result(self, reason: str) -> FitResult:
        """Measure the fit and return what there is to say of it."""
        psnr, rmse = self.evaluate() if self.config.evaluate else (math.nan, math.nan)
        if self.config.evaluate and not math.isfinite(rmse):
            # the last step spoilt what no later loss could tell
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
            samples=len(self.samples),
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
