"""Runs pieces of code, each in a process of its own that has torch imported from the start.

A line of JSON comes in for each: ``code``, its ``arguments``, the ``folder`` to run it in and the
``log`` for its output. The code's exit status goes out, negative for the signal that ended it.
"""

import json
import os
import signal
import sys
import traceback
from pathlib import Path

import coordnet.cli.info
import coordnet.pictures.task
import coordnet.runs.fit
import coordnet.runs.record
import coordnet.training.minimizing


def figure(path, *arguments, **options):
    """Stand in for a figure, which takes half a second to draw."""
    Path(path).write_bytes(b"figure")


coordnet.runs.fit.save_curve = figure
coordnet.pictures.task.save_comparison = figure

for line in sys.stdin:
    request = json.loads(line)
    child = os.fork()
    if child == 0:
        status = 99
        try:
            # the server may ignore them, as a shell's background jobs do
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            os.chdir(request["folder"])
            log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(log, 1)
            os.dup2(log, 2)
            sys.argv = ["code", *request["arguments"]]
            exec(request["code"], {"__name__": "__main__"})
            status = 0
        except SystemExit as end:
            status = end.code or 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    _, ended = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(ended), flush=True)
