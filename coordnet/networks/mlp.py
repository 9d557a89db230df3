"""The multilayer perceptron."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import checks
from ..errors import refuse
from ..specs import settings_text
from .network import Network

__all__ = ["ACTIVATIONS", "MLP", "Activation"]

Activation = Callable[[Tensor], Tensor]

ACTIVATIONS: dict[str, Activation] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "silu": F.silu,
    "tanh": torch.tanh,
    "sin": torch.sin,
    "softplus": F.softplus,
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
        activation: a name in `ACTIVATIONS`, or any callable from tensors to tensors of the same
            shape: a function, a `torch.nn.Module` (shared by all layers), or a class of modules
            (one for each hidden layer). A network with one that has no name cannot be saved.
        skip: the hidden layer, counted from 1, behind which the features go in again; 0 for none.
        seed: start values come from this seed, and PyTorch's global generator is not touched;
            None draws them from the global generator, as `torch.nn.Linear` does.

    Shape:
        ``(..., in_dim)`` to ``(..., out_dim)``.

    Raises:
        InputError: a size that is too small, an unknown activation, or a seed that is no seed.
    """

    layers: nn.ModuleList
    activations: nn.ModuleList | list[Activation]
    activation: str

    def __init__(
        self,
        in_dim: int,
        out_dim: int = 1,
        hidden_dim: int = 256,
        num_hidden_layers: int = 3,
        activation: str | Activation | type[nn.Module] = "relu",
        skip: int = 0,
        seed: int | None = None,
    ) -> None:
        super().__init__(in_dim, out_dim)
        self.hidden_dim = checks.integer("hidden_dim", hidden_dim, least=1)
        hidden = checks.integer("num_hidden_layers", num_hidden_layers, least=0)
        self.num_hidden_layers = hidden
        self.activation, function = _named(activation)
        if isinstance(function, type):
            self.activations = nn.ModuleList(function() for _ in range(hidden))
        elif isinstance(function, nn.Module):
            self.activations = nn.ModuleList([function] * hidden)
        else:
            self.activations = [function] * hidden
        self.skip = checks.integer("skip", skip, least=0, most=hidden)
        sizes = [self.in_dim, *[self.hidden_dim] * hidden, self.out_dim]
        more = [self.in_dim if 0 < self.skip == i else 0 for i in range(len(sizes) - 1)]
        generator = None
        if seed is not None:
            generator = torch.Generator().manual_seed(checks.seed(seed))
        self.layers = nn.ModuleList(
            _linear(fan_in + more[i], fan_out, 6.0 if i < hidden else 3.0, generator)
            for i, (fan_in, fan_out) in enumerate(itertools.pairwise(sizes))
        )

    def spec(self) -> dict[str, Any]:
        """Return the settings as plain JSON values.

        Raises:
            InputError: an activation that is no name in `ACTIVATIONS`.
        """
        if self.activation not in ACTIVATIONS:
            refuse(
                f"a network is saved with an activation that has a name: {', '.join(ACTIVATIONS)}",
                f"activation={self.activation}",
                "Save its state_dict() yourself.",
            )
        return self._settings()

    def _settings(self) -> dict[str, Any]:
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
        hidden = self.layers[0](features)
        for i, layer in enumerate(self.layers[1:], start=1):
            hidden = self.activations[i - 1](hidden)
            if i == self.skip:
                hidden = torch.cat([hidden, features.to(hidden.dtype)], -1)
            hidden = layer(hidden)
        return hidden

    def extra_repr(self) -> str:
        """Show the settings in ``print(module)``."""
        return settings_text(self._settings())


def _named(activation: object) -> tuple[str, Callable[..., Any]]:
    """Return the name of an activation and what is called; "<…>" where it has no name."""
    if not callable(activation):
        remedy = "Any callable will do, too."
        name = checks.one_of("activation", activation, ACTIVATIONS, remedy)
        return name, ACTIVATIONS[name]
    for name, function in ACTIVATIONS.items():
        if function is activation:
            return name, activation
    return f"<{getattr(activation, '__qualname__', type(activation).__qualname__)}>", activation


def _linear(fan_in: int, fan_out: int, gain: float, generator: torch.Generator | None) -> nn.Linear:
    """Return a linear layer with weights in U(±sqrt(gain / fan_in))."""
    layer = nn.Linear(fan_in, fan_out, device="meta")
    device = torch.get_default_device()
    if device.type == "meta":
        return layer  # sizes without memory: there is nothing to start
    for name, bound in (("weight", math.sqrt(gain / fan_in)), ("bias", math.sqrt(1 / fan_in))):
        like = getattr(layer, name)
        start = torch.empty(like.shape, dtype=like.dtype, device="cpu")
        start.uniform_(-bound, bound, generator=generator)
        setattr(layer, name, nn.Parameter(start.to(device)))
    return layer
