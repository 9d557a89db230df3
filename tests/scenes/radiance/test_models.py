"""Fields, the hull, the occupancy grid, and a scene that is found again."""

import json
import math

import pytest
import torch

import coordnet as cn
from coordnet.encodings import HashGrid, SphericalHarmonics
from coordnet.networks import MLP
from coordnet.scenes import (
    CarvedGrid,
    OccupancyModel,
    RadianceField,
    RadianceObjective,
    RayTable,
    look_at,
    render_view,
    visual_hull,
)
from coordnet.scenes.radiance.field import safe_exp
from coordnet.training import FitConfig, minimize

from ..ball import LOWER, UPPER, Pixels, ball, cameras_around

CPU = torch.device("cpu")


def small_model(seed=0, hull=None, resolution=32):
    grid = HashGrid(3, 4, 2, log2_hashmap_size=14, base_resolution=8, max_resolution=48, seed=seed)
    directions = SphericalHarmonics(degree=2)
    field = RadianceField(
        grid.on_domain(torch.tensor(LOWER), torch.tensor(UPPER)),
        directions,
        MLP(grid.out_dim, 8, 32, 1, seed=seed),
        MLP(7 + directions.out_dim, 3, 32, 1, seed=seed + 1),
    )
    model = OccupancyModel(field, LOWER, UPPER, 0.02, resolution, hull)
    model.samples_per_step = 16_384
    return model


class TestField:
    def test_color_depends_on_the_direction_and_density_does_not(self):
        field = small_model().field
        with torch.no_grad():
            field.encoding.encoding.tables.uniform_(-1, 1)
        x = torch.rand(50, 3) * 2 - 1
        d = torch.nn.functional.normalize(torch.randn(50, 3), dim=-1)
        density, color = field(x, d)
        other_density, other = field(x, -d)
        assert density.shape == (50,)
        assert color.shape == (50, 3)
        torch.testing.assert_close(density, other_density, atol=0, rtol=0)
        assert (color - other).abs().max() > 1e-3
        assert ((color >= 0) & (color <= 1)).all()
        assert (density > 0).all()

    def test_the_exponential_has_finite_gradients(self):
        x = torch.tensor([-200.0, 0.0, 14.0, 90.0, 1e6], requires_grad=True)
        y = safe_exp(x)
        assert torch.isfinite(y).all()
        y.sum().backward()
        assert torch.isfinite(x.grad).all()
        torch.testing.assert_close(x.grad[:3], torch.exp(x[:3]).detach())

    def test_sizes_that_do_not_fit(self):
        grid, directions = HashGrid(3, 2, seed=0), SphericalHarmonics(degree=2)
        with pytest.raises(cn.InputError, match="density_network must take 4"):
            RadianceField(grid, directions, MLP(5, 4), MLP(7, 3))
        with pytest.raises(cn.InputError, match="color_network must take 7"):
            RadianceField(grid, directions, MLP(4, 4), MLP(6, 3))
        with pytest.raises(cn.InputError, match="exp, relu"):
            RadianceField(grid, directions, MLP(4, 4), MLP(7, 3), density="tanh")


class TestHull:
    def test_it_keeps_the_scene_and_carves_the_rest(self, scene):
        cameras, pixels = scene
        alpha = pixels.opacity.view(20, 32, 32)
        # what is fainter than a thousandth is nothing here
        hull = visual_hull(cameras, lambda i: (alpha[i] > 1e-3).float(), LOWER, UPPER, 64)
        center = (torch.arange(64) + 0.5) / 32 - 1
        radius = torch.stack(torch.meshgrid(center, center, center, indexing="ij")).square().sum(0)
        radius = radius.sqrt()
        assert hull[radius < 0.6].all()
        assert not hull[radius > 0.95].any()
        assert hull.float().mean() < 0.35

    def test_the_coarse_levels_change_nothing(self, scene):
        cameras, pixels = scene
        alpha = (pixels.opacity.view(20, 32, 32) > 1e-3).float()
        fine = visual_hull(cameras, lambda i: alpha[i], LOWER, UPPER, 64)
        plain = torch.stack(
            [visual_hull(cameras[i], lambda _, i=i: alpha[i], LOWER, UPPER, 64) for i in range(20)]
        ).all(0)
        assert not (fine & ~plain).any()  # coarse cells are judged too, which only carves more
        assert (plain & ~fine).float().mean() < 0.02

    def test_a_cell_that_no_camera_sees_is_kept(self):
        one = cameras_around(1, 16)
        hull = visual_hull(one, lambda _: torch.zeros(16, 16), [-3.0] * 3, [3.0] * 3, 32)
        assert hull[0, 0, 0]
        assert hull[31, 31, 31]
        assert not hull[16, 16, 16]

    def test_a_camera_inside_the_box(self):
        pose = look_at((0.0, 0.0, 0.0), (0.0, 1.0, 0.0))
        camera = cn.scenes.Cameras.pinhole(pose, 20.0, width=16, height=16)
        hull = visual_hull(camera, lambda _: torch.zeros(16, 16), LOWER, UPPER, 16)
        assert hull[:, :8].all()  # behind it
        assert not hull[8, 14, 8]


class TestGrid:
    def test_it_finds_what_is_empty(self):
        grid = CarvedGrid(LOWER, UPPER, 0.05, resolution=32)
        generator = torch.Generator().manual_seed(0)
        for number in range(6):
            grid.refresh(lambda x: ball(x, x)[0], number, generator)
        center = (torch.arange(32) + 0.5) / 16 - 1
        radius = torch.stack(torch.meshgrid(center, center, center, indexing="ij")).square().sum(0)
        assert grid.occupied[radius.sqrt() < 0.6].all()
        assert not grid.occupied[radius.sqrt() > 0.85].any()

    def test_rays_that_miss(self):
        grid = CarvedGrid(LOWER, UPPER, 0.05, resolution=8)
        origins = torch.tensor([[5.0, 5.0, 5.0], [0.0, 0.0, 5.0]])
        samples = grid.march(origins, torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]))
        assert len(samples) == 0
        assert samples.num_rays == 2

    def test_what_it_refuses(self):
        with pytest.raises(cn.InputError, match="hull"):
            CarvedGrid(LOWER, UPPER, 0.1, 8, torch.ones(4, 4, 4, dtype=torch.bool))
        with pytest.raises(cn.InputError, match="some cell"):
            CarvedGrid(LOWER, UPPER, 0.1, 4, torch.zeros(4, 4, 4, dtype=torch.bool))
        with pytest.raises(cn.InputError, match="step_size"):
            CarvedGrid(LOWER, UPPER, 0.0)
        with pytest.raises(cn.InputError, match="lower and upper"):
            CarvedGrid(UPPER, LOWER, 0.1)


@pytest.fixture(scope="module")
def fitted(scene):
    cameras, pixels = scene
    alpha = pixels.opacity.view(20, 32, 32)
    hull = visual_hull(cameras, lambda i: (alpha[i] > 1e-3).float(), LOWER, UPPER, 32)
    model = small_model(hull=hull)
    config = FitConfig(steps=300, learning_rate=1e-2, eps=1e-15, batch_size=4096, evaluate=False,
                       optimizer="adam")  # fmt: skip
    objective = RadianceObjective(model, RayTable(cameras), pixels, config, CPU)
    return model, minimize(objective, config), objective


class TestInverse:
    def test_a_known_scene_is_found_again(self, fitted):
        model, _, _ = fitted
        views = cameras_around(7, 24)
        wanted = Pixels(views)
        made = [render_view(model, views, i) for i in range(7)]
        over = torch.cat(
            [torch.from_numpy(v.composite((1.0, 1.0, 1.0))).reshape(-1, 3) for v in made]
        )
        target = wanted.color + 1 - wanted.opacity[:, None]
        assert cn.psnr(over, target, peak=1.0, clamp=True) > 35
        depth = torch.cat([torch.from_numpy(v.depth).reshape(-1) for v in made])
        inside = wanted.opacity > 0.99
        error = (depth - wanted.depth)[inside].abs()
        assert float(error.mean()) < 0.01 * 2 * math.sqrt(3)  # 1 % of the box's diagonal

    def test_it_knows_the_empty_space(self, fitted):
        model, _, objective = fitted
        assert float(model.grid.fraction()) < 0.25
        assert "% occupied" in objective.status()
        assert 0 < objective.samples_per_ray < 60
        psnr, rmse = objective.evaluate()
        assert psnr > 30
        assert rmse == pytest.approx(10 ** (-psnr / 20))

    def test_saved_and_loaded(self, fitted, tmp_path):
        model, _, _ = fitted
        cn.save(model, tmp_path / "scene.safetensors", {"task": "scene"})
        again = cn.load(tmp_path / "scene.safetensors")
        origins, directions = cameras_around(2, 8).image_rays(0)
        for a, b in zip(model.eval()(origins, directions), again(origins, directions), strict=True):
            torch.testing.assert_close(a, b, atol=0, rtol=0)

    def test_rendering_in_blocks_changes_nothing(self, fitted):
        model, _, _ = fitted
        views, done = cameras_around(2, 20), []
        whole = render_view(model, views, 1)
        parts = render_view(model, views, 1, rays=37, progress=done.append)
        assert abs(whole.color - parts.color).max() < 1e-5
        assert sum(done) == 400

    def test_the_same_seed_gives_the_same_losses(self, scene):
        cameras, pixels = scene
        losses = []
        for _ in range(2):
            config = FitConfig(steps=20, batch_size=512, evaluate=False, seed=3)
            objective = RadianceObjective(small_model(), RayTable(cameras), pixels, config, CPU)
            losses.append(minimize(objective, config).losses)
        assert losses[0] == losses[1]


def test_a_white_thing_does_not_collapse(scene):
    """Over white alone an empty volume is a perfect white scene; over random colors it is not."""
    cameras, pixels = scene
    white = pixels.opacity[:, None].expand(-1, 3)
    for seed in range(2):
        config = FitConfig(steps=150, batch_size=1024, learning_rate=2e-2, eps=1e-15, seed=seed,
                           evaluate=False)  # fmt: skip
        objective = RadianceObjective(
            small_model(seed),
            RayTable(cameras),
            lambda which: (white[which], pixels.opacity[which, None]),
            config,
            CPU,
        )
        minimize(objective, config)
        view = render_view(objective.model, cameras, 0)
        assert view.opacity[16, 16] > 0.9
        assert view.opacity[0, 0] < 0.1


def test_huber_and_a_fixed_background(scene):
    cameras, pixels = scene
    config = FitConfig(
        steps=80,
        batch_size=1024,
        learning_rate=1e-2,
        evaluate=False,
    )
    objective = RadianceObjective(
        small_model(), RayTable(cameras), pixels, config, CPU, (0.0, 0.0, 0.0), "huber"
    )
    losses = minimize(objective, config).losses
    assert losses[-1] < 0.5 * losses[0]
    with pytest.raises(cn.InputError, match="mse, huber"):
        RadianceObjective(small_model(), RayTable(cameras), pixels, config, CPU, None, "l1")


class TestSpec:
    def test_it_is_plain_json_and_builds_the_model_again(self):
        model = small_model()
        spec = json.loads(json.dumps(model.spec()))
        again = OccupancyModel.from_spec(spec)
        assert again.spec() == model.spec()
        again.load_state_dict(model.state_dict())

    @pytest.mark.parametrize(
        "change",
        [
            {"field": {}},
            {"field": None},
            {"lower": [0, 0]},
            {"upper": ["a", 1, 1]},
            {"step_size": -1},
            {"step_size": "1"},
            {"resolution": 0},
            {"resolution": None},
        ],
        ids=str,
    )
    def test_a_spec_that_is_none(self, change):
        with pytest.raises(cn.InputError):
            OccupancyModel.from_spec({**small_model().spec(), **change})
        with pytest.raises(cn.InputError):
            OccupancyModel.from_spec(None)
