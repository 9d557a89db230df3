"""From arguments to one task, and from errors to one line and an exit status."""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..errors import InputError
from .arguments import parser
from .given import asked_for
from .host import own_process
from .signals import Interrupted, Signals, describe, write_nowhere

if TYPE_CHECKING:
    import argparse

__all__ = ["main"]

_USAGE, _FAILED, _INTERRUPTED = 2, 1, 130
# what a shell adds to the number of the signal that ended a process
_SIGNAL = 128
# what an operating system says of a path that cannot be meant
_BAD_PATH = (errno.ENAMETOOLONG, errno.ELOOP, errno.EACCES, errno.EPERM)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    0 for success, 2 for bad usage or input, 1 for a run that failed, 130 after Ctrl-C, 143 after
    SIGTERM, 129 after SIGHUP.
    """
    _let_print_succeed()
    top = parser()
    options = top.parse_args(arguments)
    commands = {
        **{"fit": _fit, "render": _render, "predict": _predict},
        **{"export": _export, "evaluate": _evaluate, "info": _info},
    }
    if options.command is None:
        top.print_help()
        return _complain(f"a command is needed: {', '.join(commands)}", _USAGE)
    try:
        status = commands[options.command](options)
        sys.stdout.flush()  # a reader that is gone shows here, not at exit
        return status
    except InputError as error:
        return _complain(error, _USAGE)
    except Interrupted as error:
        return _complain(error, _SIGNAL + error.number)
    except KeyboardInterrupt:
        return _complain("interrupted", _INTERRUPTED)
    except BrokenPipeError:
        # the reader of our output is gone: nothing is left to say, not even at exit
        write_nowhere(sys.stdout)
        return _FAILED
    except (MemoryError, OSError, RuntimeError) as error:
        if os.environ.get("COORDNET_DEBUG"):
            raise
        bad_path = isinstance(error, OSError) and error.errno in _BAD_PATH
        return _complain(_in_words(error), _USAGE if bad_path else _FAILED)


def _let_print_succeed() -> None:
    """Print line by line, and a mark for what the terminal's character set lacks."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)  # a notebook's stream has none
        if reconfigure is not None:
            reconfigure(errors="replace", line_buffering=True)


def _complain(error: object, status: int) -> int:
    print(f"coordnet: error: {' '.join(str(error).split())}", file=sys.stderr)
    return status


def _in_words(error: Exception) -> str:
    """What went wrong, without an allocator's internals or an error's number."""
    text = str(error) or type(error).__name__
    amount = re.search(r"(?:tried to|unable to) allocate ([\d.]+ \w+)", text, re.IGNORECASE)
    if amount is not None:
        return f"not enough memory: {amount[1]} were asked for at once. Choose smaller sizes."
    if isinstance(error, MemoryError):
        return "not enough memory. Choose smaller sizes."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return text


def _fit(options: argparse.Namespace) -> int:
    typed = {k: v for k, v in vars(options).items() if v is not None and k != "command"}
    if "input" not in typed and "resume" not in typed:
        return _complain("fit needs an input: a picture or a table (coordnet fit --help)", _USAGE)
    from .console import Console

    with own_process(), Signals() as signals, Console(signals) as console:
        path, given, resume, sentences = asked_for(typed)
        from ..memory import keep_freed_memory
        from ..runs import fit_file

        for sentence in sentences:
            console.print(sentence)
        try:
            with keep_freed_memory():
                fit_file(path, given, listener=console, stop=signals, resume=resume)
        except Interrupted as signal:
            what = "; the model is saved, not all of its pictures" if console.model_saved else ""
            return _complain(f"{signal}{what}", _SIGNAL + signal.number)
    if signals.number is not None:
        words = describe(signals.number)
        return _complain(f"{words}; what was fitted so far is saved", _SIGNAL + signals.number)
    return 0


def _render(options: argparse.Namespace) -> int:
    from ..runs import render_run

    return _written(render_run, options)


def _export(options: argparse.Namespace) -> int:
    from ..runs import export_run

    return _written(export_run, options)


def _written(write: Callable[..., None], options: argparse.Namespace) -> int:
    from .console import Console

    common = ("command", "run", "output", "device", "overwrite")
    given = {name: value for name, value in vars(options).items() if name not in common}
    with own_process(), Console() as console:
        write(
            options.run,
            options.output,
            given,
            device=options.device,
            overwrite=options.overwrite,
            listener=console,
        )
    return 0


def _predict(options: argparse.Namespace) -> int:
    from ..runs import predict_run

    to_stdout = options.output is None or str(options.output) == "-"

    def say(text: str) -> None:
        print(text, file=sys.stderr if to_stdout else sys.stdout)

    predict_run(
        options.run,
        options.times,
        sys.stdout if to_stdout else options.output,
        x=options.x,
        unit=options.unit,
        derivative=options.derivative,
        device=options.device,
        overwrite=options.overwrite,
        say=say,
    )
    return 0


def _evaluate(options: argparse.Namespace) -> int:
    import json

    from ..files import json_values
    from ..runs import evaluate_run
    from .console import Console

    common = ("command", "run", "input", "device", "json")
    given = {name: value for name, value in vars(options).items() if name not in common}
    with own_process(), Console() as console:
        metrics = evaluate_run(
            options.run, options.input, given, device=options.device, listener=console
        )
    if options.json:
        print(json.dumps(json_values(metrics)))
        return 0
    for note in metrics.pop("notes"):
        print(f"note: {note}")
    for name, value in metrics.items():
        print(f"{name:12} {value:.6g}" if isinstance(value, float) else f"{name:12} {value}")
    return 0


def _info(options: argparse.Namespace) -> int:
    from .info import info_lines

    for line in info_lines(options.what):
        print(line)
    return 0
