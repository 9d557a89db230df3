"""The base of scene models: rays in, colors, opacities and depths out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from ..rendering.volume import Rendering

__all__ = ["REFRESH_EVERY", "RadianceModel", "RenderOutput"]

REFRESH_EVERY = 16  # steps of a fit between two refreshes of what is known of empty space


class RenderOutput(NamedTuple):
    """Renderings of rays without a background: colors are multiplied by opacity.

    Attributes:
        levels: renderings ``(N, …)``, coarse to fine; the last is the best, all are trained.
        num_samples: positions at which a field was evaluated; with ``max_samples`` a number in a
            tensor, those included that there was no room for.
        complete: bool ``(N,)`` with ``max_samples``, else None: False for rays whose samples had
            no room, and which are not rendered right.
    """

    levels: tuple[Rendering, ...]
    num_samples: int | Tensor
    complete: Tensor | None = None


class RadianceModel(nn.Module, ABC):
    """A scene, rendered along rays.

    Attributes:
        samples_per_step: how many samples a step of a fit should have; None for as many as the
            rays of its batch take. With a number, `render` takes ``max_samples`` too.
        rays_at_once: most rays that are rendered at once with gradients; a larger batch adds its
            gradients up.
        former_names: what parts of specs and of tensors' names were called in version 0.1.0, and
            are called now; `coordnet.load` reads both.
    """

    former_names: ClassVar[dict[str, str]] = {"colour_network": "color_network", "centre": "center"}

    samples_per_step: int | None = None
    rays_at_once: int = 1 << 16

    @abstractmethod
    def render(
        self, origins: Tensor, directions: Tensor, generator: torch.Generator | None = None
    ) -> RenderOutput:
        """Render rays.

        Args:
            origins: ``(N, 3)`` float32, in the scene's own unit.
            directions: ``(N, 3)``, unit vectors.
            generator: draws sample positions; without it they are fixed.

        Where the rays tell how many samples there are, it also takes ``max_samples``: room for
        a fixed number, so that a GPU need not be waited for. `RenderOutput` then says what had no
        room.
        """

    @abstractmethod
    def density(self, positions: Tensor) -> Tensor:
        """Return densities ``(N,)`` at positions ``(N, 3)``, per unit of length."""

    @abstractmethod
    def color(self, positions: Tensor, directions: Tensor) -> Tensor:
        """Return colors ``(N, 3)`` in [0, 1] at positions, seen along unit directions."""

    @property
    @abstractmethod
    def box(self) -> tuple[list[float], list[float]]:
        """The lower and the upper corner of what the scene lies in."""

    @abstractmethod
    def spec(self) -> dict[str, Any]:
        """Return everything but the tensors, as plain JSON values."""

    def forward(self, origins: Tensor, directions: Tensor) -> Rendering:
        """Return what rays see, at fixed sample positions."""
        return self.render(origins, directions).levels[-1]

    def refresh(self, step: int, generator: torch.Generator) -> None:
        """Update what is known of empty space, before a step of a fit."""

    def occupied_fraction(self) -> float | None:
        """Return the fraction of space that may hold something; None where nothing is known."""
        return None
