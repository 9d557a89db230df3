"""The base of every network: sizes and the spec."""

from __future__ import annotations

from typing import Any

from torch import nn

from ..errors import integer_at_least

__all__ = ["Network"]


class Network(nn.Module):
    """Maps features of shape ``(..., in_dim)`` to values of shape ``(..., out_dim)``."""

    in_dim: int
    out_dim: int

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        self.in_dim = integer_at_least(1, "in_dim", in_dim, "Pass the encoding's out_dim.")
        self.out_dim = integer_at_least(1, "out_dim", out_dim, "Pass the number of values.")

    def spec(self) -> dict[str, Any]:
        """Return the settings as plain JSON values; `build_network` makes a like network."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        """Show the settings in ``print(module)``."""
        return ", ".join(f"{key}={value!r}" for key, value in self.spec().items() if key != "name")
