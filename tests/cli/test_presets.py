import json
from pathlib import Path

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.tasks.presets import PRESETS, recipe


def grid_parameters(size):
    made = recipe(None, None, size, (False, False))
    grid = cn.HashGrid(2, **made.settings, seed=0)
    network = cn.MLP(grid.out_dim, size[2], made.hidden_dim, made.layers, seed=0)
    return sum(p.numel() for p in [*grid.parameters(), *network.parameters()])


@pytest.mark.parametrize(
    "size", [(512, 512, 3), (512, 768, 3), (768, 512, 1), (300, 451, 4), (100, 2000, 3)]
)
def test_the_grid_has_no_more_numbers_than_the_picture(size):
    values = size[0] * size[1] * size[2]
    assert 0.5 * values < grid_parameters(size) <= values


@pytest.mark.parametrize("size", [(1, 1, 3), (1, 300, 3), (2, 2, 1), (5, 3, 4)])
def test_tiny_pictures_have_a_grid(size):
    assert grid_parameters(size) > 0


def test_large_pictures_have_a_bounded_grid():
    assert grid_parameters((20_000, 20_000, 3)) < 10_000_000


@pytest.mark.parametrize("encoding", [None, "hashgrid"])
def test_grids_hurry_where_seconds_are_few(encoding):
    rates = [
        recipe(None, encoding, (64, 64, 3), (False, False), seconds).config["learning_rate"]
        for seconds in (1.0, 2.0, 2.1, None)
    ]
    assert rates == [0.02, 0.02, 0.01, 0.01]


@pytest.mark.parametrize(
    ("fast", "seconds", "optimizer"),
    [(True, 10, "adam"), (True, 11, "muon"), (False, 20, "adam"), (False, 21, "muon")],
)
def test_a_wide_network_takes_adam_where_there_is_time_for_few_steps(
    fast, seconds, optimizer, monkeypatch
):
    monkeypatch.setattr("coordnet.training.runtime.choose_device", lambda: torch.device("cpu"))
    monkeypatch.setattr("coordnet.training.runtime.fast_bf16", lambda device: fast)
    for preset, encoding in (("quality", None), (None, "gaussian")):
        made = recipe(preset, encoding, (512, 512, 3), (False, False), seconds)
        assert cn.FitConfig(**made.config).optimizer == optimizer
    unlimited = recipe("quality", None, (512, 512, 3), (False, False))
    narrow = recipe("small", None, (512, 512, 3), (False, False), seconds)
    assert cn.FitConfig(**unlimited.config).optimizer == "muon"
    assert cn.FitConfig(**narrow.config).optimizer == "muon"


@pytest.mark.parametrize("preset", [None, *PRESETS])
def test_every_preset_fits(preset, run, picture, pixels):
    picture("p.png", pixels(9, 14, 3))
    chosen = [] if preset is None else ["--preset", preset]
    found = run("fit", "p.png", "--steps", "3", "--out", "run", *chosen)
    assert found.status == 0, found.err
    report = json.loads(Path("run/report.json").read_text())
    assert np.isfinite(report["metrics"]["psnr"])
    assert ("--preset quality" in found.out) == (preset in (None, "fast"))


def test_the_help_says_what_each_preset_is_for(run):
    found = run("fit", "--help")
    text = " ".join(found.out.split())
    for name in PRESETS:
        assert name in text


def test_the_report_says_the_error_of_the_model(run, picture, pixels):
    picture("p.png", pixels(20, 30, 3))
    assert run("fit", "p.png", "--steps", "40", "--out", "run").status == 0
    report = json.loads(Path("run/report.json").read_text())
    field = cn.load("run/model.safetensors")
    target = cn.read_image("p.png").values()
    expected = cn.psnr(cn.render_image(field, 20, 30), target, clamp=True)
    assert report["metrics"]["psnr"] == pytest.approx(expected, abs=1e-6)
