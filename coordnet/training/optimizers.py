"""Optimisers and the learning-rate schedule."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from .config import FitConfig

__all__ = ["Optimizer", "schedule"]

_LEAST_SIDE = 32


def _unwrapped(optimizer: Any) -> Any:
    """Return an optimiser whose methods do not import PyTorch's compiler.

    Those of PyTorch do, to keep themselves out of compiled code: a second before the first step.
    Its ``step`` leaves it to the caller to switch gradients off.
    """
    names = ("add_param_group", "load_state_dict", "state_dict", "step", "zero_grad")
    methods = {name: inspect.unwrap(getattr(optimizer, name)) for name in names}
    return type(optimizer.__name__, (optimizer,), methods)


_Adam, _Muon = _unwrapped(torch.optim.Adam), _unwrapped(torch.optim.Muon)
# what each keeps for a parameter, from its first step on
_KEPT: dict[type[torch.optim.Optimizer], set[str]] = {
    _Muon: {"momentum_buffer"},
    _Adam: {"step", "exp_avg", "exp_avg_sq"},
}


def schedule(config: FitConfig, step: int, progress: float) -> float:
    """Return the learning rate as a fraction of its largest value.

    A linear warm-up, times half a cosine over the budget down to ``final_fraction``, or times
    ``final_fraction`` ^ progress.

    Args:
        config: the settings.
        step: steps taken so far.
        progress: the part of the budget that is spent, from 0 to 1.
    """
    warm = min(1.0, (step + 1) / (config.warmup_steps + 1))
    progress = min(1.0, progress)
    if config.decay == "exponential":
        return warm * config.final_fraction**progress
    cosine = 0.5 + 0.5 * math.cos(math.pi * progress)
    return warm * (config.final_fraction + (1 - config.final_fraction) * cosine)


class Optimizer:
    """Adam, or Muon on the hidden matrices and Adam on everything else.

    Hidden matrices are the weights of linear layers with at least 32 rows and columns: Muon
    makes each update near orthogonal (Jordan et al., 2024), scaled to the size of an Adam step
    (``match_rms_adamw``), which says nothing for a table or a thin output layer.
    """

    def __init__(self, module: nn.Module, config: FitConfig) -> None:
        parameters = [p for p in module.parameters() if p.requires_grad]
        hidden: set[int] = set()  # of a weight that two layers share, one update
        if config.optimizer == "muon":
            hidden = {
                id(part.weight)
                for part in module.modules()
                if isinstance(part, nn.Linear) and min(part.weight.shape) >= _LEAST_SIDE
            }
        matrices: list[Tensor] = [p for p in parameters if id(p) in hidden]
        others = [p for p in parameters if id(p) not in hidden]
        rate = config.learning_rate
        self.parts: list[torch.optim.Optimizer] = []
        if matrices:
            self.parts.append(
                _Muon(matrices, lr=rate, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
            )
        if others:
            fused = all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in others)
            self.parts.append(
                _Adam(others, lr=rate, betas=config.betas, eps=config.eps, fused=fused)
            )
        self.rate = rate

    def step(self, fraction: float) -> None:
        """Take a step at ``fraction`` of the largest learning rate, then drop the gradients."""
        for part in self.parts:
            for group in part.param_groups:
                group["lr"] = self.rate * fraction
            with torch.no_grad():
                part.step()
        self.drop_gradients()

    def drop_gradients(self) -> None:
        """Forget the gradients."""
        for part in self.parts:
            part.zero_grad(set_to_none=True)

    def state_dict(self) -> dict[str, Tensor]:
        """Return the moments, named ``part.parameter.moment``; no copies."""
        return {
            f"{i}.{number}.{name}": value
            for i, part in enumerate(self.parts)
            for number, state in part.state_dict()["state"].items()
            for name, value in state.items()
        }

    def load_state_dict(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over moments, which then belong to this optimiser.

        Raises:
            ValueError: moments of other parameters, or of another optimiser.
        """
        left = set(tensors)
        for i, part in enumerate(self.parts):
            found: dict[int, dict[str, Tensor]] = {}
            parameters = [p for group in part.param_groups for p in group["params"]]
            for number, parameter in enumerate(parameters):
                names = {f"{i}.{number}.{name}" for name in _KEPT[type(part)]}
                if not names & left:
                    continue  # a parameter that no loss has reached
                if not names <= left:
                    raise ValueError(f"moments of parameter {number} are missing")
                left -= names
                found[number] = {name.rpartition(".")[2]: tensors[name] for name in names}
                for name, value in found[number].items():
                    shape = () if name == "step" else parameter.shape
                    if value.shape != shape or not value.is_floating_point():
                        raise ValueError(f"{name} of shape {tuple(value.shape)}, not {shape}")
            groups = part.state_dict()["param_groups"]
            part.load_state_dict({"state": found, "param_groups": groups})
        if left:
            raise ValueError(f"moments of no parameter: {min(left)}")
