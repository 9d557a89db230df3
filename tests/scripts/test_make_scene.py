"""The bundled scene: what the tracer draws, what its files hold, and the cloud's formulas."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import coordnet as cn

SCENE = Path(__file__).resolve().parents[2] / "data" / "scene"


def directions(number, generator):
    found = generator.normal(size=(number, 3))
    return found / np.linalg.norm(found, axis=-1, keepdims=True)


def pixels_of(path):
    return cn.read_image(path).pixels


def frames(split, folder=SCENE):
    content = json.loads((folder / f"transforms_{split}.json").read_text("ascii"))
    return content, content["frames"]


IMPLICIT = {  # negative inside, zero on the surface
    "Sphere": lambda s, p: np.linalg.norm(p, axis=-1) - s.size,
    "Box": lambda s, p: (np.abs(p) - np.asarray(s.half)).max(-1),
    "Cylinder": lambda s, p: np.maximum(
        np.hypot(p[..., 0], p[..., 1]) - s.size, np.abs(p[..., 2]) - s.half
    ),
    "Torus": lambda s, p: np.hypot(np.hypot(p[..., 0], p[..., 1]) - s.ring, p[..., 2]) - s.tube,
}


def level(solid, point):
    return IMPLICIT[type(solid).__name__](solid, solid.local(point))


@pytest.mark.parametrize("kind", IMPLICIT)
def test_rays_meet_solids_where_they_first_are(load, kind):
    solids = load("_solids")
    form = {
        "Sphere": {"size": 0.7},
        "Box": {"half": (0.5, 0.3, 0.8)},
        "Cylinder": {"size": 0.4, "half": 0.6},
        "Torus": {"ring": 0.6, "tube": 0.25},
    }[kind]
    solid = getattr(solids, kind)(
        (0.2, -0.1, 0.3), lambda p: p, rotation=solids.turned(40, 70), **form
    )
    generator = np.random.default_rng(3)
    aim = np.asarray(solid.center) + 0.6 * generator.normal(size=(1500, 3))
    origin = 4 * directions(1500, generator)
    direction = aim - origin
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    distance = solid.hit(origin, direction)
    met = np.isfinite(distance)
    assert 200 < met.sum() < 1400

    at = np.linspace(0, 8, 1601)
    along = level(solid, origin[:, None] + at[:, None] * direction[:, None])
    inside = along < 0
    # where a walk in steps of 0.005 comes inside, it does so just behind the meeting
    walked = np.where(inside.any(-1), at[inside.argmax(-1)], np.inf)
    assert (walked >= distance).all()
    near = np.isfinite(walked)
    assert (walked[near] - distance[near] <= 0.005 + 1e-9).mean() > 0.97  # but for corners cut
    assert met.sum() - near.sum() < 20

    point = origin[met] + distance[met, None] * direction[met]
    assert np.abs(level(solid, point)).max() < 1e-9
    normal = solid.normal(point)
    assert np.linalg.norm(normal, axis=-1) == pytest.approx(1, abs=1e-9)
    assert ((normal * direction[met]).sum(-1) < 0).all()
    assert (level(solid, point + 1e-4 * normal) > 0).all()
    assert (level(solid, point - 1e-4 * normal) < 0).mean() > 0.99


def test_a_ray_that_starts_on_a_surface_leaves_it(load):
    solids = load("_still_life").SOLIDS
    generator = np.random.default_rng(0)
    for solid in solids:
        origin = np.asarray(solid.center) + 3 * directions(200, generator)
        inward = np.asarray(solid.center) + 0.05 - origin
        inward /= np.linalg.norm(inward, axis=-1, keepdims=True)
        distance = solid.hit(origin, inward)
        met = np.isfinite(distance)
        point = origin[met] + distance[met, None] * inward[met]
        assert np.isinf(solid.hit(point + 1e-5 * solid.normal(point), -inward[met])).mean() > 0.95
        if type(solid).__name__ != "Torus":
            assert np.isinf(solid.hit(point, -inward[met])).all()


def test_light_makes_shadows_and_highlights_that_move(load):
    life, solids = load("_still_life"), load("_solids")
    ball = solids.Sphere((0, 0, 0), lambda p: 0 * p + 0.3, size=0.5, gloss=0.1)
    roof = solids.Box((1.0, -0.85, 1.6), lambda p: p, half=(0.6, 0.6, 0.02))
    toward = life.LAMP / np.linalg.norm(life.LAMP)
    point, lamp = 0.5 * toward[None], life.LAMP[None]
    number = np.array([0])
    mirrored = life.shade(point, -toward[None], number, lamp, [ball])
    aside = np.cross(toward, [0.0, 0.0, 1.0]) + 0.6 * toward
    seen_aside = life.shade(point, -aside[None] / np.linalg.norm(aside), number, lamp, [ball])
    assert (mirrored > seen_aside + 0.1).all()
    shadowed = life.shade(point, -toward[None], number, lamp, [ball, roof])
    assert (shadowed < mirrored - 0.3).all()
    assert (shadowed > 0).all()


def test_colors_are_not_multiplied_by_alpha(load):
    straight = load("_scene").straight
    red, nothing = np.array([1.0, 0.25, 0.0]), np.zeros(3)
    share = np.array([0.0, 0.5, 1.0])
    color = np.stack([nothing, 0.5 * red, red])
    found = straight(color, share)
    assert found.tolist() == [[0, 0, 0, 0], [1, 0.25, 0, 0.5], [1, 0.25, 0, 1]]


def test_cameras_stand_around_and_look_at_the_middle(load):
    scene = load("_scene")
    poses = np.stack(scene.poses_around(40, np.random.default_rng(5)))
    rotation, at = poses[:, :3, :3], poses[:, :3, 3]
    assert np.abs(rotation.swapaxes(1, 2) @ rotation - np.eye(3)).max() < 1e-12
    assert np.linalg.det(rotation) == pytest.approx(1)
    assert np.linalg.norm(at, axis=-1) == pytest.approx(scene.RADIUS)
    heights = np.sort(at[:, 2]) / scene.RADIUS
    assert -0.2 <= heights[0] < 0 < 0.85 < heights[-1] <= 0.95
    likeness = at @ at.T / scene.RADIUS**2 - 2 * np.eye(40)
    assert math.degrees(math.acos(likeness.max())) > 5  # no two at one place
    for pose in poses[:3]:
        origin, direction = scene.rays(pose, 1)
        assert np.cross(origin[0], direction[0]) == pytest.approx(0, abs=1e-12)
        assert (origin[0] * direction[0]).sum() < 0
        _, corners = scene.rays(pose, 2)
        assert corners[0, 2] > corners[2, 2]  # row 0 is on top, and z is up
        tangent = np.tan(scene.ANGLE_X / 2)  # the pixels' centers lie half as far out
        cosine = (corners[0] * corners[1]).sum()
        assert cosine == pytest.approx(1 / (1 + tangent**2 / 2), abs=1e-12)


def test_the_bundled_scene_is_small_and_whole():
    files = [path for path in SCENE.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 2e6
    for split, number in (("train", 40), ("test", 10)):
        content, found = frames(split)
        assert content["camera_angle_x"] == 0.6911112070083618
        assert len(found) == number
        for frame in found:
            pixels = pixels_of(SCENE / f"{frame['file_path']}.png")
            assert pixels.shape == (100, 100, 4)
            assert pixels.dtype == np.uint8
            alpha = pixels[..., 3]
            assert 0.08 < (alpha == 255).mean() < 0.6
            assert (alpha == 0).mean() > 0.3
            assert len(np.unique(alpha)) > 20  # edges are smooth
            assert not pixels[alpha == 0].any()
            assert pixels[alpha == 255][:, :3].std() > 40  # there is something to learn


def test_bundled_depths_lie_on_the_surfaces(load):
    solids = load("_still_life").SOLIDS
    rays = load("_scene").rays
    content, found = frames("test")
    met = set()
    for frame in found:
        pose = np.array(frame["transform_matrix"])
        steps = pixels_of(SCENE / frame["depth_path"])
        assert steps.dtype == np.uint16
        depth = steps[..., 0].reshape(-1) * content["depth_unit"]
        alpha = pixels_of(SCENE / f"{frame['file_path']}.png")[..., 3].reshape(-1)
        assert (depth[alpha == 255] > 0).all()
        assert (depth[alpha == 0] == 0).all()
        origin, direction = rays(pose, 100)
        seen = depth > 0
        point = origin[seen] + depth[seen, None] * direction[seen]
        assert np.abs(point).max() < 1.5
        levels = np.stack([level(solid, point) for solid in solids], -1)
        assert np.abs(np.abs(levels).min(-1)).max() < 1e-4
        assert levels.min() > -1e-4  # and inside of none
        met |= set(np.unique(np.abs(levels).argmin(-1)).tolist())
    assert met == set(range(len(solids)))


def test_the_reader_sees_the_rays_that_were_drawn(load):
    rays = load("_scene").rays
    scene = cn.scenes.read_scene(SCENE, "test")
    assert len(scene) == 10
    _, found = frames("test")
    for i in (0, 9):
        origin, direction = rays(np.array(found[i]["transform_matrix"]), 100)
        origins, directions = scene.cameras.image_rays(i)
        assert np.abs(origins.numpy() - origin).max() < 1e-6
        assert np.abs(directions.numpy() - direction).max() < 1e-6
        pixels = pixels_of(SCENE / f"{found[i]['file_path']}.png") / 255
        expected = pixels[..., :3] * pixels[..., 3:] + 1 - pixels[..., 3:]
        assert np.abs(scene.images.composited(i, 1.0).numpy() - expected).max() < 2e-3


def test_the_bundled_scene_is_what_the_script_makes(load):
    make, scene = load("make_scene"), load("_scene")
    generator = np.random.default_rng(0)
    poses = scene.poses_around(40, generator)
    _, found = frames("train")
    assert np.array([f["transform_matrix"] for f in found]) == pytest.approx(np.stack(poses))
    view = make.trace(poses[0], 100, 6, generator)
    bundled = pixels_of(SCENE / "train" / "r_0.png").astype(int)
    difference = np.abs(np.rint(255 * view.pixels) - bundled)
    assert difference.max() <= 1  # another machine's sine may round otherwise
    assert (difference > 0).mean() < 0.001


def test_the_same_seed_gives_the_same_bytes(script, tmp_path):
    size = ("--train", 2, "--test", 1, "--size", 24, "--samples", 2)
    for name, seed in (("a", 4), ("b", 4), ("c", 5)):
        done = script("make_scene.py", *size, "--seed", seed, "--out", name)
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        assert done.stdout.splitlines()[-1].startswith(f"written: {name}, 6 files")
    names = sorted(path.relative_to(tmp_path / "a") for path in (tmp_path / "a").rglob("*.*"))
    assert len(names) == 6
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert any(
        (tmp_path / "a" / name).read_bytes() != (tmp_path / "c" / name).read_bytes()
        for name in names
    )


def test_the_cloud_by_its_formulas(load):
    cloud = load("_cloud")
    generator = np.random.default_rng(1)
    origin = 4 * directions(400, generator)
    direction = 0.5 * generator.normal(size=(400, 3)) - origin
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    exact = cloud.opacity(origin, direction, 1.4, 6.6)
    assert 0.05 < (exact > 0.99).mean() < 0.95
    found = cloud.gather(origin, direction, 1.4, 6.6, 512)
    assert np.abs(found.opacity - exact).max() < 1e-9
    finer = cloud.gather(origin, direction, 1.4, 6.6, 1024)
    assert np.abs(found.color - finer.color).max() < 2e-4
    solid = exact > 0.5
    assert np.abs(found.depth - finer.depth)[solid].max() < 2e-4


def test_a_slab_of_one_density_by_its_formulas(load):
    gather = load("_cloud").gather
    origin, direction = np.array([[0.0, 0.0, 2.0]]), np.array([[0.0, 0.0, -1.0]])
    density, color = 3.0, np.array([0.2, 0.5, 0.9])
    found = gather(
        origin,
        direction,
        1.0,
        2.5,
        4096,
        lambda p: np.full(len(p), density),
        lambda p: np.broadcast_to(color, p.shape),
    )
    passed = math.exp(-density * 1.5)
    assert found.opacity == pytest.approx(1 - passed, abs=1e-12)
    assert found.color[0] == pytest.approx(color * (1 - passed), abs=1e-12)
    mean = 1 + 1 / density - 1.5 * passed / (1 - passed)
    assert found.depth == pytest.approx(mean, abs=1e-6)


def test_the_cloud_as_files(script, tmp_path, load):
    done = script(
        "make_scene.py", "--analytic", "--train", 1, "--test", 2, "--size", 20, "--out", "cloud"
    )
    assert done.returncode == 0, done.stderr
    cloud, make, scene = load("_cloud"), load("make_scene"), load("_scene")
    content, found = frames("test", tmp_path / "cloud")
    for frame in found:
        pose = np.array(frame["transform_matrix"])
        view = make.see_cloud(pose, 20)
        pixels = pixels_of(tmp_path / "cloud" / f"{frame['file_path']}.png")
        assert np.abs(pixels / 255 - view.pixels).max() < 0.5 / 255 + 1e-9
        ends = scene.RADIUS - make.REACH, scene.RADIUS + make.REACH
        opacity = cloud.opacity(*scene.rays(pose, 20), *ends).reshape(20, 20)
        assert np.abs(pixels[..., 3] / 255 - opacity).max() < 0.5 / 255 + 1e-6
        depth = pixels_of(tmp_path / "cloud" / frame["depth_path"])[..., 0] * content["depth_unit"]
        assert np.abs(depth - view.depth).max() < 0.6e-4
        assert ((depth > 0) == (opacity >= 0.5)).all()
        assert 0.02 < (depth > 0).mean() < 0.5


def test_the_ground_goes_on_to_the_horizon(load):
    around = load("_surroundings")
    generator = np.random.default_rng(1)
    direction = directions(3000, generator)
    origin = np.tile([0.3, -0.2, 0.4], (3000, 1))
    color, distance = around.surroundings(origin, direction)
    assert ((color >= 0) & (color <= 1)).all()
    down = direction[:, 2] < 0
    assert np.isinf(distance[~down]).all()
    met = origin[down] + distance[down, None] * direction[down]
    np.testing.assert_allclose(met[:, 2], around.GROUND, atol=1e-9 * distance[down].max())
    # the sky stands still wherever one looks from; what lies below does not
    moved, _ = around.surroundings(origin + 1.0, direction)
    assert np.array_equal(moved[~down], color[~down])
    assert np.abs(moved[down] - color[down]).max() > 0.1


def test_a_scene_without_alpha_or_from_one_side(script, tmp_path):
    tiny = ("--train", 3, "--test", 1, "--size", 12, "--samples", 1, "--ground", "--ahead")
    done = script("make_scene.py", *tiny, "--out", "s")
    assert done.returncode == 0, done.stderr
    scene = cn.scenes.read_scene(tmp_path / "s")
    assert not scene.has_alpha
    assert cn.scenes.arrangement(scene.cameras) == "forward"
    depth = pixels_of(tmp_path / "s" / "depth" / "r_0.png")
    assert (depth[0] == 0).all()  # the sky
    assert (depth[-1] > 0).all()  # the ground


def test_errors_are_one_line(error_of, tmp_path):
    for key in ("train", "test", "size", "samples"):
        assert f"--{key} must be at least 1" in error_of("make_scene", f"--{key}", 0)
    assert "--seed must be" in error_of("make_scene", "--seed", -1)
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "transforms_test.json").write_text("{}")
    assert "not replaced unasked" in error_of("make_scene", "--out", "s")
    assert "the cloud has no ground" in error_of("make_scene", "--analytic", "--ground")
