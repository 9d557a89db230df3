"""The loop of a fit: batches, steps, budgets, the history."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor

from ..metrics.psnr_snr import psnr_from_mse
from .average import Average
from .blocks import in_blocks, ran_out_of_memory
from .checkpoint import Keeper, module_tensors
from .config import FitConfig
from .objective import Objective
from .optimizers import Optimizer, schedule
from .progress import Bar, Say
from .result import FitResult, HistoryPoint, NonFiniteLossError
from .samples import Shuffler

__all__ = ["Loop"]

T = TypeVar("T")

_SNAPSHOT_EVERY = 100
_CUDA_READ_EVERY = 20


class Loop:
    """The state of one fit.

    Args:
        objective: what is lowered, on its device.
        config: the settings.
        start: `time.perf_counter` when the fit was called.
        keeper: writes checkpoints, and may hold one to go on from.
        say: takes sentences for the user.
    """

    def __init__(
        self,
        objective: Objective,
        config: FitConfig,
        start: float,
        keeper: Keeper | None = None,
        say: Say | None = None,
    ) -> None:
        self.keeper, self.say = keeper, say
        self.objective, self.config, self.start = objective, config, start
        self.module, self.device = objective.module, objective.device
        self.optimizer = Optimizer(self.module, config)
        self.average = Average(self.module, config.ema) if config.ema else None
        self.batch_size = min(config.batch_size or 4096, len(objective))
        generator = torch.Generator().manual_seed(config.seed)
        self.shuffler = Shuffler(len(objective), self.batch_size, generator)
        self.taken = 0
        # losses that are still on the device
        self.pending: list[Tensor] = []
        self.losses: list[float] = []
        self.history: list[HistoryPoint] = []
        # loss and mean square error of the steps since the last point of the history
        self.window: list[tuple[float, float]] = []
        # the newest snapshot is good once the loss it gives is read and finite
        self.good = self.fresh = self.snapshot(0)
        if keeper is not None:
            keeper.begin(self)

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
        read_every = 1 if self.device.type == "cpu" else _CUDA_READ_EVERY
        label = f"fit on {self.device.type} in {self.objective.precision}"
        with Bar(config, label) as bar:
            while True:
                step = self.taken
                spent = self.progress(step)
                reason = self.reason_to_stop(step, spent, stop)
                if reason is not None:
                    break
                if step % _SNAPSHOT_EVERY == 0:
                    self.fresh = self.snapshot(step)
                self.objective.before(step)
                self.pending.append(self.step(next(self.shuffler), schedule(config, step, spent)))
                self.taken = step = step + 1
                if self.average is not None:
                    self.average.update(step)
                if step % read_every == 0 or step % config.log_every == 0:
                    self.read()
                if step % config.log_every == 0:
                    point = self.log(step)
                    bar.show(point, self.objective.status())
                if self.keeper is not None and self.keeper.due(self):
                    self.read()
                    self.keeper.save(self)
            self.read()
            if self.keeper is not None:
                self.keeper.end(self, reason == "stopped")
            if step and (not self.history or self.history[-1].step != step):
                point = self.log(step)
                bar.show(point, self.objective.status())
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
        """Take one step; return the loss and the mean square error, on the device."""
        if indices is not None:
            indices = indices.to(self.device, non_blocking=True)

        first = self.taken == 0

        def work() -> Tensor:
            total = self.add_gradients(indices)
            if first:  # which takes memory for the moments
                self.optimizer.step(rate)
            return total

        def discard() -> None:
            if first:
                self.restore()
                self.optimizer = Optimizer(self.module, self.config)
            self.optimizer.drop_gradients()

        total = self.in_blocks(work, discard)
        if not first:
            self.move(rate)
        return total

    def move(self, rate: float) -> None:
        """Let the optimizer take its step; where memory runs out, go back to the last good one."""
        try:
            self.optimizer.step(rate)
        except (RuntimeError, MemoryError) as error:
            if not ran_out_of_memory(error):
                raise
            self.restore()  # some parameters have moved, others have not
            raise RuntimeError(
                "not enough memory for a step of the optimizer. Choose a smaller network or "
                f"encoding; the model keeps its parameters from step {self.good[0]}."
            ) from error

    def add_gradients(self, indices: Tensor | None) -> Tensor:
        """Add up the gradients of a batch; return its loss and its mean square error."""
        rows, block = self.batch_size, self.objective.block
        total: Tensor | None = None
        for first in range(0, rows, block):
            part = slice(first, min(first + block, rows))
            loss, error = self.objective.losses(part if indices is None else indices[part], rows)
            loss.backward()
            found = torch.stack([loss.detach(), error.to(loss.dtype)])
            total = found if total is None else total + found
        assert total is not None
        return total

    def in_blocks(self, work: Callable[[], T], discard: Callable[[], object]) -> T:
        """Do work on batches; where memory runs out do it in smaller blocks, or keep the fit."""
        rows = self.batch_size
        try:
            return in_blocks(self.objective, rows, work, discard, self.say)
        except RuntimeError as error:
            # between two steps all that was fitted so far is whole
            if self.keeper is not None and ran_out_of_memory(error):
                self.read()
                self.keeper.end(self, stopped=True)
            raise

    def evaluate(self) -> tuple[float, float]:
        """Return PSNR and RMSE over all items, of the mean of the parameters where there is one."""
        with contextlib.nullcontext() if self.average is None else self.average.applied():
            return self.in_blocks(self.objective.evaluate, lambda: None)

    def read(self) -> None:
        """Fetch losses from the device; raise at the first that is not finite."""
        if not self.pending:
            return
        rows = torch.stack(self.pending).tolist()
        self.pending.clear()
        for loss, error in rows:
            self.losses.append(loss)
            if not math.isfinite(loss):
                self.restore()
                raise NonFiniteLossError(len(self.losses), self.good[0], self.config.learning_rate)
            self.window.append((loss, error))
        self.good = self.fresh

    def snapshot(self, step: int) -> tuple[int, list[Tensor]]:
        """The state after ``step`` steps; good once the loss it gives is finite."""
        return step, [tensor.detach().clone() for tensor in self.state()]

    def state(self) -> list[Tensor]:
        """Return the tensors that training may change."""
        return list(module_tensors(self.module).values())

    def restore(self) -> None:
        """Go back to the last good state."""
        with torch.no_grad():
            for tensor, kept in zip(self.state(), self.good[1], strict=True):
                tensor.copy_(kept)

    def log(self, step: int) -> HistoryPoint:
        """Add a point to the history from the losses since the last one."""
        loss, error = (sum(column) / len(self.window) for column in zip(*self.window, strict=True))
        self.window.clear()
        point = HistoryPoint(step, self.seconds(), loss, psnr_from_mse(error, self.objective.peak))
        self.history.append(point)
        return point

    def result(self, reason: str) -> FitResult:
        """Measure the fit and return what there is to say of it."""
        psnr, rmse = self.evaluate() if self.config.evaluate else (math.nan, math.nan)
        if self.config.evaluate and not math.isfinite(rmse):
            # the last step spoilt what no later loss could tell
            self.restore()
            raise NonFiniteLossError(len(self.losses), self.good[0], self.config.learning_rate)
        if self.average is not None:
            self.average.swap()
        return FitResult(
            steps=len(self.losses),
            seconds=self.seconds(),
            psnr=psnr,
            rmse=rmse,
            peak=self.objective.peak,
            stop_reason=reason,
            device=str(self.device),
            precision=self.objective.precision,
            samples=len(self.objective),
            parameters=sum(p.numel() for p in self.module.parameters() if p.requires_grad),
            config=self.config,
            losses=self.losses,
            history=self.history,
        )
