from collections.abc import Mapping

from .kind import Kind as Kind
from .listener import Listener as Listener, Start as Start
from .options import (
    EncodingOptions as EncodingOptions,
    FitOptions as FitOptions,
    RenderOptions as RenderOptions,
    option as option,
)
from .parts import (
    build_encoding as build_encoding,
    build_network as build_network,
    require_period as require_period,
)
from .recipe import Recipe as Recipe
from .task import About as About, AnyTask as AnyTask, FieldTask as FieldTask, Task as Task

KINDS: Mapping[str, Kind]
