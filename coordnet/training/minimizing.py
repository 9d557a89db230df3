"""The loop of a fit: steps, budgets, the history."""

from __future__ import annotations

import contextlib
import math
import re
import time
from collections.abc import Callable

import torch
from torch import nn

from ..errors import refuse
from ..memory import return_freed_memory
from ..modes import own_modes, without_inference
from .checkpoint import Checkpoint, CheckpointWriter
from .config import FitConfig
from .objective import Objective, in_mode
from .optimizers import Optimizer, resolved, schedule
from .progress import Bar, Notify, Progress, tell
from .result import FitResult
from .state import TrainState

__all__ = ["is_out_of_memory", "minimize", "require_trainable", "take_step"]

_SNAPSHOT_EVERY = 100
# on a GPU to read a loss waits for the step
_READ_EVERY = 20
_LEAST_CHUNK = 32
# what PyTorch's CPU allocator and its libraries say, in RuntimeErrors of no class of their own
_OUT_OF_MEMORY = re.compile(
    r"out of memory|not enough memory|(can't|can not|cannot|unable to|failed to) allocate"
    r"|bad_alloc|bad allocation|could not create a (memory|primitive)",
    re.IGNORECASE,
)


def minimize(
    objective: Objective,
    config: FitConfig | None = None,
    *,
    start: float | None = None,
    stop: Callable[[], bool] | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress | bool | None = None,
    notify: Notify | None = None,
    **settings: object,
) -> FitResult:
    """Lower an objective of your own as `fit` lowers the error at samples.

    Args:
        objective: what is lowered; its module is on its device, and stays there.
        config: the settings, or pass them as keywords: ``minimize(objective, steps=300)``.
        start: `time.perf_counter` where the seconds of the budget begin; None for now.
        stop: asked before every step; the fit ends where it says True.
        checkpoint: where the state of the fit is saved, and may be gone on from.
        progress: as in `fit`.
        notify: as in `fit`.
        settings: those of `FitConfig`.

    Raises:
        InputError: nothing to train; settings that cannot be; a checkpoint of another fit.
        NonFiniteLossError: the loss became infinite or NaN; the module then holds the last
            good parameters.
        RuntimeError: memory ran out, and smaller chunks did not help.
    """
    start = time.perf_counter() if start is None else start
    module, device = objective.module, objective.device
    require_trainable(module)
    config = resolved(FitConfig.of(config, settings), module)
    read_every = 1 if device.type == "cpu" else _READ_EVERY
    with own_modes(device), in_mode(module, training=True):
        without_inference(module)
        state = TrainState(objective, config, start)
        writer = CheckpointWriter(checkpoint, notify)
        writer.begin(state)
        with Bar(progress, config, f"fit on {device.type} in {objective.precision}") as bar:
            spent = state.spent()
            while (reason := _stop_reason(state, writer, spent, stop)) is None:
                if state.step % _SNAPSHOT_EVERY == 0:
                    state.candidate = state.snapshot()
                objective.before(state.step)
                take_step(state, writer, schedule(config, state.step, spent))
                if state.step % read_every == 0 or state.step % config.log_every == 0:
                    state.read_losses()
                if state.step % config.log_every == 0:
                    bar.show(state.add_point(), objective.status())
                writer.save_if_due(state)
                spent = state.spent()
            state.read_losses()
            writer.end(state, stopped=reason == "stopped")
            if state.window:
                bar.show(state.add_point(), objective.status())
        return _result(state, writer, reason)


def require_trainable(module: nn.Module) -> None:
    """Refuse a module without a parameter to train."""
    if not any(p.requires_grad for p in module.parameters()):
        refuse("the module must have a parameter to train", f"none in {type(module).__name__}")


def take_step(state: TrainState, writer: CheckpointWriter, fraction: float) -> None:
    """Take a step; where memory runs out, add up the gradients in smaller chunks.

    Args:
        state: of the fit.
        writer: saves the state where even the smallest chunk does not fit.
        fraction: the learning rate, as a fraction of its largest value.
    """
    objective, rows = state.objective, state.batch_size
    indices = next(state.shuffler)
    if indices is not None:
        indices = indices.to(objective.device, non_blocking=True)
    while True:
        total = loss = mse = None
        moving = False
        try:
            for first in range(0, rows, objective.chunk_size):
                part = slice(first, min(first + objective.chunk_size, rows))
                loss, mse = objective.losses(part if indices is None else indices[part], rows)
                loss.backward()
                pair = torch.stack([loss.detach(), mse.to(loss.dtype)])
                total = pair if total is None else total + pair
            moving = True
            state.optimizer.step(fraction)
            break
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        # behind the clause: with its traceback the error would hold the failed chunk's tensors,
        # and so do these
        total = loss = mse = None
        state.optimizer.drop_gradients()
        if moving:  # some parameters have moved, others have not
            state.restore()
            if state.step:
                raise RuntimeError(
                    "not enough memory for a step of the optimizer; the model keeps its "
                    f"parameters from step {state.good.step}"
                )
            # the first step is the one that takes memory for the moments
            state.optimizer = Optimizer(state.module, state.config)
        _halve_chunk(state, writer)
    assert total is not None
    state.pending.append(total)
    state.step += 1
    if state.ema is not None:
        state.ema.update(state.step)


def _evaluate(state: TrainState, writer: CheckpointWriter) -> tuple[float, float]:
    """Return PSNR and RMSE over all items, of the parameters' average where there is one."""
    while True:
        try:
            with contextlib.nullcontext() if state.ema is None else state.ema.applied():
                return state.objective.evaluate()
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        _halve_chunk(state, writer)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on the device or on the CPU."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and _OUT_OF_MEMORY.search(str(error)) is not None


def _halve_chunk(state: TrainState, writer: CheckpointWriter) -> None:
    """Let fewer items go through the module at once.

    Raises:
        RuntimeError: they are few already; what was fitted so far is saved.
    """
    if state.objective.device.type == "cuda":
        torch.cuda.empty_cache()
    else:
        return_freed_memory()
    chunk = min(state.objective.chunk_size, state.batch_size)
    if chunk <= _LEAST_CHUNK:
        writer.end(state, stopped=True)
        raise RuntimeError(
            f"not enough memory, not even for {chunk} samples at once. Choose a smaller network "
            "or encoding, or another device."
        )
    smaller = state.objective.chunk_size = max(_LEAST_CHUNK, chunk // 2)
    text = f"not enough memory for {chunk:,} samples at once: going on with {smaller:,}"
    tell(writer.notify, text, warning=True)


def _stop_reason(
    state: TrainState, writer: CheckpointWriter, spent: float, stop: Callable[[], bool] | None
) -> str | None:
    """Return why the fit ends before the next step, or None."""
    if spent >= 1:
        return "steps" if state.step == state.config.max_steps else "seconds"
    if stop is not None and stop():
        return "stopped"
    target = state.config.target_psnr
    if target is None or not state.history:
        return None
    last = state.history[-1]
    near = last.step == state.step and last.psnr >= target - 0.5
    return "target" if near and _evaluate(state, writer)[0] >= target else None


def _result(state: TrainState, writer: CheckpointWriter, reason: str) -> FitResult:
    """Measure the fit, leave the average of the parameters in the module, and return the result."""
    objective, config = state.objective, state.config
    psnr = rmse = math.nan
    if config.evaluate:
        psnr, rmse = _evaluate(state, writer)
        if not math.isfinite(rmse):
            raise state.diverged()  # the last step spoilt what no later loss could tell
    if state.ema is not None:
        state.ema.swap()
    return FitResult(
        steps=len(state.losses),
        seconds=state.seconds(),
        psnr=psnr,
        rmse=rmse,
        peak=objective.peak,
        stop_reason=reason,
        device=str(objective.device),
        precision=objective.precision,
        samples=len(objective),
        parameters=sum(p.numel() for p in state.module.parameters() if p.requires_grad),
        config=config,
        losses=state.losses,
        history=state.history,
    )
