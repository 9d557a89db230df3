"""The multilayer perceptron."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ..errors import integer_at_least, refuse
from .network import Network

__all__ = ["ACTIVATIONS", "MLP"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "tanh": torch.tanh,
}


class MLP(Network):
    """Linear layers with an activation between them.

    The layers: ``Linear(in_dim, hidden_dim)``, then ``num_hidden_layers - 1`` times
    ``Linear(hidden_dim, hidden_dim)``, each followed by the activation, then
    ``Linear(hidden_dim, out_dim)``: num_hidden_layers + 1 linear layers in all.
    ``num_hidden_layers=0`` is one linear layer. With ``skip=s`` the features stand beside the
    output of the s-th hidden layer, so that the next linear layer takes hidden_dim + in_dim
    numbers, as in NeRF (Mildenhall et al., 2020: eight layers, skip=5).

    Weights start as U(±sqrt(6 / fan_in)) (He et al., 2015; the last layer at
    U(±sqrt(3 / fan_in))), biases as U(±1/sqrt(fan_in)).

    Args:
        in_dim: number of features in, the encoding's ``out_dim``.
        out_dim: number of values out.
        hidden_dim: width of the hidden layers.
        num_hidden_layers: number of hidden activations, 0 or more.
        activation: one of `ACTIVATIONS`.
        skip: the hidden layer, counted from 1, behind which the features go in again; 0 for none.
        seed: start values come from this seed, and PyTorch's global generator is not touched;
            None draws them from the global generator, as `torch.nn.Linear` does.

    Shape:
        ``(..., in_dim)`` to ``(..., out_dim)``.

    Raises:
        InputError: a size that is too small, an unknown activation, or a seed that is no seed.
    """

    layers: nn.ModuleList

    def __init__(
        self,
        in_dim: int,
        out_dim: int = 1,
        hidden_dim: int = 256,
        num_hidden_layers: int = 3,
        activation: str = "relu",
        skip: int = 0,
        seed: int | None = None,
    ) -> None:
        super().__init__(in_dim, out_dim)
        self.hidden_dim = integer_at_least(1, "hidden_dim", hidden_dim, "256 is usual.")
        self.num_hidden_layers = integer_at_least(
            0, "num_hidden_layers", num_hidden_layers, "Pass 0 for one linear layer."
        )
        if not isinstance(activation, str) or activation not in ACTIVATIONS:
            refuse(
                f"activation must be one of {', '.join(ACTIVATIONS)}",
                f"activation={activation!r}",
                "Choose one of them.",
            )
        self.activation = activation
        self.skip = integer_at_least(0, "skip", skip, "Pass 0 for none.")
        if self.skip > self.num_hidden_layers:
            refuse(
                f"skip must be a hidden layer, at most {self.num_hidden_layers}",
                f"skip={skip}",
                "Pass 0 for none.",
            )
        sizes = [self.in_dim, *[self.hidden_dim] * self.num_hidden_layers, self.out_dim]
        more = [self.in_dim if 0 < self.skip == i else 0 for i in range(len(sizes) - 1)]
        generator = None
        if seed is not None:
            seed = integer_at_least(0, "seed", seed, "Pass seed=0, or None.")
            if seed >= 1 << 64:
                refuse("seed must be below 2^64", f"seed={seed}", "Pass seed=0, say.")
            generator = torch.Generator().manual_seed(seed)
        self.layers = nn.ModuleList(
            _linear(
                fan_in + more[i], fan_out, 6.0 if i < self.num_hidden_layers else 3.0, generator
            )
            for i, (fan_in, fan_out) in enumerate(itertools.pairwise(sizes))
        )

    def spec(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        return {
            "name": "mlp",
            "in_dim": self.in_dim,
            "out_dim": self.out_dim,
            "hidden_dim": self.hidden_dim,
            "num_hidden_layers": self.num_hidden_layers,
            "activation": self.activation,
            **({"skip": self.skip} if self.skip else {}),
        }

    def forward(self, features: Tensor) -> Tensor:
        """Return the values of ``features``."""
        if not self.num_hidden_layers:
            return self.layers[0](features)
        return self.after_first(self.layers[0](features), features)

    def after_first(self, hidden: Tensor, features: Tensor | None = None) -> Tensor:
        """Return the values, given what the first of several linear layers put out.

        Args:
            hidden: that output.
            features: what that layer took; only a network with ``skip`` needs it again.
        """
        activate = ACTIVATIONS[self.activation]
        for i, layer in enumerate(self.layers[1:], start=1):
            hidden = activate(hidden)
            if i == self.skip:
                assert features is not None
                hidden = torch.cat([hidden, features.to(hidden.dtype)], -1)
            hidden = layer(hidden)
        return hidden


def _linear(fan_in: int, fan_out: int, gain: float, generator: torch.Generator | None) -> nn.Linear:
    """Return a linear layer with weights in U(±sqrt(gain / fan_in))."""
    layer = nn.Linear(fan_in, fan_out, device="meta")
    home = torch.get_default_device()
    if home.type == "meta":
        return layer  # sizes without memory: there is nothing to start
    for name, bound in (("weight", math.sqrt(gain / fan_in)), ("bias", math.sqrt(1 / fan_in))):
        like = getattr(layer, name)
        start = torch.empty(like.shape, dtype=like.dtype, device="cpu")
        start.uniform_(-bound, bound, generator=generator)
        setattr(layer, name, nn.Parameter(start.to(home)))
    return layer
