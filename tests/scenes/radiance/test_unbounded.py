"""Scenes without bounds, contracted into a cube."""

import json
import math

import pytest
import torch
from torch import nn

import coordnet as cn
from coordnet.encodings import HashGrid, SphericalHarmonics
from coordnet.networks import MLP
from coordnet.scenes import OccupancyModel, RadianceField, UnboundedModel


def uncontract(points):
    """Return the points in space of points of the cube."""
    size = points.abs().amax(-1, keepdim=True).clamp(1, 2)
    return points / (size * (2 - size))


class Shell(nn.Module):
    """Nothing within ten radii of the center, beyond it an opaque sky; per length in the cube."""

    density_in_the_cube = 1e5

    def __init__(self):
        super().__init__()
        self.directions = nn.Identity()

    def geometry(self, points):
        far = uncontract(points).norm(dim=-1) > 10
        return self.density_in_the_cube * far.float(), points.new_zeros(len(points), 1)

    def density(self, points):
        return self.geometry(points)[0]

    def color(self, features, directions):
        return 0.5 + 0.5 * directions


class Fog(Shell):
    """Of one density in space, which is a different one in the cube."""

    def geometry(self, points):
        largest = uncontract(points).abs().amax(-1).clamp(min=1)
        return 0.02 * largest.square(), points.new_zeros(len(points), 1)


def small_model(**settings):
    grid = HashGrid(3, 3, 2, log2_hashmap_size=12, base_resolution=8, max_resolution=32, seed=0)
    directions = SphericalHarmonics(degree=1)
    cube = [torch.tensor([s * 2.0] * 3) for s in (-1, 1)]
    field = RadianceField(
        grid.on_domain(*cube),
        directions,
        MLP(grid.out_dim, 4, 16, 1, seed=0),
        MLP(3 + directions.out_dim, 3, 16, 1, seed=1),
    )
    return UnboundedModel(field, [1.0, 2.0, 3.0], 0.5, resolution=16, **settings)


def some_rays(number=64):
    generator = torch.Generator().manual_seed(0)
    origins = torch.rand(number, 3, generator=generator) - 0.5
    directions = nn.functional.normalize(torch.randn(number, 3, generator=generator), dim=-1)
    return origins, directions


def test_a_sky_is_seen_where_it_is():
    origins, directions = some_rays()
    model = UnboundedModel(Shell(), [0, 0, 0], 1.0, step_size=0.01, resolution=8)
    (seen,) = model.render(origins, directions).levels
    torch.testing.assert_close(seen.color, 0.5 + 0.5 * directions, atol=2e-3, rtol=0)
    torch.testing.assert_close(seen.opacity, torch.ones(64), atol=1e-3, rtol=0)
    along = (origins * directions).sum(-1)
    exact = -along + (along.square() + 100 - origins.square().sum(-1)).sqrt()
    # a step is (r / 2)² · 0.01 long out there
    torch.testing.assert_close(seen.depth, exact, atol=0.3, rtol=0)


def test_the_density_is_one_of_space():
    origins, directions = some_rays()
    model = UnboundedModel(Fog(), [0, 0, 0], 1.0, near=1e-3, far=8.0, resolution=8)
    (seen,) = model.render(origins, directions).levels
    expected = torch.full((64,), 1 - math.exp(-0.02 * (8 - 1e-3)))
    torch.testing.assert_close(seen.opacity, expected, atol=1e-3, rtol=0)
    at = torch.randn(200, 3) * 4
    torch.testing.assert_close(model.density(at), torch.full((200,), 0.02), rtol=1e-3, atol=0)


@pytest.mark.parametrize("kind", [Shell, Fog])
def test_only_the_place_relative_to_the_center_counts(kind):
    origins, directions = some_rays()
    center = torch.tensor([3.0, -1.0, 2.0])
    one = UnboundedModel(kind(), [0, 0, 0], 1.0, resolution=8)
    other = UnboundedModel(kind(), center.tolist(), 4.0, resolution=8)
    (first,) = one.render(origins, directions).levels
    (second,) = other.render(4 * origins + center, directions).levels
    for name, factor in (("color", 1.0), ("opacity", 1.0), ("depth", 4.0)):
        torch.testing.assert_close(
            factor * getattr(first, name), getattr(second, name), atol=2e-3, rtol=2e-3
        )
    at = torch.randn(50, 3)
    torch.testing.assert_close(one.density(at), 4 * other.density(4 * at + center), rtol=1e-3,
                               atol=1e-4)  # fmt: skip
    assert other.box == ([-1.0, -5.0, -2.0], [7.0, 3.0, 6.0])


def test_samples_are_even_in_distance_and_then_in_inverse_distance():
    model = UnboundedModel(Shell(), [0, 0, 0], 1.0, step_size=0.05, far=500.0, resolution=4)
    samples, points = model.sample(torch.zeros(1, 3), torch.tensor([[0.0, 0.6, 0.8]]), None)
    assert float(samples.starts[0]) == pytest.approx(0.05)
    assert float(samples.ends[-1]) == pytest.approx(500.0)
    torch.testing.assert_close(samples.ends[:-1], samples.starts[1:])
    length = samples.ends - samples.starts
    near = samples.ends < 2
    torch.testing.assert_close(length[near], torch.full_like(length[near], 0.05), atol=1e-4, rtol=0)
    far = (samples.starts >= 2) & (samples.ends < 499)
    inverse = 1 / samples.starts - 1 / samples.ends
    torch.testing.assert_close(
        inverse[far], torch.full_like(inverse[far], 0.05 / 4), atol=1e-4, rtol=0
    )
    assert points.abs().max() < 2
    assert len(samples) <= 4 / 0.05  # however far


def test_no_cell_that_is_opaque_to_a_step_is_taken_for_empty():
    model = UnboundedModel(Shell(), [0, 0, 0], 1.0, resolution=32)
    for step in range(16, 200, 16):
        model.refresh(step, torch.Generator().manual_seed(step))
    far = torch.tensor([[15.0, 0, 0], [-300.0, 10, 4], [0, 40.0, 40.0]])
    assert (model.density(far) > 0).all()
    assert float(model.grid.fraction()) < 0.6  # the inner half of the cube is known to be empty
    before = UnboundedModel(Shell(), [0, 0, 0], 1.0, resolution=32)
    rays = some_rays()
    assert model.render(*rays).num_samples < 0.5 * before.render(*rays).num_samples
    torch.testing.assert_close(
        model.render(*rays).levels[0].color, before.render(*rays).levels[0].color, atol=5e-3,
        rtol=0,
    )  # fmt: skip


def test_gradients_are_finite_and_it_is_saved(tmp_path):
    model = small_model(near=0.01)
    origins, directions = some_rays()
    seen = model.render(origins + torch.tensor(model.center), directions)
    seen.levels[0].color.square().sum().backward()
    for parameter in model.parameters():
        assert parameter.grad is not None
        assert torch.isfinite(parameter.grad).all()
    cn.save(model, tmp_path / "m.safetensors")
    again = cn.load(tmp_path / "m.safetensors")
    assert type(again) is UnboundedModel
    assert json.dumps(again.spec()) == json.dumps(model.spec())
    with torch.no_grad():
        at = origins + torch.tensor(model.center)
        assert torch.equal(again(at, directions).color, model(at, directions).color)
    cn.save(OccupancyModel(model.field, [-2.0] * 3, [2.0] * 3, resolution=8), tmp_path / "o")
    assert type(cn.load(tmp_path / "o")) is OccupancyModel


def test_samples_close_to_the_camera_learn_less():
    origins, directions = some_rays()
    model = UnboundedModel(Fog(), [0, 0, 0], 1.0, far=3.0, resolution=8)
    asked = []

    def watched(points):
        asked.append(Fog.geometry(model.field, points)[0].requires_grad_())
        return asked[-1], points.new_zeros(len(points), 1)

    model.field.geometry = watched
    (seen,) = model.render(origins, directions).levels
    seen.opacity.sum().backward()
    samples, points = model.sample(origins, directions, None)
    at = (samples.starts + samples.ends) / 2
    # without scaling d opacity / d density = (1 - opacity) · length of the sample in the cube
    length = (samples.ends - samples.starts) * (2 - points.abs().amax(-1)).clamp(max=1).square()
    whole = (1 - seen.opacity.detach())[samples.ray_indices] * length
    torch.testing.assert_close(
        asked[0].grad, whole * at.square().clamp(max=1), rtol=2e-3, atol=1e-6
    )


@pytest.mark.parametrize(
    "change",
    [
        {"center": [0, 0]},
        {"center": [0, 0, math.inf]},
        {"center": None},
        {"radius": 0},
        {"near": -1},
        {"far": 0.05},
        {"step_size": math.nan},
        {"resolution": 0},
        {"field": {}},
    ],
    ids=str,
)
def test_settings_that_cannot_be(change):
    with pytest.raises(cn.InputError):
        UnboundedModel.from_spec({**small_model().spec(), **change})
    with pytest.raises(cn.InputError, match="field, center, radius"):
        UnboundedModel.from_spec(dict.fromkeys(("field", *change), 1))
