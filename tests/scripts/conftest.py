"""Running a script as a user does, and reading what it wrote."""

import importlib.util
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def script(tmp_path):
    """Run scripts/NAME with arguments in an empty folder, with warnings as errors."""

    def run(name, *arguments):
        path = ROOT / "scripts" / name
        # one thread: these networks are small, and the numbers then repeat
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MPLBACKEND": "tkagg"}
        environment.pop("DISPLAY", None)
        return subprocess.run(
            [sys.executable, path, *map(str, arguments)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            encoding="utf-8",
        )

    return run


@pytest.fixture
def load(monkeypatch):
    """Import scripts/NAME.py."""

    def load(name):
        monkeypatch.syspath_prepend(str(ROOT / "scripts"))
        spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def error_of(load, monkeypatch, tmp_path, capsys):
    """Run a script's main in this process; return its one line of error."""

    def run(name, *arguments):
        module = load(name)
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, *map(str, arguments)])
        with pytest.raises(SystemExit) as exit:
            module.main()
        assert exit.value.code == 2
        line = capsys.readouterr().err
        assert line.startswith(f"{name}: error: ")
        assert line.count("\n") == 1
        return line

    return run


@pytest.fixture
def read_json():
    """Read a JSON file that must hold no Infinity or NaN."""

    def read(path):
        def refuse(token):
            raise AssertionError(f"{path} holds {token}")

        return json.loads(path.read_text("utf-8"), parse_constant=refuse)

    return read


@pytest.fixture
def check_picture():
    """Check that a file is a PNG of some size with something on it."""

    def check(path, least=600):
        import coordnet as cn

        pixels = cn.read_image(path).pixels
        assert min(pixels.shape[:2]) >= least
        assert math.sqrt(pixels[..., :3].astype(float).var()) > 10

    return check
