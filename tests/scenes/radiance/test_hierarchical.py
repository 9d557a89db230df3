"""The original NeRF: its sizes, its rendering against a plain loop, a scene that it learns."""

import itertools
import json
import math

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.scenes import (
    HierarchicalModel,
    RadianceField,
    RadianceObjective,
    RayTable,
    original_nerf,
    render_view,
)
from coordnet.training import FitConfig, minimize

from ..ball import LOWER, UPPER, Pixels, cameras_around

CPU = torch.device("cpu")
NEAR, FAR = 2.0, 4.0


def tiny(seed=0, **settings):
    settings = {"hidden_dim": 32, "coarse_samples": 12, "fine_samples": 12, **settings}
    return original_nerf(NEAR, FAR, LOWER, UPPER, seed, **settings)


def rays(number=50, seed=0):
    generator = torch.Generator().manual_seed(seed)
    origins = torch.nn.functional.normalize(torch.randn(number, 3, generator=generator), dim=-1) * 3
    targets = torch.rand(number, 3, generator=generator) - 0.5
    return origins, torch.nn.functional.normalize(targets - origins, dim=-1)


def fog(density, coarse_samples=64, **settings):
    """A model whose both fields have one density and one color everywhere."""
    model = tiny(coarse_samples=coarse_samples, **settings)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        for field in (model.coarse, model.fine):
            field.density_network.layers[-1].bias[0] = density
            field.color_network.layers[-1].bias[:] = torch.tensor([0.0, math.log(3), -math.log(3)])
    return model


class TestSizes:
    def test_they_are_those_of_the_paper(self):
        model = original_nerf(2.0, 6.0, [-1.5] * 3, [1.5] * 3)
        numbers = [sum(p.numel() for p in f.parameters()) for f in (model.coarse, model.fine)]
        assert numbers == [595_844, 595_844]  # as nerf_synthetic's checkpoints have
        spec = model.spec()
        assert (spec["coarse_samples"], spec["fine_samples"]) == (64, 128)
        assert (spec["near"], spec["far"]) == (2.0, 6.0)
        assert model.box == ([-1.5] * 3, [1.5] * 3)

    def test_positions_are_encoded_as_they_are(self):
        x = torch.tensor([[0.3, -1.2, 1.5]])
        field = original_nerf(2.0, 6.0, [-1.5] * 3, [1.5] * 3, hidden_dim=2).fine
        for encoding, k in ((field.encoding, 10), (field.directions, 4)):
            found = encoding(x)[0]
            assert found[:3].tolist() == x[0].tolist()
            angles = (x[0].double()[:, None] * 2.0 ** torch.arange(k)).reshape(-1)
            expected = torch.stack([angles.sin(), angles.cos()], -1).reshape(-1)
            torch.testing.assert_close(found[3:].double(), expected, atol=1e-6, rtol=0)

    def test_memory_bounds_the_rays_at_once(self):
        model = original_nerf(2.0, 6.0, [-1.5] * 3, [1.5] * 3, hidden_dim=2)
        assert model.samples_per_ray == 64 + 192
        assert model.rays_at_once == 256

    def test_the_seed_decides_the_weights_and_the_fields_differ(self):
        before = torch.get_rng_state()
        one, same, other = tiny(0), tiny(0), tiny(1)
        assert torch.equal(before, torch.get_rng_state())
        for a, b, c in zip(one.parameters(), same.parameters(), other.parameters(), strict=True):
            assert torch.equal(a, b)
            assert not torch.equal(a, c)
        for a, b in zip(one.coarse.parameters(), one.fine.parameters(), strict=True):
            assert not torch.equal(a, b)


def by_hand(model, origin, direction):
    """Render one ray sample by sample, in float64, with samples at the middles of their strata."""
    near, far, number = model.near, model.far, model.coarse_samples
    end = 1e10 if model.endless else far
    at = [near + (i + 0.5) * (far - near) / number for i in range(number)]
    coarse = composite(model.coarse, origin, direction, at, end)
    edges = [(a + b) / 2 for a, b in itertools.pairwise(at)]
    mass = [w + 1e-5 for w in coarse[3][1:-1]]
    more = []
    for i in range(model.fine_samples):
        left = (i + 0.5) / model.fine_samples * sum(mass)
        for each, (start, stop) in zip(mass, itertools.pairwise(edges), strict=True):
            if left <= each:
                more.append(start + (stop - start) * left / each)
                break
            left -= each
    return coarse, composite(model.fine, origin, direction, sorted(at + more), end)


def composite(field, origin, direction, at, end):
    light, shares, color, depth = 1.0, [], np.zeros(3), 0.0
    for i, t in enumerate(at):
        density, seen = (
            each[0].double().numpy() for each in field(origin + t * direction, direction)
        )
        length = (at[i + 1] if i + 1 < len(at) else end) - t
        share = light * (1 - math.exp(-float(density) * length))
        light *= math.exp(-float(density) * length)
        shares.append(share)
        color += share * seen
        depth += share * t
    return color, sum(shares), depth / sum(shares) if sum(shares) else 0.0, shares


class TestRendering:
    @pytest.mark.parametrize("endless", [False, True])
    def test_it_is_the_loop_of_the_paper(self, endless):
        model = tiny(3, endless=endless)
        with torch.no_grad():  # denser, so that weights differ between samples
            for field in (model.coarse, model.fine):
                field.density_network.layers[-1].weight[0] *= 20
        origins, directions = rays(8)
        with torch.no_grad():
            seen = model.render(origins, directions)
            assert seen.num_samples == 8 * (12 + 24)
            for i in range(8):
                expected = by_hand(model, origins[i : i + 1], directions[i : i + 1])
                for rendering, (color, opacity, depth, shares) in zip(
                    seen.levels, expected, strict=True
                ):
                    assert rendering.color[i].numpy() == pytest.approx(color, abs=2e-4)
                    assert float(rendering.opacity[i]) == pytest.approx(opacity, abs=2e-4)
                    assert float(rendering.depth[i]) == pytest.approx(depth, abs=2e-3)
                    assert rendering.weights[i].numpy() == pytest.approx(shares, abs=2e-3)
        assert seen.levels[-1].opacity.max() > 0.2

    def test_a_constant_fog_in_the_box(self):
        model = fog(0.7, cut=True)
        origins = torch.tensor([[-3.0, 0.0, 0.0], [0.0, 0.0, 3.0], [-3.0, 2.0, 0.0]])
        directions = torch.tensor([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])
        with torch.no_grad():
            seen = model.render(origins, directions)
        # the box spans 2 along both rays; the first sample is half a stratum inside it
        expected = 1 - math.exp(-0.7 * 2 * (1 - 1 / 128))
        for rendering in seen.levels:
            assert rendering.opacity.tolist() == pytest.approx([expected, expected, 0.0], abs=1e-5)
            shown = rendering.color[0] / rendering.opacity[0]
            assert shown.tolist() == pytest.approx([0.5, 0.75, 0.25], abs=1e-5)
            assert rendering.depth[2] == 0

    def test_the_last_interval_has_an_end_or_none(self):
        for endless, expected in ((False, 1 - math.exp(-0.7 * 2 * (1 - 1 / 24))), (True, 1.0)):
            model = fog(0.7, coarse_samples=12, endless=endless)
            with torch.no_grad():
                seen = model.render(*rays())
            for rendering in seen.levels:
                assert rendering.opacity.tolist() == pytest.approx([expected] * 50)
            with torch.no_grad():
                empty = fog(0.0, endless=endless).render(*rays()).levels[-1]
            assert empty.opacity.abs().max() == 0
            assert torch.isfinite(empty.depth).all()

    def test_blocks_change_nothing(self, monkeypatch):
        model = tiny(1)
        whole = model.render(*rays(37))
        monkeypatch.setattr(model, "rays_at_once", 11)
        calls = []
        inner = model._render
        model._render = lambda o, d, g: (calls.append(len(o)), inner(o, d, g))[1]
        with torch.no_grad():
            parts = model.render(*rays(37))
        assert calls == [11, 11, 11, 4]
        assert parts.num_samples == whole.num_samples
        for one, other in zip(whole.levels, parts.levels, strict=True):
            for a, b in zip(one, other, strict=True):
                torch.testing.assert_close(a.detach(), b, atol=1e-6, rtol=1e-5)
        with torch.no_grad():
            assert len(model.render(torch.empty(0, 3), torch.empty(0, 3)).levels[-1].depth) == 0

    def test_samples_are_drawn_from_the_generator_alone(self):
        model, (origins, directions) = tiny(1), rays()
        before = torch.get_rng_state()
        drawn = [
            model.render(origins, directions, torch.Generator().manual_seed(seed)).levels[-1].depth
            for seed in (0, 0, 1)
        ]
        assert torch.equal(drawn[0], drawn[1])
        assert not torch.equal(drawn[0], drawn[2])
        assert torch.equal(model(origins, directions).color, model(origins, directions).color)
        assert torch.equal(before, torch.get_rng_state())

    def test_each_field_learns_from_its_own_rendering(self):
        model = fog(0.7)
        for which, (learns, rests) in enumerate(((model.coarse, model.fine),) * 2):
            model.zero_grad()
            model.render(*rays()).levels[which].color.sum().backward()
            learning, resting = (learns, rests) if which == 0 else (rests, learns)
            assert any(p.grad is not None and p.grad.abs().max() > 0 for p in learning.parameters())
            assert all(p.grad is None or p.grad.abs().max() == 0 for p in resting.parameters())
            assert all(
                torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None
            )


class TestSpec:
    def test_it_comes_back_whole_from_a_file(self, tmp_path):
        model = tiny(5, cut=True)
        path = tmp_path / "model.safetensors"
        cn.save(model, path, {"note": "kept"})
        again = cn.load(path)
        assert isinstance(again, HierarchicalModel)
        assert again.spec() == model.spec() == json.loads(json.dumps(model.spec()))
        with torch.no_grad():
            for one, other in zip(model(*rays()), again(*rays()), strict=True):
                assert torch.equal(one, other)

    @pytest.mark.parametrize(
        ("change", "word"),
        [
            ({"coarse": None}, "radiance field"),
            ({"fine": {"encoding": 1}}, "radiance field"),
            ({"near": "2"}, "near"),
            ({"near": 5.0}, "far must be above near"),
            ({"near": -1.0}, "near"),
            ({"near": None}, "near"),
            ({"far": math.inf}, "far"),
            ({"far": [6.0]}, "far"),
            ({"lower": [1, 2]}, "upper"),
            ({"upper": [-2.0] * 3}, "upper"),
            ({"upper": "abc"}, "upper"),
            ({"coarse_samples": 2}, "at least 3"),
            ({"coarse_samples": 10**9}, "at most 4,096"),
            ({"fine_samples": 0}, "at least 1"),
            ({"fine_samples": 1.5}, "integer"),
            ({"cut": "yes"}, "cut"),
            ({"endless": 1}, "endless"),
            ({"endless": True, "cut": True}, "box cuts"),
            ({"extra": 1}, "extra"),
            ({1: 2}, "coarse, fine"),
        ],
    )
    def test_hostile_specs(self, change, word):
        with pytest.raises(cn.InputError, match=word):
            HierarchicalModel.from_spec({**tiny(hidden_dim=2).spec(), **change})

    @pytest.mark.parametrize("spec", [None, [], "x", {}, {"coarse": {}}])
    def test_what_is_no_spec(self, spec):
        with pytest.raises(cn.InputError, match="coarse"):
            HierarchicalModel.from_spec(spec)

    def test_a_missing_setting(self):
        spec = tiny(hidden_dim=2).spec()
        del spec["near"]
        with pytest.raises(cn.InputError, match="near"):
            HierarchicalModel.from_spec(spec)

    def test_a_bad_bias_of_a_field(self):
        spec = tiny(hidden_dim=2).spec()
        spec["fine"]["bias"] = None
        with pytest.raises(cn.InputError):
            HierarchicalModel.from_spec(spec)


def psnr_on_white(made, pixels):
    truth = pixels.color + 1 - pixels.opacity[:, None]
    return -10 * math.log10(float((made - truth).square().mean()))


@pytest.fixture(scope="module")
def fitted(scene):
    cameras, pixels = scene
    model = tiny(0)
    config = FitConfig(
        steps=160,
        batch_size=128,
        optimizer="adam",
        learning_rate=1e-2,
        warmup_steps=10,
        final_fraction=0.1,
        decay="exponential",
        precision="float32",
        device="cpu",
        evaluate=False,
    )
    objective = RadianceObjective(model, RayTable(cameras), pixels, config, CPU)
    return model, minimize(objective, config)


class TestFit:
    def test_it_finds_the_scene_in_views_that_it_did_not_see(self, fitted):
        model, _ = fitted
        held = cameras_around(3, 24, distance=2.9)
        pixels = Pixels(held)
        views = [render_view(model, held, i) for i in range(3)]
        made = torch.cat(
            [torch.from_numpy(each.composite((1.0,) * 3)).view(-1, 3) for each in views]
        )
        truth = pixels.color + 1 - pixels.opacity[:, None]
        mean = truth.mean(0).expand_as(truth)
        assert psnr_on_white(made, pixels) > psnr_on_white(mean, pixels) + 8
        opacity = torch.cat([torch.from_numpy(each.opacity).view(-1) for each in views])
        depth = torch.cat([torch.from_numpy(each.depth).view(-1) for each in views])
        sure = pixels.opacity > 0.99
        assert opacity[sure].mean() > 0.9
        assert opacity[pixels.opacity < 0.01].mean() < 0.05
        assert (depth - pixels.depth)[sure].abs().mean() < 0.2


def test_wrong_settings_of_the_builder():
    for settings in ({"seed": -1}, {"seed": 1 << 64}, {"hidden_dim": 1}, {"hidden_dim": 2.5}):
        with pytest.raises(cn.InputError):
            original_nerf(2.0, 6.0, [-1.5] * 3, [1.5] * 3, **settings)
    field = tiny(hidden_dim=2).fine
    assert isinstance(field, RadianceField)
    with pytest.raises(cn.InputError, match="far must be above near"):
        HierarchicalModel(field, field, 2.0, 2.0, LOWER, UPPER)
    assert HierarchicalModel(field, field, 0, 2.0, LOWER, UPPER).near == 0.0
