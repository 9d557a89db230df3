"""What there is: the tables, this machine, a run."""

from __future__ import annotations

import inspect
import json
import platform
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ..encodings import ENCODINGS
from ..networks import NETWORKS
from ..runs import Run
from ..training import choose_device
from ..training.runtime import fast_bf16
from ..version import __version__
from .words import describe_field, describe_machine

__all__ = ["info_lines"]


def info_lines(what: str) -> Iterator[str]:
    """Yield lines about "encodings", "networks", "machine", or the run in that folder.

    Raises:
        InputError: neither of those, nor a run.
    """
    tables = {"encodings": ENCODINGS, "networks": NETWORKS}
    if what in tables:
        yield from _table(tables[what])
    elif what == "machine":
        yield from _machine()
    else:
        yield from _run(Run.open(what))


def _run(run: Run) -> Iterator[str]:
    kind, about = run.settings.get("task"), run.about
    if kind is not None and isinstance(about, dict):
        facts = (f"{name} {json.dumps(value)}" for name, value in about.items())
        yield f"{kind}: {', '.join(facts)}"
    else:
        yield "a field saved from Python"
    if (progress := run.progress()) is not None:
        step, seconds = progress
        yield f"unfinished, at step {step:,} after {seconds:.1f} s: --resume goes on from there"
    yield describe_field(run.model)
    yield str(run.model)


def _table(table: Mapping[str, Any]) -> Iterator[str]:
    for name, build in table.items():
        about = (inspect.getdoc(build) or "").splitlines()[0]
        shown = [str(p) for p in inspect.signature(build).parameters.values()]
        yield f"{name:10} {about}"
        yield f"{'':10} ({', '.join(_plain(p) for p in shown)})"


def _plain(parameter: str) -> str:
    """A parameter without its annotation."""
    name, _, default = parameter.partition(" = ")
    return name.split(":")[0] + (f"={default}" if default else "")


def _machine() -> Iterator[str]:
    device = choose_device()
    yield f"coordnet {__version__}, torch {torch.__version__}, Python {platform.python_version()}"
    yield f"fits run on {describe_machine(device)}, {platform.machine()}"
    yield f"fast at bf16: {'yes' if fast_bf16(device) else 'no'}"
