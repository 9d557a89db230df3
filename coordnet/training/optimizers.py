"""Adam, Muon, and the schedule of the learning rate."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.optim.adam import adam

from ..networks.network import muon_parameters
from .config import LEARNING_RATE, FitConfig
from .runtime import fast_bf16

__all__ = ["Adam", "Muon", "Optimizer", "orthogonal", "resolved", "schedule"]

_BF16_SIDE = 128
_MOMENTUM = 0.95
_NEWTON_SCHULZ = 3.4445, -4.7750, 2.0315


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


def resolved(config: FitConfig, module: nn.Module) -> FitConfig:
    """Return settings whose learning rate and optimizer are set, as the module wishes them.

    Args:
        config: the settings of the user, which come first.
        module: what is fitted. An attribute ``learning_rate`` that is no None is its wish; a method
            ``muon_parameters`` that returns none of its large matrices asks for Adam.
    """
    rate = config.learning_rate
    if rate is None:
        rate = getattr(module, "learning_rate", None) or LEARNING_RATE
    optimizer = config.optimizer
    if optimizer is None:
        spared = not _wished_matrices(module) and muon_parameters(module)
        optimizer = "adam" if spared else "muon"
    return replace(config, learning_rate=rate, optimizer=optimizer)


def _wished_matrices(module: nn.Module) -> list[nn.Parameter]:
    """Return the matrices that a module leaves to Muon: all large ones, unless it says which."""
    own = getattr(module, "muon_parameters", None)
    return muon_parameters(module) if own is None else own()


# a parameter that a loss has reached: itself, its gradient and its moments
_Reached = tuple[Tensor, Tensor, dict[str, Tensor]]


class _Rule(ABC):
    """How some parameters step, and the moments that their next steps follow from.

    No subclass of `torch.optim.Optimizer`: that imports PyTorch's compiler when it is built, which
    takes a second before the first step.

    Args:
        parameters: what steps.

    Attributes:
        names: the moments of a parameter.
        moments: of each parameter, by name; empty until a loss has reached it.
    """

    names: ClassVar[tuple[str, ...]]

    def __init__(self, parameters: Sequence[Tensor]) -> None:
        self.parameters = list(parameters)
        self.moments: list[dict[str, Tensor]] = [{} for _ in self.parameters]

    def start(self, parameter: Tensor) -> dict[str, Tensor]:
        """Return the moments of a parameter before its first step: zeros."""
        return {name: torch.zeros_like(parameter) for name in self.names}

    @abstractmethod
    def update(self, reached: list[_Reached], rate: float) -> None:
        """Let parameters take a step."""

    def step(self, rate: float) -> None:
        """Let every parameter that has a gradient take a step."""
        reached: list[_Reached] = []
        for parameter, moments in zip(self.parameters, self.moments, strict=True):
            if parameter.grad is not None:
                if not moments:
                    moments.update(self.start(parameter))
                reached.append((parameter, parameter.grad, moments))
        if reached:
            self.update(reached, rate)


class Adam(_Rule):
    """Adam (Kingma and Ba, 2015), by the function behind `torch.optim.Adam`.

    Args:
        parameters: what steps.
        betas: the decay rates of the two moments.
        eps: what is added to the root of the second.
    """

    names = ("step", "exp_avg", "exp_avg_sq")

    def __init__(
        self, parameters: Sequence[Tensor], betas: tuple[float, float], eps: float
    ) -> None:
        super().__init__(parameters)
        self.betas, self.eps = betas, eps
        self.fused = all(
            p.device.type in ("cpu", "cuda") and p.is_floating_point() for p in self.parameters
        )

    def start(self, parameter: Tensor) -> dict[str, Tensor]:
        """Return zeros; the count of steps lies on the device where the fused step reads it."""
        device = parameter.device if self.fused else "cpu"
        count = torch.zeros((), dtype=torch.float32, device=device)
        return {**super().start(parameter), "step": count}

    def update(self, reached: list[_Reached], rate: float) -> None:
        """Take the step of `torch.optim.Adam`."""
        parameters, gradients, moments = (list(column) for column in zip(*reached, strict=True))
        steps, means, squares = ([own[name] for own in moments] for name in self.names)
        adam(
            parameters, gradients, means, squares, [], steps,
            fused=True if self.fused else None,
            has_complex=any(p.is_complex() for p in parameters),
            amsgrad=False, beta1=self.betas[0], beta2=self.betas[1], lr=rate,
            weight_decay=0.0, eps=self.eps, maximize=False,
        )  # fmt: skip


class Muon(_Rule):
    """Muon (Jordan et al., 2024): near-orthogonal updates of matrices, as large as Adam's.

        M ← 0.95 M + 0.05 G
        W ← W - rate · 0.2 sqrt(max(rows, columns)) · orthogonal(0.95 M + 0.05 G)

    That is `torch.optim.Muon` with ``adjust_lr_fn="match_rms_adamw"`` and without weight decay,
    but for the iteration's dtype: that one takes bf16 wherever it runs, in which a product of two
    256 x 256 matrices takes 40 times as long on a CPU without units for it.
    """

    names = ("momentum_buffer",)

    def update(self, reached: list[_Reached], rate: float) -> None:
        """Take a step along the orthogonal matrix next to each momentum."""
        for parameter, gradient, moments in reached:
            momentum = moments["momentum_buffer"].lerp_(gradient, 1 - _MOMENTUM)
            update = orthogonal(gradient.lerp(momentum, _MOMENTUM))
            parameter.add_(update, alpha=-rate * 0.2 * math.sqrt(max(parameter.shape)))


def orthogonal(matrix: Tensor) -> Tensor:
    """Return about U Vᵀ of the singular value decomposition U S Vᵀ of ``matrix``.

    Five Newton-Schulz steps X ← a X + (b X Xᵀ + c (X Xᵀ)²) X from X = matrix / |matrix|, which
    bring most singular values between 0.7 and 1.2 rather than to 1: near enough, and quick. In
    bf16 where the device is fast at it and the matrix large, else in float32.

    Args:
        matrix: ``(rows, columns)``, real.
    """
    wide = torch.promote_types(matrix.dtype, torch.float32)
    unit = matrix.to(wide)
    unit = unit / unit.norm().clamp(min=1e-7)
    # (measured: at a side of 96 bf16 takes 1.3 times as long, at 128 0.9 times, at 256 half)
    low = min(matrix.shape) >= _BF16_SIDE and fast_bf16(matrix.device)
    x = unit.to(torch.bfloat16 if low else torch.float32)
    tall = x.shape[0] > x.shape[1]
    x = x.T if tall else x
    a, b, c = _NEWTON_SCHULZ
    for _ in range(5):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return (x.T if tall else x).to(matrix.dtype)


class Optimizer:
    """Adam, or Muon on the hidden matrices and Adam on everything else.

    Args:
        module: what is fitted; it may say by ``muon_parameters()`` which matrices are Muon's.
        config: the settings, `resolved`.
    """

    def __init__(self, module: nn.Module, config: FitConfig) -> None:
        config = resolved(config, module)
        muon: set[int] = set()  # of a weight that two layers share, one update
        if config.optimizer == "muon":
            # asked for in so many words where the module leaves it none
            matrices = _wished_matrices(module) or muon_parameters(module)
            muon = {id(matrix) for matrix in matrices}
        trained = [p for p in module.parameters() if p.requires_grad]
        hidden, others = ([p for p in trained if (id(p) in muon) is of] for of in (True, False))
        self.parts: list[_Rule] = [Muon(hidden)] if hidden else []
        if others:
            self.parts.append(Adam(others, config.betas, config.eps))
        assert config.learning_rate is not None
        self.rate = config.learning_rate

    @torch.no_grad()
    def step(self, fraction: float) -> None:
        """Take a step at ``fraction`` of the largest learning rate, then drop the gradients."""
        for part in self.parts:
            part.step(self.rate * fraction)
        self.drop_gradients()

    def drop_gradients(self) -> None:
        """Forget the gradients."""
        for part in self.parts:
            for parameter in part.parameters:
                parameter.grad = None

    def state_dict(self) -> dict[str, Tensor]:
        """Return the moments, named ``part.parameter.moment``; no copies."""
        return {
            f"{i}.{number}.{name}": value
            for i, part in enumerate(self.parts)
            for number, moments in enumerate(part.moments)
            for name, value in moments.items()
        }

    def load_state_dict(self, tensors: Mapping[str, Tensor]) -> None:
        """Take over moments, which then belong to this optimizer.

        Raises:
            ValueError: moments of other parameters, or of another optimizer.
        """
        left = set(tensors)
        for i, part in enumerate(self.parts):
            for number, parameter in enumerate(part.parameters):
                keys = {name: f"{i}.{number}.{name}" for name in part.names}
                if left.isdisjoint(keys.values()):
                    part.moments[number] = {}  # a parameter that no loss has reached
                    continue
                moments = part.start(parameter)
                for name, key in keys.items():
                    if key not in left:
                        raise ValueError(f"moments of parameter {number} are missing")
                    value, zeros = tensors[key], moments[name]
                    if value.shape != zeros.shape or not value.is_floating_point():
                        shapes = f"{tuple(value.shape)}, not {tuple(zeros.shape)}"
                        raise ValueError(f"{name} of shape {shapes}")
                    moments[name] = value.to(zeros.device, zeros.dtype)
                part.moments[number] = moments
                left -= set(keys.values())
        if left:
            raise ValueError(f"moments of no parameter: {min(left)}")
