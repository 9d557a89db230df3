"""What a kind of input needs end to end: load it, a default field, outputs, metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy import LazyTable, attributes

if TYPE_CHECKING:
    from .evaluate import evaluate_run
    from .export import export_run
    from .fit import fit_file
    from .options import FitOptions
    from .predict import predict_run
    from .presets import Recipe
    from .render import render_run
    from .scene_views import Views
    from .task import Progress, Task

__all__ = [
    "TASKS",
    "FitOptions",
    "Progress",
    "Recipe",
    "Task",
    "Views",
    "evaluate_run",
    "export_run",
    "fit_file",
    "predict_run",
    "render_run",
]

# kind of input → the task that knows it
TASKS: LazyTable[type[Task]] = LazyTable(
    __name__,
    {
        "image": "image:ImageTask",
        "table": "table:TableTask",
        "audio": "audio:AudioTask",
        "scene": "scene:SceneTask",
    },
)

__getattr__ = attributes(
    __name__,
    {
        "FitOptions": "options",
        "Progress": "task",
        "Recipe": "presets",
        "Task": "task",
        "Views": "scene_views",
        "evaluate_run": "evaluate",
        "export_run": "export",
        "fit_file": "fit",
        "predict_run": "predict",
        "render_run": "render",
    },
)
