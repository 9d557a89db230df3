"""A package of somebody else adds an encoding, a network and a kind of signal: no file of
coordnet knows them, and every command takes them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

HERE = Path(__file__).parent


@pytest.fixture
def coordnet(tmp_path):
    """Run a command in a process that finds the package: coordnet("fit", …) → its output."""

    def call(*arguments, status=0):
        paths = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
        done = subprocess.run(
            [sys.executable, "-m", "coordnet", *map(str, arguments)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"},
            timeout=240,
        )
        assert done.returncode == status, done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr

    return call


@pytest.fixture
def report(tmp_path):
    return lambda: json.loads((tmp_path / "run" / "report.json").read_text())


def test_an_encoding_with_k_and_a_period(coordnet, tmp_path, report):
    pixels = np.random.default_rng(0).integers(0, 255, (6, 8, 3)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "p.png")
    assert "triangles" in coordnet("info", "encodings")
    coordnet(
        *("fit", "p.png", "--encoding", "triangles", "--k", "5", "--tile", "--steps", "9"),
        *("--checkpoint-every", "3", "--out", "run"),
    )
    encoding = report()["field"]["encoding"]
    assert encoding == {"name": "triangles", "in_dim": 2, "k": 5, "period": [1.0, 1.0]}
    coordnet("render", "run", "-o", "big.png", "--size", "16x12")
    with Image.open(tmp_path / "big.png") as picture:
        assert picture.size == (16, 12)
    assert "psnr" in coordnet("evaluate", "run", "p.png")
    assert "triangles(k=5" in coordnet("info", "run")
    coordnet("export", "run", "m.onnx")
    said = coordnet("fit", "p.png", "--encoding", "triangles", "--sigma", "2", status=2)
    assert "--sigma" in said


def test_a_network_of_sines_with_a_learning_rate_of_its_own(coordnet, tmp_path, report):
    pixels = np.random.default_rng(0).integers(0, 255, (6, 8)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "p.png")
    assert "omega" in coordnet("info", "networks")
    coordnet(
        *("fit", "p.png", "--encoding", "identity", "--network", "sines", "--set", "omega=12"),
        *("--layers", "1", "--steps", "9", "--out", "run"),
    )
    network = report()["field"]["network"]
    assert (network["name"], network["omega"], network["num_hidden_layers"]) == ("sines", 12, 1)
    assert report()["config"]["learning_rate"] == 1e-3
    coordnet("render", "run", "-o", "big.png", "--size", "16x12")
    assert "psnr" in coordnet("evaluate", "run", "p.png")
    coordnet("export", "run", "m.onnx")
    said = coordnet("fit", "p.png", "--network", "sines", "--set", "skip=1", status=2)
    assert "network.omega" in said


def test_a_kind_of_signal(coordnet, tmp_path, report):
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    np.savetxt(tmp_path / "egg.outline", np.stack([np.cos(angle), 0.7 * np.sin(angle)], 1))
    assert "outlines" in coordnet("fit", "--help")
    budget = ("--steps", "200", "--device", "cpu", "--out", "run")
    said = coordnet("fit", "egg.outline", "--reverse", "--checkpoint-every", "50", *budget)
    assert "40 corners" in said
    assert report()["task"] == "outline"
    assert report()["field"]["encoding"]["period"] == 1.0
    assert report()["options"]["reverse"] is True
    coordnet("render", "run", "-o", "more.outline", "--corners", "80")
    more = np.loadtxt(tmp_path / "more.outline")
    assert more.shape == (80, 2)
    corners = np.loadtxt(tmp_path / "egg.outline")[::-1]
    assert np.abs(more[::2] - corners).max() < 0.2
    assert "rmse" in coordnet("evaluate", "run", "egg.outline")
    assert "outline: corners 40" in coordnet("info", "run")
    coordnet("export", "run", "m.onnx")
    coordnet("fit", "egg.outline", "--like", "run/report.json", "--out", "again", "--steps", "20")
    said = coordnet("render", "run", "-o", "o.outline", "--rate", "8", status=2)
    assert "--rate belongs to sounds" in said


def test_a_fit_of_the_kind_goes_on(coordnet, tmp_path, report):
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    np.savetxt(tmp_path / "egg.outline", np.stack([np.cos(angle), np.sin(2 * angle)], 1))
    code = f"""
import os, signal, sys
sys.path.insert(0, {str(HERE)!r})
from coordnet.runs import fit_file
steps = 0
def stop():
    global steps
    steps += 1
    return steps > 30
options = {{"steps": 60, "device": "cpu", "out": "run", "checkpoint_every": "10",
           "encoding": "triangles", "k": 3, "network": "sines"}}
result = fit_file("egg.outline", options, stop=stop)
assert (result.steps, result.stop_reason) == (30, "stopped"), result
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=240)
    assert "unfinished, at step 30" in coordnet("info", "run")
    coordnet("fit", "--resume", "run")
    assert report()["steps"] == 60
