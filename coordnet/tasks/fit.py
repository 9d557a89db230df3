"""A fit from a file to a run folder."""

from __future__ import annotations

import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .. import __version__
from ..errors import refuse
from ..field import Field
from ..files import write_json
from ..plotting import save_curve
from ..saving import save
from ..training import FitResult, NonFiniteLossError, choose_device, choose_precision, fit
from . import TASKS
from .options import FitOptions
from .run_folder import RunFolder
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
    if path.is_dir():
        refuse(rule, f"{str(path)!r}, which is a folder", "Pass a picture or a table in it.")
    for task in TASKS.values():
        if path.suffix.lower() in task.suffixes:
            return task(path, options)
    known = ", ".join(suffix for task in TASKS.values() for suffix in task.suffixes)
    return refuse("the input's ending tells its kind", f"{path.suffix!r}", f"Known: {known}.")


def fit_file(
    path: Path, options: FitOptions, say: Say = print, stop: Callable[[], bool] | None = None
) -> FitResult:
    """Fit a file and fill the run folder.

    The folder gets model.safetensors, the reconstruction, comparison.png, curve.png and
    report.json. Whatever can be known to fail is refused before the fit starts.

    Args:
        path: a picture or a table.
        options: what the user set.
        say: takes sentences for the console.
        stop: asked before every step; the fit ends where it says True, and is saved.

    Raises:
        InputError: a bad input, option or folder.
        NonFiniteLossError: the loss became infinite or NaN; the last good model is saved.
    """
    task = task_for(path, options)
    config = task.config(options)
    device = choose_device(options.device)
    field = task.field(options)
    folder = RunFolder(options.out or Path("runs") / path.stem, options.overwrite)
    precision = choose_precision(config.precision, device, field)
    say(f"{path.name}: {task.summary()}")
    for note in task.notes:
        say(f"  note: {note}")
    say(f"  {_architecture(field)}")
    say(f"  on {_device_name(device)} in {precision}, {_budget(config.steps, config.seconds)}")
    settings = {"task": task.kind, "input": task.describe(), "options": options.given()}
    try:
        result = fit(field, *task.samples(), config, stop=stop)
    except NonFiniteLossError:
        save(field, folder.model, settings)
        say(f"  the last good model is in {folder.model}")
        raise
    save(field, folder.model, settings)
    write_json(folder.file("report.json"), _report(path, task, field, result, settings))
    task.write_outputs(folder, field, result)
    save_curve(folder.file("curve.png"), result.history, title=path.name)
    say(
        f"PSNR {_decibels(result.psnr)} (peak {result.peak:g}, of the model's values), "
        f"RMSE {result.rmse:.4g}, {result.steps} steps in {result.seconds:.1f} s"
    )
    say(f"wrote {folder.path}")
    return result


def _decibels(psnr: float) -> str:
    return f"{psnr:.2f} dB" if np.isfinite(psnr) else "without error"


def _architecture(field: Field) -> str:
    encoding = field.spec()["encoding"]
    while encoding["name"] == "normalized":
        encoding = encoding["encoding"]
    parts = encoding["encodings"] if encoding["name"] == "concat" else [encoding]
    shown = " + ".join(_settings_of(part) for part in parts)
    number = sum(p.numel() for p in field.parameters() if p.requires_grad)
    network = _settings_of(field.spec()["network"])
    return f"{shown} → {field.encoding.out_dim} features → {network}; {number:,} parameters"


def _settings_of(spec: dict[str, Any]) -> str:
    hidden = ("name", "in_dim", "out_dim", "include_input", "seed")
    shown = ", ".join(f"{k}={v}" for k, v in spec.items() if k not in hidden and v is not None)
    return f"{spec['name']}({shown})"


def _device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    if device.type == "cpu":
        return f"the CPU ({torch.get_num_threads()} threads)"
    return str(device)


def _budget(steps: int | None, seconds: float | None) -> str:
    parts = [f"{steps} steps"] if steps is not None else []
    parts += [f"{seconds:g} s"] if seconds is not None else []
    return "at most " + " or ".join(parts)


def _report(
    path: Path, task: Task, field: Field, result: FitResult, settings: dict[str, Any]
) -> dict[str, Any]:
    found = result.to_dict()
    config, history = found.pop("config"), found.pop("history")
    return {
        "input": str(path),
        **settings,
        "notes": task.notes,
        "metrics": {
            "psnr": found.pop("psnr"),
            "rmse": found.pop("rmse"),
            "peak": found.pop("peak"),
            "clamped": config["clamp"],
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
