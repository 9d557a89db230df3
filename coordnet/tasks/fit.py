"""A fit from a file to a run folder."""

from __future__ import annotations

import platform
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .. import __version__
from ..errors import refuse
from ..field import Field
from ..files import write_json
from ..plotting import save_curve
from ..training import FitResult, NonFiniteLossError, choose_device, choose_precision
from . import TASKS
from .options import FitOptions
from .run_folder import RunFolder, writing
from .sentences import (
    describe_field,
    describe_machine,
    describe_result,
    describe_training,
    readable,
)
from .task import Say, Task

__all__ = ["fit_file", "task_for"]


def task_for(path: Path, options: FitOptions) -> Task:
    """Read a file with the task that its ending names.

    Raises:
        InputError: no such file, an ending that no task knows, or a file that cannot be read.
    """
    rule = "the input must be a file that can be read"
    if not path.exists():
        refuse(rule, f"{str(path)!r}, which does not exist", "Check the path.")
    for task in TASKS.values():
        if task.reads(path):
            return task(path, options)
    if path.is_dir():
        refuse(rule, f"{str(path)!r}, a folder without a scene", "Pass a picture or a table in it.")
    if not path.is_file():
        refuse(rule, f"{str(path)!r}, which is no regular file", "Save it to a file first.")
    known = ", ".join(suffix for task in TASKS.values() for suffix in task.suffixes)
    got = f"{str(path)!r}, which ends in {path.suffix!r}" if path.suffix else f"{str(path)!r}"
    return refuse("the input's ending tells its kind", got, f"Known: {known}.")


def fit_file(
    path: Path, options: FitOptions, say: Say = print, stop: Callable[[], bool] | None = None
) -> FitResult:
    """Fit a file and fill the run folder.

    The folder gets model.safetensors, the reconstruction, comparison.png, curve.png and
    report.json. Whatever can be known to fail is refused before the fit starts, and then no
    folder is left behind.

    Args:
        path: a picture or a table.
        options: what the user set.
        say: takes sentences for the console.
        stop: asked before every step; the fit ends where it says True, and is saved.

    Raises:
        InputError: a bad input, option or folder.
        NonFiniteLossError: the loss became infinite or NaN; the last good model is saved, unless
            it is the untrained one and would replace an earlier run.
        RuntimeError: the run could not be written.
    """
    task = task_for(path, options)
    recipe = task.recipe(options)
    config = task.config(options, recipe)
    device = choose_device(options.device)
    field = task.field(options, recipe)
    out = options.out or Path("runs") / path.stem
    with RunFolder(out, options.overwrite) as folder:
        precision = choose_precision(config.precision, device, field)
        say(f"{readable(path.name)}: {task.summary()}")
        for note in task.notes:
            say(f"  note: {note}")
        for warning in task.warnings:
            say(f"  warning: {warning}")
        if recipe.note:
            say(f"  {recipe.note}")
        say(f"  {describe_field(field)}")
        say(f"  on {describe_machine(device)} in {precision}, {describe_training(config)}")
        settings = {"task": task.kind, "input": task.describe(), "options": options.given()}
        try:
            result = task.fit(field, config, stop)
        except NonFiniteLossError as error:
            if folder.replaces and error.good_step == 0:
                say(f"  the earlier run in {readable(folder.path)} is left as it was")
            else:
                folder.save(field, settings)
                good = f"the last good model, of step {error.good_step}"
                say(f"  {good}, is in {readable(folder.model)}")
            raise
        folder.save(field, settings)
        with writing(folder.path):
            found = task.write_outputs(folder, field)
            measured = {name: found.pop(name) for name in ("psnr", "rmse") if name in found}
            result = replace(result, **measured)
            report = _report(path, task, field, result, settings, found)
            write_json(folder.file("report.json"), report)
            save_curve(folder.file("curve.png"), result.history, title=readable(path.name))
        say(describe_result(result))
        if found:
            shown = ", ".join(f"{name} {value:.4g}" for name, value in found.items())
            say(f"  {shown}; PSNR and RMSE weigh all samples alike")
        say(f"wrote {readable(folder.path)}")
    return result


def _report(
    path: Path,
    task: Task,
    field: Field,
    result: FitResult,
    settings: dict[str, Any],
    weighted: dict[str, float],
) -> dict[str, Any]:
    found = result.to_dict()
    config, history = found.pop("config"), found.pop("history")
    return {
        "file": readable(path),
        **settings,
        "notes": task.notes,
        "warnings": task.warnings,
        "metrics": {
            "psnr": found.pop("psnr"),
            "rmse": found.pop("rmse"),
            "peak": found.pop("peak"),
            "clamped": config["clamp"],
            "weighted": False,
            **weighted,
            "measured": "on the values of the model, before any file was written",
        },
        **found,
        "seed": config["seed"],
        "field": field.spec(),
        "config": config,
        "versions": {
            "coordnet": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
        "history": history,
    }
