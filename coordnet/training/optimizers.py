"""Optimisers and the learning-rate schedule."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from .config import FitConfig

__all__ = ["Optimizer", "schedule"]

_LEAST_SIDE = 32


def schedule(config: FitConfig, step: int, progress: float) -> float:
    """Return the learning rate as a fraction of its largest value.

    A linear warm-up, then half a cosine over the budget down to ``final_fraction``.

    Args:
        config: the settings.
        step: steps taken so far.
        progress: the part of the budget that is spent, from 0 to 1.
    """
    warm = min(1.0, (step + 1) / (config.warmup_steps + 1))
    cosine = 0.5 + 0.5 * math.cos(math.pi * min(1.0, progress))
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
                torch.optim.Muon(
                    matrices, lr=rate, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"
                )
            )
        if others:
            fused = all(p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in others)
            self.parts.append(
                torch.optim.Adam(others, lr=rate, betas=config.betas, eps=config.eps, fused=fused)
            )
        self.rate = rate

    def step(self, fraction: float) -> None:
        """Take a step at ``fraction`` of the largest learning rate, then drop the gradients."""
        for part in self.parts:
            for group in part.param_groups:
                group["lr"] = self.rate * fraction
            part.step()
            part.zero_grad(set_to_none=True)
