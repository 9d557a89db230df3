"""The command line as a process: exit status, streams, signals, what is imported."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

TINY = ("--steps", "3", "--hidden-dim", "32", "--layers", "1", "--out", "run")

MODULES = """
import sys
from coordnet.cli import main
try:
    main(sys.argv[1:])
finally:
    print(*sys.modules, file=sys.stderr)
"""

# a fit that makes a file at its tenth step
TELLING = """
import sys
from coordnet.cli import main
from coordnet.kinds import task as module
real = module.fit
def fit(*arguments, stop, **options):
    asked = []
    def ask():
        asked.append(1)
        if len(asked) == 10:
            open("under way", "w").close()
        return stop()
    return real(*arguments, stop=ask, **options)
module.fit = fit
sys.exit(main(sys.argv[1:]))
"""

SHORT_FILES = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
from coordnet.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("arguments", [["--help"], ["fit", "--help"], ["--version"], ["fit"]])
def test_help_and_usage_import_nothing_heavy(process, arguments):
    found = process(*arguments, code=MODULES)
    modules = found.stderr.splitlines()[-1].split()
    assert "coordnet.cli.arguments" in modules
    assert not {"torch", "numpy", "matplotlib", "PIL", "tqdm", "imageio"} & set(modules)


def test_fits_and_pictures_do_not_import_a_compiler(process, picture, pixels):
    picture("p.png", pixels(5, 7, 3))
    for arguments in (("fit", "p.png", *TINY), ("render", "run", "-o", "again.png")):
        found = process(*arguments, code=MODULES)
        assert found.returncode == 0, found.stderr
        modules = found.stderr.splitlines()[-1].split()
        assert "torch" in modules
        assert not {"torch._dynamo", "torch._inductor", "sympy"} & set(modules)


def test_a_fit_without_display_into_pipes_of_another_character_set(process, picture, pixels):
    picture("p.png", pixels(5, 7, 3))
    found = process("fit", "p.png", *TINY, PYTHONIOENCODING="ascii")
    assert (found.returncode, found.stderr) == (0, "")
    assert "? 8 features ?" in found.stdout
    assert "wrote run" in found.stdout
    assert len(list(Path("run").iterdir())) == 5
    assert Path("run/comparison.png").read_bytes().startswith(b"\x89PNG")


def test_bad_input_is_status_2_and_one_line(process, one_line):
    found = process("fit", "missing.png")
    assert (found.returncode, found.stdout) == (2, "")
    one_line(found.stderr, "missing.png")
    found = process("fit", "p.png", "--k", "0")
    assert (found.returncode, found.stdout) == (2, "")
    one_line(found.stderr, "--k")


def test_no_command_is_status_2(process, one_line):
    found = process()
    assert found.returncode == 2
    one_line(found.stderr, "command")


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_ctrl_c_saves_the_run(picture, pixels, environment, one_line):
    picture("p.png", pixels(5, 7, 3))
    command = [sys.executable, "-c", TELLING, "fit", "p.png", "--seconds", "60", "--out", "run"]
    fit = subprocess.Popen(
        [*command, "--hidden-dim", "16"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=environment(),
    )
    with fit:
        assert fit.stdout is not None
        # a pipe gets every line at once: the choices can be read long before the fit ends
        assert "p.png" in fit.stdout.readline()
        while not Path("under way").exists() and fit.poll() is None:
            time.sleep(0.02)
        fit.send_signal(signal.SIGINT)
        out, err = fit.communicate(timeout=100)
    assert fit.returncode == 130
    one_line(err, "interrupted", "saved")
    assert "wrote run" in out
    report = json.loads(Path("run/report.json").read_text(encoding="utf-8"))
    assert report["stop_reason"] == "stopped"
    assert report["steps"] >= 9


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX limits")
def test_a_file_that_cannot_be_written_whole(process, picture, pixels, one_line):
    picture("p.png", pixels(5, 7, 3))
    found = process("fit", "p.png", *TINY, code=SHORT_FILES)
    assert found.returncode == 1
    one_line(found.stderr, "run/model.safetensors", "File too large")
    assert os.listdir() == ["p.png"]


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX pipes")
def test_a_reader_that_goes_away_is_no_traceback(environment):
    info = subprocess.Popen(
        [sys.executable, "-m", "coordnet", "info", "encodings"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    with info:
        assert info.stdout is not None
        assert info.stderr is not None
        info.stdout.close()
        said = info.stderr.read()
        deadline = time.monotonic() + 100
        while info.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
    assert said == b""
    assert info.returncode == 1
