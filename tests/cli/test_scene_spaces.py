"""Where a scene may lie: in a box, in all of space, and where nothing can be told."""

import json
import math
import shutil
from pathlib import Path

import numpy as np
import pytest

import coordnet as cn
from coordnet.scenes import OccupancyModel, UnboundedModel, look_at

TINY = ("--steps", "6", "--hidden-dim", "16", "--layers", "1", "--device", "cpu")
SIDE = 12


def write_scene(folder, eyes, targets, *, alpha=None, **more):
    """Write a scene of colored noise: its pictures are never looked at closely here."""
    folder = Path(folder)
    (folder / "train").mkdir(parents=True)
    generator = np.random.default_rng(0)
    frames = []
    for i, (eye, target) in enumerate(zip(eyes, targets, strict=True)):
        shape = (SIDE, SIDE, 3 if alpha is None else 4)
        pixels = generator.uniform(size=shape).astype(np.float32)
        if alpha is not None:
            pixels[..., 3] = alpha
        cn.write_image(folder / "train" / f"r_{i}.png", pixels)
        pose = np.eye(4)
        pose[:3] = look_at(tuple(eye), tuple(target)).reshape(3, 4).numpy()
        frames.append({"file_path": f"./train/r_{i}", "transform_matrix": pose.tolist()})
    content = {"camera_angle_x": 0.7, **more, "frames": frames}
    (folder / "transforms_train.json").write_text(json.dumps(content))
    return folder


def ring(number=6, radius=3.0):
    turns = 2 * math.pi * np.arange(number) / number
    at = [radius * np.cos(turns), radius * np.sin(turns), 0.5 + 0.1 * np.arange(number)]
    return np.stack(at, 1).tolist()


def test_pictures_without_alpha_have_no_bounds(run, report, tmp_path):
    write_scene("s", ring(), [(0, 0, 0)] * 6)
    done = run("fit", "s", *TINY, "--out", "run")
    assert (done.status, done.err) == (0, "")
    assert "Its space has no bounds" in done.out
    assert "what the cameras look at" in done.out
    model = cn.load("run/model.safetensors")
    assert type(model) is UnboundedModel
    np.testing.assert_allclose(model.center, [0, 0, 0], atol=0.2)
    assert model.radius == pytest.approx(3.15, rel=0.05)
    about = report("run")["input"]
    assert about["bounded"] is False
    # views from beyond, a way around, the error, and the same fit from its report
    done = run("render", "run", "-o", "orbit.gif", "--frames", "2")
    assert (done.status, done.err) == (0, "")
    assert run("evaluate", "run", "s").status == 0
    assert run("info", "run").status == 0
    done = run("fit", "s", "--like", "run/report.json", "--space", "box", "--out", "box")
    assert (done.status, done.err) == (0, "")
    assert "The box of the scene" in done.out
    assert type(cn.load("box/model.safetensors")) is OccupancyModel


def test_pictures_with_alpha_have_a_box_unless_it_is_said_otherwise(run):
    write_scene("s", ring(), [(0, 0, 0)] * 6, alpha=0.5)
    done = run("fit", "s", *TINY, "--out", "run")
    assert done.status == 0, done.err
    assert type(cn.load("run/model.safetensors")) is OccupancyModel
    done = run("fit", "s", *TINY, "--space", "unbounded", "--out", "free")
    assert done.status == 0, done.err
    assert "Silhouettes" not in done.out
    assert type(cn.load("free/model.safetensors")) is UnboundedModel


def test_cameras_that_look_the_same_way(run, report):
    eyes = [(0.3 * (i % 3), 0, 0.3 * (i // 3)) for i in range(6)]
    write_scene("s", eyes, [(x, 5, z) for x, _, z in eyes])
    done = run("fit", "s", *TINY, "--out", "run")
    assert (done.status, done.err) == (0, "")
    assert "the middle of the cameras" in done.out
    assert report("run")["input"]["focus"][1] > 0.3  # ahead of them
    done = run("render", "run", "-o", "spiral.gif", "--frames", "2")
    assert (done.status, done.err) == (0, "")
    assert "spiral" in done.out
    words = ["the poses must tell where the scene is", "Pass --space unbounded"]
    assert run("fit", "s", *TINY, "--space", "box", "--out", "b").err.count("\n") == 1
    done = run("fit", "s", *TINY, "--space", "box", "--out", "b")
    assert done.status == 2
    assert all(word in done.err for word in words)


def test_cameras_that_look_outwards_as_in_a_room(run):
    eyes = ring(radius=0.3)
    write_scene("s", eyes, [(10 * x, 10 * y, z) for x, y, z in eyes])
    done = run("fit", "s", *TINY, "--out", "run")
    assert (done.status, done.err) == (0, "")
    assert "Its space has no bounds" in done.out
    assert run("render", "run", "--view", "0", "-o", "v.png").status == 0


@pytest.mark.parametrize("number", [1, 4])
@pytest.mark.parametrize("space", [None, "unbounded"])
def test_one_place_tells_nothing_about_depth(refused, number, space):
    write_scene("s", [(3.0, 0, 0.5)] * number, [(0, 0, 0)] * number)
    options = [] if space is None else ["--space", space]
    words = ["Take pictures from elsewhere too"]
    refused("fit", "s", *TINY, *options, "--out", "run", words=words)


def test_nothing_at_all_is_seen(refused):
    write_scene("s", ring(), [(0, 0, 0)] * 6, alpha=0.0)
    refused("fit", "s", *TINY, "--out", "run", words=["6 pictures of nothing", "alpha"])


def test_cameras_inside_the_object(run):
    """Whose silhouettes are everywhere: the box is full, and the fit has a result."""
    eyes = ring(radius=0.5)
    write_scene("s", eyes, [(0, 0, 0)] * 6, alpha=1.0)
    cn.write_image("s/train/r_0.png", np.full((SIDE, SIDE, 4), 0.5, np.float32))  # one has alpha
    done = run("fit", "s", *TINY, "--out", "run")
    assert (done.status, done.err) == (0, "")
    assert "Silhouettes leave 100 % of the box" in done.out
    assert np.isfinite(json.loads(Path("run/report.json").read_text())["metrics"]["psnr"])


def test_scenes_alone_have_a_space(refused, tmp_path):
    cn.write_image("a.png", np.zeros((8, 8, 3), np.float32))
    refused("fit", "a.png", "--space", "box", words=["--space belongs to scenes", "picture"])
    shutil.copy(Path(__file__).parents[2] / "data" / "wave.csv", "a.csv")
    refused("fit", "a.csv", "--space", "box", words=["--space belongs to scenes", "table"])
