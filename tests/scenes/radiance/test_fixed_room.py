"""Steps of fits that no GPU is waited for in: room for a fixed number of samples."""

import pytest
import torch
from torch import nn

from coordnet.scenes import OccupancyModel, RadianceObjective, RayTable, UnboundedModel
from coordnet.training import FitConfig, minimize

from ..ball import LOWER, UPPER
from .test_models import small_model

CPU = torch.device("cpu")


class Smooth(nn.Module):
    """A density and a color in closed form, in float64."""

    def __init__(self):
        super().__init__()
        drawn = torch.Generator().manual_seed(0)
        self.waves = nn.Parameter(3 * torch.randn(3, 4, generator=drawn, dtype=torch.float64))
        self.tint = nn.Parameter(torch.randn(4, 3, generator=drawn, dtype=torch.float64))
        self.directions = nn.Identity()

    def geometry(self, points):
        features = torch.sin(points.double() @ self.waves)
        # opaque in places, so that there is something that nobody sees
        return 60 * features[:, 0].clamp(min=0).square(), features

    def density(self, points):
        return self.geometry(points)[0]

    def color(self, features, directions):
        return torch.sigmoid(features @ self.tint + directions)


def bounded():
    model = OccupancyModel(Smooth(), LOWER, UPPER, 0.05, 8)
    model.grid.occupied[:3] = False
    return model


def unbounded():
    return UnboundedModel(Smooth(), [0.0] * 3, 2.0, resolution=8)


def objective_of(scene, model, background=None, loss="mse"):
    cameras, pixels = scene
    model.samples_per_step = 20_000
    config = FitConfig(steps=1, evaluate=False)

    def wide(which):
        return tuple(each.double() for each in pixels(which))

    return RadianceObjective(model, RayTable(cameras), wide, config, CPU, background, loss)


def gradients(model, loss):
    model.zero_grad()
    loss.backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


@pytest.mark.parametrize("build", [bounded, unbounded])
@pytest.mark.parametrize("loss", ["mse", "huber"])
def test_where_all_samples_have_room_nothing_changes(scene, build, loss):
    which = torch.arange(0, 20 * 32 * 32, 97)
    found = []
    for fixed in (False, True):
        objective = objective_of(scene, build(), loss=loss)
        objective.fixed_room, objective.samples_per_ray = fixed, 80.0
        losses = objective.losses(which, 300)
        found.append((*losses, *gradients(objective.model, losses[0])))
        assert objective.rays_taken == objective.rays_drawn > 200
        assert losses[0] > 1e-3
    for exact, here in zip(*found, strict=True):
        assert exact.dtype == torch.float64
        assert exact.abs().max() > 0
        torch.testing.assert_close(here, exact, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("build", [bounded, unbounded])
def test_rays_without_room_are_not_in_the_loss(scene, build):
    which = torch.arange(0, 20 * 32 * 32, 97)
    objective = objective_of(scene, build(), (0.0, 0.0, 0.0))
    objective.fixed_room, objective.samples_per_ray = True, 8.0
    loss, square = objective.losses(which, len(which))
    made = gradients(objective.model, loss)
    # the same rays, exactly
    generator = torch.Generator().manual_seed(0)
    origins, directions = objective.rays.rays(which)
    seen = objective.model.render(origins, directions, generator)
    generator.manual_seed(0)
    samples, _ = objective.model.sample(origins, directions, generator)
    whole = samples.offsets[1:] <= 1.25 * 8 * len(which)
    assert 20 < whole.sum() < len(which) - 20
    truth, _ = objective.pixels(which)
    expected = (seen.levels[0].color - truth)[whole].square().mean()
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=0)
    torch.testing.assert_close(square, expected, rtol=1e-12, atol=0)
    for here, exact in zip(made, gradients(objective.model, expected), strict=True):
        torch.testing.assert_close(here, exact, rtol=1e-11, atol=1e-13)
    assert objective.rays_drawn == len(which)
    assert objective.rays_taken == int(whole.sum())


def test_no_ray_has_room(scene):
    objective = objective_of(scene, unbounded())
    objective.fixed_room, objective.samples_per_ray = True, 1e-6
    loss, _ = objective.losses(torch.arange(2), 2)
    assert loss.item() == 0
    assert all((each == 0).all() for each in gradients(objective.model, loss))
    assert objective.rays_taken == 0


def test_a_fit_finds_its_room_and_fits(scene):
    cameras, pixels = scene
    losses, parts, expected = {}, [], []
    for fixed in (False, True):
        config = FitConfig(steps=60, learning_rate=1e-2, eps=1e-15, batch_size=4096,
                           evaluate=False, optimizer="adam")  # fmt: skip
        objective = RadianceObjective(small_model(), RayTable(cameras), pixels, config, CPU)
        objective.fixed_room = fixed
        if fixed:
            before = objective.before

            def noted(step, before=before, objective=objective):
                before(step)
                expected.append(objective.samples_per_ray)
                parts.append((objective.rays_drawn, objective.rays_taken))

            objective.before = noted
        losses[fixed] = sum(minimize(objective, config).losses[-10:])
    assert losses[True] == pytest.approx(losses[False], rel=0.2)
    # read in the first step after each refresh, and in no other
    changes = [i for i in range(1, 60) if expected[i] != expected[i - 1]]
    assert changes == [1, 17, 33, 49]
    # after the first step all rays have room but where the refreshed grid has more in it
    drawn, taken = (later - first for later, first in zip(parts[-1], parts[1], strict=True))
    assert 0.95 * drawn < taken <= drawn


def test_a_checkpoint_between_two_readings(scene):
    one = objective_of(scene, bounded())
    one.fixed_room = True
    one.losses(torch.arange(300), 300)
    other = objective_of(scene, bounded())
    other.fixed_room = True
    other.load_state_dict({name: each.clone() for name, each in one.state_dict().items()})
    assert one.samples_per_ray is other.samples_per_ray is None
    for objective in (one, other):
        objective.before(5)
        assert objective.samples_per_ray is None
        objective.before(17)
    assert one.samples_per_ray == other.samples_per_ray > 1
