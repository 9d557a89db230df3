"""Scenes on the command line: what a fit writes, and what is refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import coordnet as cn
from coordnet.cli import main

SCENE = Path(__file__).parents[2] / "data" / "scene"
TINY = ("--steps", "12", "--hidden-dim", "16", "--layers", "1", "--device", "cpu")
SMALL = ("--downscale", "5")


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scene")
    assert main(["fit", str(SCENE), *TINY, *SMALL, "--out", str(folder / "run")]) == 0
    return folder / "run"


def test_what_a_fit_writes(fitted):
    report = json.loads((fitted / "report.json").read_text())
    assert report["task"] == "scene"
    assert report["input"]["views"] == 40
    assert report["input"]["lens"]["width"] == 20
    assert report["input"]["background"] == [1.0, 1.0, 1.0]
    views = json.loads((fitted / "views.json").read_text())["views"]
    assert len(views) == 10
    psnr = [each["psnr"] for each in views]
    assert report["metrics"]["psnr"] == pytest.approx(np.mean(psnr))
    square = np.mean([10 ** (-each / 10) for each in psnr])
    assert report["metrics"]["psnr_of_mean"] == pytest.approx(-10 * np.log10(square))
    assert 0 < report["metrics"]["ssim"] <= 1
    pictures = sorted(path.name for path in (fitted / "views").iterdir())
    assert pictures[:2] == ["000.png", "000_depth.png"]
    assert len(pictures) == 20
    image = cn.read_image(fitted / "views" / "003.png")
    assert (image.height, image.width, image.channels) == (20, 20, 3)
    assert cn.load(fitted / "model.safetensors").grid.resolution == [128] * 3


def test_a_transforms_file_replaces_an_earlier_run(run, fitted, tmp_path):
    shutil.copytree(fitted, tmp_path / "r")
    (tmp_path / "r" / "views" / "999.png").write_bytes(b"old")
    path = SCENE / "transforms_train.json"
    options = ("--background", "black", "--out", tmp_path / "r", "--overwrite")
    done = run("fit", path, *TINY, *SMALL, *options)
    assert not (tmp_path / "r" / "views" / "999.png").exists()
    assert done.status == 0, done.err
    assert "40 training views and 10 test views of 20 x 20 pixels, with alpha (blender)" in done.out
    assert "Silhouettes leave" in done.out
    assert "preset fast" in done.out
    assert "means over the views" in done.out
    assert (
        json.loads((tmp_path / "r" / "report.json").read_text())["input"]["background"] == [0] * 3
    )


def test_evaluate(run, fitted):
    done = run("evaluate", fitted, SCENE, "--json")
    assert done.status == 0, done.err
    report = json.loads((fitted / "report.json").read_text())
    assert json.loads(done.out)["psnr"] == pytest.approx(report["metrics"]["psnr"], abs=1e-6)


def test_info(run, fitted):
    done = run("info", fitted)
    assert done.status == 0, done.err
    assert "hashgrid" in done.out


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--k", "4"], "--k belongs to pictures and sounds and tables"),
        (["--preset", "quality"], "--preset quality belongs to pictures"),
        (["--encoding", "harmonic"], "--encoding belongs to"),
        (["--period", "3"], "--period belongs to tables"),
        (["--downscale", "0"], "--downscale"),
        (["--downscale", "400"], "smaller"),
    ],
)
def test_what_is_refused(refused, options, says):
    refused("fit", SCENE, *options, words=[says])


def test_broken_scenes(run, tmp_path):
    shutil.copytree(SCENE, tmp_path / "copy")
    (tmp_path / "copy" / "train" / "r_7.png").unlink()
    done = run("fit", tmp_path / "copy", *TINY)
    assert done.status == 2
    assert "r_7" in done.err
    assert done.err.count("\n") == 1
    (tmp_path / "empty").mkdir()
    done = run("fit", tmp_path / "empty", *TINY)
    assert (done.status, done.err.count("\n")) == (2, 1)
    (tmp_path / "empty" / "transforms_train.json").write_text(
        '{"camera_angle_x": 0.7, "frames": []}'
    )
    done = run("fit", tmp_path / "empty", *TINY)
    assert (done.status, done.err.count("\n")) == (2, 1)


def test_pictures_and_tables_have_no_scene_options(run, tmp_path):
    cn.write_image(tmp_path / "a.png", np.zeros((8, 8, 3), np.float32))
    for options in (["--downscale", "2"], ["--background", "white"], ["--preset", "nerf"]):
        done = run("fit", tmp_path / "a.png", *options)
        assert (done.status, done.err.count("\n")) == (2, 1), options
