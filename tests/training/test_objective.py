"""Weights, objectives of one's own, and compiled steps."""

import math
import shutil

import pytest
import torch
from torch import nn

import coordnet as cn
from coordnet.training import Objective, minimize

X = torch.linspace(0, 2 * math.pi, 65)[:-1, None]


def linear_field():
    encoding = cn.FourierFeatures(k=2)
    network = cn.MLP(encoding.out_dim, 1, num_hidden_layers=0, seed=0)
    return cn.Field(encoding, network)


def test_weights_find_the_weighted_least_squares_optimum():
    generator = torch.Generator().manual_seed(0)
    y = torch.sign(torch.sin(X)) + 0.3 * torch.randn(X.shape, generator=generator)
    weights = torch.rand(len(X), generator=generator) ** 3
    field = linear_field()
    config = cn.FitConfig(steps=1500, learning_rate=0.05, optimizer="adam", warmup_steps=1)
    cn.fit(field, X, y, config, weights=weights)
    design = torch.cat([torch.ones_like(X), cn.FourierFeatures(k=2)(X)], 1).double()
    root = weights.double().sqrt()[:, None]
    best = torch.linalg.lstsq(root * design, root * y.double()).solution
    torch.testing.assert_close(field(X).double(), design @ best, atol=2e-4, rtol=0)
    plain = torch.linalg.lstsq(design, y.double()).solution
    assert float((design @ (best - plain)).abs().max()) > 0.05  # weights matter here


def test_a_weight_for_each_value():
    y = torch.cat([torch.cos(X), torch.sin(X)], 1)
    weights = torch.ones_like(y)
    weights[:, 1] = 0.0
    encoding = cn.FourierFeatures(k=1)
    field = cn.Field(encoding, cn.MLP(encoding.out_dim, 2, num_hidden_layers=0, seed=0))
    before = field.network.layers[0].weight[1].detach().clone()
    cn.fit(field, X, y, cn.FitConfig(steps=20), weights=weights)
    torch.testing.assert_close(field.network.layers[0].weight[1].detach(), before, atol=0, rtol=0)


class Distance(Objective):
    """The squared distance of a vector to a point, one coordinate an item."""

    def __init__(self, point):
        self.module = nn.ParameterList([nn.Parameter(torch.zeros(len(point)))])
        self.point = point
        self.device, self.precision, self.peak = torch.device("cpu"), "float32", 1.0
        self.chunk_size, self.asked = 2, []

    def __len__(self):
        return len(self.point)

    def losses(self, which, rows):
        square = (self.module[0][which] - self.point[which]).square().sum() / rows
        return square, square.detach()

    def evaluate(self):
        square = float((self.module[0] - self.point).detach().square().mean())
        return cn.psnr(self.module[0].detach().numpy(), self.point.numpy()), math.sqrt(square)

    def before(self, step):
        self.asked.append(step)


def test_an_objective_of_ones_own():
    objective = Distance(torch.tensor([0.5, -0.25, 1.0, 0.0, 2.0]))
    config = cn.FitConfig(steps=300, learning_rate=0.05, optimizer="adam")
    result = minimize(objective, config)
    assert objective.asked == list(range(300))
    torch.testing.assert_close(objective.module[0].detach(), objective.point, atol=1e-3, rtol=0)
    assert result.rmse < 1e-3
    assert result.samples == 5
    assert result.losses[0] == pytest.approx(float(objective.point.square().mean()))


@pytest.mark.skipif(shutil.which("c++") is None, reason="torch.compile needs a C++ compiler")
# torch's compiler itself uses what torch has deprecated
@pytest.mark.filterwarnings("ignore::DeprecationWarning:torch")
def test_a_compiled_step_gives_the_same_losses():
    fields = [cn.Field(cn.FourierFeatures(k=2), cn.MLP(4, 1, 8, 1, seed=0)) for _ in range(2)]
    losses = [
        cn.fit(field, X, torch.cos(X), cn.FitConfig(steps=10, compile=compiled)).losses
        for field, compiled in zip(fields, (False, True), strict=True)
    ]
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    assert set(fields[1].state_dict()) == set(fields[0].state_dict())  # no "_orig_mod"
