from collections.abc import Mapping
from typing import Any

from .mlp import MLP as MLP
from .network import Network as Network

NETWORKS: Mapping[str, Any]

def build_network(spec: Any) -> Network: ...
