"""Radiance fields: density and color at a position, seen from a direction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...checks import number, one_of
from ...encodings import Encoding, build_encoding
from ...errors import refuse
from ...networks import Network, build_network

__all__ = ["DENSITIES", "RadianceField", "require_keys", "safe_exp"]

_LARGEST_EXPONENT = 15.0


class _SafeExp(torch.autograd.Function):
    """exp with a gradient that stays finite: that of exp(min(x, 15))."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return torch.exp(x.clamp(max=80.0))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return grads[0] * torch.exp(x.clamp(max=_LARGEST_EXPONENT))


def safe_exp(x: Tensor) -> Tensor:
    """Return exp(x), at most exp(80), whose gradient is at most exp(15).

    The density activation of Instant-NGP (Müller et al., 2022): an exponential reaches both an
    empty and an opaque density within a few steps; its own gradient would overflow on the way.
    """
    return _SafeExp.apply(x)  # type: ignore[return-value]


DENSITIES: dict[str, Callable[[Tensor], Tensor]] = {
    "exp": safe_exp,
    "relu": F.relu,
    "softplus": F.softplus,
}


class RadianceField(nn.Module):
    """Density σ(x) and color c(x, d): two networks behind encodings.

        h = density_network(encoding(x))
        σ = activation(h₀ + bias)                            in 1 / unit of length
        c = sigmoid(color_network([h₁ …, directions(d)]))

    Color may depend on the direction, density may not. NeRF (Mildenhall et al., 2020) and
    Instant-NGP (Müller et al., 2022) have this form: with octave features, eight layers of 256
    and "relu" it is NeRF's, with a grid, small networks, spherical harmonics and "exp" it is
    Instant-NGP's.

    Args:
        encoding: of positions in the scene's own unit, ``in_dim`` 3; one that expects the unit
            cube, such as a grid, comes behind ``encoding.on_domain(lower, upper)``.
        directions: of unit directions, ``in_dim`` 3, `SphericalHarmonics` say.
        density_network: from ``encoding.out_dim`` to 1 or more numbers; those after the first
            go on to the color network.
        color_network: from the rest and ``directions.out_dim`` to 3 numbers.
        density: the activation, a name in `DENSITIES`.
        bias: what is added before it. It sets the density at the start.

    Shape:
        positions ``(N, 3)`` and unit directions ``(N, 3)`` to densities ``(N,)`` and colors
        ``(N, 3)`` in [0, 1].

    Raises:
        InputError: sizes that do not fit together, or an unknown activation.
    """

    def __init__(
        self,
        encoding: Encoding,
        directions: Encoding,
        density_network: Network,
        color_network: Network,
        density: str = "exp",
        bias: float = 0.0,
    ) -> None:
        super().__init__()
        sizes = {
            "encoding must take": (encoding.in_dim, 3),
            "directions must take": (directions.in_dim, 3),
            "density_network must take": (density_network.in_dim, encoding.out_dim),
            "color_network must take": (
                color_network.in_dim,
                density_network.out_dim - 1 + directions.out_dim,
            ),
            "color_network must give": (color_network.out_dim, 3),
        }
        for name, (size, expected) in sizes.items():
            if size != expected:
                refuse(f"{name} {expected} numbers", size)
        self.encoding, self.directions = encoding, directions
        self.density_network, self.color_network = density_network, color_network
        self.activation = one_of("density", density, DENSITIES)
        self.bias = number("bias", bias)

    def geometry(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Return densities ``(N,)`` and what the color needs of the position, ``(N, G)``."""
        hidden = self.density_network(self.encoding(positions))
        return DENSITIES[self.activation](hidden[..., 0].float() + self.bias), hidden[..., 1:]

    def density(self, positions: Tensor) -> Tensor:
        """Return densities ``(N,)``, per unit of length."""
        return self.geometry(positions)[0]

    def color(self, features: Tensor, directions: Tensor) -> Tensor:
        """Return colors ``(N, 3)``.

        Args:
            features: what `geometry` returned besides the densities.
            directions: encoded directions, ``(N, directions.out_dim)``.
        """
        both = torch.cat([features, directions.to(features.dtype)], -1)
        return torch.sigmoid(self.color_network(both).float())

    def forward(self, positions: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
        """Return densities ``(N,)`` and colors ``(N, 3)``."""
        densities, features = self.geometry(positions)
        return densities, self.color(features, self.directions(directions))

    def spec(self) -> dict[str, Any]:
        """Return everything but the tensors, as plain JSON values."""
        return {
            "encoding": self.encoding.spec(),
            "directions": self.directions.spec(),
            "density_network": self.density_network.spec(),
            "color_network": self.color_network.spec(),
            "density": self.activation,
            "bias": self.bias,
        }

    @classmethod
    def from_spec(cls, spec: object) -> RadianceField:
        """Build a field with fresh weights from what `spec` returned.

        Raises:
            InputError: where it is no such thing.
        """
        parts = ("encoding", "directions", "density_network", "color_network")
        spec = require_keys("a radiance field", spec, parts)
        return cls(
            build_encoding(spec["encoding"]),
            build_encoding(spec["directions"]),
            build_network(spec["density_network"]),
            build_network(spec["color_network"]),
            spec.get("density", "exp"),
            spec.get("bias", 0.0),
        )


def require_keys(noun: str, spec: object, keys: Sequence[str]) -> dict[str, Any]:
    """Return a spec that has these keys.

    Raises:
        InputError: it has not.
    """
    if not isinstance(spec, dict) or not set(keys) <= spec.keys():
        return refuse(f"the spec of {noun} must have {', '.join(keys)}", repr(spec)[:80])
    return spec
