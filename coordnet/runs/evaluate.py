"""The error of a run against a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ..training import choose_device
from ..kinds.options import FitOptions
from .render import task_of_run
from .folder import open_model
from ..kinds.task import Progress

__all__ = ["evaluate_run"]


def evaluate_run(
    run: str | os.PathLike[str],
    path: Path,
    *,
    device: str = "auto",
    page: int | None = None,
    unit: str | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Return PSNR, RMSE, peak and number of samples of a run at the samples of a file.

    With them go the ``device``, and the ``notes`` on how the file was read.

    Args:
        run: the run folder, or its model file.
        path: a file of the kind that the run was fitted to.
        device: "auto" or a torch device.
        page: the page of a picture file with several.
        unit: the unit of a table's positions that are numbers, where it is not the run's.
        progress: told how reading and rendering go on; see `Progress`.

    Raises:
        InputError: no such run, or a file that does not fit it.
    """
    chosen = str(choose_device(device))
    field, settings = open_model(run, chosen)
    kind: Any = task_of_run(field, settings)
    about = settings["input"]
    task = kind.for_run(path, about, FitOptions(page=page, unit=unit), progress)
    return {**task.evaluate(field, about), "device": chosen, "notes": task.notes}
