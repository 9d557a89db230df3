"""From arguments to one task, and from errors to one line and an exit status."""

from __future__ import annotations

import errno
import functools
import os
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import InputError
from .arguments import parser
from .given import asked_for
from .host import Bars, own_process
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
    saved = False
    with own_process(), Signals() as signals, Bars() as bars:
        path, wanted, resume, said = asked_for(typed)
        from ..memory import keep_freed_memory
        from ..runs.fit import fit_file

        def say(text: str) -> None:
            try:
                bars.write(text)
            except OSError:  # nobody reads it, or its disk is full: the fit is worth more
                write_nowhere(sys.stdout)

        def outputs_begin() -> None:
            nonlocal saved
            saved = True
            signals.at_once()

        for sentence in said:
            say(sentence)
        try:
            with keep_freed_memory():
                fit_file(
                    path, wanted, say, signals, saved=outputs_begin, resume=resume, progress=bars
                )
        except Interrupted as signal:
            what = "; the model is saved, not all of its pictures" if saved else ""
            return _complain(f"{signal}{what}", _SIGNAL + signal.number)
    if signals.number is not None:
        words = describe(signals.number)
        return _complain(f"{words}; what was fitted so far is saved", _SIGNAL + signals.number)
    return 0


def _render(options: argparse.Namespace) -> int:
    from ..runs.render import render_run
    from ..scenes.views import Views

    names = ("path", "frames", "camera", "view", "depth", "background", "fps")
    with own_process(), Bars() as bars:
        render_run(
            options.run,
            options.output,
            size=options.size,
            rate=options.rate,
            views=Views(**{name: getattr(options, name) for name in names}),
            device=options.device,
            overwrite=options.overwrite,
            say=bars.write,
            progress=functools.partial(bars, "render"),
        )
    return 0


def _export(options: argparse.Namespace) -> int:
    from ..runs.export import export_run

    with own_process(), Bars() as bars:
        export_run(
            options.run,
            options.output,
            resolution=options.resolution,
            level=options.level,
            device=options.device,
            overwrite=options.overwrite,
            say=bars.write,
            progress=functools.partial(bars, "export"),
        )
    return 0


def _predict(options: argparse.Namespace) -> int:
    from ..runs.predict import predict_run

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
    from ..runs.evaluate import evaluate_run

    with own_process(), Bars() as bars:
        found = evaluate_run(
            options.run,
            options.input,
            device=options.device,
            page=options.page,
            unit=options.unit,
            progress=bars,
        )
    if options.json:
        print(json.dumps(json_values(found)))
        return 0
    for note in found.pop("notes"):
        print(f"note: {note}")
    for name, value in found.items():
        print(f"{name:12} {value:.6g}" if isinstance(value, float) else f"{name:12} {value}")
    return 0


def _info(options: argparse.Namespace) -> int:
    from ..runs.info import info_lines

    for line in info_lines(options.what):
        print(line)
    return 0
