"""Maps of unbounded space: inverse inverts, the bound bounds, gradients are finite."""

import math

import pytest
import torch

from coordnet.errors import InputError
from coordnet.scenes import (
    Cameras,
    contract,
    forward_facing,
    from_ndc,
    look_at,
    ndc_rays,
    to_ndc,
    uncontract,
)

GENERATOR = torch.Generator().manual_seed(0)
DIRECTIONS = torch.nn.functional.normalize(
    torch.randn(50, 3, generator=GENERATOR, dtype=torch.float64), dim=-1
)


def points(sizes):
    return (torch.tensor(sizes, dtype=torch.float64)[:, None, None] * DIRECTIONS).reshape(-1, 3)


SIZES = {"euclidean": lambda x: x.norm(dim=-1), "max": lambda x: x.abs().amax(-1)}


# --- contraction ------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", SIZES)
def test_the_inside_stays(norm):
    x = points([0.0, 1e-30, 0.1, 0.5, 0.999])
    assert torch.equal(contract(x, norm), x)
    assert torch.equal(contract(x.float(), norm), x.float())


@pytest.mark.parametrize("norm", SIZES)
def test_contraction_bounds_and_its_inverse_inverts(norm):
    x = points([0.3, 1.0, 1.5, 3.0, 100.0, 1e4])
    y = contract(x, norm)
    assert (SIZES[norm](y) < 2).all()
    torch.testing.assert_close(uncontract(y, norm), x, rtol=1e-10, atol=1e-12)
    # along each ray, the order of distances stays
    sizes = SIZES[norm](y).reshape(6, 50)
    assert (sizes.diff(dim=0) > 0).all()


def test_the_paper_s_formula():
    x = points([3.0])
    torch.testing.assert_close(contract(x), (2 - 1 / 3) * DIRECTIONS)
    far = contract(torch.tensor([4.0, -2.0, 1.0]), "max")
    torch.testing.assert_close(far, torch.tensor([4.0, -2.0, 1.0]) * (2 - 1 / 4) / 4)


def test_equal_steps_of_inverse_distance_become_equal_steps():
    x = 1 / torch.linspace(1, 0.01, 30, dtype=torch.float64)[:, None] * DIRECTIONS[:1]
    steps = contract(x).norm(dim=-1).diff()
    torch.testing.assert_close(steps, steps[:1].expand_as(steps))


@pytest.mark.parametrize("norm", SIZES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_huge_points_and_gradients_are_finite(norm, dtype):
    x = points([0.0, 1e-30, 1.0, 1e5, 1e30]).to(dtype).requires_grad_()
    y = contract(x, norm)
    (gradient,) = torch.autograd.grad(y.sum(), x)
    assert torch.isfinite(y).all()
    assert torch.isfinite(gradient).all()
    torch.testing.assert_close(SIZES[norm](y[-50:]), torch.full((50,), 2.0, dtype=dtype))


def test_derivatives_of_the_contraction():
    x = points([0.4, 1.7, 6.0])[::10].requires_grad_()
    assert torch.autograd.gradcheck(contract, x)
    assert torch.autograd.gradgradcheck(contract, x)


def test_beyond_the_bound_there_is_no_inverse():
    x = torch.tensor([[2.0, 0, 0], [0, 2.5, 0], [0, 0, -1.5]])
    found = uncontract(x)
    assert torch.isinf(found[0, 0])
    assert torch.isnan(found[1]).all()
    assert found[2].tolist() == [0, 0, -2]
    with pytest.raises(InputError, match="norm must be"):
        contract(x, "taxicab")  # type: ignore[arg-type]


# --- normalized device coordinates ------------------------------------------------------------

LENS = {"focal": (90.0, 80.0), "size": (100, 60), "near": 1.5}


def forward_rays(number=40):
    generator = torch.Generator().manual_seed(1)
    origins = torch.randn(number, 3, generator=generator, dtype=torch.float64)
    directions = 0.4 * torch.randn(number, 3, generator=generator, dtype=torch.float64)
    directions[:, 2] = -1 - directions[:, 2].abs()
    return origins, directions


def test_the_frustum_becomes_the_cube():
    column, row = 100 / 2 / 90, 60 / 2 / 80
    corners = torch.tensor([[-column, row, -1.0], [column, -row, -1.0]], dtype=torch.float64)
    near, far = to_ndc(1.5 * corners, **LENS), to_ndc(1e12 * corners, **LENS)
    torch.testing.assert_close(near, torch.tensor([[-1.0, 1, -1], [1, -1, -1]]).double())
    torch.testing.assert_close(far, torch.tensor([[-1.0, 1, 1], [1, -1, 1]]).double())


def test_points_come_back_from_device_coordinates():
    origins, directions = forward_rays()
    x = origins + 5 * directions - torch.tensor([0.0, 0, 3])
    torch.testing.assert_close(from_ndc(to_ndc(x, **LENS), **LENS), x)


def test_rays_stay_straight_and_reach_infinity_at_one():
    origins, directions = forward_rays()
    start, across = ndc_rays(origins, directions, **LENS)
    torch.testing.assert_close(start[:, 2], torch.full((40,), -1.0).double())
    plane = origins + (-(1.5 + origins[:, 2:]) / directions[:, 2:]) * directions
    for share in (0.0, 0.3, 0.9, 0.999):
        t = plane[:, 2:] / directions[:, 2:] * share / (1 - share)
        torch.testing.assert_close(start + share * across, to_ndc(plane + t * directions, **LENS))
    torch.testing.assert_close((start + across)[:, 2], torch.ones(40).double())


def test_the_paper_s_directions():
    origins, directions = forward_rays()
    _, found = ndc_rays(origins, directions, 90.0, (100, 60), near=1.5)
    plane = origins + (-(1.5 + origins[:, 2:]) / directions[:, 2:]) * directions
    (ox, oy, oz), (dx, dy, dz) = plane.unbind(-1), directions.unbind(-1)
    wanted = torch.stack(
        [-90 / 50 * (dx / dz - ox / oz), -90 / 30 * (dy / dz - oy / oz), -2 * 1.5 / oz], -1
    )
    torch.testing.assert_close(found, wanted)


def test_a_ray_that_goes_backwards_is_refused():
    origins, directions = forward_rays()
    with pytest.raises(InputError, match="toward −z"):
        ndc_rays(origins, -directions, **LENS)
    with pytest.raises(InputError, match="near must be"):
        ndc_rays(origins, directions, 90.0, (100, 60), near=0.0)


def test_a_forward_facing_world_is_turned_for_device_coordinates():
    eyes = torch.tensor([[i, 10 + 0.5 * (i % 2), 2] for i in range(-2, 3)], dtype=torch.float64)
    target = torch.tensor([0.0, 110.0, 2.0], dtype=torch.float64)
    cameras = Cameras.pinhole(look_at(eyes, target), 90.0, width=100, height=60)
    turned, matrix = forward_facing(cameras, nearest=20.0)
    torch.testing.assert_close(
        turned.positions.mean(0), torch.zeros(3).double(), atol=1e-12, rtol=0
    )
    mean = turned.forward.mean(0)
    torch.testing.assert_close(mean / mean.norm(), torch.tensor([0.0, 0, -1]).double())
    # a depth of 20 · 0.75 is 1 now, and up is up
    there = matrix @ torch.tensor([0.0, 10.2 + 15, 2 + 3, 1]).double()
    assert there[:3].tolist() == pytest.approx([0, 0.2, -1], abs=1e-6)
    origins, directions = turned.image_rays(2)
    start, across = ndc_rays(origins, directions, 90.0, (100, 60))
    assert float(start[:, :2].abs().max()) < 1.1
    assert torch.isfinite(across).all()
    assert math.isclose(float(start[:, 2].mean()), -1, abs_tol=1e-6)
