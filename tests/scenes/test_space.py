"""Which part of space a scene's model fills, by what its files tell."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.scenes import look_at
from coordnet.scenes.space import choose_space

SCENE = Path(__file__).parents[2] / "data" / "scene"


@pytest.fixture(scope="module")
def bundled():
    return cn.scenes.read_scene(SCENE, downscale=10)


def ahead(scene):
    """The same pictures, from cameras that all look along +y."""
    places = torch.rand(len(scene), 2, generator=torch.Generator().manual_seed(0)).tolist()
    poses = torch.cat([look_at((x, 0, z), (x, 5, z)).reshape(1, 3, 4) for x, z in places])
    return replace(scene, cameras=scene.cameras.with_poses(poses))


def test_a_box_where_there_is_alpha(bundled):
    space = choose_space(bundled, None)
    assert space.bounded
    assert (space.lower, space.upper) == (list(bundled.box.lower), list(bundled.box.upper))
    free = choose_space(bundled, "unbounded")
    assert not free.bounded
    # all cameras stand within the part of space that keeps its shape
    away = (bundled.cameras.positions - torch.tensor(free.center)).abs().amax()
    assert 0.9 * free.radius < float(away) < free.radius


def test_near_and_far_of_the_files(bundled):
    scene = ahead(bundled)
    middle = scene.cameras.positions.double().mean(0)
    blind = choose_space(scene, "unbounded")
    assert blind.near == 0.05
    known = torch.tensor([[4.0, 12.0]]).double().expand(len(scene), 2)
    space = choose_space(replace(scene, near_far=known), "unbounded")
    np.testing.assert_allclose(space.center, middle, atol=1e-6)
    assert space.radius == pytest.approx(4.0)  # what is nearest is where the contraction begins
    assert space.near * space.radius == pytest.approx(0.8 * 4.0)
    np.testing.assert_allclose(space.focus, middle + torch.tensor([0, 6.0, 0]), atol=1e-5)


def test_known_points_tell_as_well(bundled):
    scene = ahead(bundled)
    depth = torch.linspace(5, 9, 400).double()
    across = torch.rand(400, 2, generator=torch.Generator().manual_seed(1)).double() * 0.4
    points = torch.stack([0.3 + across[:, 0], depth, 0.3 + across[:, 1]], 1)
    space = choose_space(replace(scene, points=points), "unbounded")
    assert space.radius == pytest.approx(5.0, abs=0.1)
    assert space.near * space.radius == pytest.approx(0.8 * 5.0, abs=0.1)
    middle = scene.cameras.positions.double().mean(0)
    assert space.focus[1] - float(middle[1]) == pytest.approx(7.0, abs=0.2)
    # points behind all cameras tell nothing
    behind = points * torch.tensor([1.0, -1.0, 1.0])
    assert choose_space(replace(scene, points=behind), "unbounded").near == 0.05
