"""A fit from a file to a run folder."""

from __future__ import annotations

import contextlib
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from .. import __version__
from ..errors import refuse
from ..field import Field
from ..files import write_json
from ..plotting import save_curve
from ..training import (
    Checkpoint,
    FitConfig,
    FitResult,
    NonFiniteLossError,
    choose_device,
)
from . import TASKS
from .kept import about_run, model_of_checkpoint, read_kept
from .options import FitOptions
from .run_folder import RunFolder, writing
from .sentences import (
    describe_field,
    describe_machine,
    describe_result,
    readable,
)
from .task import Progress, Say, Task

__all__ = ["fit_file", "task_for"]

# options that say where a run is kept, not what is fitted
_WHERE = ("out", "overwrite", "checkpoint_every")


def task_for(path: Path, options: FitOptions, progress: Progress | None = None) -> Task:
    """Read a file with the task that its ending names.

    Raises:
        InputError: no such file, an ending that no task knows, or a file that cannot be read.
    """
    rule = "the input must be a file that can be read"
    if not path.exists():
        refuse(rule, f"{str(path)!r}, which does not exist", "Check the path.")
    for task in TASKS.values():
        if task.reads(path):
            return task(path, options, progress)
    if path.is_dir():
        refuse(rule, f"{str(path)!r}, a folder without a scene", "Pass a picture or a table in it.")
    if not path.is_file():
        refuse(rule, f"{str(path)!r}, which is no regular file", "Save it to a file first.")
    known = ", ".join(suffix for task in TASKS.values() for suffix in task.suffixes)
    got = f"{str(path)!r}, which ends in {path.suffix!r}" if path.suffix else f"{str(path)!r}"
    return refuse("the input's ending tells its kind", got, f"Known: {known}.")


@dataclass(frozen=True)
class _Plan:
    """What is fitted, and how."""

    task: Task
    field: Any
    config: FitConfig
    note: str


def fit_file(
    path: Path,
    options: FitOptions,
    say: Say = print,
    stop: Callable[[], bool] | None = None,
    *,
    saved: Callable[[], object] | None = None,
    resume: bool = False,
    progress: Progress | None = None,
) -> FitResult:
    """Fit a file and fill the run folder.

    The folder gets model.safetensors, the reconstruction, comparison.png, curve.png and
    report.json; until the fit has ended, also checkpoint.safetensors. Whatever can be known to
    fail is refused before the fit starts, and then no folder is left behind.

    Args:
        path: a picture or a table.
        options: what the user set.
        say: takes sentences for the console.
        stop: asked before every step; the fit ends where it says True, and is saved.
        saved: called when the model is saved, before pictures are made of it.
        resume: go on from the checkpoint in the run folder: the model and its settings come
            from there, all but the budget and the device.
        progress: told how reading and rendering go on; see `Progress`.

    Raises:
        InputError: a bad input, option or folder; nothing to go on from.
        NonFiniteLossError: the loss became infinite or NaN; the last good model is saved, unless
            it is the untrained one and would replace an earlier run.
        RuntimeError: the run could not be written, or memory ran out.
    """
    device = choose_device(options.device)
    plan = None if resume else _new_plan(path, options, progress)
    out = options.out or Path("runs") / path.stem
    with RunFolder(out, options.overwrite, resume) as folder:
        plan = plan or _resumed_plan(path, options, folder, progress)
        task, field, config = plan.task, plan.field, plan.config
        folder.require_space(_size(field))
        precision = task.precision(field, config, device)
        say(f"{readable(path.name)}: {task.summary()}")
        for note in task.notes:
            say(f"  note: {note}")
        for warning in task.warnings:
            say(f"  warning: {warning}")
        if plan.note:
            say(f"  {plan.note}")
        say(f"  {describe_field(field)}")
        say(f"  on {describe_machine(device)} in {precision}, {task.training(config)}")
        settings = {
            "task": task.kind,
            "input": task.describe(),
            "options": {k: v for k, v in options.given().items() if k not in _WHERE},
        }
        kept = about_run(path, field, settings, options)
        checkpoint = Checkpoint(
            folder.checkpoint,
            options.checkpoint_every,
            resume=resume,
            overwrite=options.overwrite,
            about=kept,
        )

        def tell(text: str) -> None:
            if text.startswith("warning: "):
                task.warnings.append(text.removeprefix("warning: "))
            say(f"  {text}")

        with _resumable(folder, say):
            try:
                result = task.fit(field, config, stop, checkpoint=checkpoint, say=tell)
            except NonFiniteLossError as error:
                _keep_last_good(folder, field, settings, error, say)
                raise
            if not folder.path.is_dir():
                gone = f"{readable(folder.path)} was removed during the fit"
                tell(f"warning: {gone}; it is made again")
            folder.save(field, settings)
            if saved is not None:
                saved()
            about = {**settings, "options": options.given(), "fingerprint": kept["input"]}
            told = len(task.warnings)
        result, weighted = _write_outputs(path, plan, folder, result, about)
        for warning in task.warnings[told:]:
            say(f"  warning: {warning}")
        if result.stop_reason == "stopped" and folder.can_resume:
            _say_how_to_resume(folder, say)
        else:
            folder.finish()
        say(describe_result(result))
        if weighted:
            shown = ", ".join(f"{name} {value:.4g}" for name, value in weighted.items())
            say(f"  {shown}; {task.measured}")
        say(f"wrote {readable(folder.path)}")
    return result


def _new_plan(path: Path, options: FitOptions, progress: Progress | None) -> _Plan:
    """Return the plan that the options ask for."""
    task = task_for(path, options, progress)
    recipe = task.recipe(options)
    config = task.config(options, recipe)
    return _Plan(task, task.field(options, recipe), config, recipe.note)


def _resumed_plan(
    path: Path, options: FitOptions, folder: RunFolder, progress: Progress | None
) -> _Plan:
    """Return the plan of the fit in a folder's checkpoint."""
    kept = read_kept(folder.checkpoint)
    kept.require_same(path)
    model, _ = model_of_checkpoint(folder.checkpoint)
    return _Plan(task_for(path, options, progress), model, kept.config_for(options), "")


@contextlib.contextmanager
def _resumable(folder: RunFolder, say: Say) -> Iterator[None]:
    """Say how to go on where what is done inside ends early."""
    try:
        yield
    except (KeyboardInterrupt, MemoryError, OSError, RuntimeError):
        if folder.can_resume:
            _say_how_to_resume(folder, say)
        raise


def _say_how_to_resume(folder: RunFolder, say: Say) -> None:
    say(f"  coordnet fit --resume {readable(folder.path)} goes on from the last checkpoint")


def _keep_last_good(
    folder: RunFolder, field: Any, settings: dict[str, Any], error: NonFiniteLossError, say: Say
) -> None:
    """Save the last good model, unless it is the untrained one and would replace a run."""
    if folder.replaces and error.good_step == 0:
        say(f"  the earlier run in {readable(folder.path)} is left as it was")
        return
    folder.save(field, settings)
    folder.finish()  # to go on from it would end in the same way
    say(f"  the last good model, of step {error.good_step}, is in {readable(folder.model)}")


def _size(model: nn.Module) -> int:
    """Return the bytes of a model's tensors."""
    return sum(each.numel() * each.element_size() for each in model.state_dict().values())


def _write_outputs(
    path: Path, plan: _Plan, folder: RunFolder, result: FitResult, settings: dict[str, Any]
) -> tuple[FitResult, dict[str, float]]:
    """Write pictures, report and curve; return the result as measured, and weighted metrics."""
    task, field = plan.task, plan.field
    report = folder.file("report.json")
    with writing(folder.path):
        try:
            found = task.write_outputs(folder, field)
        except KeyboardInterrupt:
            # the model is saved; what is known of the fit belongs beside it
            write_json(report, _report(path, task, field, result, settings, {}))
            raise
        measured = {name: found.pop(name) for name in ("psnr", "rmse") if name in found}
        result = replace(result, **measured)
        write_json(report, _report(path, task, field, result, settings, found))
        if result.history:
            save_curve(folder.file("curve.png"), result.history, title=readable(path.name))
    return result, found


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
        "threads": torch.get_num_threads(),
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
