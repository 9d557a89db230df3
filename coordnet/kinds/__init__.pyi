from collections.abc import Mapping

from .options import FitOptions as FitOptions
from .recipe import Recipe as Recipe
from .task import Progress as Progress, Task as Task

KINDS: Mapping[str, type[Task]]
