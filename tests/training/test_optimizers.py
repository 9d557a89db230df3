"""The optimizers: the same steps as PyTorch's own, in a precision the machine is fast at."""

import math

import pytest
import torch
from torch import nn

from coordnet import MLP, FitConfig
from coordnet.training import optimizers
from coordnet.training.optimizers import Adam, Muon, Optimizer, orthogonal


def gradients(parameters, step, scale=1.0):
    """Give every parameter a gradient of its own."""
    draw = torch.Generator().manual_seed(step)
    for parameter in parameters:
        drawn = torch.randn(parameter.shape, generator=draw, dtype=torch.float64)
        parameter.grad = (scale * drawn).to(parameter.dtype)


class TestParts:
    def test_muon_takes_the_hidden_matrices_and_adam_the_rest(self):
        network = MLP(64, 3, hidden_dim=48, num_hidden_layers=3)
        muon, adam = Optimizer(network, FitConfig()).parts
        assert isinstance(muon, Muon)
        assert isinstance(adam, Adam)
        assert [tuple(p.shape) for p in muon.parameters] == [(48, 64), (48, 48), (48, 48)]
        both = [*muon.parameters, *adam.parameters]
        assert sorted(map(id, both)) == sorted(map(id, network.parameters()))

    def test_adam_alone(self):
        network = MLP(64, 3, hidden_dim=48)
        (part,) = Optimizer(network, FitConfig(optimizer="adam")).parts
        assert isinstance(part, Adam)
        assert len(part.parameters) == 8

    def test_shared_and_frozen_matrices(self):
        layer, frozen = nn.Linear(40, 40), nn.Linear(40, 40).requires_grad_(False)
        muon, adam = Optimizer(nn.Sequential(layer, frozen, layer), FitConfig()).parts
        assert len(muon.parameters) == 1
        assert len(adam.parameters) == 1

    def test_a_weight_shared_by_two_layers_is_updated_once(self):
        layer = nn.Linear(40, 40, bias=False)
        alone = nn.Linear(40, 40, bias=False)
        alone.load_state_dict(layer.state_dict())
        for model in (nn.Sequential(layer, nn.ReLU(), layer), alone):
            optimizer = Optimizer(model, FitConfig())
            gradients(model.parameters(), 0)
            optimizer.step(1.0)
        assert torch.equal(layer.weight, alone.weight)

    def test_what_no_loss_reaches_stays_and_keeps_no_moments(self):
        used, unused = nn.Linear(40, 40), nn.Linear(40, 40)
        before = [p.clone() for p in unused.parameters()]
        optimizer = Optimizer(nn.Sequential(used, unused), FitConfig())
        gradients(used.parameters(), 0)
        optimizer.step(1.0)
        assert all(torch.equal(a, b) for a, b in zip(before, unused.parameters(), strict=True))
        assert all(p.grad is None for p in used.parameters())
        assert set(optimizer.state_dict()) == {
            "0.0.momentum_buffer", "1.0.step", "1.0.exp_avg", "1.0.exp_avg_sq"
        }  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_adam_takes_the_steps_of_pytorchs_own(dtype):
    network, twin = (MLP(64, 3, hidden_dim=48, seed=1).to(dtype) for _ in range(2))
    config = FitConfig(optimizer="adam", learning_rate=0.01, betas=(0.8, 0.95), eps=1e-4)
    ours = Optimizer(network, config)
    theirs = torch.optim.Adam(twin.parameters(), betas=(0.8, 0.95), eps=1e-4, fused=True)
    for step in range(5):
        for model in (network, twin):
            gradients(model.parameters(), step)
        ours.step(0.5**step)
        theirs.param_groups[0]["lr"] = 0.01 * 0.5**step
        theirs.step()
        for a, b in zip(network.parameters(), twin.parameters(), strict=True):
            assert torch.equal(a, b)


def by_definition(weight, steps, rate):
    """Return where Muon's definition takes a weight, in float64."""
    weight, mean = weight.detach().double().clone(), torch.zeros(weight.shape).double()
    holder = nn.Parameter(torch.zeros_like(weight))
    for step in range(steps):
        gradients([holder], step)
        mean = 0.95 * mean + 0.05 * holder.grad
        x = 0.95 * mean + 0.05 * holder.grad
        x = x / torch.linalg.matrix_norm(x)
        for _ in range(5):
            gram = x @ x.T
            x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
        weight -= rate * 0.2 * math.sqrt(max(weight.shape)) * x
    return weight


def start(shape):
    """Return a weight to begin with."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(9))


def stepped(shape, make):
    """Return where the steps of an optimizer take a weight."""
    weight = nn.Parameter(start(shape))
    step = make(weight)
    for number in range(4):
        gradients([weight], number)
        step()
    return weight.detach()


def ours(shape):
    """Return where the steps of the class under test take a weight."""

    def make(weight):
        part = Muon([weight])
        return torch.no_grad()(lambda: part.step(0.01))

    return stepped(shape, make)


@pytest.mark.parametrize("shape", [(48, 48), (40, 96), (96, 40), (160, 144)])
class TestMuon:
    def test_float32_is_the_definition(self, shape, monkeypatch):
        monkeypatch.setattr(optimizers, "fast_bf16", lambda device: False)
        exact = by_definition(start(shape), 4, 0.01)
        moved = torch.linalg.matrix_norm(exact - start(shape))
        assert torch.linalg.matrix_norm(ours(shape) - exact) < 1e-4 * moved

    @pytest.mark.parametrize("fast", [False, True])
    def test_the_steps_are_pytorchs_own_within_bf16(self, shape, fast, monkeypatch):
        monkeypatch.setattr(optimizers, "fast_bf16", lambda device: fast)

        def make(weight):
            options = {"weight_decay": 0.0, "adjust_lr_fn": "match_rms_adamw"}
            return torch.optim.Muon([weight], lr=0.01, **options).step

        theirs = stepped(shape, make)
        moved = torch.linalg.matrix_norm(theirs - start(shape))
        assert torch.linalg.matrix_norm(ours(shape) - theirs) < 0.05 * moved


@pytest.mark.parametrize(
    ("fast", "shape", "dtype"),
    [
        (False, (256, 256), torch.float32),  # ruinous in bf16 where there are no units for it
        (True, (256, 256), torch.bfloat16),
        (True, (128, 300), torch.bfloat16),
        (True, (300, 127), torch.float32),  # too small to gain
    ],
)
def test_the_iteration_runs_in_what_the_machine_is_fast_at(fast, shape, dtype, monkeypatch):
    monkeypatch.setattr(optimizers, "fast_bf16", lambda device: fast)
    dtypes = set()
    product = torch.addmm

    def watched(*args, **options):
        dtypes.update(each.dtype for each in args)
        return product(*args, **options)

    monkeypatch.setattr(torch, "addmm", watched)
    assert orthogonal(start(shape).double()).dtype == torch.float64
    assert dtypes == {dtype}


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e12])
def test_the_update_does_not_depend_on_the_size_of_the_gradient(scale):
    update = orthogonal(scale * start((64, 80)))
    assert torch.allclose(update, orthogonal(start((64, 80))), atol=1e-5)
    sizes = torch.linalg.svdvals(update)
    assert float(sizes.amin()) > 0.3
    assert float(sizes.amax()) < 1.3


def test_a_gradient_of_zeros_moves_nothing():
    assert torch.equal(orthogonal(torch.zeros(40, 50)), torch.zeros(40, 50))


class TestMoments:
    def fresh(self):
        network = MLP(40, 2, hidden_dim=40, num_hidden_layers=2, seed=0)
        return network, Optimizer(network, FitConfig(learning_rate=0.01))

    def test_with_them_another_optimizer_goes_on(self):
        network, optimizer = self.fresh()
        for step in range(3):
            gradients(network.parameters(), step)
            optimizer.step(1.0)
        twin, other = self.fresh()
        twin.load_state_dict(network.state_dict())
        other.load_state_dict({k: v.clone() for k, v in optimizer.state_dict().items()})
        for model, each in ((network, optimizer), (twin, other)):
            gradients(model.parameters(), 3)
            each.step(1.0)
        for a, b in zip(network.parameters(), twin.parameters(), strict=True):
            assert torch.equal(a, b)

    def test_they_are_named_and_shaped_as_pytorch_has_them(self):
        network, optimizer = self.fresh()
        gradients(network.parameters(), 0)
        optimizer.step(1.0)
        names = optimizer.state_dict()
        muon, adam = optimizer.parts
        theirs = torch.optim.Adam(adam.parameters)
        gradients(adam.parameters, 0)
        theirs.step()
        for number, moments in theirs.state_dict()["state"].items():
            for name, value in moments.items():
                ours = names.pop(f"1.{number}.{name}")
                assert (ours.shape, ours.dtype) == (value.shape, value.dtype)
        assert set(names) == {f"0.{i}.momentum_buffer" for i in range(len(muon.parameters))}

    @pytest.mark.parametrize(
        ("name", "change"),
        [
            ("0.0.momentum_buffer", lambda t: t[:-1]),
            ("1.1.exp_avg", lambda t: t.long()),
            ("1.1.step", lambda t: t.reshape(1)),
            ("1.1.exp_avg", None),
            ("7.0.exp_avg", lambda t: torch.zeros(3)),
        ],
    )
    def test_those_of_another_model_are_refused(self, name, change):
        network, optimizer = self.fresh()
        gradients(network.parameters(), 0)
        optimizer.step(1.0)
        moments = dict(optimizer.state_dict())
        if change is None:
            del moments[name]
        else:
            moments[name] = change(moments.get(name, torch.zeros(3)))
        with pytest.raises(ValueError, match=r"moments|shape"):
            self.fresh()[1].load_state_dict(moments)
