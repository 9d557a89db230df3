"""Published ways to fit a picture, written plainly: what the benchmarks compare with.

Each recipe is trained by its own loop as its authors have it: one learning rate throughout,
float32, PyTorch's own optimizer. Values are RGB or gray in [0, 1]; coordinates u are pixel centers
in the unit square.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from _plain import grid_by_gather, grid_levels
from torch import Tensor, nn

import coordnet as cn

OMEGA_0 = 30.0


class Recipe(ABC, nn.Module):
    """A network, what it is fed with, and one step of its training.

    Attributes:
        about: the settings in words.
        optimizer: of all parameters.
    """

    about: ClassVar[str]
    optimizer: torch.optim.Optimizer

    @abstractmethod
    def start(self, pixels: Tensor) -> None:
        """Prepare for a picture ``(H, W, C)`` on the device of the fit."""

    @abstractmethod
    def step(self) -> Tensor:
        """Take one step; return the loss."""

    @abstractmethod
    def forward(self, u: Tensor) -> Tensor:
        """Return values at coordinates ``(N, 2)``."""

    def _descend(self, loss: Tensor) -> Tensor:
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.detach()


def _centers(pixels: Tensor) -> Tensor:
    """Return the coordinates of all pixels, ``(H W, 2)``."""
    height, width = pixels.shape[:2]
    return cn.pixel_centers(height, width).reshape(-1, 2).to(pixels.device)


class FourierRecipe(Recipe):
    """Gaussian features of fourier-feature-networks and its full-batch training.

    Weights start as in its JAX code: Glorot's normal ones, biases N(0, 0.01²). Features are
    computed once. Coordinates are pixel centers; its own leave out the half pixel, which moves
    the picture and changes nothing else.
    """

    about = (
        "Gaussian features σ=10, 256 frequencies; 4 hidden × 256 ReLU, sigmoid; Adam 1e-3, "
        "full batch"
    )

    def __init__(self, channels: int, sizes: Mapping[str, Any]) -> None:
        super().__init__()
        width, frequencies = sizes.get("width", 256), sizes.get("frequencies", 256)
        self.b = nn.Buffer(10.0 * torch.randn(frequencies, 2))
        layers: list[nn.Module] = []
        fan_in = 2 * frequencies
        for _ in range(4):
            layers += [nn.Linear(fan_in, width), nn.ReLU()]
            fan_in = width
        self.network = nn.Sequential(*layers, nn.Linear(width, channels), nn.Sigmoid())
        for layer in self.network:
            if isinstance(layer, nn.Linear):
                nn.init.xavier_normal_(layer.weight)
                nn.init.normal_(layer.bias, std=1e-2)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=1e-3)

    def features(self, u: Tensor) -> Tensor:
        """Return cos and sin of 2π b·u."""
        angle = 2 * math.pi * u @ self.b.T
        return torch.cat([torch.cos(angle), torch.sin(angle)], -1)

    def start(self, pixels: Tensor) -> None:
        """Compute the features of all pixels."""
        self.inputs = self.features(_centers(pixels))
        self.targets = pixels.flatten(0, 1)

    def step(self) -> Tensor:
        """Take one step on all pixels; the loss is half the mean square error."""
        return self._descend(0.5 * (self.network(self.inputs) - self.targets).square().mean())

    def forward(self, u: Tensor) -> Tensor:
        """Return values at coordinates ``(N, 2)``."""
        return self.network(self.features(u))


class SirenRecipe(Recipe):
    """SIREN as published: five linear layers, sin(ω₀(Wx + b)), the last layer without a sine.

    Inputs run from -1 to 1 along both axes, end points included, and so do the targets. Weights
    of the first layer start from U(±1/in_dim), all others from U(±sqrt(6/n)/ω₀), the last one
    too; biases as in `nn.Linear`.
    """

    about = "5 linear layers × 256, sin with ω₀=30; Adam 1e-4, full batch, targets in [-1, 1]"

    def __init__(self, channels: int, sizes: Mapping[str, Any]) -> None:
        super().__init__()
        width = sizes.get("width", 256)
        fans = [2, width, width, width, width, channels]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(fans))
        with torch.no_grad():
            for i, layer in enumerate(self.layers):
                bound = 1 / fans[0] if i == 0 else math.sqrt(6 / fans[i]) / OMEGA_0
                assert isinstance(layer, nn.Linear)
                layer.weight.uniform_(-bound, bound)
        self.optimizer = torch.optim.Adam(self.parameters(), lr=1e-4)

    def start(self, pixels: Tensor) -> None:
        """Lay out the grid with its end points."""
        height, width = pixels.shape[:2]
        self.pixels = torch.tensor([width, height], device=pixels.device)
        self.inputs = self.from_centers(_centers(pixels))
        self.targets = 2 * pixels.flatten(0, 1) - 1

    def from_centers(self, u: Tensor) -> Tensor:
        """Return -1 at the first pixel's center and 1 at the last one's."""
        return 2 * (u * self.pixels - 0.5) / (self.pixels - 1).clamp(min=1) - 1

    def values(self, x: Tensor) -> Tensor:
        """Return values in [-1, 1] at coordinates in [-1, 1]."""
        for layer in self.layers[:-1]:
            x = torch.sin(OMEGA_0 * layer(x))
        return self.layers[-1](x)

    def step(self) -> Tensor:
        """Take one step on all pixels."""
        return self._descend((self.values(self.inputs) - self.targets).square().mean())

    def forward(self, u: Tensor) -> Tensor:
        """Return values in [0, 1] at coordinates ``(N, 2)``."""
        return (self.values(self.from_centers(u)) + 1) / 2


class HashGridRecipe(Recipe):
    """Instant-NGP's picture by eager PyTorch: gathers, and autograd's own backward of them."""

    about = "gather hash grid; MLP 2 × 64 ReLU; Adam 1e-2, β=(0.9, 0.99), ε=1e-15, batch 16384"

    def __init__(self, channels: int, sizes: Mapping[str, Any]) -> None:
        super().__init__()
        levels, width = sizes.get("num_levels", 16), sizes.get("features_per_level", 2)
        base, finest = sizes.get("base_resolution", 16), sizes.get("max_resolution", 512)
        self.levels = grid_levels(2, levels, base, finest, sizes.get("log2_hashmap_size", 15))
        rows = self.levels[-1].first + self.levels[-1].rows
        self.tables = nn.Parameter(torch.empty(rows, width).uniform_(-1e-4, 1e-4))
        self.batch = sizes.get("batch", 16_384)
        self.network = nn.Sequential(
            nn.Linear(levels * width, 64), nn.ReLU(),
            nn.Linear(64, 64), nn.ReLU(),
            nn.Linear(64, channels),
        )  # fmt: skip
        self.optimizer = torch.optim.Adam(
            self.parameters(), lr=1e-2, betas=(0.9, 0.99), eps=1e-15
        )  # fmt: skip

    def start(self, pixels: Tensor) -> None:
        """Lay out all pixels."""
        self.inputs, self.targets = _centers(pixels), pixels.flatten(0, 1)

    def step(self) -> Tensor:
        """Take one step on pixels drawn at random."""
        some = torch.randint(len(self.inputs), (self.batch,), device=self.inputs.device)
        return self._descend((self(self.inputs[some]) - self.targets[some]).square().mean())

    def forward(self, u: Tensor) -> Tensor:
        """Return values at coordinates ``(N, 2)``."""
        return self.network(grid_by_gather(u, self.tables, self.levels))


RECIPES: dict[str, type[FourierRecipe] | type[SirenRecipe] | type[HashGridRecipe]] = {
    "plain-fourier": FourierRecipe,
    "plain-siren": SirenRecipe,
    "plain-hashgrid": HashGridRecipe,
}


def build_recipe(
    name: str, channels: int, sizes: Mapping[str, Any], seed: int, device: torch.device
) -> Recipe:
    """Return a recipe with start values from ``seed``.

    Args:
        name: a name in `RECIPES`.
        channels: values of a pixel.
        sizes: sizes other than the published ones.
        seed: of the start values, and of the pixels drawn; PyTorch's global generators are set.
        device: where it is trained.
    """
    torch.manual_seed(seed)
    return RECIPES[name](channels, sizes).to(device)
