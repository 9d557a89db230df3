"""The options of an earlier run, from its report, for a run that repeats it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from ..version import __version__
from ..errors import refuse
from ..training import choose_device

__all__ = ["like"]

_MOST = 64 << 20
# what says where a run is kept, not what is fitted
_LEFT = ("out", "overwrite", "checkpoint_every")
# what a preset makes of a budget in seconds
_BY_SECONDS = ("optimizer", "batch_size", "learning_rate")


def like(report: Path, budget: bool) -> tuple[dict[str, Any], list[str]]:
    """Return the options of a run and sentences on what will differ.

    A budget in seconds cannot be repeated: the steps that were taken stand for it.

    Args:
        report: report.json of a run, or its folder.
        budget: whether the run's own budget is wanted.

    Returns:
        The options as plain values that are yet to be checked, and the sentences.

    Raises:
        InputError: no report of coordnet.
    """
    found = _read(report / "report.json" if report.is_dir() else report)
    options = {k: v for k, v in found["options"].items() if k not in _LEFT}
    said: list[str] = []
    if not budget:
        for name in ("steps", "seconds"):
            options.pop(name, None)
    elif "seconds" in options:
        taken = found["steps"]
        options["steps"] = taken
        had = options.pop("seconds")
        said.append(f"its {had} s cannot be repeated: this run takes the {taken} steps it took")
        for name in _BY_SECONDS:
            if found["config"].get(name) is not None:
                options.setdefault(name, found["config"][name])
    elif found["stop_reason"] == "stopped":
        said.append(f"it was interrupted at step {found['steps']}; this one goes on to its end")
    differs = _differences(found, options.get("device", "auto"))
    if differs:
        said.append(f"the last digits may differ: {differs}")
    return options, said


def _read(path: Path) -> dict[str, Any]:
    rule = f"a report must be the report.json of a run: {str(path)!r}"
    remedy = "Pass the report.json in the folder that coordnet fit wrote."
    if not path.is_file():
        refuse(rule, "no file", remedy)
    if path.stat().st_size > _MOST:
        refuse(rule, f"{path.stat().st_size:,} bytes", remedy)
    found: Any = None
    try:
        found = json.loads(path.read_bytes())
        sound = (
            isinstance(found["options"], dict)
            and isinstance(found["config"], dict)
            and isinstance(found["stop_reason"], str)
            and type(found["steps"]) is int
        )
    except (LookupError, RecursionError, TypeError, ValueError):
        sound = False
    return found if sound else refuse(rule, "no options of a run in it", remedy)


def _differences(found: dict[str, Any], device: Any) -> str:
    """Return in what this machine differs from the one of the report, or nothing."""
    versions = found.get("versions")
    versions = versions if isinstance(versions, dict) else {}
    here = choose_device(str(device))
    pairs = {
        "device": (found.get("device"), str(here)),
        "threads": (found.get("threads"), torch.get_num_threads()),
        "coordnet": (versions.get("coordnet"), __version__),
        "torch": (versions.get("torch"), torch.__version__),
    }
    if here.type != "cpu":
        del pairs["threads"]
    odd = [f"{name} was {was!s:.40}, is {now}" for name, (was, now) in pairs.items() if was != now]
    return ", ".join(odd)
