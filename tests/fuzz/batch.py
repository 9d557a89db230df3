"""Reads hostile files by the hundred, each kind in a process of its own, under limits.

python batch.py FOLDER COUNT [KIND …]: works in FOLDER, and prints a JSON object: by kind, how
many files were read, taken and refused, and what failed. What fails is kept in FOLDER.
"""

import json
import logging
import os
import random
import resource
import shutil
import signal
import sys
import time
import traceback
import warnings
import zlib
from pathlib import Path

import torch
from readers import KINDS

from coordnet.errors import InputError
from coordnet.training import NonFiniteLossError

MEMORY = 1 << 30  # bytes that reading may take beyond what the process has from the start
CPU_SECONDS, SECONDS = 10, 60  # for one file
_SEED = 2026
# a checkpoint may hold numbers that no fit goes on with
REFUSALS = (InputError, NonFiniteLossError)


class TooSlowError(Exception):
    """A file took too long."""


def read_all(name, folder, count, failures):
    """Read ``count`` hostile files of a kind; return how many were taken and refused."""
    signal.signal(signal.SIGPROF, _too_slow)
    signal.signal(signal.SIGALRM, _too_slow)
    kind = KINDS[name](folder / name)
    for each in kind.seeds:  # they are sound
        path = kind.folder / each
        path.write_bytes(kind.seeds[each])
        kind.read(path, _First())
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.RLIM_INFINITY))
    errors = folder / f"{name}.stderr"  # nothing may be printed there but by the command line
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_APPEND), 2)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    taken, slowest = 0, 0.0
    for i in range(count):
        rng = random.Random(zlib.crc32(f"{_SEED} {name} {i}".encode()))
        path = kind.hostile(rng)
        kept = folder / f"{name}-{i}{path.suffix}"
        shutil.copy(path, kept)  # what ends the process is found there
        start = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        signal.alarm(SECONDS)
        said = None
        try:
            kind.read(path, rng)
            taken += 1
        except REFUSALS as error:
            said = f"several lines: {error}" if "\n" in str(error) else None
        except KeyboardInterrupt:
            raise
        except BaseException:
            said = traceback.format_exc()
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
        slowest = max(slowest, time.process_time() - start)
        printed = errors.read_text(errors="replace")
        # libtiff, inside Pillow, prints there of its own accord
        by_libtiff = name == "pictures" and kept.read_bytes()[:2] in (b"II", b"MM")
        if printed and by_libtiff:
            os.truncate(errors, 0)
        elif printed:
            said = f"{said or ''}\nprinted to standard error: {printed}"
            os.truncate(errors, 0)
        if said is None:
            kept.unlink()
        else:
            failures.append({"file": str(kept), "said": said[-3000:]})
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return {"tried": count, "taken": taken, "slowest": slowest, "grown_mb": grown / 1024}


class _First:
    """Stands for `random.Random` where the plain way of reading is wanted."""

    def random(self):
        return 0.6

    def choice(self, values):
        return values[0]


def _too_slow(number, frame):
    raise TooSlowError(f"signal {number}")


def main(folder, count, names):
    torch.set_num_threads(1)
    warnings.simplefilter("error")
    # what image libraries warn of and log about damaged files is for the program to hear or not
    warnings.filterwarnings("ignore", module="PIL")
    for name in ("PIL", "tifffile"):
        logging.getLogger(name).addHandler(logging.NullHandler())
    for name in names or KINDS:
        out = folder / f"{name}.json"
        child = os.fork()
        if child == 0:
            failures, found = [], {}
            try:
                os.chdir(folder)
                sys.stdin = open(os.devnull)  # noqa: SIM115
                found = read_all(name, folder, count, failures)
            except BaseException:
                failures.append({"file": "", "said": traceback.format_exc()})
            out.write_text(json.dumps({**found, "failures": failures}))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if not out.exists():
            ended = os.waitstatus_to_exitcode(status)
            what = f"the process ended with {ended}; the file in hand is the last one kept"
            out.write_text(json.dumps({"failures": [{"file": "", "said": what}]}))
    print(
        json.dumps(
            {name: json.loads((folder / f"{name}.json").read_text()) for name in names or KINDS}
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]), sys.argv[3:])
