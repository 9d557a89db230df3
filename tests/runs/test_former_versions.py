"""Models, runs and checkpoints that version 0.1.0 wrote still open."""

import json
import shutil
from pathlib import Path

import pytest
import torch

import coordnet as cn
from coordnet.runs import Run, evaluate_run, export_run, fit_file, predict_run, render_run
from coordnet.scenes import SceneRender

DATA = Path(__file__).parents[1] / "data" / "0.1.0"


def test_a_picture(tmp_path):
    field = cn.load(DATA / "picture" / "model.safetensors")
    values = field(torch.tensor([[0.1, 0.2], [0.9, 0.5]]))
    expected = [[0.396601, 0.366769, 0.316502], [0.482523, 0.377239, 0.366129]]
    torch.testing.assert_close(values, torch.tensor(expected), atol=1e-5, rtol=0)
    metrics = evaluate_run(DATA / "picture", DATA / "gradient.png", device="cpu")
    report = json.loads((DATA / "picture" / "report.json").read_text())
    assert metrics["psnr"] == pytest.approx(report["metrics"]["psnr"], abs=1e-3)
    render_run(DATA / "picture", tmp_path / "a.png", {"size": "16x12"}, device="cpu")
    assert cn.read_image(tmp_path / "a.png").pixels.shape == (12, 16, 3)


def test_a_table(tmp_path):
    field = cn.load(DATA / "table" / "model.safetensors")
    values = field(torch.tensor([[0.5], [30.0]], dtype=torch.float64))
    torch.testing.assert_close(
        values.double(), torch.tensor([[0.4203041], [0.6999998]]).double(), atol=1e-6, rtol=0
    )
    at = predict_run(DATA / "table", [0.5, 0.5 + 24, 30.0])
    assert at[0] == at[1]
    assert at[2] == pytest.approx(0.7, abs=1e-5)
    assert evaluate_run(DATA / "table", DATA / "day.csv", device="cpu")["rmse"] < 1e-5


def test_a_scene(tmp_path):
    opened = Run.open(DATA / "scene")
    model = opened.model
    points = torch.tensor([[0.1, 0.2, 0.3], [-0.4, 0.1, 0.0]])
    density, features = model.geometry(points)
    directions = torch.tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    colors = model.field.color(features, model.field.directions(directions))
    torch.testing.assert_close(density, torch.tensor([1.193013, 1.192992]), atol=1e-5, rtol=0)
    expected = [[0.390953, 0.612197, 0.374702], [0.393852, 0.578875, 0.412346]]
    torch.testing.assert_close(colors, torch.tensor(expected), atol=1e-5, rtol=0)
    render_run(DATA / "scene", tmp_path / "a.png", SceneRender(view=1, size=(8, 8)), device="cpu")
    assert cn.read_image(tmp_path / "a.png").pixels.shape == (8, 8, 3)
    if pytest.importorskip("skimage"):
        export_run(
            DATA / "scene", tmp_path / "a.ply", {"resolution": 8, "level": 0.5}, device="cpu"
        )


def test_an_unfinished_fit_goes_on(tmp_path):
    shutil.copytree(DATA / "unfinished", tmp_path / "run")
    result = fit_file(
        DATA / "gradient.png",
        {"steps": 60, "device": "cpu", "encoding": "harmonic", "k": 2, "hidden_dim": 8,
         "layers": 1, "out": tmp_path / "run"},
        resume=True,
    )  # fmt: skip
    assert result.steps == 60
    assert result.psnr == pytest.approx(14.084, abs=0.02)
