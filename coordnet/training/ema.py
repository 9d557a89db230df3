"""Exponential moving average of the parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

__all__ = ["EMA"]


class EMA:
    """The exponential moving average of a module's trained parameters.

        mean ← mean + (1 - d) · (parameters - mean),   d = min(decay, (1 + step) / (10 + step))

    The smaller d of the first steps lets the mean forget the start (as TensorFlow's
    ExponentialMovingAverage with ``num_updates`` does).

    Args:
        module: what is fitted.
        decay: from 0 to below 1.
    """

    def __init__(self, module: nn.Module, decay: float) -> None:
        self.decay = decay
        trained = {name: p for name, p in module.named_parameters() if p.requires_grad}
        self.names = [name.replace("_orig_mod.", "") for name in trained]
        self.parameters: list[Tensor] = list(trained.values())
        self.means = [p.detach().clone() for p in self.parameters]

    @torch.no_grad()
    def update(self, step: int) -> None:
        """Move the mean after a step, the first of which is number 1."""
        decay = min(self.decay, (1 + step) / (10 + step))
        for mean, parameter in zip(self.means, self.parameters, strict=True):
            mean.lerp_(parameter, 1 - decay)

    @torch.no_grad()
    def swap(self) -> None:
        """Exchange parameters and mean."""
        for parameter, mean in zip(self.parameters, self.means, strict=True):
            last = parameter.clone()
            parameter.copy_(mean)
            mean.copy_(last)

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Let the module have the mean inside the block."""
        self.swap()
        try:
            yield
        finally:
            self.swap()

    def state_dict(self) -> dict[str, Tensor]:
        """Return the mean, by the names of the parameters."""
        return dict(zip(self.names, self.means, strict=True))

    @torch.no_grad()
    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Go on from what `state_dict` returned.

        Raises:
            ValueError: the mean of another module.
        """
        if set(state) != set(self.names):
            raise ValueError("another module's mean")
        for name, mean in zip(self.names, self.means, strict=True):
            if state[name].shape != mean.shape:
                raise ValueError(f"the mean of {name} has another shape")
            mean.copy_(state[name])
