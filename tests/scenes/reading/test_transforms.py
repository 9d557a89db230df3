"""Scenes from transforms JSON: poses, lenses, splits, names, and refusals that name the frame."""

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.scenes import Cameras, is_scene, read_cameras, read_scene, scene_splits

from ..helpers import refusal

ROOT = Path(__file__).parents[3]
CHAIR = Path(os.environ.get("COORDNET_SHARED_DATA", ROOT.parent / "shared" / "data"))
CHAIR = CHAIR / "nerf_synthetic" / "chair"
ANGLE = 0.6911112
LENS = {"fl_x": 30.0, "fl_y": 33.0, "cx": 19.0, "cy": 13.0, "w": 40, "h": 24}
NAMES = [f"./images/{i}.png" for i in range(9)]


def write(path, frames, **keys):
    """Write a transforms file; ``frames`` are file_path and matrix, or whole objects."""
    path.parent.mkdir(parents=True, exist_ok=True)
    records = [
        frame
        if isinstance(frame, dict)
        else {"file_path": frame[0], "transform_matrix": np.asarray(frame[1]).tolist()}
        for frame in frames
    ]
    path.write_text(json.dumps({**keys, "frames": records}))
    return path


@pytest.fixture
def capture(tmp_path, views, save):
    """A folder with transforms.json and nine pictures."""
    for name, view in zip(NAMES, views, strict=True):
        save(tmp_path / name, view.picture)
    matrices = [view.matrix for view in views]
    write(tmp_path / "transforms.json", zip(NAMES, matrices, strict=True), **LENS)
    return tmp_path


def rewrite(folder, change):
    """Change the content of transforms.json by a function."""
    file = folder / "transforms.json"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))
    return folder


# --- Blender ----------------------------------------------------------------------------------


def blender(folder, views, save, name="{split}/r_{i}", suffix=".png", splits=("train", "test")):
    number = 0
    for split in splits:
        frames = []
        for i in range(3):
            view = views[number]
            save(folder / f"{split}/r_{i}{suffix}", view.picture)
            frames.append((name.format(split=split, i=i), view.matrix))
            number += 1
        write(folder / f"transforms_{split}.json", frames, camera_angle_x=ANGLE)
    return folder


@pytest.fixture(scope="module")
def square_views(make_view):
    focal = 0.5 * 40 / math.tan(0.5 * ANGLE)
    return [make_view(i, focal=(focal, focal), center=(20, 12)) for i in range(9)]


@pytest.mark.parametrize(
    "name",
    [
        "./{split}/r_{i}",
        "./{split}/r_{i}.png",
        "{split}/r_{i}",
        "{split}\\r_{i}",
        ".\\{split}\\r_{i}.png",
    ],
)
def test_blender_names_are_found_however_they_are_written(
    tmp_path, square_views, save, shows_the_points, name
):
    blender(tmp_path, square_views, save, name)
    assert is_scene(tmp_path)
    assert scene_splits(tmp_path) == ("train", "test")
    scene = read_scene(tmp_path)
    shows_the_points(scene, square_views[:3])
    assert (scene.format, scene.split, scene.near_far, scene.points) == (
        "blender",
        "train",
        None,
        None,
    )
    assert (scene.notes, scene.warnings, scene.has_alpha) == ((), (), False)
    assert scene.names[1] == name.format(split="train", i=1).replace("\\", "/").removeprefix("./")
    test = cn.scenes.read_scene(tmp_path, "test")
    shows_the_points(test, square_views[3:6])
    shows_the_points(read_scene(tmp_path, "all"), square_views[:6])


def test_the_focal_length_follows_the_picture_and_its_size(tmp_path, save):
    save(tmp_path / "train/r_0.png", np.zeros((120, 160, 3), np.uint8))
    write(tmp_path / "transforms_train.json", [("train/r_0", np.eye(4))], camera_angle_x=0.6911112)
    full = read_scene(tmp_path).cameras
    assert full.focal[0].tolist() == pytest.approx([222.22, 222.22], abs=0.005)
    half = read_scene(tmp_path, downscale=2).cameras
    assert half.sizes[0].tolist() == [80, 60]
    assert half.focal[0].tolist() == pytest.approx([111.11, 111.11], abs=0.005)
    mean = full.image_rays(0)[1].double().mean(0)
    assert (mean / mean.norm()).tolist() == pytest.approx([0, 0, -1], abs=1e-7)


def test_a_split_s_file_stands_for_its_folder(tmp_path, square_views, save, shows_the_points):
    blender(tmp_path, square_views, save)
    file = tmp_path / "transforms_train.json"
    assert scene_splits(file) == ("train", "test")
    shows_the_points(read_scene(file), square_views[:3])
    shows_the_points(read_scene(file, "test"), square_views[3:6])
    text = refusal(read_scene, file, "val")
    assert "transforms_val.json" in text
    assert "only transforms_train.json, transforms_test.json" in text


def test_upper_case_and_other_suffixes(tmp_path, square_views, save, shows_the_points):
    blender(tmp_path, square_views, save, suffix=".PNG")
    shows_the_points(read_scene(tmp_path), square_views[:3])
    (tmp_path / "train/r_1.PNG").rename(tmp_path / "train/r_1")
    shows_the_points(read_scene(tmp_path), square_views[:3])  # a file without a suffix


def test_a_missing_picture_names_its_frame_and_its_path(tmp_path, square_views, save):
    blender(tmp_path, square_views, save)
    (tmp_path / "train/r_1.png").unlink()
    text = refusal(read_scene, tmp_path)
    assert "'train/r_1'" in text
    assert str(tmp_path / "train/r_1") in text
    (tmp_path / "train/r_2.png").unlink()
    assert "2 of 3 frames" in refusal(read_scene, tmp_path)
    scene = read_scene(tmp_path, skip_missing=True)
    assert scene.names == ("train/r_0",)
    assert "2 of 3 frames have no picture and are left out, first 'train/r_1'." in scene.notes
    (tmp_path / "train/r_0.png").unlink()
    assert "'train/r_0'" in refusal(read_scene, tmp_path, skip_missing=True)


def test_every_n_th_frame(capture, views, shows_the_points):
    scene = read_scene(capture, "all", every=4)
    shows_the_points(scene, views[::4])
    assert scene.notes == ("3 of 9 frames kept: one in 4.",)


@pytest.mark.skipif(not (CHAIR / "train").is_dir(), reason="the chair is not there")
def test_the_chair():
    counted = []
    scene = read_scene(CHAIR, "test", every=40, downscale=8, progress=counted.append)
    assert counted == [1] * 5
    assert scene.names == tuple(f"test/r_{i}" for i in range(0, 200, 40))
    assert scene.has_alpha
    assert scene.cameras.sizes.tolist() == [[100, 100]] * 5
    assert scene.cameras.focal[0].tolist() == pytest.approx([1111.1110 / 8] * 2, abs=1e-4)
    assert scene.cameras.positions.norm(dim=-1).tolist() == pytest.approx([4.0311] * 5, abs=1e-4)
    lower, upper = torch.tensor(scene.box.lower), torch.tensor(scene.box.upper)
    torch.testing.assert_close(upper, torch.full((3,), 1.524), atol=0.01, rtol=0)
    torch.testing.assert_close(lower, -upper)
    # the chair stands in the middle of the picture, on nothing
    alpha = scene.images.image(3)[..., 3]
    assert float(alpha[30:70, 30:70].mean()) > 0.5
    assert float(alpha[:10].max()) == 0


# --- nerfstudio and instant-ngp ---------------------------------------------------------------


def test_a_capture_of_one_file(capture, views, shows_the_points):
    shows_the_points(read_scene(capture, "all"), views)
    shows_the_points(read_scene(capture / "transforms.json", "all"), views)
    assert scene_splits(capture) == ()
    renamed = (capture / "transforms.json").rename(capture / "poses.json")
    shows_the_points(read_scene(renamed, "all"), views)


def test_every_eighth_frame_is_held_out_and_said(capture, views, shows_the_points):
    train, test = read_scene(capture), read_scene(capture, "test")
    shows_the_points(test, [views[0], views[8]])
    shows_the_points(train, views[1:8])
    assert "2 frames (0, 8, …) of 9 held out for testing." in train.notes[0]
    shows_the_points(read_scene(capture, "val"), [views[0], views[8]])
    shows_the_points(read_scene(capture, "test", hold_out=4), views[::4])
    shows_the_points(read_scene(capture, hold_out=0), views)
    assert "split 'test'" in refusal(read_scene, capture, "test", hold_out=0)
    assert "hold_out" in refusal(read_scene, capture, hold_out=1)


def test_lists_of_file_names_are_the_splits(capture, views, shows_the_points):
    def lists(content):
        content["train_filenames"] = NAMES[:5]
        content["val_filenames"] = [NAMES[7].replace("./", ""), NAMES[6]]

    rewrite(capture, lists)
    shows_the_points(read_scene(capture), views[:5])
    test = read_scene(capture, "test")
    shows_the_points(test, [views[7], views[6]])
    assert "'val' serve" in test.notes[0]
    shows_the_points(read_scene(capture, "all"), views)
    rewrite(capture, lambda content: content["val_filenames"].append("images/none.png"))
    assert "'images/none.png'" in refusal(read_scene, capture, "val")
    rewrite(capture, lambda content: content.update(val_filenames=[]))
    assert "split 'val'" in refusal(read_scene, capture, "val")


def test_a_frame_s_own_keys_override_the_file_s(tmp_path, make_view, save, shows_the_points):
    angle = 1.1
    focal = 0.5 * 40 / math.tan(0.5 * angle)
    views = [
        make_view(0.3),
        make_view(1.3, focal=(50.0, 55.0), center=(20.0, 11.0)),
        make_view(2.3, focal=(focal, 33.0)),
        make_view(3.3, size=(50, 30)),
    ]
    for i, view in enumerate(views):
        save(tmp_path / f"images/{i}.png", view.picture)
    frames = [
        {"file_path": f"images/{i}.png", "transform_matrix": view.matrix.tolist()}
        for i, view in enumerate(views)
    ]
    frames[1] |= {"fl_x": 50, "fl_y": 55, "cx": 20, "cy": 11}
    frames[2] |= {"camera_angle_x": angle}
    frames[3] |= {"w": 50, "h": 30}
    write(tmp_path / "transforms.json", frames, **LENS)
    scene = read_scene(tmp_path, "all")
    assert scene.warnings == ()
    shows_the_points(scene, views)
    assert scene.cameras.sizes.tolist() == [[40, 24]] * 3 + [[50, 30]]
    assert scene.images.number_of_pixels == 3 * 40 * 24 + 50 * 30


def test_lenses_by_angle_or_with_what_is_missing(tmp_path, save):
    save(tmp_path / "a.png", np.zeros((24, 40, 3), np.uint8))

    def focal_and_center(**keys):
        write(tmp_path / "transforms.json", [("a.png", np.eye(4))], **keys)
        cameras = read_scene(tmp_path).cameras
        return cameras.focal[0].tolist(), cameras.principal_point[0].tolist()

    across, down = 20 / math.tan(0.5), 12 / math.tan(0.4)
    assert focal_and_center(camera_angle_x=1.0) == ([pytest.approx(across)] * 2, [20, 12])
    assert focal_and_center(camera_angle_y=0.8) == ([pytest.approx(down)] * 2, [20, 12])
    both = focal_and_center(camera_angle_x=1.0, camera_angle_y=0.8, cx=19)
    assert both == ([pytest.approx(across), pytest.approx(down)], [19, 12])
    assert focal_and_center(fl_x=30, w=40, h=24.0) == ([30, 30], [20, 12])


def test_lens_distortion_reaches_the_rays(capture):
    plain = read_scene(capture, "all").cameras
    assert plain.distortion is None
    lens = {"k1": -0.1, "k2": 0.02, "p1": 1e-3, "p2": -2e-3, "camera_model": "OPENCV", "k3": 0}
    found = read_scene(rewrite(capture, lambda content: content.update(lens)), "all").cameras
    wanted = Cameras(
        plain.poses, plain.focal, plain.principal_point, plain.sizes,
        torch.tensor([[-0.1, 0.02, 1e-3, -2e-3]]).expand(9, 4),
    )  # fmt: skip
    assert torch.allclose(found.image_rays(2)[1], wanted.image_rays(2)[1], atol=1e-6)
    assert not torch.allclose(found.image_rays(2)[1], plain.image_rays(2)[1], atol=1e-3)


def test_the_box_of_instant_ngp(capture):
    def box(**keys):
        return read_scene(rewrite(capture, lambda content: content.update(keys))).box

    assert "look at" in box().source
    found = box(aabb_scale=4)
    assert "aabb_scale = 4" in found.source
    assert found.upper == pytest.approx([2 / 0.33] * 3)
    assert found.lower == pytest.approx([-2 / 0.33] * 3)
    moved = box(aabb_scale=1, scale=0.5, offset=[0.5, 0.75, 0.5])
    assert moved.lower == pytest.approx([-1, -1.5, -1])
    assert moved.upper == pytest.approx([1, 0.5, 1])


def test_disagreeing_focal_lengths_are_said(capture):
    rewrite(capture, lambda content: content.update(camera_angle_x=1.0))
    (warning,) = read_scene(capture).warnings
    assert "disagree" in warning
    assert "9 of 9" in warning
    assert "fl_x is taken" in warning
    rewrite(capture, lambda content: content.update(camera_angle_x=2 * math.atan(20 / 30.0)))
    assert read_scene(capture).warnings == ()


def test_masks_are_said_not_to_be_read(capture):
    rewrite(capture, lambda content: content["frames"][2].update(mask_path="m.png"))
    assert "masks" in read_scene(capture).warnings[0]


def test_pictures_stored_smaller(capture, views, save):
    for i, view in enumerate(views):
        save(capture / f"images_4/{i}.jpg", view.picture[::4, ::4])
    scene = read_scene(capture, "all", downscale=4)
    assert scene.cameras.sizes[0].tolist() == [10, 6]
    assert scene.cameras.focal[0].tolist() == [7.5, 8.25]
    assert "stored at 1/4 of the size, as asked" in scene.notes[0]
    # others are made from the full size
    assert read_scene(capture, "all", downscale=2).notes == ()
    for file in (capture / "images").iterdir():
        file.unlink()
    scene = read_scene(capture, "all")
    assert scene.cameras.sizes[0].tolist() == [10, 6]
    assert "1/4" in scene.notes[0]
    assert "largest that there are" in scene.notes[0]
    assert read_scene(capture, "all", downscale=8).cameras.sizes[0].tolist() == [5, 3]
    assert "1/4" in refusal(read_scene, capture, "all", downscale=2)
    save(capture / "images_4/3.jpg", np.zeros((7, 12, 3), np.uint8))
    text = refusal(read_scene, capture, "all")
    assert "'images/3.png'" in text
    assert "10 x 6" in text


# --- what is refused --------------------------------------------------------------------------


def matrix(change):
    def apply(content):
        found = np.array(content["frames"][3]["transform_matrix"])
        content["frames"][3]["transform_matrix"] = change(found)

    return apply


def with_entry(value):
    def change(found):
        found = found.tolist()
        found[1][2] = value
        return found

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (matrix(with_entry(float("nan"))), "nan at row 1, column 2"),
        (matrix(with_entry("x")), "finite float32 numbers"),
        (matrix(lambda m: m[:2].tolist()), "shape (2, 4)"),
        (matrix(lambda m: [1, 2]), "shape (2,)"),
        (matrix(lambda m: (m * [1, -1, 1, 1]).tolist()), "mirrored"),
        (matrix(lambda m: (m * [1, 2, 1, 1]).tolist()), "axes of length 1, 2, 1"),
        (matrix(lambda m: (m * [0, 0, 0, 1]).tolist()), "axes of length 0"),
        (matrix(lambda m: m.T.tolist()), "Transpose"),
    ],
)
def test_a_pose_that_is_none_names_the_frame(capture, change, words):
    text = refusal(read_scene, rewrite(capture, change))
    assert words in text
    assert "frame 3" in text
    assert "./images/3.png" in text


def test_a_scaled_pose_is_made_a_rotation_and_said(capture, views, shows_the_points):
    rewrite(capture, matrix(lambda m: (m * [2.5, 2.5, 2.5, 1]).tolist()))
    scene = read_scene(capture, "all")
    shows_the_points(scene, views)
    assert "1 of 9 cameras have the length 2.5" in scene.notes[0]
    rewrite(capture, matrix(lambda m: (m[:3] * [0.4, 0.4, 0.4, 1]).tolist()))
    assert read_scene(capture, "all").notes == ()  # 3 x 4, and a rotation again


def test_poses_of_few_digits_become_rotations(capture):
    rewrite(capture, matrix(lambda m: m.round(4).tolist()))
    cameras = read_scene(capture, "all").cameras
    turn = cameras.poses[3, :, :3]
    torch.testing.assert_close(turn.mT @ turn, torch.eye(3).double(), rtol=0, atol=1e-14)
    lengths = cameras.image_rays(3)[1].norm(dim=-1)
    torch.testing.assert_close(lengths, torch.ones_like(lengths))


def change_frame(**keys):
    return lambda content: content["frames"][3].update(keys)


def without(key):
    return lambda content: content["frames"][3].pop(key)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c.update(frames=[]), "no frames"),
        (lambda c: c.pop("frames"), '"frames"'),
        (lambda c: c.update(frames=[1]), '"frames"'),
        (without("file_path"), "frame 3"),
        (change_frame(file_path="  "), "frame 3"),
        (without("transform_matrix"), "frame 3 ('./images/3.png')"),
        (change_frame(fl_x=0), "fl_x of frame 3"),
        (change_frame(fl_x="30"), "fl_x of frame 3"),
        (change_frame(w=40.5), "w of frame 3"),
        (change_frame(w=True), "w of frame 3"),
        (change_frame(camera_angle_x=3.2), "radians"),
        (change_frame(k3=0.1), "k3 of frame 3"),
        (change_frame(k1=-3.0), "can be undone"),
        (change_frame(camera_model="OPENCV_FISHEYE"), "'OPENCV_FISHEYE'"),
        (change_frame(is_fisheye=True), "fisheye"),
        (change_frame(w=41), "'images/3.png' must be 41 x 24"),
        (change_frame(file_path="images/none.png"), "'images/none.png'"),
        (change_frame(file_path="images"), "'images'"),
        (change_frame(file_path="images/\0"), "frame"),
        (lambda c: c.pop("w"), "both w and h"),
        (lambda c: [c.pop("fl_x"), c.pop("fl_y")], "focal length"),
        (lambda c: c.update(aabb_scale=0), "aabb_scale"),
        (lambda c: c.update(aabb_scale=1, offset=[1, 2]), "offset"),
        (lambda c: c.update(aabb_scale=1, offset=[10**400]), "offset"),
    ],
)
def test_what_is_no_scene_is_refused_in_one_line(capture, change, words):
    assert words in refusal(read_scene, rewrite(capture, change), "all")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty file"),
        (b"{", "JSON"),
        (b"\xff\xfe", "JSON"),
        (b"[1]", '"frames"'),
        (b"[" * 99999, "JSON"),
    ],
)
def test_a_file_that_is_no_json(tmp_path, content, words):
    (tmp_path / "transforms.json").write_bytes(content)
    assert words in refusal(read_scene, tmp_path)


def test_no_scene_there(tmp_path):
    assert "no such path" in refusal(read_scene, tmp_path / "none")
    assert "transforms_train.json" in refusal(read_scene, tmp_path)
    assert not is_scene(tmp_path)
    assert not is_scene(tmp_path / "none.json")
    (tmp_path / "a.txt").write_text("x")
    assert "transforms.json" in refusal(read_scene, tmp_path / "a.txt")


@pytest.mark.parametrize(
    "options",
    [{"split": "training"}, {"downscale": 0}, {"downscale": 1.5}, {"every": 0}, {"format": "x"}],
)
def test_options_that_make_no_sense(capture, options):
    assert next(iter(options)) in refusal(read_scene, capture, **options)


def test_a_format_that_is_not_there(capture):
    assert "none that can be read as llff" in refusal(read_scene, capture, format="llff")


# --- few frames, and poses that tell nothing --------------------------------------------------


def test_a_single_picture_is_said_to_fit_any_depth(capture):
    rewrite(capture, lambda content: content.update(frames=content["frames"][:1]))
    scene = read_scene(capture)
    assert len(scene) == 1
    assert scene.box is None
    assert "single picture" in scene.warnings[0]
    assert "split 'test'" in refusal(read_scene, capture, "test")


def test_equal_poses_are_said_to_tell_nothing(capture, views):
    def equal(content):
        for frame in content["frames"]:
            frame["transform_matrix"] = views[0].matrix.tolist()

    scene = read_scene(rewrite(capture, equal))
    assert scene.box is None
    assert "one place" in scene.warnings[0]
    assert read_scene(capture, "test").warnings == ()


def test_a_scene_far_from_the_origin_loses_digits_and_is_told(capture, views, shows_the_points):
    def far(content):
        for frame, view in zip(content["frames"], views, strict=True):
            moved = view.matrix + np.eye(4, k=3) * 4e5
            frame["transform_matrix"] = moved.tolist()

    scene = read_scene(rewrite(capture, far))
    assert "digits" in scene.warnings[0]
    assert scene.box is not None
    assert scene.box.center[0] == pytest.approx(4e5, abs=0.01)


# --- cameras alone ----------------------------------------------------------------------------


def test_cameras_without_pictures(capture, views):
    for file in (capture / "images").iterdir():
        file.unlink()
    cameras = read_cameras(capture / "transforms.json")
    assert len(cameras) == 9
    assert cameras.sizes[0].tolist() == [40, 24]
    position, _ = cameras.project(4, torch.tensor([0.1, -0.2, 0.3]).double())
    assert position.tolist() == pytest.approx(views[4].pixels[0].tolist())
    assert read_cameras(capture, size=(20, 12), every=3).focal.tolist() == [[15, 16.5]] * 3
    rewrite(capture, lambda content: [content.pop(key) for key in ("w", "h")])
    assert "frame 'images/0.png'" in refusal(read_cameras, capture, size=(20, 12))


def test_cameras_by_angle_take_any_size(tmp_path, save):
    write(tmp_path / "path.json", [("", np.eye(4))], camera_angle_x=ANGLE)
    assert "must name its picture" in refusal(read_cameras, tmp_path / "path.json")
    write(tmp_path / "path.json", [("a", np.eye(4))], camera_angle_x=ANGLE)
    cameras = read_cameras(tmp_path / "path.json", size=(160, 120))
    assert cameras.focal[0].tolist() == pytest.approx([222.22, 222.22], abs=0.005)
    assert "frame 'a'" in refusal(read_cameras, tmp_path / "path.json")
    save(tmp_path / "a.png", np.zeros((6, 8), np.uint8))
    assert read_cameras(tmp_path / "path.json").sizes.tolist() == [[8, 6]]
