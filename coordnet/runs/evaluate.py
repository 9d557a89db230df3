"""The error of a run at the samples of a file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from ..files import JsonObject
from ..kinds import Listener
from ..training import choose_device
from .run import Run

__all__ = ["evaluate_run"]


def evaluate_run(
    run: str | os.PathLike[str],
    path: str | os.PathLike[str],
    options: Mapping[str, object] | None = None,
    *,
    device: str = "auto",
    listener: Listener | None = None,
) -> JsonObject:
    """Return PSNR, RMSE, peak and number of samples of a run at the samples of a file.

    With them go the ``device``, and the ``notes`` on how the file was read.

    Args:
        run: the run folder, or its model file.
        path: a file of the kind that the run was fitted to.
        options: how it is read: the ``page`` of a picture file with several, the ``unit`` of a
            table's positions that are numbers, where it is not the run's.
        device: "auto" or a torch device.
        listener: told how reading and rendering go on.

    Raises:
        InputError: no such run, or a file that does not fit it.
    """
    chosen = str(choose_device(device))
    opened = Run.open(run, chosen)
    kind, task = opened.kind, opened.task
    given = kind.read(kind.options, options or {}, f"a run of {kind.noun}")
    read = task.for_run(Path(path), opened.about, given, listener or Listener())
    return {**read.evaluate(opened.model, opened.about), "device": chosen, "notes": read.notes}
