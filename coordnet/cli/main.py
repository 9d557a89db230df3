"""From arguments to one task, and from errors to one line and an exit status."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING

from ..errors import InputError
from .arguments import parser

if TYPE_CHECKING:
    import argparse

__all__ = ["main"]

_USAGE, _FAILED, _INTERRUPTED = 2, 1, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    0 for success, 2 for bad usage or input, 1 for a run that failed, 130 after Ctrl-C.
    """
    top = parser()
    options = top.parse_args(arguments)
    if options.command is None:
        top.print_help()
        return _USAGE
    try:
        return {"fit": _fit, "render": _render, "evaluate": _evaluate, "info": _info}[
            options.command
        ](options)
    except InputError as error:
        return _complain(error, _USAGE)
    except KeyboardInterrupt:
        return _complain("interrupted", _INTERRUPTED)
    except BrokenPipeError:
        # the reader of our output is gone: nothing is left to say, not even at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _FAILED
    except (MemoryError, OSError, RuntimeError) as error:
        if os.environ.get("COORDNET_DEBUG"):
            raise
        return _complain(error if str(error) else type(error).__name__, _FAILED)


def _complain(error: object, status: int) -> int:
    print(f"coordnet: error: {' '.join(str(error).split())}", file=sys.stderr)
    return status


def _fit(options: argparse.Namespace) -> int:
    from ..tasks import FitOptions, fit_file

    settings = {k: v for k, v in vars(options).items() if k not in ("command", "input")}
    settings["periods"] = tuple(settings["periods"])
    settings["y"] = tuple(settings["y"])
    interrupted = False

    def stop_soon(number: int, frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a second Ctrl-C ends at once

    previous = signal.signal(signal.SIGINT, stop_soon)
    try:
        fit_file(options.input, FitOptions(**settings), stop=lambda: interrupted)
    finally:
        signal.signal(signal.SIGINT, previous)
    if interrupted:
        return _complain("interrupted; what was fitted so far is saved", _INTERRUPTED)
    return 0


def _render(options: argparse.Namespace) -> int:
    from tqdm.auto import tqdm

    from ..tasks import render_run

    with tqdm(unit="px", unit_scale=True, desc="render", disable=None) as bar:
        render_run(
            options.run,
            options.output,
            size=options.size,
            device=options.device,
            overwrite=options.overwrite,
            progress=bar.update,
        )
    return 0


def _evaluate(options: argparse.Namespace) -> int:
    import json

    from ..files import json_values
    from ..tasks import evaluate_run

    found = evaluate_run(options.run, options.input, device=options.device, page=options.page)
    if options.json:
        print(json.dumps(json_values(found)))
        return 0
    for name, value in found.items():
        print(f"{name:12} {value:.6g}" if isinstance(value, float) else f"{name:12} {value}")
    return 0


def _info(options: argparse.Namespace) -> int:
    from ..tasks.info import info_lines

    for line in info_lines(options.what):
        print(line)
    return 0
