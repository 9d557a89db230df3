"""COLMAP's models, written here byte by byte and line by line, and LLFF's arrays."""

import struct

import numpy as np
import pytest
import torch

from coordnet.scenes import is_scene, read_scene

from ..helpers import refusal

PINHOLE = (1, "PINHOLE", 40, 24, (30.0, 33.0, 19.0, 13.0))
NUMBERS = {"SIMPLE_PINHOLE": 0, "PINHOLE": 1, "SIMPLE_RADIAL": 2, "RADIAL": 3, "OPENCV": 4}
NUMBERS |= {"OPENCV_FISHEYE": 5, "FULL_OPENCV": 6, "NEW": 99}


def quaternion(turn):
    """The unit quaternion w, x, y, z of a rotation: the largest eigenvector of Bar-Itzhack's K."""
    (a, b, c), (d, e, f), (g, h, i) = turn
    matrix = np.array(
        [
            [a + e + i, h - f, c - g, d - b],
            [h - f, a - e - i, b + d, c + g],
            [c - g, b + d, e - a - i, f + h],
            [d - b, c + g, f + h, i - a - e],
        ]
    )
    return np.linalg.eigh(matrix)[1][:, -1]


def write_text(folder, cameras, photos, points):
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["# Camera list with one line of data per camera:"]
    for number, kind, width, height, parameters in cameras:
        lines.append(" ".join(map(str, (number, kind, width, height, *parameters))))
    (folder / "cameras.txt").write_text("\n".join(lines) + "\n")
    lines = ["# Image list with two lines of data per image:"]
    for number, (name, camera, turn, shift, seen) in enumerate(photos, start=1):
        values = (number, *quaternion(turn), *shift, camera, name)
        lines += [" ".join(map(str, values)), " ".join(f"1.5 2.5 {point}" for point in seen)]
    (folder / "images.txt").write_text("\n".join(lines) + "\n")
    lines = ["# 3D point list"]
    for number, point, track in points:
        values = (number, *point, 255, 0, 0, 0.5, *(x for pair in track for x in pair))
        lines.append(" ".join(map(str, values)))
    (folder / "points3D.txt").write_text("\n".join(lines) + "\n")


def write_binary(folder, cameras, photos, points):
    folder.mkdir(parents=True, exist_ok=True)
    data = struct.pack("<Q", len(cameras))
    for number, kind, width, height, parameters in cameras:
        data += struct.pack("<iiQQ", number, NUMBERS[kind], width, height)
        data += struct.pack(f"<{len(parameters)}d", *parameters)
    (folder / "cameras.bin").write_bytes(data)
    data = struct.pack("<Q", len(photos))
    for number, (name, camera, turn, shift, seen) in enumerate(photos, start=1):
        data += struct.pack("<I7dI", number, *quaternion(turn), *shift, camera)
        data += name.encode() + b"\0" + struct.pack("<Q", len(seen))
        for point in seen:
            data += struct.pack("<ddq", 1.5, 2.5, point)
    (folder / "images.bin").write_bytes(data)
    data = struct.pack("<Q", len(points))
    for number, point, track in points:
        data += struct.pack("<Q3d3Bd", number, *point, 255, 0, 0, 0.5)
        data += struct.pack("<Q", len(track)) + b"".join(
            struct.pack("<ii", *pair) for pair in track
        )
    (folder / "points3D.bin").write_bytes(data)


WRITERS = {"text": write_text, "binary": write_binary}


def names_of(views):
    """In no order, and one with a blank."""
    return [f"cam 1/{i:02}.png" if i == 4 else f"cam 0/{i:02}.png" for i in range(len(views))]


def photos_of(views, seen=()):
    rows = [
        (name, 1, view.turn, view.shift, seen)
        for name, view in zip(names_of(views), views, strict=True)
    ]
    return rows[5:] + rows[:5]


def some_points(number=400):
    places = np.random.default_rng(1).uniform((-1, -2, -0.5), (1, 2, 0.5), (number, 3))
    return [(3 * i + 7, place, [(1, i), (2, i), (5, i)]) for i, place in enumerate(places)]


@pytest.fixture(params=WRITERS)
def capture(request, tmp_path, views, save):
    """A folder as COLMAP leaves it, and a function that writes its model anew."""
    for name, view in zip(names_of(views), views, strict=True):
        save(tmp_path / "images" / name, view.picture)
    writer = WRITERS[request.param]

    def write(cameras=(PINHOLE,), photos=None, points=(), folder="sparse/0"):
        model = tmp_path / folder
        writer(model, cameras, photos_of(views) if photos is None else photos, points)
        return tmp_path

    return write


def in_order(views):
    return [views[i] for i in (0, 1, 2, 3, 5, 6, 7, 8, 4)]  # by name: cam 1 comes last


# --- COLMAP -----------------------------------------------------------------------------------


def test_a_model_shows_the_points_where_they_are(capture, views, shows_the_points):
    folder = capture()
    assert is_scene(folder)
    scene = read_scene(folder, "all")
    assert (scene.format, scene.near_far, scene.points) == ("colmap", None, None)
    shows_the_points(scene, in_order(views))
    shows_the_points(read_scene(folder), in_order(views)[1:8])
    shows_the_points(read_scene(folder, "test"), [views[0], views[4]])
    assert "look at" in scene.box.source
    inside = read_scene(folder / "sparse/0", "all")  # the model itself; images lie above it
    shows_the_points(inside, in_order(views))


@pytest.mark.parametrize("folder", ["", "sparse", "colmap/sparse/0"])
def test_usual_places_of_a_model(capture, views, shows_the_points, folder):
    shows_the_points(read_scene(capture(folder=folder), "all"), in_order(views))


def test_several_models(capture):
    capture()
    folder = capture(folder="sparse/1")
    assert "several models" in read_scene(folder).notes[0]


@pytest.mark.parametrize(
    ("kind", "parameters", "distortion"),
    [
        ("SIMPLE_PINHOLE", (30.0, 19.0, 13.0), None),
        ("SIMPLE_RADIAL", (30.0, 19.0, 13.0, -0.05), (-0.05, 0, 0, 0)),
        ("RADIAL", (30.0, 19.0, 13.0, -0.05, 0.01), (-0.05, 0.01, 0, 0)),
        ("OPENCV", (30.0, 33.0, 19.0, 13.0, -0.05, 0.01, 1e-3, 2e-3), (-0.05, 0.01, 1e-3, 2e-3)),
    ],
)
def test_camera_models(capture, kind, parameters, distortion):
    cameras = read_scene(capture([(1, kind, 40, 24, parameters)]), "all").cameras
    assert cameras.focal[3].tolist() == [30, 33 if kind == "OPENCV" else 30]
    assert cameras.principal_point[3].tolist() == [19, 13]
    if distortion is None:
        assert cameras.distortion is None
    else:
        assert cameras.distortion[3].tolist() == list(distortion)


def test_points_give_the_box_and_the_depths(capture, views):
    points = some_points()
    seen = [points[0][0], -1, points[1][0], points[2][0], 4]  # 4 is no point of the model
    photos = photos_of(views, seen)
    photos[0] = (*photos[0][:4], ())
    scene = read_scene(capture(points=points, photos=photos), "all")
    assert scene.points.shape == (400, 3)
    assert "400 points" in scene.box.source
    places = np.stack([place for _, place, _ in points])
    lower, upper = np.percentile(places, (1, 99), axis=0)
    margin = 0.05 * (upper - lower).max()
    np.testing.assert_allclose(scene.box.lower, lower - margin)
    np.testing.assert_allclose(scene.box.upper, upper + margin)
    assert "1 of 9 images show no points" in scene.notes[0]
    _, depth = scene.cameras.project(0, torch.from_numpy(places[:3]))
    near, far = scene.near_far[0]
    assert near == pytest.approx(float(depth.min()), rel=1e-2)
    assert far == pytest.approx(float(depth.max()), rel=1e-2)
    blind = [i for i, name in enumerate(scene.names) if name == photos[0][0]]
    others = [i for i in range(9) if i not in blind]
    assert scene.near_far[blind[0]].tolist() == [
        float(scene.near_far[others, 0].min()),
        float(scene.near_far[others, 1].max()),
    ]


def test_a_missing_picture_names_its_image(capture):
    folder = capture()
    (folder / "images/cam 1/04.png").unlink()
    text = refusal(read_scene, folder, "all")
    assert "'cam 1/04.png'" in text
    assert str(folder / "images/cam 1/04.png") in text


def test_a_picture_of_another_size_names_its_image(capture, save):
    folder = capture()
    save(folder / "images/cam 1/04.png", np.zeros((24, 41, 3), np.uint8))
    text = refusal(read_scene, folder, "all")
    assert "'cam 1/04.png' must be 40 x 24" in text
    assert "41 x 24" in text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cameras": [(1, "OPENCV_FISHEYE", 40, 24, (30.0,) * 8)]}, "OPENCV_FISHEYE"),
        ({"cameras": [(1, "FULL_OPENCV", 40, 24, (30.0,) * 12)]}, "FULL_OPENCV"),
        ({"cameras": [(1, "NEW", 40, 24, (30.0,) * 3)]}, "camera"),
        ({"cameras": [(2, *PINHOLE[1:])]}, "camera 1"),
        ({"cameras": [(1, "PINHOLE", 40, 24, (0.0, 33.0, 19.0, 13.0))]}, "focal length"),
        ({"cameras": [(1, "PINHOLE", 0, 24, (30.0, 33.0, 19.0, 13.0))]}, "size"),
        ({"cameras": [(1, "PINHOLE", 40, 24, (float("nan"), 33.0, 19.0, 13.0))]}, "finite"),
        ({"photos": []}, "no images"),
    ],
)
def test_models_that_make_no_scene(capture, change, words):
    assert words in refusal(read_scene, capture(**change), "all")


@pytest.mark.parametrize("name", ["cameras", "images", "points3D"])
def test_a_binary_model_that_is_cut_short(tmp_path, views, name):
    write_binary(tmp_path, [PINHOLE], photos_of(views, [7]), some_points(20))
    file = tmp_path / f"{name}.bin"
    whole = file.read_bytes()
    file.write_bytes(b"")
    assert "empty file" in refusal(read_scene, tmp_path, "all")
    for size in (5, 8, 20, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        text = refusal(read_scene, tmp_path, "all")
        assert str(file) in text
        assert "left at byte" in text
    file.write_bytes(struct.pack("<Q", 2**63) + whole[8:])
    assert "left at byte" in refusal(read_scene, tmp_path, "all")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("cameras", "1 PINHOLE 40"),
        ("cameras", "1 PINHOLE 40 x 30 33 19 13"),
        ("images", "1 1 0 0 0 0 0 3 1"),
        ("images", "1 1 0 0 zero 0 0 3 1 a.png"),
        ("points3D", "1 0 0 zero 1 2 3 0.5"),
        ("points3D", "1 0 0"),
    ],
)
def test_a_text_model_with_a_damaged_line_names_it(tmp_path, views, name, line):
    write_text(tmp_path, [PINHOLE], photos_of(views), some_points(20))
    (tmp_path / f"{name}.txt").write_text(f"# comment\n\n{line}\n")
    text = refusal(read_scene, tmp_path, "all")
    assert f"{name}.txt" in text
    assert "line 3" in text


def test_a_quaternion_that_is_no_rotation(tmp_path, views):
    write_text(tmp_path, [PINHOLE], photos_of(views), [])
    (tmp_path / "images.txt").write_text("1 2 0 0 0 0 0 3 1 a.png\n")
    assert "length 1" in refusal(read_scene, tmp_path, "all")


# --- LLFF -------------------------------------------------------------------------------------


def llff(folder, views, save, images="images", suffix=".JPG", focal=30.0):
    """Nine frames: columns down, right, backward, position, (height, width, focal)."""
    rows = []
    for i, view in enumerate(views):
        right, up, back, eye = view.matrix[:3].T
        sizes = np.array([24.0, 40.0, focal])
        rows.append([*np.stack([-up, right, back, eye, sizes], 1).ravel(), 1 + i, 9 + i])
        save(folder / images / f"IMG_{i}{suffix}", view.picture)
    np.save(folder / "poses_bounds.npy", np.array(rows))
    return folder


@pytest.fixture(scope="module")
def plain_views(make_view):
    return [make_view(0.7 * i, focal=(30.0, 30.0), center=(20.0, 12.0)) for i in range(9)]


def test_llff_shows_the_points_where_they_are(tmp_path, plain_views, save, shows_the_points):
    llff(tmp_path, plain_views, save, suffix=".PNG")
    for path in (tmp_path, tmp_path / "poses_bounds.npy"):
        scene = read_scene(path, "all")
        shows_the_points(scene, plain_views)
    assert scene.format == "llff"
    assert scene.near_far.tolist() == [[1 + i, 9 + i] for i in range(9)]
    assert scene.names[2] == "IMG_2.PNG"
    shows_the_points(read_scene(tmp_path, "test"), [plain_views[0], plain_views[8]])


def test_llff_s_smaller_pictures_have_other_names(tmp_path, plain_views, save):
    llff(tmp_path, plain_views, save)
    for i, view in enumerate(plain_views):
        save(tmp_path / f"images_8/image{i:03}.png", view.picture[::8, ::8])
    scene = read_scene(tmp_path, "all", downscale=8)
    assert scene.cameras.sizes[0].tolist() == [5, 3]
    assert scene.cameras.focal[0].tolist() == [3.75, 3.75]
    assert "1/8" in scene.notes[0]
    picture = torch.from_numpy(plain_views[3].picture[::8, ::8] / np.float32(255))
    assert torch.equal(scene.images.image(3)[..., :3], picture)
    for file in (tmp_path / "images").iterdir():
        file.unlink()
    (tmp_path / "images").rmdir()
    scene = read_scene(tmp_path, "all")
    assert scene.names[0] == "image000.png"
    assert scene.cameras.sizes[0].tolist() == [5, 3]


def test_llff_with_another_number_of_pictures(tmp_path, plain_views, save):
    llff(tmp_path, plain_views, save)
    (tmp_path / "images/IMG_3.JPG").unlink()
    text = refusal(read_scene, tmp_path)
    assert "8 pictures" in text
    assert "9 frames" in text


def test_llff_without_pictures(tmp_path, plain_views, save):
    llff(tmp_path, plain_views, save, images="photos")
    assert str(tmp_path / "images") in refusal(read_scene, tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda a: a[:, :15], "17 numbers"),
        (lambda a: a[:0], "no frames"),
        (lambda a: a.astype(object), "NumPy array"),
        (lambda a: a.astype(str), "17 numbers"),
        (lambda a: np.where(np.arange(17) == 3, np.nan, a), "nan for frame 0"),
        (lambda a: np.where(np.arange(17) == 15, 0, a), "bounds of frame 0"),
        (lambda a: np.where(np.arange(17) == 14, -1, a), "frame 0"),
        (lambda a: np.where(np.arange(17) == 0, -a, a), "frame 0 in poses_bounds.npy"),
    ],
)
def test_llff_arrays_that_make_no_scene(tmp_path, plain_views, save, change, words):
    llff(tmp_path, plain_views, save)
    table = np.load(tmp_path / "poses_bounds.npy")
    np.save(tmp_path / "poses_bounds.npy", change(table))
    assert words in refusal(read_scene, tmp_path)


def test_an_llff_file_that_is_no_array(tmp_path):
    (tmp_path / "poses_bounds.npy").write_bytes(b"no array")
    assert "NumPy array" in refusal(read_scene, tmp_path)


def test_a_folder_of_two_formats_says_which_was_read(tmp_path, plain_views, save, shows_the_points):
    llff(tmp_path, plain_views, save)
    photos = [(f"IMG_{i}.JPG", 1, view.turn, view.shift, ()) for i, view in enumerate(plain_views)]
    camera = (1, "SIMPLE_PINHOLE", 40, 24, (30.0, 20.0, 12.0))
    write_binary(tmp_path / "sparse/0", [camera], photos, [])
    scene = read_scene(tmp_path)
    assert scene.format == "llff"
    assert "colmap" in scene.notes[0]
    other = read_scene(tmp_path, format="colmap")
    torch.testing.assert_close(other.cameras.poses, scene.cameras.poses)
