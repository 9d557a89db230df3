"""Views and meshes of a scene's run on the command line."""

import json
import math
import struct
import sys
from pathlib import Path

import imageio.v3 as iio
import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.cli.arguments import parser
from coordnet.scenes import Cameras, look_at, original_nerf
from coordnet.scenes.camera_choice import PATHS

LOWER, UPPER = [-1.0, -1.0, -1.0], [1.0, 1.0, 0.5]
DENSITY = 30.0


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    """A run whose scene is a box of fog of one color, (½, ¾, ¼)."""
    folder = tmp_path_factory.mktemp("scene")
    settings = {"hidden_dim": 4, "coarse_samples": 8, "fine_samples": 4, "cut": True}
    model = original_nerf(0.5, 6.0, LOWER, UPPER, **settings)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        for field in (model.coarse, model.fine):
            field.density_network.layers[-1].bias[0] = DENSITY
            field.color_network.layers[-1].bias[:] = torch.tensor([0.0, math.log(3), -math.log(3)])
    eyes = [(4 * math.cos(a), 4 * math.sin(a), 1.0) for a in (0.0, 1.5, 3.0, 4.5)]
    poses = look_at(torch.tensor(eyes, dtype=torch.float64), (0.0, 0.0, 0.0))
    cameras = Cameras.pinhole(poses, 20.0, width=16, height=12)
    about = {
        "lens": {"width": 16, "height": 12, "focal": [20.0, 20.0], "principal_point": [8.0, 6.0],
                 "distortion": None},
        "poses": cameras.poses.flatten(1).tolist(),
        "box": [LOWER, UPPER],
        "background": [1.0, 1.0, 1.0],
    }  # fmt: skip
    cn.save(model, folder / "model.safetensors", {"task": "scene", "input": about})
    return folder


def wrote(name, about):
    return (0, f"wrote {name}: {about}\n", "")


def test_a_picture_of_a_training_view(run, scene):
    about = "1 view of 16 x 12, on white; view 0 of the training cameras"
    assert run("render", scene, "-o", "a.png") == wrote("a.png", about)
    found = iio.imread("a.png")
    assert found.shape == (12, 16, 3)
    assert found[6, 8].tolist() == [128, 191, 64]
    assert found[0, 0].tolist() == [255, 255, 255]
    about = "1 view of 40 x 24, on #102030; view 3 of the training cameras"
    options = ("--view", "3", "--background", "#102030", "--size", "40x24")
    assert run("render", scene, "-o", "b.png", *options) == wrote("b.png", about)
    assert iio.imread("b.png")[0, 0].tolist() == [16, 32, 48]


def test_an_orbit_as_a_gif(run, scene):
    found = run("render", scene, "-o", "o.gif", "--path", "orbit", "--frames", "5", "--fps", "10")
    assert found.status == 0
    assert "5 views of 16 x 12, on white at 10 a second; an orbit around" in found.out
    frames = iio.imread("o.gif")
    assert frames.shape == (5, 12, 16, 3)
    assert np.abs(frames[:, 6, 8].astype(int) - [128, 191, 64]).max() <= 1


def test_an_orbit_as_an_mp4_from_a_process(process, scene, tmp_path):
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    options = ("--frames", "3", "--background", "black")
    done = process("render", scene, *options, "-o", "o.mp4")
    assert (done.returncode, done.stderr) == (0, "")
    assert "wrote o.mp4: 3 views of 16 x 12, on black at 30 a second" in done.stdout
    assert ffmpeg.count_frames_and_secs("o.mp4")[0] == 3
    assert [path.name for path in tmp_path.iterdir()] == ["o.mp4"]


def test_a_folder_of_frames_may_be_replaced_by_frames_alone(run, refused, scene):
    assert run("render", scene, "-o", "frames", "--path", "train").status == 0
    assert len(list(Path("frames").iterdir())) == 4
    refused("render", scene, "-o", "frames", words=["frames", "--overwrite"])
    options = ("--frames", "2", "--background", "none", "--overwrite")
    assert run("render", scene, "-o", "frames", *options).status == 0
    assert sorted(path.name for path in Path("frames").iterdir()) == [
        "frame_00000.png",
        "frame_00001.png",
    ]
    assert iio.imread("frames/frame_00001.png").shape == (12, 16, 4)
    Path("frames/notes.txt").write_text("mine")
    refused("render", scene, "-o", "frames", "--overwrite", words=["notes.txt"])


def test_depths(run, scene):
    assert run("render", scene, "-o", "d.npy", "--depth", "--view", "0").status == 0
    depth = np.load("d.npy")
    assert depth.shape == (12, 16)
    # from (4, 0, 1) to the middle: at the wall x = 1, three quarters of the way
    assert depth[5:7, 7:9].mean() == pytest.approx(0.75 * math.sqrt(17), abs=0.15)
    assert depth[0, 0] == 0
    found = run("render", scene, "-o", "d.png", "--depth", "--camera", transforms(), "--view", "1")
    assert "distances from 3." in found.out
    assert iio.imread("d.png").shape == (20, 20, 3)


def transforms():
    """Write a file of two cameras; return its name."""
    poses = look_at([[0.0, -4.0, 0.0], [4.0, 0.0, 0.0]], (0.0, 0.0, 0.0))
    bottom = torch.tensor([[0.0, 0.0, 0.0, 1.0]])
    frames = [
        {"file_path": f"r_{i}", "transform_matrix": torch.cat([pose, bottom]).tolist()}
        for i, pose in enumerate(poses)
    ]
    about = {"fl_x": 25.0, "w": 20, "h": 20, "frames": frames}
    Path("cameras.json").write_text(json.dumps(about))
    return "cameras.json"


def test_cameras_of_a_file(run, scene):
    found = run("render", scene, "-o", "c.gif", "--camera", transforms())
    assert "2 views of 20 x 20, on white at 30 a second; the cameras in cameras.json" in found.out
    assert iio.imread("c.gif").shape == (1, 20, 20, 3)  # both cameras show the same


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-o", "a.png", "--path", "orbit"], ["one view", "60 views", "--view 0"]),
        (["-o", "a.png", "--path", "loop"], ["--path", "orbit"]),
        (["-o", "a.png", "--view", "4"], ["0 to 3", "--view 4"]),
        (["-o", "a.png", "--view", "-1"], ["--view"]),
        (["-o", "a.gif", "--frames", "0"], ["--frames"]),
        (["-o", "a.gif", "--fps", "0"], ["--fps"]),
        (["-o", "a.gif", "--fps", "60"], ["0.01 to 50"]),
        (["-o", "a.png", "--fps", "25"], ["--fps", "a.png"]),
        (["-o", "a.avi"], [".mp4", "a.avi"]),
        (["-o", "a.npy"], ["--depth"]),
        (["-o", "a.png", "--background", "puce"], ["puce", "#8090a0"]),
        (["-o", "a.png", "--size", "40"], ["WIDTHxHEIGHT"]),
        (["-o", "a.png", "--rate", "8000"], ["--rate", "scene"]),
        (["-o", "a.png", "--camera", "nowhere.json"], ["nowhere.json"]),
        (["-o", "a.gif", "--camera", "c.json", "--path", "orbit"], ["file or from a path"]),
        (["-o", "no/a.gif"], ["folder must exist", "no"]),
        (["-o", "no/a"], ["folder must exist", "no"]),
    ],
)
def test_views_that_are_refused(refused, scene, options, words):
    refused("render", scene, *options, words=words)


@pytest.mark.parametrize(
    "options",
    [
        ["--path", "orbit"],
        ["--frames", "6"],
        ["--camera", "c.json"],
        ["--view", "0"],
        ["--depth"],
        ["--background", "white"],
        ["--fps", "25"],
    ],
)
def test_pictures_and_tables_have_no_views(refused, fitted, fitted_table, options):
    words = [options[0], "belongs to scenes", "picture"]
    refused("render", fitted / "run", "-o", "a.png", *options, words=words)
    words[-1] = "table"
    refused("render", fitted_table / "run", "-o", "a.csv", *options, words=words)


def test_pictures_need_an_ending(refused, fitted):
    Path("folder").mkdir()
    refused("render", fitted / "run", "-o", "folder", words=["must be a file"])
    refused("render", fitted / "run", "-o", "a", words=[".png"])


def test_the_paths_are_those_that_there_are():
    choices = next(a for a in parser()._actions if a.dest == "command").choices
    actions = {action.dest: action for action in choices["render"]._actions}
    assert tuple(actions["path"].choices) == PATHS


class TestExport:
    def test_a_mesh(self, run, refused, scene):
        pytest.importorskip("skimage")
        found = run("export", scene, "m.ply", "--resolution", "12")
        assert (found.status, found.err) == (0, "")
        number = 2 + 6 * 12 * 12  # more than one vertex for each square of the surface
        vertices = int(found.out.split()[2].replace(",", ""))
        assert vertices > number / 2
        assert f"at density {math.log(2) / (2 / 12):.4g}" in found.out
        header, _, body = Path("m.ply").read_bytes().partition(b"end_header\n")
        assert f"element vertex {vertices}\n".encode() in header
        rows = np.frombuffer(body, "<f4, <f4, <f4, <f4, <f4, <f4, 3u1", count=vertices)
        corners = np.stack([rows[f"f{i}"] for i in range(3)], -1)
        # half a cell beyond the outermost middles at most
        assert np.abs(corners.max(0) - UPPER).max() < 2 / 12
        assert np.abs(corners.min(0) - LOWER).max() < 2 / 12
        assert np.abs(rows["f6"].astype(int) - [128, 191, 64]).max() <= 1
        assert struct.unpack_from("<B", body, 27 * vertices) == (3,)
        refused("export", scene, "m.ply", words=["m.ply", "--overwrite"])
        options = ("--overwrite", "--resolution", "4", "--level", "10")
        assert "at density 10\n" in run("export", scene, "m.ply", *options).out

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["m.ply", "--level", "50", "--resolution", "8"], ["level, 50", "up to 30", "lower"]),
            (["m.ply", "--level", "0"], ["--level"]),
            (["m.ply", "--resolution", "0"], ["--resolution"]),
            (["m.ply", "--resolution", "5000"], ["at most 2,048"]),
            (["m.obj"], [".ply", "m.obj"]),
            (["no/m.ply"], ["folder must exist"]),
            ([], ["output"]),
            (["m.onnx"], [".ply", "scene"]),
        ],
    )
    def test_what_is_refused(self, refused, scene, arguments, words):
        pytest.importorskip("skimage")
        refused("export", scene, *arguments, words=words)

    def test_only_scenes_are_exported(self, refused, fitted, fitted_table):
        for folder, kind in ((fitted, "picture"), (fitted_table, "table")):
            refused("export", folder / "run", "m.ply", words=[kind, ".onnx"])

    def test_without_scikit_image(self, refused, scene, monkeypatch):
        monkeypatch.setitem(sys.modules, "skimage.measure", None)
        refused("export", scene, "m.ply", words=["pip install 'coordnet[mesh]'"])

    def test_without_ffmpeg(self, refused, scene, monkeypatch):
        monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
        refused("render", scene, "-o", "a.mp4", words=["pip install 'coordnet[video]'", ".gif"])


def test_info_tells_of_the_run(run, scene):
    found = run("info", scene)
    assert found.status == 0, found.err
