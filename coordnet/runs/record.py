"""What a run leaves on record, in its checkpoint and its report: input, options, settings."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from ..errors import refuse
from ..files import JsonObject
from ..kinds import KINDS, AnyTask, FitOptions, Kind
from ..saving import build, describe
from ..text import readable
from ..training import FitConfig, FitResult, choose_device
from ..training.checkpoint_file import CheckpointFile, damaged, group, read_checkpoint
from ..version import __version__

__all__ = ["Record", "fingerprint", "model_of_checkpoint", "options_like", "report_of"]

_BLOCK = 1 << 20
_LARGEST_REPORT = 64 << 20
# options that say where a run lies, not what is fitted
_PLACES = ("out", "overwrite", "checkpoint_every")
_BUDGETS = ("steps", "seconds", "target_psnr")
# what a preset makes of a budget in seconds
_BY_SECONDS = ("optimizer", "batch_size", "learning_rate")


@dataclass(frozen=True)
class Record:
    """What a fit from a file began with; a checkpoint and a report hold it.

    Attributes:
        path: the input, where it was.
        input: the input's fingerprint.
        kind: the kind's name in KINDS.
        about: what the task described of the input.
        options: what the user had set, as plain values that are yet to be checked.
        config: the settings of the fit.
    """

    path: Path
    input: JsonObject
    kind: str
    about: JsonObject
    options: JsonObject
    config: FitConfig

    @classmethod
    def of(
        cls, path: Path, kind: Kind, task: AnyTask, options: FitOptions, config: FitConfig
    ) -> Record:
        """Return the record of a fit that is about to begin."""
        options_given = options.given()
        return cls(
            Path(os.path.abspath(path)), fingerprint(path), kind.name, task.describe(),
            options_given, config,
        )  # fmt: skip

    @classmethod
    def from_checkpoint(cls, path: Path) -> Record:
        """Read the record in a checkpoint.

        Raises:
            InputError: the file is missing or damaged, or no checkpoint of a run.
        """
        with read_checkpoint(path) as file:
            about, config = _object(file, file.about, "about"), file.about.get("config")
            source, settings = about.get("path"), _object(file, about, "settings")
            if not isinstance(source, str) or "\0" in source or not isinstance(config, dict):
                damaged(path, "no input or no settings")
            kind = settings.get("task")
            if not isinstance(kind, str) or kind not in KINDS:
                damaged(path, f"a run of an unknown kind, {kind!r:.40}")
            return cls(
                Path(source), _object(file, about, "input"), kind,
                _object(file, settings, "input"), _object(file, about, "options"),
                FitConfig.from_dict(config),
            )  # fmt: skip

    @property
    def settings(self) -> JsonObject:
        """What is saved with the model."""
        options = {name: v for name, v in self.options.items() if name not in _PLACES}
        return {"task": self.kind, "input": self.about, "options": options}

    def in_checkpoint(self, model: nn.Module) -> JsonObject:
        """Return what a checkpoint keeps of it, as plain JSON values."""
        return {
            "path": str(self.path),
            "input": self.input,
            "model": describe(model),
            "settings": self.settings,
            "options": self.options,
        }

    def require_input(self, path: Path) -> None:
        """Refuse an input that is not the one that was fitted so far.

        Raises:
            InputError: another file, or none.
        """
        remedy = "Bring it back; or say where it is: coordnet fit INPUT --resume RUN; or fit anew."
        rule = "a fit goes on with the input it began with"
        try:
            if path.exists() and not (path.is_file() or path.is_dir()):
                refuse(rule, f"{str(path)!r}, a device or a pipe", remedy)  # may have no end
            same = fingerprint(path, self.input.get("bytes")) == self.input
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "no name of a file"
            refuse(rule, f"{str(path)!r}: {reason}", remedy)
        if not same:
            refuse(rule, f"{str(path)!r}, which has changed", remedy)

    def config_for(self, options: FitOptions) -> FitConfig:
        """Return the settings of the fit, with the budget and the device of ``options``."""
        steps = options.steps
        if steps is None and options.seconds is None:
            steps = self.config.steps
        return replace(
            self.config,
            steps=steps,
            seconds=options.seconds,
            target_psnr=options.target_psnr,
            device=options.device,
        )


def report_of(
    record: Record, path: Path, model: nn.Module, task: AnyTask, result: FitResult,
    metrics: Mapping[str, float],
) -> JsonObject:  # fmt: skip
    """Return what report.json holds.

    Args:
        record: what the fit began with.
        path: the input, as it was given.
        model: the fitted model.
        task: the input, with its notes and warnings.
        result: the outcome, as measured.
        metrics: beside PSNR and RMSE.
    """
    outcome = result.to_dict()
    config, history = outcome.pop("config"), outcome.pop("history")
    errors = {name: outcome.pop(name) for name in ("psnr", "rmse", "peak")}
    return {
        "file": readable(path),
        **record.settings,
        "options": record.options,
        "fingerprint": record.input,
        "notes": task.notes,
        "warnings": task.warnings,
        "metrics": {
            **errors,
            "clamped": config["clamp"],
            "weighted": False,
            **metrics,
            "measured": "on the values of the model, before any file was written",
        },
        **outcome,
        "threads": torch.get_num_threads(),
        "seed": config["seed"],
        "field": describe(model)["field"],
        "config": config,
        "versions": {
            "coordnet": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
        "history": history,
    }


def options_like(report: Path, budget: bool) -> tuple[JsonObject, list[str]]:
    """Return the options of the run that a report describes, and sentences on what will differ.

    A budget in seconds cannot be repeated: the steps that were taken stand for it.

    Args:
        report: report.json of a run, or its folder.
        budget: whether the run's own budget is wanted.

    Returns:
        The options as plain values that are yet to be checked, and the sentences.

    Raises:
        InputError: no report of coordnet.
    """
    earlier = _read_report(report / "report.json" if report.is_dir() else report)
    options = {name: v for name, v in earlier["options"].items() if name not in _PLACES}
    notes: list[str] = []
    if not budget:
        for name in ("steps", "seconds"):
            options.pop(name, None)
    elif "seconds" in options:
        steps, seconds = earlier["steps"], options.pop("seconds")
        options["steps"] = steps
        notes.append(
            f"its {seconds} s cannot be repeated: this run takes the {steps} steps it took"
        )
        for name in _BY_SECONDS:
            if earlier["config"].get(name) is not None:
                options.setdefault(name, earlier["config"][name])
    elif earlier["stop_reason"] == "stopped":
        notes.append(f"it was interrupted at step {earlier['steps']}; this one goes on to its end")
    differs = _differences(earlier, str(options.get("device", "auto")))
    if differs:
        notes.append(f"the last digits may differ: {differs}")
    return options, notes


def _read_report(path: Path) -> JsonObject:
    rule = f"a report must be the report.json of a run: {str(path)!r}"
    remedy = "Pass the report.json in the folder that coordnet fit wrote."
    if not path.is_file():
        refuse(rule, "no file", remedy)
    if path.stat().st_size > _LARGEST_REPORT:
        refuse(rule, f"{path.stat().st_size:,} bytes", remedy)
    report: Any = None
    try:
        report = json.loads(path.read_bytes())
        sound = (
            isinstance(report["options"], dict)
            and isinstance(report["config"], dict)
            and isinstance(report["stop_reason"], str)
            and type(report["steps"]) is int
        )
    except (LookupError, RecursionError, TypeError, ValueError):
        sound = False
    return report if sound else refuse(rule, "no options of a run in it", remedy)


def _differences(report: JsonObject, device: str) -> str:
    """Return in what this machine differs from the one of the report, or nothing."""
    versions = report.get("versions")
    versions = versions if isinstance(versions, dict) else {}
    here = choose_device(device)
    pairs = {
        "device": (report.get("device"), str(here)),
        "threads": (report.get("threads"), torch.get_num_threads()),
        "coordnet": (versions.get("coordnet"), __version__),
        "torch": (versions.get("torch"), torch.__version__),
    }
    if here.type != "cpu":
        del pairs["threads"]
    odd = [f"{name} was {was!s:.40}, is {now}" for name, (was, now) in pairs.items() if was != now]
    return ", ".join(odd)


def fingerprint(path: Path, most: Any = None) -> JsonObject:
    """Return the size and the SHA-256 of a file, or of all files in a folder with their names.

    Args:
        path: the file or the folder.
        most: a number of bytes; what is larger is not read.

    Raises:
        OSError: it cannot be read.
    """
    folder, files, size = path.is_dir(), [], 0
    for file in path.rglob("*") if folder else (path,):
        if folder and not file.is_file():
            continue
        files.append(file)
        size += file.stat().st_size
        if isinstance(most, int) and size > most:
            return {"bytes": size, "sha256": None}
    total, size = hashlib.sha256(), 0
    for file in sorted(files):
        if folder:
            total.update(os.fsencode(file.relative_to(path)) + b"\0")
        with open(file, "rb") as content:
            while block := content.read(_BLOCK):
                total.update(block)
                size += len(block)
    return {"bytes": size, "sha256": total.hexdigest()}


def model_of_checkpoint(checkpoint: Path) -> tuple[nn.Module, JsonObject]:
    """Return the model in a checkpoint of a run, on the CPU, and the settings that go with it.

    Raises:
        InputError: the file is missing or damaged, or no checkpoint of a run.
    """
    with read_checkpoint(checkpoint) as file:
        about = _object(file, file.about, "about")
        plan, settings = (_object(file, about, name) for name in ("model", "settings"))
        return build(checkpoint, plan, group(file, "module")), settings


def _object(file: CheckpointFile, where: JsonObject, name: str) -> JsonObject:
    value = where.get(name)
    if not isinstance(value, dict):
        damaged(file.path, f"no {name} of a run of coordnet fit")
    return value
