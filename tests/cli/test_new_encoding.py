"""An encoding added as CONTRIBUTING says, one class and one line in ENCODINGS, on every path."""

import importlib
import math
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.encodings import ENCODINGS


@pytest.fixture(autouse=True)
def triangles(monkeypatch):
    """The class of the package in tests/extension, as if it were coordnet's own."""
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "extension")
    module = importlib.import_module("coordnet_outlines.triangles")
    monkeypatch.setitem(sys.modules, "coordnet.encodings.triangles", module)
    monkeypatch.setitem(ENCODINGS._entries, "triangles", "triangles:Triangles")
    return module.Triangles


def values(x):
    field = cn.load("run/model.safetensors")
    with torch.no_grad():
        return field(torch.as_tensor(x, dtype=torch.float64))


def encoding_of(report):
    return report["field"]["encoding"]


@pytest.mark.parametrize(
    ("flags", "period"),
    [
        ((), [2.0, 2.0]),
        (("--tile",), [1.0, 1.0]),
        (("--wrap", "x"), [1.0, 2.0]),
        (("--wrap", "y"), [2.0, 1.0]),
    ],
)
def test_a_picture(run, fit, picture, pixels, opened, flags, period):
    picture("p.png", pixels(6, 8, 3))
    _, report = fit("p.png", "--encoding", "triangles", "--k", "5", *flags)
    assert encoding_of(report) == {"name": "triangles", "in_dim": 2, "k": 5, "period": period}
    x = torch.rand(20, 2, generator=torch.Generator().manual_seed(0))
    x = (x * 1024).round().double() / 1024
    shift = torch.tensor([[float(each == 1.0) for each in period]])
    assert torch.equal(values(x + shift), values(x))
    if flags != ("--tile",):
        assert not torch.equal(values(x + 1.0), values(x))
    assert run("render", "run", "-o", "big.png", "--size", "16x12").status == 0
    assert opened("big.png").size == (16, 12)
    assert run("evaluate", "run", "p.png").status == 0


@pytest.mark.parametrize("k", [(), ("--k", "3")])
def test_a_table(run, fit, k):
    t = np.arange(96)
    rows = (f"{n},{math.sin(2 * math.pi * n / 24)!r}" for n in t.tolist())
    with open("t.csv", "w") as file:
        file.write("\n".join(["t,y", *rows]))
    _, report = fit("t.csv", "--encoding", "triangles", "--period", "24", *k)
    wanted = {"name": "triangles", "in_dim": 1, "k": 3 if k else 8, "period": [24.0]}
    assert encoding_of(report) == wanted
    assert torch.equal(values(t[:, None] + 24.0), values(t[:, None]))
    assert run("render", "run", "-o", "curve.csv", "--size", "7").status == 0
    assert cn.series.read_table("curve.csv").y.shape == (7, 1)
    _, report = fit("t.csv", "--encoding", "triangles", *k, out="free")
    assert encoding_of(report)["period"] == [190.0]  # twice the extent: the ends do not meet


def test_a_sound(fit, tmp_path):
    cn.sounds.write_audio(tmp_path / "s.wav", np.linspace(-0.5, 0.5, 800)[:, None], 8000)
    _, report = fit("s.wav", "--encoding", "triangles", "--k", "4")
    wanted = {"name": "triangles", "in_dim": 1, "k": 4, "period": [0.2]}
    assert encoding_of(report) == wanted


def test_it_is_among_the_choices_and_in_refusals(run, refused, picture, pixels):
    picture("p.png", pixels(6, 8, 3))
    assert "triangles" in run("info", "encodings").out
    refused(
        "fit", "p.png", "--encoding", "triangles", "--sigma", "2", words=["--sigma", "gaussian"]
    )
    refused("fit", "p.png", "--encoding", "identity", "--tile", words=["or triangles", "identity"])
    refused("fit", "p.png", "--encoding", "identity", "--k", "2", words=["or triangles", "--k 2"])


def test_a_period_that_the_encoding_does_not_have_is_refused(refused, triangles, monkeypatch):
    monkeypatch.setattr(
        triangles, "for_signal", classmethod(lambda cls, signal: {"k": 2, "period": 12.0})
    )
    with open("t.csv", "w") as file:
        file.write("\n".join(["t,y", *(f"{n},{n % 24}" for n in range(96))]))
    words = ["--period", "--encoding triangles"]
    refused("fit", "t.csv", "--encoding", "triangles", "--period", "24", words=words)
    words = ["--period", "--encoding densegrid", "harmonic"]
    refused("fit", "t.csv", "--encoding", "densegrid", "--period", "24", words=words)
