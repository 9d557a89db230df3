"""The base class of networks: sizes, the spec, and hints for the optimizer."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from .. import checks
from ..errors import refuse
from ..specs import settings_text

__all__ = ["Network", "muon_parameters", "out_dim_of"]

# an orthogonal update says nothing for a table or a thin output layer
_LEAST_SIDE = 32


class Network(nn.Module):
    """Maps features of shape ``(..., in_dim)`` to values of shape ``(..., out_dim)``.

    Attributes:
        in_dim: number of features.
        out_dim: number of values.
        learning_rate: the largest learning rate that a fit takes where its user sets none; None
            leaves it to the fit.
    """

    in_dim: int
    out_dim: int
    learning_rate: float | None = None

    def __init__(self, in_dim: int, out_dim: int) -> None:
        super().__init__()
        self.in_dim = checks.integer("in_dim", in_dim, least=1)
        self.out_dim = checks.integer("out_dim", out_dim, least=1)

    def spec(self) -> dict[str, Any]:
        """Return the settings as plain JSON values; `build_network` makes a like network."""
        raise NotImplementedError

    def muon_parameters(self) -> list[nn.Parameter]:
        """Return the matrices that the optimizer Muon may take; Adam takes all the others.

        A network whose hidden matrices should not be near-orthogonal steps returns fewer, or none.
        """
        return muon_parameters(self)

    def extra_repr(self) -> str:
        """Show the settings in ``print(module)``."""
        return settings_text(self.spec())


def muon_parameters(module: nn.Module) -> list[nn.Parameter]:
    """Return the weights of linear layers with at least 32 rows and columns, each once."""
    linear = (part for part in module.modules() if isinstance(part, nn.Linear))
    weights = (dict(part.named_parameters(recurse=False)).get("weight") for part in linear)
    large = {id(w): w for w in weights if w is not None and min(w.shape) >= _LEAST_SIDE}
    return list(large.values())


def out_dim_of(network: nn.Module, in_dim: int) -> int:
    """Return the number of values of a module, which is tried on zeros where it does not say.

    Args:
        network: any module.
        in_dim: number of features that it takes.

    Raises:
        InputError: it does not take them, or gives no row of values for a row of features.
    """
    size = getattr(network, "out_dim", None)
    if size is not None:
        return size
    floating = (p for p in network.parameters() if p.is_floating_point())
    weight = next(floating, torch.empty(0, device="cpu"))
    modes = [(part, part.training) for part in network.modules()]
    network.eval()  # no dropout, no running means
    try:
        with torch.no_grad():
            zeros = torch.zeros(1, in_dim, dtype=weight.dtype, device=weight.device)
            shape = network(zeros).shape
    except RuntimeError as error:
        rule = f"the network must take the encoding's out_dim={in_dim} features"
        refuse(rule, " ".join(str(error).split()))
    finally:
        for part, mode in modes:
            part.training = mode
    if len(shape) != 2 or shape[0] != 1:
        refuse(f"the network must map (1, {in_dim}) to (1, out_dim)", f"shape {tuple(shape)}")
    return shape[1]
