"""Files from the field of a run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..errors import refuse
from ..training import choose_device
from . import TASKS
from .run_folder import open_model
from .task import Say, Task

__all__ = ["render_run", "task_of_run"]


def task_of_run(settings: dict[str, Any]) -> type[Task]:
    """Return the task that fitted a run.

    Raises:
        InputError: settings that name no task of this version.
    """
    kind = str(settings.get("task"))
    if kind not in TASKS or not isinstance(settings.get("input"), dict):
        refuse(
            "the model must come from coordnet fit",
            f"task {kind!r}",
            "A field saved from Python is loaded with coordnet.load.",
        )
    return TASKS[kind]


def render_run(
    run: str | os.PathLike[str],
    output: Path,
    *,
    size: tuple[int, int] | None = None,
    device: str = "auto",
    overwrite: bool = False,
    say: Say = print,
    progress: Any = None,
) -> None:
    """Render a run to a file: a picture at any size, or a table at any number of positions.

    Args:
        run: the run folder, or its model file.
        output: the file to write.
        size: (width, height) in pixels, or (positions, 1); the fitted size where None.
        device: "auto" or a torch device.
        overwrite: whether an existing file may be replaced.
        say: takes sentences for the console.
        progress: called with the number of pixels done since the last call.

    Raises:
        InputError: no such run, or an output that cannot hold it or exists.
    """
    chosen = choose_device(device)
    if output.exists() and not overwrite:
        refuse("the output must not exist yet", f"{str(output)!r}", "Pass --overwrite.")
    if not output.parent.is_dir():
        refuse("the output's folder must exist", f"{str(output.parent)!r}", "Make it first.")
    field, settings = open_model(run, str(chosen))
    task: Any = task_of_run(settings)
    task.render(field, settings["input"], output, {"size": size, "progress": progress}, say)
