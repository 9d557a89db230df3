"""Differential operators against closed forms, and as parts of a loss."""

import math

import pytest
import torch

import coordnet as cn
from coordnet import operators
from coordnet.errors import InputError


def scalar(x):
    """x² y + sin z: gradient (2xy, x², cos z), Laplacian 2y - sin z."""
    return x[..., :1] ** 2 * x[..., 1:2] + x[..., 2:].sin()


def vector(x):
    """(y z, x² , x y z): divergence xy, curl (xz, y - yz, 2x - z)."""
    a, b, c = x.unbind(-1)
    return torch.stack([b * c, a**2, a * b * c], -1)


@pytest.mark.parametrize("lead", [(5,), (2, 3), (), (0,)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
def test_closed_forms(lead, dtype):
    x = torch.rand(*lead, 3, dtype=dtype, generator=torch.Generator().manual_seed(0))
    a, b, c = x.unbind(-1)
    zero = torch.zeros_like(a)
    slope = torch.stack([2 * a * b, a**2, c.cos()], -1)
    rows = [[zero, c, b], [2 * a, zero, zero], [b * c, a * c, a * b]]
    expected = [
        (operators.gradient(scalar, x), slope),
        (operators.gradient(lambda x: scalar(x)[..., 0], x), slope),
        (operators.jacobian(scalar, x), slope[..., None, :]),
        (operators.jacobian(vector, x), torch.stack([torch.stack(r, -1) for r in rows], -2)),
        (operators.divergence(vector, x), a * b),
        (operators.curl(vector, x), torch.stack([a * c, b - b * c, 2 * a - c], -1)),
        (operators.laplacian(scalar, x), (2 * b - c.sin())[..., None]),
        (operators.laplacian(vector, x), torch.stack([zero, 2 + zero, zero], -1)),
        (operators.hessian(scalar, x).sum((-1, -2)), (2 * b + 4 * a - c.sin())[..., None]),
        (operators.derivative(scalar, x, order=3, axis=2), -c.cos()[..., None]),
    ]
    for result, closed in expected:
        assert result.dtype == dtype
        assert result.shape == closed.shape
        bound = 1e-14 if dtype == torch.float64 else 1e-6
        torch.testing.assert_close(result.detach(), closed, rtol=bound, atol=bound)


def test_identities():
    """curl grad f = 0, div curl v = 0, div grad f = Δf."""
    encoding = cn.FourierFeatures(3, 3, period=2.0)
    f = cn.Field(encoding, cn.MLP(encoding.out_dim, 1, 16, 2, "tanh", seed=0)).double()
    v = cn.Field(encoding, cn.MLP(encoding.out_dim, 3, 16, 2, "tanh", seed=1)).double()
    x = torch.rand(7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    zero = operators.curl(lambda x: operators.gradient(f, x), x)
    assert zero.abs().max() < 1e-11
    assert operators.divergence(lambda x: operators.curl(v, x), x).abs().max() < 1e-11
    twice = operators.divergence(lambda x: operators.gradient(f, x), x)
    torch.testing.assert_close(operators.laplacian(f, x)[:, 0], twice)
    plane = operators.curl(lambda x: torch.stack([-x[:, 1], x[:, 0]], -1), x[:, :2])
    assert torch.equal(plane, torch.full((7,), 2.0, dtype=torch.float64))


def test_plane_waves_are_eigenfunctions():
    encoding = cn.FourierFeatures.lattice(2, 2, period=[1.0, 3.0])
    x = torch.rand(5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    square = encoding.frequencies.square().sum(-1).repeat_interleave(2)
    expected = -square * encoding(x)
    torch.testing.assert_close(operators.laplacian(encoding, x), expected, rtol=1e-11, atol=1e-11)


def test_a_residual_can_be_trained():
    """y'' = -y with y(0) = 0 and y'(0) = 1: the loss reaches the parameters, and falls."""
    field = cn.Field(cn.FourierFeatures(1, 4, period=7.0), cn.MLP(8, 1, 16, 1, "tanh", seed=0))
    x = torch.linspace(0, 3, 40)[:, None]
    start = torch.zeros(1, 1)
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-2)
    losses = []
    for _ in range(150):
        residual = operators.laplacian(field, x) + field(x)
        ends = field(start).square() + (operators.gradient(field, start) - 1).square()
        loss = residual.square().mean() + ends.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 10
    assert not x.requires_grad


def test_points_that_are_differentiated_themselves():
    x = torch.tensor([[0.3], [1.1]], dtype=torch.float64, requires_grad=True)
    (third,) = torch.autograd.grad(operators.laplacian(torch.sin, x).sum(), x)
    torch.testing.assert_close(third, -x.detach().cos())
    assert torch.autograd.gradcheck(lambda x: operators.gradient(torch.sin, x), x)
    assert torch.autograd.gradgradcheck(lambda x: operators.gradient(torch.sin, x), x)


def test_without_gradients_there_is_no_graph():
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            x = torch.tensor([[0.3], [1.1]])
            slope = operators.gradient(torch.sin, x)
            assert not torch.is_grad_enabled()
        assert not slope.requires_grad
        torch.testing.assert_close(slope.clone(), x.cos())


def test_what_does_not_depend_on_the_points_has_zeros():
    x = torch.rand(4, 2)
    assert torch.equal(operators.laplacian(lambda x: torch.ones(4, 1), x), torch.zeros(4, 1))
    relu = cn.MLP(2, 1, 8, seed=0)
    assert torch.equal(operators.laplacian(relu, x), torch.zeros(4, 1))


def test_what_has_no_such_derivative_is_refused():
    x = torch.rand(4, 3)
    for call, words in (
        (lambda: operators.gradient(vector, x), "1 values"),
        (lambda: operators.divergence(scalar, x), "3 values"),
        (lambda: operators.curl(torch.sin, torch.rand(4, 1)), "2 or 3"),
        (lambda: operators.jacobian(lambda x: x[:2], x), r"\(4\)"),
        (lambda: operators.jacobian(torch.sin, torch.ones(3, 1, dtype=torch.int64)), "int64"),
        (lambda: operators.jacobian(torch.sin, [[1.0]]), "list"),
        (lambda: operators.derivative(torch.sin, x, axis=3), "axis=3"),
        (lambda: operators.derivative(torch.sin, x, order=0), "order=0"),
    ):
        with pytest.raises(InputError, match=words):
            call()


def test_float64_points_keep_their_digits():
    encoding = cn.FourierFeatures(1, 1, period=24.0)
    x = torch.tensor([[2.0**40 + 6.5]], dtype=torch.float64)
    slope = operators.jacobian(encoding, x)[0, :, 0]
    omega, phase = math.tau / 24, math.tau * ((2**40 + 6.5) % 24) / 24
    expected = torch.tensor([omega * math.cos(phase), -omega * math.sin(phase)]).double()
    torch.testing.assert_close(slope, expected, rtol=0, atol=1e-7)
