"""The state of a fit: all that its next steps follow from."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ..field import Field
from ..metrics.psnr_snr import psnr_from_mse
from .checkpoint_file import group
from .config import FitConfig
from .ema import EMA
from .objective import Objective
from .optimizers import Optimizer
from .result import HistoryPoint, NonFiniteLossError
from .shuffler import Shuffler

__all__ = ["Snapshot", "TrainState", "exact"]

_DEFAULT_BATCH = 4096


class Snapshot(NamedTuple):
    """Copies of the tensors that training may change, after so many steps."""

    step: int
    tensors: list[Tensor]


class TrainState:
    """The state of a fit, from its first step on.

    Attributes:
        step: steps taken.
        start: `time.perf_counter` at the start of the fit, moved back by the seconds that were
            spent before a checkpoint.
        batch_size: items a step.
        optimizer: with its moments.
        ema: the moving average of the parameters, if the settings ask for one.
        shuffler: draws the batches.
        pending: (loss, mean square error) of the last steps, still on the device.
        losses: of every step.
        window: loss and mean square error of the steps since the last point of the history.
        history: points of the curve.
        good: the newest snapshot whose loss is known to be finite.
        candidate: the newest snapshot, good once the loss it gives is read and finite.

    Args:
        objective: what is lowered, on its device.
        config: the settings, `resolved`.
        start: `time.perf_counter` at the start of the fit.
    """

    def __init__(self, objective: Objective, config: FitConfig, start: float) -> None:
        self.objective, self.config, self.start = objective, config, start
        self.module = objective.module
        self.step = 0
        self.batch_size = min(config.batch_size or _DEFAULT_BATCH, len(objective))
        self.optimizer = Optimizer(self.module, config)
        self.ema = EMA(self.module, config.ema) if config.ema else None
        self.shuffler = Shuffler(len(objective), self.batch_size, config.seed)
        self.pending: list[Tensor] = []
        self.losses: list[float] = []
        self.window: list[tuple[float, float]] = []
        self.history: list[HistoryPoint] = []
        self.good = self.candidate = self.snapshot()

    def seconds(self) -> float:
        """Return the seconds since the fit was called."""
        return time.perf_counter() - self.start

    def spent(self) -> float:
        """Return the part of the budget that is spent; 1 and above ends the fit."""
        spent = 0.0
        if self.config.max_steps is not None:
            spent = self.step / self.config.max_steps
        if self.config.seconds is not None:
            spent = max(spent, self.seconds() / self.config.seconds)
        return spent

    def read_losses(self) -> None:
        """Fetch losses from the device.

        Raises:
            NonFiniteLossError: at the first that is not finite; the module goes back to `good`.
        """
        if not self.pending:
            return
        rows = torch.stack(self.pending).tolist()
        self.pending.clear()
        for loss, mse in rows:
            self.losses.append(loss)
            if not math.isfinite(loss):
                raise self.diverged()
            self.window.append((loss, mse))
        self.good = self.candidate

    def diverged(self) -> NonFiniteLossError:
        """Take the module back to the last good snapshot, and return the error that says so."""
        self.restore()
        assert self.config.learning_rate is not None
        return NonFiniteLossError(len(self.losses), self.good.step, self.config.learning_rate)

    def add_point(self) -> HistoryPoint:
        """Add a point to the history from the losses since the last one, and return it."""
        loss, mse = (sum(column) / len(self.window) for column in zip(*self.window, strict=True))
        self.window.clear()
        psnr = psnr_from_mse(mse, self.objective.peak)
        self.history.append(HistoryPoint(self.step, self.seconds(), loss, psnr))
        return self.history[-1]

    def snapshot(self) -> Snapshot:
        """Copy the tensors that training may change."""
        tensors = module_tensors(self.module).values()
        return Snapshot(self.step, [tensor.detach().clone() for tensor in tensors])

    @torch.no_grad()
    def restore(self) -> None:
        """Take the module back to the last good snapshot."""
        tensors = module_tensors(self.module).values()
        for tensor, good in zip(tensors, self.good.tensors, strict=True):
            tensor.copy_(good)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the state as tensors named ``group.name``; those of the module are no copies."""
        module = module_tensors(self.module)
        points = [(p.step, p.seconds, p.loss, p.psnr) for p in self.history]
        groups: dict[str, Mapping[str, Tensor]] = {
            "module": module,
            "good": dict(zip(module, self.good.tensors, strict=True)),
            "optimizer": self.optimizer.state_dict(),
            "average": {} if self.ema is None else self.ema.state_dict(),
            "shuffler": self.shuffler.state_dict(),
            "objective": self.objective.state_dict(),
            "fit": {
                "step": exact(self.step),
                "good_step": exact(self.good.step),
                "seconds": exact(self.seconds()),
                "block": exact(self.objective.chunk_size),
                "losses": exact(self.losses),
                "history": exact(points).reshape(-1, 4),
                "window": exact(self.window).reshape(-1, 2),
            },
        }
        return {f"{group}.{name}": t for group, them in groups.items() for name, t in them.items()}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Go on from what `state_dict` returned; to be called before the first step.

        Raises:
            KeyError, ValueError: the state of another fit; it may come from a damaged file.
        """
        state = _with_names_of_today(state, self.module)
        self.step = int(state["fit.good_step"])
        _load_module(self.module, group(state, "good"))
        self.good = self.candidate = self.snapshot()
        self.step = int(state["fit.step"])
        self._load_curve(*(state[f"fit.{name}"] for name in ("losses", "history", "window")))
        _load_module(self.module, group(state, "module"))
        self.optimizer.load_state_dict(group(state, "optimizer"))
        if self.ema is not None:
            self.ema.load_state_dict(group(state, "average"))
        self.shuffler.load_state_dict(group(state, "shuffler"))
        self.objective.load_state_dict(group(state, "objective"))
        chunk_size = int(state["fit.block"])
        if chunk_size < 1:
            raise ValueError(f"chunks of {chunk_size}")
        self.objective.chunk_size = min(self.objective.chunk_size, chunk_size)
        self.start = time.perf_counter() - float(state["fit.seconds"])

    def _load_curve(self, losses: Tensor, history: Tensor, window: Tensor) -> None:
        last = int(history[-1, 0]) if len(history) else 0
        shapes = (losses.shape, history.shape[1:], window.shape)
        if shapes != ((self.step,), (4,), (self.step - last, 2)):
            raise ValueError(f"a curve that does not end at step {self.step}")
        numbers = (losses, history[:, :3].flatten(), window[:, 0])
        if not all(bool(part.isfinite().all()) for part in numbers):
            raise ValueError("a curve that is not finite")
        self.losses = losses.tolist()
        self.history = [HistoryPoint(int(step), *rest) for step, *rest in history.tolist()]
        self.window = [(loss, mse) for loss, mse in window.tolist()]


def module_tensors(module: nn.Module) -> dict[str, Tensor]:
    """Return every tensor that training may change, by name: parameters and saved buffers."""
    saved = module.state_dict(keep_vars=True).keys()
    buffers = [(name, buffer) for name, buffer in module.named_buffers() if name in saved]
    named = [*module.named_parameters(), *buffers]
    return {name.replace("_orig_mod.", ""): tensor for name, tensor in named}


def _with_names_of_today(state: Mapping[str, Tensor], module: nn.Module) -> Mapping[str, Tensor]:
    """Return a state that version 0.1.0 may have saved as this one would.

    There what normalizes a field's coordinates stood in the place of its encoding.
    """
    if not isinstance(module, Field) or "module.domain_bounds" in state:
        return state
    today = {id(tensor): name for name, tensor in module_tensors(module).items()}
    names = {
        f"encoding.{former}": today.get(id(tensor))
        for former, tensor in module_tensors(module.domain_encoding).items()
    }
    renamed: dict[str, Tensor] = {}
    for key, tensor in state.items():
        group, _, name = key.partition(".")
        name = names.get(name, name) if group in ("module", "good", "average") else name
        if name is not None:  # else a number that follows from the domain
            renamed[f"{group}.{name}"] = tensor
    constants = {n: t for n, t in module_tensors(module).items() if not isinstance(t, nn.Parameter)}
    for name, constant in constants.items():
        for group in ("module", "good"):
            renamed.setdefault(f"{group}.{name}", constant)
    return renamed


@torch.no_grad()
def _load_module(module: nn.Module, state: Mapping[str, Tensor]) -> None:
    """Copy tensors into a module, all of which they must be."""
    tensors = module_tensors(module)
    odd = sorted(state.keys() ^ tensors.keys())
    if odd:
        raise ValueError(f"tensors {', '.join(odd[:3])} missing or left over")
    for name, tensor in tensors.items():
        new = state[name]
        if new.shape != tensor.shape or new.dtype != tensor.dtype:
            kinds = [f"{t.dtype} of shape {tuple(t.shape)}" for t in (new, tensor)]
            raise ValueError(f"{name} is {kinds[0]}, not {kinds[1]}")
        tensor.copy_(new)


def exact(numbers: object) -> Tensor:
    """Return numbers as float64 on the CPU."""
    return torch.tensor(numbers, dtype=torch.float64, device="cpu")
