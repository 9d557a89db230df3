"""A network of sines."""

import math

import torch
from torch import nn

from coordnet import Network


class Sines(Network):
    """Layers sin(omega (W x + b)) with SIREN's initialization.

    Args:
        in_dim: number of features.
        out_dim: number of values.
        hidden_dim: width of the hidden layers.
        num_hidden_layers: number of them.
        omega: frequency of the first layer.
        seed: of the start values.
    """

    learning_rate = 1e-3

    def __init__(
        self, in_dim, out_dim=1, hidden_dim=32, num_hidden_layers=2, omega=30.0, seed=None
    ):
        super().__init__(in_dim, out_dim)
        self.hidden_dim, self.num_hidden_layers, self.omega = hidden_dim, num_hidden_layers, omega
        sizes = [in_dim, *[hidden_dim] * num_hidden_layers, out_dim]
        self.layers = nn.ModuleList(map(nn.Linear, sizes[:-1], sizes[1:]))
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        for i, layer in enumerate(self.layers):
            bound = 1 / sizes[i] if i == 0 else math.sqrt(6 / sizes[i]) / omega
            for weight in layer.parameters():
                nn.init.uniform_(weight, -bound, bound, generator=generator)

    def muon_parameters(self):
        return []

    def spec(self):
        names = ("in_dim", "out_dim", "hidden_dim", "num_hidden_layers", "omega")
        return {"name": "sines", **{name: getattr(self, name) for name in names}}

    def forward(self, features):
        for layer in self.layers[:-1]:
            features = torch.sin(self.omega * layer(features))
        return self.layers[-1](features)
