"""Runs that fail in the middle, each for the real reason: disks, folders, memory, signals."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import coordnet as cn
from coordnet.training import minimizing
from coordnet.training.checkpoint_file import read_checkpoint

FIT = ("fit", "p.png", "--hidden-dim", "16", "--layers", "1", "--device", "cpu", "--out", "run")
MODEL = Path("run/model.safetensors")
CHECKPOINT = Path("run/checkpoint.safetensors")
OUTPUTS = {
    *("model.safetensors", "reconstruction.png", "comparison.png", "curve.png", "report.json")
}

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")


@pytest.fixture(autouse=True)
def _noise(picture, pixels):
    picture("p.png", pixels(12, 20, 3))


@pytest.fixture
def at_step(monkeypatch):
    """Do something once, before a step of the next fit: at_step(20, action)."""

    def prepare(step, action):
        real, left = minimizing.take_step, [action]

        def first(state, *arguments):
            if left and state.step == step:
                left.pop()()
            return real(state, *arguments)

        monkeypatch.setattr(minimizing, "take_step", first)

    return prepare


@pytest.fixture
def disk():
    """Mount a small disk in memory: disk("run", "64k"), disk("run", "64k,ro") → its unmount."""
    if sys.platform != "linux" or shutil.which("mount") is None:
        pytest.skip("needs Linux, to mount a small disk")
    mounted = []

    def mount(folder, size):
        Path(folder).mkdir(exist_ok=True)
        where = str(Path(folder).resolve())
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "coordnet-test", where]
        if subprocess.run(command, capture_output=True, check=False).returncode != 0:
            pytest.skip("needs the right to mount a small disk")
        mounted.append(where)
        return lambda: subprocess.run(["umount", mounted.pop()], check=True)

    yield mount
    for where in reversed(mounted):
        subprocess.run(["umount", "--lazy", where], check=True)


def step_of(path):
    with read_checkpoint(path) as file:
        return file.integer("step")


def size_of_model(run):
    """Fit once for the size of the file, in bytes; a checkpoint is three times as large."""
    assert run(*FIT[:-1], "sizes", "--steps", "4").status == 0
    return Path("sizes/model.safetensors").stat().st_size


# --- disks


def test_a_disk_that_is_full_at_a_checkpoint_does_not_end_the_fit(run, disk, at_step):
    disk("run", "1m")
    filler = Path("run/filler")

    def fill():
        # not enough for a checkpoint, enough for the model and the pictures
        room = CHECKPOINT.stat().st_size - 8192
        filler.write_bytes(bytes(shutil.disk_usage("run").free - room))

    steps = []
    at_step(12, fill)
    at_step(21, lambda: steps.append(step_of(CHECKPOINT)))
    # a checkpoint several times as large as the pictures
    wide = ("--hidden-dim", "64", "--layers", "3")
    found = run(*FIT, *wide, "--steps", "30", "--checkpoint-every", "5")
    assert (found.status, found.err) == (0, "")
    assert steps == [10]
    filler.unlink()
    warnings = [line for line in found.out.splitlines() if "warning" in line]
    assert len(warnings) == 1
    for word in ("checkpoint.safetensors", "No space left", "The fit goes on", "the last one"):
        assert word in warnings[0]
    assert {path.name for path in Path("run").iterdir()} == OUTPUTS


def test_a_disk_that_is_full_at_the_end_keeps_the_checkpoint(run, disk, one_line, at_step):
    disk("run", "1m")
    at_step(12, lambda: Path("run/filler").write_bytes(bytes(shutil.disk_usage("run").free)))
    found = run(*FIT, "--steps", "20", "--checkpoint-every", "10")
    assert found.status == 1
    one_line(found.err, "run/model.safetensors", "No space left")
    assert {path.name for path in Path("run").iterdir()} == {"checkpoint.safetensors", "filler"}
    assert "coordnet fit --resume run" in found.out
    assert step_of(CHECKPOINT) == 10
    Path("run/filler").unlink()
    found = run("fit", "--resume", "run")
    assert (found.status, found.err) == (0, "")
    assert "from step 10" in found.out


def test_a_disk_without_room_for_the_model_is_refused_before_the_fit(run, disk, refused):
    model = size_of_model(run)
    disk("run", 4096 * (model // 4096))
    MODEL.write_bytes(b"an earlier run")
    refused(*FIT, "--overwrite", words=["room for the model", "MB free in 'run'"])


def test_a_disk_that_becomes_read_only(run, disk, one_line, at_step):
    # a disk that is read-only, over the one that the fit began on
    at_step(12, lambda: uncover.append(disk("run", "1m,ro")))
    uncover = []
    found = run(*FIT, "--steps", "30", "--checkpoint-every", "10")
    uncover[0]()
    assert found.status == 1
    one_line(found.err, "run/model.safetensors", "Read-only file system")
    assert found.out.count("warning:") == 1
    assert step_of(CHECKPOINT) == 10
    assert run("fit", "--resume", "run").status == 0


def test_a_read_only_folder_is_refused_before_the_fit(disk, refused):
    disk("locked", "1m,ro")
    refused("fit", "p.png", "--out", "locked", words=["locked", "Read-only"])
    refused("fit", "p.png", "--out", "locked/run", words=["locked/run", "Read-only"])


SHORT_FILES = """
import resource, sys
from coordnet.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""


@posix
def test_a_limit_that_the_model_keeps_and_the_checkpoint_does_not(run, forked):
    """Where no disk may be mounted: the same through a limit on the size of files."""
    model = size_of_model(run)
    found = forked(SHORT_FILES, 2 * model, *FIT, "--steps", "9", "--checkpoint-every", "2")
    assert found.status == 0, found.out
    assert found.out.count("warning:") == 1
    assert "File too large. The fit goes on; there is none yet." in found.out
    assert {path.name for path in Path("run").iterdir()} == OUTPUTS
    assert "File too large" in Path("run/report.json").read_text()


# --- folders


def test_a_folder_that_is_removed_during_the_fit_is_made_again(run, at_step):
    at_step(12, lambda: shutil.rmtree("run"))
    found = run(*FIT, "--steps", "20", "--checkpoint-every", "10")
    assert (found.status, found.err) == (0, "")
    assert "run was removed during the fit; it is made again" in found.out
    assert "checkpoint.safetensors could not be written" in found.out
    assert {path.name for path in Path("run").iterdir()} == OUTPUTS


def test_a_file_that_takes_the_place_of_the_folder(run, at_step, one_line):
    def replace():
        shutil.rmtree("run")
        Path("run").write_text("mine")

    at_step(12, replace)
    found = run(*FIT, "--steps", "20")
    assert found.status == 1
    one_line(found.err, "run")
    assert Path("run").read_text() == "mine"


def test_an_output_that_is_a_file(refused):
    Path("run").write_text("mine")
    refused(*FIT, words=["run", "which is a file"])
    refused("fit", "--resume", "run", words=["run"])
    refused("fit", "p.png", "--out", "run/below", words=["run/below"])


# --- memory


LITTLE_MEMORY = """
import contextlib, io, resource, sys
from coordnet.cli import main
if "--batch-size" in sys.argv:
    with contextlib.redirect_stdout(io.StringIO()):
        # kernels are made on first use
        main([*sys.argv[2:-1], "warm", "--batch-size", "64", "--overwrite"])
with open("/proc/self/status") as status:
    size = next(line for line in status if line.startswith("VmSize"))
most = int(size.split()[1]) * 1024 + int(sys.argv[1]) * 2**20
resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
sys.exit(main(sys.argv[2:]))
"""

NEEDS_PROC = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="needs Linux, to limit memory"
)


@NEEDS_PROC
def test_where_memory_runs_out_blocks_halve_and_the_fit_goes_on(forked, table, report):
    t = [i / 64 for i in range(16_384)]
    table("t.csv", t=t, v=[x * x for x in t])
    fit = ("fit", "t.csv", "--batch-size", "16384", "--hidden-dim", "256", "--steps", "2")
    fit += ("--layers", "6", "--device", "cpu", "--precision", "float32", "--out")
    enough = forked(LITTLE_MEMORY, 4000, *fit, "enough")
    assert enough.status == 0, enough.out
    assert "not enough memory" not in enough.out
    little = forked(LITTLE_MEMORY, 130, *fit, "little")
    assert little.status == 0, little.out
    said = [line for line in little.out.splitlines() if "not enough memory" in line]
    assert said[0].strip() == (
        "warning: not enough memory for 16,384 samples at once: going on with 8,192"
    )
    about, other = report("little"), report("enough")
    assert about["steps"] == 2
    assert [w for w in about["warnings"] if "16,384 samples" in w]
    # the failed step was redone, and left nothing behind
    assert about["history"][-1]["loss"] == pytest.approx(other["history"][-1]["loss"], rel=1e-4)


@NEEDS_PROC
def test_memory_that_no_block_is_small_enough_for(forked, one_line):
    """The model itself does not fit: one line, and no folder."""
    wide = ("fit", "p.png", "--hidden-dim", "6000", "--layers", "4", "--device", "cpu")
    found = forked(LITTLE_MEMORY, 200, *wide, "--out", "run")
    assert found.status == 1
    one_line(found.out, "not enough memory")
    assert not Path("run").exists()


# --- signals


@posix
@pytest.mark.parametrize(
    ("number", "status", "word"),
    [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated"), ("SIGHUP", 129, "gone")],
)
def test_a_signal_during_the_fit_saves_it(run, at_step, one_line, report, number, status, word):
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    at_step(6, lambda: signal.raise_signal(getattr(signal, number)))
    found = run(*FIT)
    assert found.status == status
    one_line(found.err, word, "what was fitted so far is saved")
    assert report("run")["steps"] == 7
    assert {path.name for path in Path("run").iterdir()} == {*OUTPUTS, CHECKPOINT.name}
    assert {n: signal.getsignal(n) for n in before} == before


@posix
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_second_signal_ends_at_once(run, fit, at_step, one_line, number):
    fit("p.png")
    before = MODEL.read_bytes()

    def both():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(getattr(signal, number))

    at_step(26, both)
    found = run(*FIT, "--overwrite", "--checkpoint-every", "10")
    assert found.status == 128 + getattr(signal, number)
    one_line(found.err)
    assert MODEL.read_bytes() == before
    assert step_of(CHECKPOINT) == 20
    assert "coordnet fit --resume run" in found.out


@posix
@pytest.mark.parametrize("earlier", [False, True])
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_signal_while_the_pictures_are_made(
    run, fit, one_line, monkeypatch, report, number, earlier
):
    """The first one ends it: the model is saved already, and the report is written."""
    if earlier:
        fit("p.png")

    def slow(*arguments, **options):
        signal.raise_signal(getattr(signal, number))
        pytest.fail("it should have ended")

    monkeypatch.setattr("coordnet.pictures.task.measure", slow)
    found = run(*FIT, "--steps", "8", "--overwrite", "--seed", "4")
    assert found.status == 128 + getattr(signal, number)
    one_line(found.err, "the model is saved, not all of its pictures")
    assert {path.name for path in Path("run").iterdir()} == {MODEL.name, "report.json"}
    assert cn.load(MODEL)
    about = report("run")
    assert (about["steps"], about["seed"], about["metrics"]["psnr"]) == (8, 4, None)


@posix
@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
def test_a_signal_before_the_first_step_saves_nothing(refused, monkeypatch, number):
    def early(*arguments, **options):
        signal.raise_signal(getattr(signal, number))

    monkeypatch.setattr("coordnet.kinds.task.fit", early)
    refused("fit", "p.png", status=128 + getattr(signal, number))


TERMINAL = """
import fcntl, os, sys, termios
from coordnet.training import minimizing
real = minimizing.take_step
master, terminal = os.openpty()
os.setsid()
fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
for number in (0, 1, 2):
    os.dup2(terminal, number)
os.close(terminal)
sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))
def step(state, *rest):
    if state.step == 8:
        os.close(master)  # as when the window is closed, or the connection lost
    return real(state, *rest)
minimizing.take_step = step
from coordnet.cli import main
status = main(sys.argv[1:])
os._exit(status)
"""


@posix
def test_a_terminal_that_goes_away(forked, report):
    found = forked(TERMINAL, *FIT)
    assert found.status == 129, found.out
    assert 8 <= report("run")["steps"] < 40
    assert {path.name for path in Path("run").iterdir()} == {*OUTPUTS, CHECKPOINT.name}


CLOSED = """
import os, sys
from coordnet.cli import main
from coordnet.training import minimizing
real, (reader, writer) = minimizing.take_step, os.pipe()
os.dup2(writer, 1)
os.close(writer)
def step(state, *rest):
    if state.step == 3:
        os.close(reader)
    return real(state, *rest)
minimizing.take_step = step
sys.exit(main(sys.argv[1:]))
"""


@posix
def test_a_reader_that_goes_away_does_not_end_the_fit(forked, report):
    """As of a pipe to tee, or to head."""
    found = forked(CLOSED, *FIT, "--steps", "12", "--checkpoint-every", "5")
    assert (found.status, found.out) == (0, "")
    assert report("run")["steps"] == 12


@posix
def test_signals_that_are_switched_off_stay_off(run, at_step):
    """As nohup does with SIGHUP."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        at_step(2, lambda: signal.raise_signal(signal.SIGHUP))
        found = run(*FIT, "--steps", "5")
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
    assert found.status == 0


@posix
def test_sigterm_in_a_process_of_its_own(picture, pixels, environment, one_line, tmp_path):
    """As a scheduler sends it at the end of a job's time."""
    code = "import sys; from coordnet.training import minimizing; real = minimizing.take_step\n"
    code += "def step(state, *rest):\n    if state.step == 9: print('under way', flush=True)\n"
    code += "    return real(state, *rest)\nminimizing.take_step = step\n"
    code += "from coordnet.cli import main; sys.exit(main(sys.argv[1:]))"
    fit = subprocess.Popen(
        [sys.executable, "-c", code, *FIT, "--seconds", "60"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=environment(),
    )
    with fit:
        assert fit.stdout is not None
        while "under way" not in fit.stdout.readline():
            assert fit.poll() is None
        fit.terminate()
        out, err = fit.communicate(timeout=100)
    assert fit.returncode == 143
    one_line(err, "terminated", "saved")
    assert "wrote run" in out
    assert os.listdir("run")
