"""Contraction of space: the bound bounds, gradients are finite."""

import pytest
import torch

from coordnet.errors import InputError
from coordnet.scenes import contract

GENERATOR = torch.Generator().manual_seed(0)
DIRECTIONS = torch.nn.functional.normalize(
    torch.randn(50, 3, generator=GENERATOR, dtype=torch.float64), dim=-1
)


def points(sizes):
    return (torch.tensor(sizes, dtype=torch.float64)[:, None, None] * DIRECTIONS).reshape(-1, 3)


SIZES = {"euclidean": lambda x: x.norm(dim=-1), "max": lambda x: x.abs().amax(-1)}


@pytest.mark.parametrize("norm", SIZES)
def test_the_inside_stays(norm):
    x = points([0.0, 1e-30, 0.1, 0.5, 0.999])
    assert torch.equal(contract(x, norm), x)
    assert torch.equal(contract(x.float(), norm), x.float())


@pytest.mark.parametrize("norm", SIZES)
def test_contraction_is_bounded_and_keeps_the_order(norm):
    x = points([0.3, 1.0, 1.5, 3.0, 100.0, 1e4])
    y = contract(x, norm)
    assert (SIZES[norm](y) < 2).all()
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


def test_an_unknown_norm_is_refused():
    with pytest.raises(InputError, match="norm must be"):
        contract(torch.zeros(1, 3), "taxicab")  # type: ignore[arg-type]
