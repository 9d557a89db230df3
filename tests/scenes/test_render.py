"""Views of a scene known in closed form: which cameras, what they show, what is written."""

import json
import math

import imageio.v3 as iio
import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from coordnet import InputError
from coordnet.kinds import Listener
from coordnet.scenes import Cameras, RadianceModel, RenderOutput, SceneRender, look_at
from coordnet.scenes.camera_choice import cameras_of, choose_cameras, reshaped
from coordnet.scenes.render import color_of, depth_range, render_path, render_scene
from coordnet.scenes.rendering.volume import Rendering

RADIUS, DISTANCE = 0.8, 3.0


class Told(Listener):
    """Keeps what it is told."""

    def __init__(self):
        self.texts, self.numbers = [], []

    def notice(self, text):
        self.texts.append(text)

    def wrote(self, path, about=""):
        self.texts.append(f"wrote {path}: {about}")

    def progress(self, what, done, total):
        self.numbers.append((done, total))


class Ball(RadianceModel):
    """An opaque ball around the origin, colored by its normals; glass of opacity ¼ beside it."""

    def __init__(self, radius=RADIUS):
        super().__init__()
        self.radius = nn.Parameter(torch.tensor(radius))
        self.rays = []

    def render(self, origins, directions, generator=None):
        self.rays.append(len(origins))
        along = -(origins * directions).sum(-1)
        nearest = origins + along[:, None] * directions
        height = self.radius**2 - nearest.square().sum(-1)
        hit = height > 0
        depth = torch.where(hit, along - height.clamp(min=0).sqrt(), along)
        normals = nearest + (depth - along)[:, None] * directions
        beside = ~hit & (nearest.square().sum(-1) < 1)
        opacity = hit.float() + 0.25 * beside.float()
        color = torch.where(hit[:, None], 0.5 + normals / 2, 0.5) * opacity[:, None]
        depth = torch.where(opacity > 0, depth, 0.0)
        return RenderOutput((Rendering(color, opacity, depth, opacity[:, None]),), len(origins))

    def density(self, positions):
        raise NotImplementedError

    def color(self, positions, directions):
        raise NotImplementedError

    @property
    def box(self):
        return [-1.0] * 3, [1.0] * 3

    def spec(self):
        return {}


def ring(number=8, width=20, height=16, distortion=None):
    eyes = [
        (DISTANCE * math.cos(a), DISTANCE * math.sin(a), 0.5)
        for a in (2 * math.pi * i / number for i in range(number))
    ]
    poses = look_at(torch.tensor(eyes, dtype=torch.float64), (0.0, 0.0, 0.0))
    return Cameras.pinhole(poses, (24.0, 25.0), width=width, height=height, distortion=distortion)


def row(number=5):
    """Cameras side by side that look the same way."""
    eyes = torch.tensor([[0.1 * i, 0.05 * (i % 2), 3.0] for i in range(number)])
    poses = look_at(eyes, eyes - torch.tensor([0.0, 0.0, 3.0]), (0.0, 1.0, 0.0))
    return Cameras.pinhole(poses, 24.0, width=20, height=16)


def settings_of(cameras, **changes):
    distortion = cameras.distortion
    return {
        "lens": {
            "width": int(cameras.sizes[0, 0]),
            "height": int(cameras.sizes[0, 1]),
            "focal": cameras.focal[0].tolist(),
            "principal_point": cameras.principal_point[0].tolist(),
            "distortion": None if distortion is None else distortion[0].tolist(),
        },
        "poses": cameras.poses.flatten(1).tolist(),
        "box": [[-1.0] * 3, [1.0] * 3],
        "background": [1.0, 1.0, 1.0],
        **changes,
    }


def expected(cameras, i=0):
    """Color over nothing, opacity and depth of a view."""
    width, height = cameras.sizes[i].tolist()
    with torch.no_grad():
        seen = Ball().render(*cameras.image_rays(i)).levels[-1]
    return tuple(
        each.numpy().reshape(height, width, *each.shape[1:])
        for each in (seen.color, seen.opacity, seen.depth)
    )


class TestCameras:
    @pytest.mark.parametrize("distortion", [None, [0.02, -0.01, 0.001, 0.002]])
    def test_a_run_gives_its_cameras_back(self, distortion):
        cameras = ring(distortion=distortion)
        again = cameras_of(settings_of(cameras))
        for name in ("poses", "focal", "principal_point", "sizes", "distortion"):
            one, other = getattr(cameras, name), getattr(again, name)
            assert (one is None and other is None) or torch.equal(one, other)

    def test_a_run_of_0_1_0_has_its_principal_point_as_centre(self):
        settings = settings_of(ring())
        lens = settings["lens"]
        lens["centre"] = lens.pop("principal_point")
        lens["centre"][0] += 1.5
        point = ring().principal_point + torch.tensor([1.5, 0.0])
        assert torch.equal(cameras_of(settings).principal_point, point)

    @pytest.mark.parametrize(
        "settings",
        [
            {},
            {"lens": None, "poses": []},
            settings_of(ring(), poses=[]),
            settings_of(ring(), poses=[[1.0] * 11]),
            settings_of(ring(), poses=[[1.0] * 12]),
            settings_of(ring(), poses="abc"),
            settings_of(
                ring(), lens={"width": 0, "height": 5, "focal": [1, 1], "principal_point": [1, 1]}
            ),
            settings_of(
                ring(), lens={"width": 5, "height": 5, "focal": [1], "principal_point": [1, 1]}
            ),
            settings_of(
                ring(), lens={"width": 5, "height": 5, "focal": [1, 1], "principal_point": None}
            ),
        ],
    )
    def test_a_run_without_cameras(self, settings):
        with pytest.raises(InputError, match=r"must hold its cameras.*Fit the scene again"):
            cameras_of(settings)

    def test_the_training_cameras_are_taken_as_they_are(self):
        cameras = ring(distortion=[0.02, 0.0, 0.0, 0.0])
        found, words = choose_cameras(
            settings_of(cameras), SceneRender(path="train"), None, single=False
        )
        assert torch.equal(found.poses, cameras.poses)
        assert found.distortion is not None
        assert words == "the training cameras"
        found, words = choose_cameras(settings_of(cameras), SceneRender(view=3), None, single=False)
        assert torch.equal(found.poses, cameras.poses[3:4])
        assert words == "view 3 of the training cameras"

    def test_a_picture_shows_the_first_training_view_unless_another_is_named(self):
        settings = settings_of(ring())
        found, words = choose_cameras(settings, SceneRender(), None, single=True)
        assert torch.equal(found.poses, ring().poses[:1])
        assert words == "view 0 of the training cameras"
        found, words = choose_cameras(
            settings, SceneRender(path="orbit", view=7), None, single=True
        )
        assert words == "view 7 of an orbit around what the cameras look at"
        with pytest.raises(InputError, match=r"one view; got 60 views, an orbit.*--view 0"):
            choose_cameras(settings, SceneRender(path="orbit"), None, single=True)
        assert len(
            choose_cameras(settings, SceneRender(path="orbit", frames=1), None, single=True)[0]
        )

    def test_frames_lead_from_one_training_camera_to_the_next(self):
        cameras = ring(distortion=[0.02, 0.0, 0.0, 0.0])
        views = SceneRender(path="train", frames=15)
        found, words = choose_cameras(settings_of(cameras), views, None, single=False)
        assert len(found) == 15
        assert torch.allclose(found.poses[::2], cameras.poses)
        assert found.distortion is None
        assert words == "a way between the training cameras"

    def test_the_default_path_suits_the_cameras(self):
        found, words = choose_cameras(settings_of(ring()), SceneRender(), None, single=False)
        assert words == "an orbit around what the cameras look at"
        assert len(found) == 60
        radius = torch.linalg.vector_norm(found.positions, dim=-1)
        assert torch.allclose(radius, torch.full_like(radius, math.hypot(DISTANCE, 0.5)))
        views = SceneRender(frames=9)
        found, words = choose_cameras(settings_of(row()), views, None, single=False)
        assert words == "a spiral amid the training cameras"
        assert len(found) == 9
        assert (found.view_directions[:, 2] < -0.9).all()

    def test_the_middle_of_a_spiral_is_what_lies_in_the_box(self):
        settings = settings_of(row(), box=[[-1.0, -1.0, -2.0], [1.0, 1.0, 0.0]])
        found, _ = choose_cameras(
            settings, SceneRender(path="spiral", frames=16), None, single=False
        )
        middle = torch.tensor([0.2, 0.02, -1.0], dtype=torch.float64)
        position, _ = found.project(torch.arange(16), middle)
        assert (position - found.principal_point).abs().max() < 0.5

    def test_cameras_of_a_file(self, tmp_path):
        poses = torch.cat([ring(3).poses, torch.tensor([0.0, 0, 0, 1]).expand(3, 1, 4)], 1)
        frames = [
            {"file_path": f"missing/r_{i}", "transform_matrix": pose.tolist()}
            for i, pose in enumerate(poses)
        ]
        path = tmp_path / "path.json"
        path.write_text(json.dumps({"fl_x": 30.0, "w": 32, "h": 24, "frames": frames}))
        views = SceneRender(camera=path)
        found, words = choose_cameras(settings_of(ring()), views, None, single=False)
        assert torch.allclose(found.poses, ring(3).poses)
        assert found.sizes.tolist() == [[32, 24]] * 3
        assert "path.json" in words
        views = SceneRender(camera=path, frames=5, view=1)
        found, words = choose_cameras(settings_of(ring()), views, (16, 12), single=True)
        assert found.sizes.tolist() == [[16, 12]]
        assert found.focal[0, 0] == 15
        assert words.startswith("view 1 of a way between the cameras in")

    @pytest.mark.parametrize(
        ("cameras", "views", "words"),
        [
            (ring(), SceneRender(path="loop"), ["orbit, spiral, train", "loop"]),
            (ring(), SceneRender(path="orbit", frames=0), ["frames", "at least 1"]),
            (ring(), SceneRender(path="spiral"), ["same way", "8 cameras", "--path orbit"]),
            (row(), SceneRender(path="orbit"), ["look at", "5 cameras", "--path spiral"]),
            (ring(), SceneRender(view=8), ["0 to 7", "--view 8"]),
            (ring(), SceneRender(path="orbit", frames=4, view=4), ["0 to 3", "--view 4"]),
        ],
    )
    def test_what_these_cameras_do_not_have(self, cameras, views, words):
        with pytest.raises(InputError) as error:
            choose_cameras(settings_of(cameras), views, None, single=False)
        assert all(word in str(error.value) for word in words), str(error.value)

    def test_a_size_of_the_same_shape_shows_the_same(self):
        cameras = reshaped(ring(), 40, 32)
        assert cameras.focal[0].tolist() == [48, 50]
        assert cameras.principal_point[0].tolist() == [20, 16]
        assert reshaped(ring(), 13, 10).sizes[0].tolist() == [13, 10]  # 10.4 rows, rounded

    @pytest.mark.parametrize("size", [(40, 16), (20, 60), (7, 30)])
    def test_another_shape_shows_all_and_more(self, size):
        cameras = ring()
        wide = reshaped(cameras, *size)
        assert wide.sizes.tolist() == [list(size)] * 8
        assert wide.focal[0, 0] / wide.focal[0, 1] == pytest.approx(24 / 25)
        corners = torch.tensor([[0.0, 0.0], [20.0, 0.0], [0.0, 16.0], [20.0, 16.0]])
        origins, directions = cameras.rays_at(0, corners)
        position, _ = wide.project(0, origins + directions)
        assert position.min() > -1e-4
        assert (position <= torch.tensor(size) + 1e-4).all()
        sides = position.amax(0) - position.amin(0)
        assert (sides / torch.tensor(size)).max() == pytest.approx(1, abs=1e-5)


@pytest.fixture(scope="module")
def cameras():
    return ring()


class TestPictures:
    def test_a_picture_on_a_background(self, tmp_path, cameras):
        told = Told()
        path = tmp_path / "a.png"
        render_path(Ball(), cameras[2], path, background=(0.2, 0.4, 1.0), listener=told)
        color, opacity, _ = expected(cameras, 2)
        behind = (1 - opacity[..., None]) * np.array([0.2, 0.4, 1.0])
        assert np.abs(iio.imread(path) - 255 * (color + behind)).max() < 0.501
        assert {0.0, 0.25, 1.0} == set(opacity.reshape(-1).tolist())
        assert told.texts == ["wrote " + str(path) + ": 1 view of 20 x 16, on #3366ff"]

    def test_a_transparent_picture_has_straight_alpha(self, tmp_path, cameras):
        path = tmp_path / "a.png"
        render_path(Ball(), cameras[0], path, background=None)
        found = iio.imread(path)
        assert found.shape == (16, 20, 4)
        _, opacity, _ = expected(cameras)
        assert np.abs(found[..., 3] - 255 * opacity).max() < 0.501
        beside = opacity == 0.25
        assert found[beside][:, :3].tolist() == [[128, 128, 128]] * int(beside.sum())

    @pytest.mark.parametrize("name", ["o.gif", "o"])
    def test_every_frame_is_a_view(self, tmp_path, cameras, name):
        told = Told()
        path = tmp_path / name
        render_path(Ball(), cameras, path, fps=10, listener=told)
        assert sum(done for done, _ in told.numbers) == 8 * 320
        assert {total for _, total in told.numbers} == {8 * 320}
        if name == "o":
            found = np.stack([iio.imread(each) for each in sorted(path.iterdir())])
        else:
            found = iio.imread(path)
        assert len(found) == 8
        for i in range(8):
            color, opacity, _ = expected(cameras, i)
            error = found[i] - 255 * (color + 1 - opacity[..., None])
            assert np.abs(error).max() < (0.501 if name == "o" else 16)

    def test_an_mp4_has_as_many_frames(self, tmp_path, cameras):
        ffmpeg = pytest.importorskip("imageio_ffmpeg")
        path = tmp_path / "o.mp4"
        told = Told()
        render_path(Ball(), reshaped(cameras, 33, 25), path, fps=10, listener=told)
        assert ffmpeg.count_frames_and_secs(str(path)) == (8, 0.8)
        assert "34 x 26" in told.texts[0]
        assert "8 views of 33 x 25, on white at 10 a second" in told.texts[1]

    def test_depths_as_numbers(self, tmp_path, cameras):
        render_path(Ball(), cameras, tmp_path / "d.npy", depth=True)
        found = np.load(tmp_path / "d.npy")
        assert (found.shape, found.dtype) == ((8, 16, 20), np.dtype("float32"))
        for i in range(8):
            _, opacity, depth = expected(cameras, i)
            assert found[i] == pytest.approx(np.where(opacity == 1, depth, 0))
        render_path(Ball(), cameras[3], tmp_path / "one.npy", depth=True)
        assert np.array_equal(np.load(tmp_path / "one.npy"), found[3])

    def test_depths_as_colors_share_one_scale(self, tmp_path, cameras):
        told = Told()
        render_path(Ball(), cameras, tmp_path / "d", depth=True, listener=told)
        found = np.stack([iio.imread(each) for each in sorted((tmp_path / "d").iterdir())])
        depths = np.stack([expected(cameras, i)[2] for i in range(8)])
        seen = np.stack([expected(cameras, i)[1] for i in range(8)]) == 1
        near, far = depths[seen].min(), depths[seen].max()
        assert f"distances from {near:.4g} (bright) to {far:.4g} (dark)" in told.texts[-1]
        assert (found[~seen] == 255).all()
        # viridis: yellow near, violet far, ever darker between
        order = np.argsort(depths[seen])
        light = found[seen].astype(int) @ [2, 7, 1]
        assert (np.diff(light[order]) <= 10).all()
        assert light[order][0] > 1500 > 500 > light[order][-1]

    def test_the_scale_of_depths_comes_from_small_views(self):
        model = Ball()
        cameras = reshaped(ring(30), 600, 480)
        near, far = depth_range(model, cameras)
        assert sum(model.rays) <= 8 * 64 * 64
        tangent = math.sqrt(math.hypot(DISTANCE, 0.5) ** 2 - RADIUS**2)
        assert near == pytest.approx(math.hypot(DISTANCE, 0.5) - RADIUS, abs=0.01)
        assert tangent - 0.25 < far < tangent
        assert depth_range(Ball(radius=0.0), cameras) == (1.0, 2.0)
        assert depth_range(model, reshaped(ring(1), 600, 2))[0] < 3

    def test_an_empty_scene_is_its_background(self, tmp_path, cameras):
        empty = Ball(radius=-3.0)
        empty.render = lambda o, d, g=None: RenderOutput(
            (Rendering(torch.zeros_like(o), o[:, 0] * 0, o[:, 0] * 0, o[:, :1] * 0),), 0
        )
        for depth in (False, True):
            path = tmp_path / f"{depth}.png"
            render_path(empty, cameras[0], path, depth=depth)
            assert (iio.imread(path) == 255).all()
        render_path(empty, cameras[0], tmp_path / "n.png", background=None)
        assert (iio.imread(tmp_path / "n.png") == 0).all()

    @pytest.mark.parametrize("name", ["o.gif", "o.mp4", "o", "o.npy", "o.png"])
    def test_an_interruption_leaves_nothing(self, tmp_path, cameras, name):
        if name == "o.mp4":
            pytest.importorskip("imageio_ffmpeg")
        model, number = Ball(), 1 if name == "o.png" else 5
        render, calls = model.render, []

        def interrupted(*rays):
            calls.append(1)
            if len(calls) == number:
                raise KeyboardInterrupt
            return render(*rays)

        model.render = interrupted
        few = cameras[:1] if name == "o.png" else cameras
        with pytest.raises(KeyboardInterrupt):
            render_path(model, few, tmp_path / name, depth=name == "o.npy")
        assert not list(tmp_path.iterdir())

    def test_one_view_is_held_at_a_time(self, tmp_path, cameras, monkeypatch):
        written, rendered = [], []
        model = Ball()
        render = model.render
        model.render = lambda *rays: (rendered.append(1), render(*rays))[1]

        def consume(path, frames, fps):
            for _ in frames:
                written.append(1)
                assert len(rendered) == len(written)

        monkeypatch.setattr("coordnet.scenes.render.write_video", consume)
        render_path(model, cameras, tmp_path / "o.gif")
        assert len(written) == 8

    def test_views_of_several_sizes_are_no_video(self, tmp_path):
        both = Cameras(
            ring(2).poses,
            ring(2).focal,
            ring(2).principal_point,
            torch.tensor([[20, 16], [16, 20]]),
        )
        with pytest.raises(InputError, match=r"one size; got 20 x 16 and 16 x 20.*--size"):
            render_path(Ball(), both, tmp_path / "o.gif")

    def test_a_disk_that_fails_is_a_failed_run(self, tmp_path, cameras):
        with pytest.raises(RuntimeError, match=r"no.*gif could not be written"):
            render_path(Ball(), cameras, tmp_path / "no" / "o.gif")


def render(output, **options):
    render_scene(Ball(), settings_of(ring()), output, SceneRender(**options), Listener())


class TestOptions:
    def test_the_runs_background_is_the_default(self, tmp_path):
        path = tmp_path / "a.png"
        for background, corner in (
            (None, [255, 255, 255]),
            ("black", [0, 0, 0]),
            ("#0A141e", [10, 20, 30]),
            ("none", [0, 0, 0, 0]),
        ):
            render(path, background=background)
            assert iio.imread(path)[0, 0].tolist() == corner
        settings = settings_of(ring(), background=[0.0, 0.5, 1.0])
        assert color_of(None, settings) == (0.0, 0.5, 1.0)
        assert color_of(None, {}) == (1.0, 1.0, 1.0)

    def test_frames_a_second(self, tmp_path):
        render(tmp_path / "a.gif", frames=2, fps=4.0)
        with Image.open(tmp_path / "a.gif") as file:
            assert (file.n_frames, file.info["duration"]) == (2, 250)

    @pytest.mark.parametrize(
        ("name", "options", "words"),
        [
            ("a.avi", {}, [".mp4, .gif", ".png", "a.avi"]),
            ("a.png", {"fps": 3.0}, ["--fps", "a.png"]),
            ("a", {"fps": 3.0}, ["--fps 3"]),
            ("a.png", {"depth": True, "background": "white"}, ["--depth", "background"]),
            ("a.npy", {}, ["depths", "--depth"]),
            ("a.png", {"background": "pink"}, ["white, black, none", "pink"]),
            ("a.png", {"background": "#12345"}, ["#12345"]),
            ("a.jpg", {"background": "none"}, ["RGBA", ".png"]),
            ("a.gif", {"background": "none"}, ["no alpha"]),
            ("a.webp", {"size": (20_000, 10)}, ["16,383"]),
            ("a.mp4", {"size": (20_000, 10)}, ["16,384"]),
        ],
    )
    def test_what_does_not_go_together(self, tmp_path, name, options, words):
        if name == "a.mp4":
            pytest.importorskip("imageio_ffmpeg")
        with pytest.raises(InputError) as error:
            render(tmp_path / name, **options)
        assert all(word in str(error.value) for word in words), str(error.value)
        assert not list(tmp_path.iterdir())
