"""Damaged files of every kind: taken or refused, with no other error, memory blow-up or hang.

COORDNET_FUZZ=20000 tries that many files of each kind, instead of a few.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("soundfile")
pytest.importorskip("tifffile")

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="memory is limited as Linux does it"
)

COUNT = int(os.environ.get("COORDNET_FUZZ", "60"))
KINDS = (
    *("pictures", "tables", "sounds", "models", "runs", "checkpoints", "reports"),
    *("transforms", "colmap", "llff"),
)


def environment():
    return {**os.environ, "OMP_NUM_THREADS": "1"}


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    """What came of all hostile files, by kind."""
    found = subprocess.run(
        [
            *(sys.executable, str(Path(__file__).with_name("batch.py"))),
            *(str(tmp_path_factory.mktemp("fuzz")), str(COUNT), *KINDS),
        ],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120 + COUNT,
    )
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout)


@pytest.mark.parametrize("kind", KINDS)
def test_a_hostile_file_is_taken_or_refused(read, kind):
    found = read[kind]
    said = [f"{each['file']}\n{each['said']}" for each in found["failures"]]
    assert not said, f"{len(said)} of {COUNT}, first {said[0]}"
    assert found["tried"] == COUNT
    # some survive the damage, and some do not
    assert 0 < found["taken"] < COUNT


def command(folder, *arguments):
    return subprocess.run(
        [sys.executable, "-m", "coordnet", *arguments],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=folder,
        timeout=120,
    )


class Touch:
    """Unpickling this makes a file."""

    def __reduce__(self):
        return os.system, ("touch executed",)


def pickled(folder):
    import pickle

    (folder / "model.safetensors").write_bytes(pickle.dumps(Touch()))
    return "info", "model.safetensors"


def pickled_array(folder):
    import numpy as np

    (folder / "images").mkdir()
    np.save(folder / "poses_bounds.npy", np.array([Touch()], dtype=object), allow_pickle=True)
    return "fit", "."


def bomb(folder):
    import struct
    import zlib

    head = struct.pack(">IIBBBBB", 2**31 - 1, 2**31 - 1, 8, 6, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(bytes(10**6))), (b"IEND", b"")]
    data = b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )
    (folder / "line\nbreak\x1b[2J.png").write_bytes(b"\x89PNG\r\n\x1a\n" + data)
    return "fit", "line\nbreak\x1b[2J.png"


def nested(folder):
    (folder / "report.json").write_text('{"options":' * 100_000)
    (folder / "a.csv").write_text("t,y\n0,1\n1,2\n2,4\n")
    return "fit", "a.csv", "--like", "report.json"


@pytest.mark.parametrize("make", [pickled, pickled_array, bomb, nested])
def test_the_command_line_says_one_line_and_runs_nothing(make, tmp_path):
    found = command(tmp_path, *make(tmp_path))
    assert found.returncode == 2
    assert found.stderr.count("\n") == 1
    assert found.stderr.startswith("coordnet: error: ")
    assert not (tmp_path / "executed").exists()
