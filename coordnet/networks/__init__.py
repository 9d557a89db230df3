"""Networks map features to values. Add one: a file here, and its line in NETWORKS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._lazy import Table, attach

if TYPE_CHECKING:
    from .network import Network

# name in specs and on the command line → what builds it
NETWORKS: Table[Any] = Table(__name__, {"mlp": "mlp:MLP"}, group="coordnet.networks")


def build_network(spec: Any) -> Network:
    """Build the network that a spec describes; its weights are fresh.

    Args:
        spec: what `Network.spec` returned.

    Raises:
        InputError: an unknown name, or settings that the network does not take.
    """
    from ..specs import build_from

    return build_from(spec, "network", NETWORKS)


__getattr__, __dir__, __all__ = attach(__name__)
