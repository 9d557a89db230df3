"""What the command line's tests share: a call in this process, tiny inputs, a run to look at."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from PIL import Image

from coordnet.cli import main
from coordnet.runs import fit_file

DATA = Path(__file__).parents[2] / "data"
TINY = ("--steps", "3", "--hidden-dim", "16", "--layers", "1", "--device", "cpu")


class Outcome(NamedTuple):
    """What a call gave: exit status, standard output, standard error."""

    status: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _default_signals():
    """Let signals end what a test starts, though a shell ignores SIGINT for background jobs."""
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    ignored = [number for number in numbers if signal.getsignal(number) == signal.SIG_IGN]
    for number in ignored:
        default = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, default)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture(autouse=True)
def _stand_in_figures(request, monkeypatch):
    """Drawing costs half a second a fit: only tests that ask for ``real_figures`` draw."""
    if "real_figures" in request.fixturenames:
        return
    for where in (
        "runs.fit.save_curve",
        "pictures.task.save_comparison",
        "series.outputs.save_signal",
        "series.outputs.save_folded",
        "series.outputs.save_k_curve",
        "series.outputs.save_periodogram",
        "scenes.task.save_contact_sheet",
    ):
        monkeypatch.setattr(
            f"coordnet.{where}", lambda path, *a, **k: Path(path).write_bytes(b"figure")
        )


@pytest.fixture
def real_figures():
    """Draw the figures of fits."""


@pytest.fixture
def run(capsys):
    """Call the command line in this process: run("fit", "a.png", …) → Outcome."""

    def call(*arguments):
        capsys.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code
        return Outcome(status, *capsys.readouterr())

    return call


@pytest.fixture
def fit(run):
    """Fit for a few steps and expect success: fit("a.png", "--tile") → (Outcome, report)."""

    def call(path, *options, out="run", tiny=TINY):
        found = run("fit", path, *tiny, "--out", out, *options)
        assert (found.status, found.err) == (0, "")
        return found, read_report(out)

    return call


@pytest.fixture
def refused(run, tmp_path):
    """Expect one line on standard error with all the words, and no file touched."""

    def call(*arguments, words=(), status=2):
        before = contents(tmp_path)
        found = run(*arguments)
        assert found.status == status
        assert_one_line(found.err, *words)
        assert contents(tmp_path) == before
        return found

    return call


@pytest.fixture
def report():
    """Read a run's report as strict JSON."""
    return read_report


@pytest.fixture
def picture():
    """Save an array as a picture (uint8 or uint16): picture("a.png", array) → its path."""

    def save(name, pixels, **options):
        Image.fromarray(np.ascontiguousarray(pixels)).save(name, **options)
        return Path(name)

    return save


@pytest.fixture
def pixels():
    """Pictures of reproducible noise: pixels(12, 20, 3) → (12, 20, 3) uint8."""

    def draw(*shape, peak=255, dtype=np.uint8):
        return np.random.default_rng(0).integers(0, peak, shape, endpoint=True).astype(dtype)

    return draw


@pytest.fixture
def opened():
    """Load a picture and close its file: opened("a.png") → a PIL image."""
    return load_picture


@pytest.fixture
def values_of():
    """Read a picture as values in [0, 1], by the depth of its file."""

    def read(path):
        pixels = np.asarray(load_picture(path))
        return pixels / (255 if pixels.dtype == np.uint8 else 65535)

    return read


@pytest.fixture
def table():
    """Save columns as CSV: table("a.csv", t=…, v=…) → its path."""

    def save(name, **columns):
        rows = zip(*(np.asarray(c).tolist() for c in columns.values()), strict=True)
        lines = [",".join(columns), *(",".join(map(repr, row)) for row in rows)]
        Path(name).write_text("\n".join(lines) + "\n")
        return Path(name)

    return save


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """A run of a 20 x 12 RGB picture, for looking at only; the picture lies beside it."""
    folder = tmp_path_factory.mktemp("fitted")
    noise = np.random.default_rng(0).integers(0, 255, (12, 20, 3), endpoint=True)
    Image.fromarray(noise.astype(np.uint8)).save(folder / "noise.png")
    options = {"steps": 40, "hidden_dim": 32, "layers": 1, "device": "cpu", "out": folder / "run"}
    fit_file(folder / "noise.png", options)
    return folder


@pytest.fixture(scope="session")
def fitted_table(tmp_path_factory):
    """A run of 24 samples of two columns over three periods, for looking at only."""
    folder = tmp_path_factory.mktemp("fitted_table")
    t = np.arange(24) / 8
    rows = [",".join(map(repr, row)) for row in np.stack([t, np.sin(7 * t), np.cos(t)], 1).tolist()]
    (folder / "two.csv").write_text("\n".join(["t,a,b", *rows]) + "\n")
    options = {
        "steps": 20,
        "hidden_dim": 16,
        "layers": 1,
        "periods": (1.0,),
        "device": "cpu",
        "out": folder / "run",
    }
    fit_file(folder / "two.csv", options)
    return folder


@pytest.fixture
def process(tmp_path):
    """Run the command line in a process of its own, with no display and pipes for streams."""

    def call(*arguments, code=None, **changes):
        start = ["-m", "coordnet"] if code is None else ["-c", code]
        return subprocess.run(
            [sys.executable, *start, *map(str, arguments)],
            capture_output=True,
            text=True,
            encoding="utf-8",
            cwd=tmp_path,
            env=bare_environment(**changes),
            timeout=120,
        )

    return call


@pytest.fixture(scope="session")
def fork_server():
    """A process that has torch imported; None where processes cannot fork."""
    if not hasattr(os, "fork"):
        yield None
        return
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("fork_server.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=bare_environment(),
    )
    with server:
        yield server
        server.stdin.close()


@pytest.fixture
def forked(fork_server, tmp_path):
    """Run code in a process of its own, without the seconds that imports take.

    forked("code", "argument", …) → Outcome, with both streams as ``out``.
    """
    if fork_server is None:
        pytest.skip("needs fork")

    def call(code, *arguments):
        log = tmp_path / ".log"
        request = {"code": code, "arguments": [str(each) for each in arguments]}
        request |= {"folder": str(tmp_path), "log": str(log)}
        fork_server.stdin.write(json.dumps(request) + "\n")
        fork_server.stdin.flush()
        status = int(fork_server.stdout.readline())
        said = log.read_text(encoding="utf-8")
        log.unlink()
        return Outcome(status, said, "")

    return call


@pytest.fixture
def environment():
    """Build the environment of such a process."""
    return bare_environment


@pytest.fixture
def one_line():
    """Check that a text is one line of coordnet's with all the words."""
    return assert_one_line


@pytest.fixture
def tree():
    """Read every file below a folder: tree(path) → {name: bytes}."""
    return contents


@pytest.fixture
def data():
    """The folder of shipped data."""
    return DATA


def load_picture(path):
    with Image.open(path) as file:
        file.load()
        return file


def bare_environment(**changes):
    removed = ("DISPLAY", "WAYLAND_DISPLAY", "MPLBACKEND", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if name not in removed}
    return {**kept, "OMP_NUM_THREADS": "1", **changes}


def assert_one_line(text, *words):
    assert text.startswith("coordnet")
    assert text.endswith("\n")
    assert text.count("\n") == 1
    assert "Traceback" not in text
    for word in words:
        assert word in text, text


def read_report(folder):
    def reject(name):
        raise ValueError(f"{name} is no JSON")

    text = (Path(folder) / "report.json").read_text(encoding="utf-8")
    return json.loads(text, parse_constant=reject)


def contents(folder):
    found = sorted(Path(folder).rglob("*"))
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in found}
