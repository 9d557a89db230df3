import json
from pathlib import Path

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.kinds import Listener
from coordnet.pictures import PictureOptions, PictureTask
from coordnet.pictures.presets import PRESETS, recipe


def grid_of(size, repeats=(False, False)):
    made = recipe(None, None, size, repeats)
    return made, cn.HashGrid(2, **made.settings, seed=0)


def parameters(size, repeats=(False, False)):
    made, grid = grid_of(size, repeats)
    network = cn.MLP(grid.out_dim, size[2], made.hidden_dim, made.layers, seed=0)
    return sum(p.numel() for p in [*grid.parameters(), *network.parameters()])


REPEATS = [(False, False), (True, False), (False, True), (True, True)]
WITH_A_VERTEX_EACH = [(32, 32, 3), (33, 47, 3), (96, 64, 4), (211, 180, 3), (1, 1200, 3)]
FURTHER_APART = [(64, 64, 1), (128, 100, 1), (75, 80, 2), (3, 900, 3), (2, 3000, 1)]


@pytest.mark.parametrize("repeats", REPEATS)
@pytest.mark.parametrize("size", [*WITH_A_VERTEX_EACH, *FURTHER_APART])
def test_the_grid_has_no_more_numbers_than_the_picture(size, repeats):
    values = size[0] * size[1] * size[2]
    assert 0.5 * values < parameters(size, repeats) <= values


@pytest.mark.parametrize("repeats", REPEATS)
@pytest.mark.parametrize("size", [*WITH_A_VERTEX_EACH, (1, 1, 3), (2, 3, 1), (61, 5, 3)])
def test_every_pixel_has_a_vertex_to_itself(size, repeats):
    height, width, _ = size
    _, grid = grid_of(size, repeats)
    assert grid.num_levels == grid.dense_levels
    finest = int(grid.layout().offsets[-1])
    table = torch.arange(len(grid.tables), dtype=torch.float64)[:, None].repeat(1, 2)
    with torch.no_grad():
        grid.double().tables.copy_(table)
        centers = (torch.arange(n, dtype=torch.float64) for n in (height, width))
        y, x = ((each + 0.5) / n for each, n in zip(centers, (height, width), strict=True))
        y, x = torch.meshgrid(y, x, indexing="ij")
        found = grid(torch.stack([x, y], -1).reshape(-1, 2))[:, -2]
    rows = found.round()
    torch.testing.assert_close(found, rows, rtol=0, atol=1e-6 * len(table))
    assert len(rows.unique()) == height * width
    assert rows.min() >= finest


@pytest.mark.parametrize("size", FURTHER_APART)
def test_vertices_lie_further_apart_where_numbers_are_few(size):
    _, grid = grid_of(size)
    assert len(grid.tables) - int(grid.layout().offsets[-1]) < size[0] * size[1]


@pytest.mark.parametrize("size", [(1, 1, 3), (1, 300, 3), (2, 2, 1), (5, 3, 4)])
def test_the_grid_of_a_tiny_picture_tells_its_pixels_apart(size):
    made = recipe(None, None, size, (False, False))
    grid = cn.HashGrid(2, **made.settings, seed=0)
    rows, columns = np.indices(size[:2]) + 0.5
    centers = np.stack([columns / size[1], rows / size[0]], -1).reshape(-1, 2)
    features = grid(torch.from_numpy(centers)).detach()
    assert len(features.unique(dim=0)) == size[0] * size[1]


def test_large_pictures_have_a_bounded_grid():
    assert parameters((20_000, 20_000, 3)) < 10_000_000


@pytest.mark.parametrize("encoding", [None, "hashgrid"])
def test_grids_hurry_where_seconds_are_few(encoding):
    rates = [
        recipe(None, encoding, (64, 64, 3), (False, False), seconds).config["learning_rate"]
        for seconds in (1.0, 2.0, 2.1, None)
    ]
    assert rates == [0.02, 0.02, 0.01, 0.01]


@pytest.mark.parametrize(
    ("fast", "seconds", "optimizer"),
    [(True, 10, "adam"), (True, 11, None), (False, 20, "adam"), (False, 21, None)],
)
def test_a_wide_network_takes_adam_where_there_is_time_for_few_steps(
    fast, seconds, optimizer, monkeypatch
):
    monkeypatch.setattr("coordnet.training.runtime.choose_device", lambda name: torch.device("cpu"))
    monkeypatch.setattr("coordnet.training.runtime.fast_bf16", lambda device: fast)
    for preset, encoding in (("quality", None), (None, "gaussian")):
        made = recipe(preset, encoding, (512, 512, 3), (False, False), seconds)
        assert cn.FitConfig(**made.config).optimizer == optimizer
    unlimited = recipe("quality", None, (512, 512, 3), (False, False))
    narrow = recipe("small", None, (512, 512, 3), (False, False), seconds)
    assert cn.FitConfig(**unlimited.config).optimizer is None  # Muon, unless the network objects
    assert cn.FitConfig(**narrow.config).optimizer is None


def test_the_device_that_is_named_decides(picture, pixels, monkeypatch):
    def chosen(name):
        return torch.device("cuda" if name == "auto" else name)

    monkeypatch.setattr("coordnet.training.runtime.choose_device", chosen)
    monkeypatch.setattr("coordnet.training.runtime.fast_bf16", lambda device: False)
    path = picture("p.png", pixels(9, 14, 3))
    for settings in ({"preset": "quality"}, {"encoding": "gaussian"}):
        for device, optimizer in (("auto", None), ("cpu", "adam")):
            options = PictureOptions(seconds=5, device=device, **settings)
            task = PictureTask(path, options, Listener())
            assert task.config(options, task.recipe(options)).optimizer == optimizer


@pytest.mark.parametrize("preset", [None, *PRESETS])
def test_every_preset_fits(preset, run, picture, pixels):
    picture("p.png", pixels(9, 14, 3))
    chosen = [] if preset is None else ["--preset", preset]
    found = run("fit", "p.png", "--steps", "3", "--out", "run", *chosen)
    assert found.status == 0, found.err
    report = json.loads(Path("run/report.json").read_text())
    assert np.isfinite(report["metrics"]["psnr"])
    assert ("bicubic" in found.out) == (preset in (None, "fast"))


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
