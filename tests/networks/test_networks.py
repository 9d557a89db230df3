"""What every network in the table promises, and what the MLP says of itself.

A new line in NETWORKS needs a line in SETTINGS.
"""

import copy
import json
import math
import pickle

import pytest
import torch
from torch import nn

from coordnet import Field, Identity, save
from coordnet.errors import InputError
from coordnet.networks import MLP, NETWORKS, Network, build_network
from coordnet.networks.mlp import ACTIVATIONS

# name in the table → settings beside in_dim and out_dim
SETTINGS = {
    "mlp": [
        {"hidden_dim": 8, "num_hidden_layers": 2},
        {"num_hidden_layers": 0},
        {"hidden_dim": 5, "num_hidden_layers": 1, "activation": "gelu"},
    ],
}
KNOWN = [
    pytest.param(name, {"in_dim": 3, "out_dim": 2, **each}, id=f"{name}{i}")
    for name in NETWORKS
    for i, each in enumerate(SETTINGS.get(name, []))
]


@pytest.mark.parametrize("name", NETWORKS)
def test_every_line_of_the_table_is_tested_here(name):
    assert SETTINGS[name]


@pytest.mark.parametrize(("name", "settings"), KNOWN)
class TestContract:
    def test_shapes_with_any_leading_axes(self, name, settings):
        network = NETWORKS[name](**settings)
        assert isinstance(network, Network)
        assert (network.in_dim, network.out_dim) == (3, 2)
        for leading in [(), (5,), (4, 5), (2, 4, 5), (0,), (3, 0)]:
            assert network(torch.zeros(*leading, 3)).shape == (*leading, 2)

    def test_leading_axes_change_no_value(self, name, settings):
        network = NETWORKS[name](**settings, seed=0)
        features = torch.linspace(-1, 1, 60).reshape(4, 5, 3)
        flat = network(features.reshape(-1, 3))
        torch.testing.assert_close(network(features).reshape(-1, 2), flat)

    def test_dtype_follows_the_parameters(self, name, settings):
        for dtype in (torch.float64, torch.bfloat16):
            network = NETWORKS[name](**settings).to(dtype)
            assert network(torch.zeros(4, 3, dtype=dtype)).dtype == dtype

    def test_default_dtype_is_that_of_the_parameters(self, name, settings):
        try:
            torch.set_default_dtype(torch.float64)
            network = NETWORKS[name](**settings)
        finally:
            torch.set_default_dtype(torch.float32)
        assert {p.dtype for p in network.parameters()} == {torch.float64}

    def test_spec_survives_json(self, name, settings):
        network = NETWORKS[name](**settings)
        text = json.dumps(network.spec(), allow_nan=False)
        again = build_network(json.loads(text))
        assert json.dumps(again.spec()) == text
        assert type(again) is type(network)
        again.load_state_dict(network.state_dict(), strict=True)
        features = torch.linspace(-1, 1, 12).reshape(4, 3)
        assert torch.equal(again(features), network(features))

    def test_a_seed_fixes_the_start_and_leaves_the_global_generator(self, name, settings):
        state = torch.get_rng_state()
        first = NETWORKS[name](**settings, seed=7)
        again, other = NETWORKS[name](**settings, seed=7), NETWORKS[name](**settings, seed=8)
        assert torch.equal(torch.get_rng_state(), state)
        pairs = list(zip(first.parameters(), again.parameters(), other.parameters(), strict=True))
        assert all(torch.equal(a, b) for a, b, _ in pairs)
        assert not any(torch.equal(a, c) for a, _, c in pairs)

    def test_no_seed_draws_from_the_global_generator(self, name, settings):
        with torch.random.fork_rng():
            torch.manual_seed(3)
            first, second = NETWORKS[name](**settings), NETWORKS[name](**settings)
            torch.manual_seed(3)
            again = NETWORKS[name](**settings)
        kept, drawn, same = (next(n.parameters()) for n in (first, second, again))
        assert torch.equal(kept, same)
        assert not torch.equal(kept, drawn)

    def test_gradients_reach_every_parameter(self, name, settings):
        network = NETWORKS[name](**settings, seed=0)
        network(torch.linspace(-1, 1, 60).reshape(20, 3)).square().sum().backward()
        for parameter in network.parameters():
            assert parameter.requires_grad
            assert parameter.grad is not None
            assert parameter.grad.isfinite().all()

    def test_copies_and_pickles(self, name, settings):
        network = NETWORKS[name](**settings)
        features = torch.linspace(-1, 1, 12).reshape(4, 3)
        for again in (copy.deepcopy(network), pickle.loads(pickle.dumps(network))):
            assert torch.equal(again(features), network(features))
            assert again.spec() == network.spec()

    def test_the_meta_device_costs_neither_memory_nor_random_numbers(self, name, settings):
        state = torch.get_rng_state()
        with torch.device("meta"):
            network = NETWORKS[name](**settings)
        assert all(p.is_meta for p in network.parameters())
        assert torch.equal(torch.get_rng_state(), state)
        assert network(torch.empty(5, 3, device="meta")).shape == (5, 2)

    def test_sizes_that_are_none(self, name, settings):
        for size in ("in_dim", "out_dim"):
            for value in (0, -1, 2.0, True, "3", None):
                with pytest.raises(InputError) as caught:
                    NETWORKS[name](**{**settings, size: value})
                assert f"{size}={value!r}" in caught.value.got

    def test_how_it_is_optimized(self, name, settings):
        network = NETWORKS[name](**{**settings, "in_dim": 40})
        own = {id(parameter) for parameter in network.parameters()}
        assert all(id(matrix) in own for matrix in network.muon_parameters())
        assert network.learning_rate is None or network.learning_rate > 0


@pytest.mark.parametrize("layers", [0, 1, 2, 4])
def test_the_layers_of_an_mlp(layers):
    network = MLP(5, 2, hidden_dim=7, num_hidden_layers=layers)
    linear = [m for m in network.modules() if isinstance(m, nn.Linear)]
    sizes = [5, *[7] * layers, 2]
    expected = list(zip(sizes[1:], sizes[:-1], strict=True))
    assert [tuple(layer.weight.shape) for layer in linear] == expected
    assert len(linear) == layers + 1
    assert all(layer.bias is not None for layer in linear)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_an_mlp_is_the_formula_in_its_docstring(activation):
    network = MLP(3, 2, hidden_dim=4, num_hidden_layers=2, activation=activation, seed=1)
    (a, b, c) = network.layers
    h = torch.linspace(-2, 2, 12).reshape(4, 3)
    expected = h
    for layer in (a, b):
        expected = ACTIVATIONS[activation](expected @ layer.weight.T + layer.bias)
    expected = expected @ c.weight.T + c.bias
    torch.testing.assert_close(network(h), expected)
    assert repr(activation) in repr(network)


def test_without_hidden_layers_an_mlp_is_linear():
    network = MLP(3, 1, num_hidden_layers=0, seed=0).double()
    x, y = torch.rand(2, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    bias = network(torch.zeros(3, dtype=torch.float64))
    torch.testing.assert_close(network(x + y), network(x) + network(y) - bias)


@pytest.mark.parametrize(("in_dim", "hidden_dim"), [(512, 256), (2, 2000)])
def test_start_values_fill_their_bounds(in_dim, hidden_dim):
    network = MLP(in_dim, 3, hidden_dim=hidden_dim, num_hidden_layers=2, seed=0)
    gains = [6.0, 6.0, 3.0]
    for layer, gain in zip(network.layers, gains, strict=True):
        fan_in = layer.weight.shape[1]
        bound = math.sqrt(gain / fan_in)
        assert 0.98 * bound < layer.weight.abs().max() <= bound * (1 + 1e-6)
        assert abs(layer.weight.mean()) < 0.1 * bound
        # U(±b) has the standard deviation b/√3
        assert layer.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1)
        assert layer.bias.abs().max() <= (1 + 1e-6) / math.sqrt(fan_in)
        assert layer.bias.abs().max() > 0


def test_settings_that_an_mlp_refuses():
    for setting, values in {
        "hidden_dim": (0, 2.5),
        "num_hidden_layers": (-1, "two"),
        "activation": ("step", ["relu"], None),
        "skip": (-1, 4),
        "seed": (1.5, -1, 1 << 64),
    }.items():
        for value in values:
            with pytest.raises(InputError, match=setting) as caught:
                MLP(3, 1, **{setting: value})
            assert repr(value) in caught.value.got
    with pytest.raises(InputError) as caught:
        MLP(3, activation="sine")
    assert all(name in caught.value.rule for name in ACTIVATIONS)


def test_what_is_no_spec_of_a_network():
    specs = [None, [], "mlp", {}, {"name": 3}, {"name": "no such"}, {"name": "mlp"}]
    for change in ({"width": 5}, {"in_dim": {}}, {"activation": "no such"}):
        specs.append({"name": "mlp", "in_dim": 3, **change})
    for spec in specs:
        with pytest.raises(InputError, match=r"network|activation|in_dim") as caught:
            build_network(spec)
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="mlp"):
        build_network({"name": "no such"})


class Snake(nn.Module):
    """x + sin²(ax) / a with a trained a (Ziyin et al., 2020)."""

    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.ones(()))

    def forward(self, x):
        return x + (self.a * x).sin() ** 2 / self.a


def sine(x):
    return torch.sin(30 * x)


@pytest.mark.parametrize("activation", [sine, nn.ELU(0.5), Snake, nn.functional.hardswish])
def test_any_callable_is_an_activation(activation, tmp_path):
    network = MLP(3, 2, 8, 2, activation=activation, seed=0)
    functions = [activation() if activation is Snake else activation for _ in range(2)]
    x = torch.linspace(-1, 1, 12).reshape(4, 3)
    first, second, last = network.layers
    expected = last(functions[1](second(functions[0](first(x)))))
    torch.testing.assert_close(network(x), expected)
    network(x).sum().backward()
    trained = [p for name, p in network.named_parameters() if name.startswith("activations")]
    assert len(trained) == (2 if activation is Snake else 0)
    assert all(p.grad is not None for p in trained)
    assert type(activation).__name__ in repr(network) or activation.__name__ in repr(network)
    assert torch.equal(copy.deepcopy(network)(x), network(x))
    field = Field(Identity(3), network)
    for describe in (network.spec, lambda: save(field, tmp_path / "a.safetensors")):
        with pytest.raises(InputError, match="activation"):
            describe()
    assert not list(tmp_path.iterdir())


def test_a_function_of_the_table_has_its_name():
    network = MLP(3, activation=torch.nn.functional.gelu)
    assert network.spec() == MLP(3, activation="gelu").spec()


def test_muon_takes_hidden_matrices():
    network = MLP(40, 3, hidden_dim=32, num_hidden_layers=2)
    first, second, _ = network.layers
    assert [id(p) for p in network.muon_parameters()] == [id(first.weight), id(second.weight)]
    assert MLP(31, 3, hidden_dim=64, num_hidden_layers=1).muon_parameters() == []
    shared = nn.Linear(32, 32)
    plain = Field(Identity(32), nn.Sequential(shared, nn.ReLU(), shared, nn.Linear(32, 1)))
    assert [id(p) for p in plain.muon_parameters()] == [id(shared.weight)]


def test_a_field_forwards_what_its_network_wishes():
    class Wishing(MLP):
        learning_rate = 1e-4

        def muon_parameters(self):
            return []

    network = Wishing(40, 3, hidden_dim=64)
    for field in (
        Field(Identity(40), network),
        Field(Identity(40), torch.compile(network, backend="eager")),
    ):
        assert field.learning_rate == 1e-4
        assert field.muon_parameters() == []
    assert Field(Identity(1), nn.Linear(1, 1)).learning_rate is None


def test_a_skip_puts_the_features_in_again():
    network = MLP(3, 2, hidden_dim=5, num_hidden_layers=3, skip=2, seed=0)
    assert [tuple(layer.weight.shape) for layer in network.layers] == [
        (5, 3),
        (5, 5),
        (5, 8),
        (2, 5),
    ]
    x = torch.randn(4, 3)
    first, second, third, last = network.layers
    hidden = torch.relu(second(torch.relu(first(x))))
    hidden = torch.relu(third(torch.cat([hidden, x], -1)))
    torch.testing.assert_close(network(x), last(hidden), atol=0, rtol=0)
    spec = network.spec()
    assert spec["skip"] == 2
    again = build_network(spec)
    again.load_state_dict(network.state_dict())
    torch.testing.assert_close(again(x), network(x), atol=0, rtol=0)
    # before the last layer, too
    assert MLP(3, 2, 5, 1, skip=1).layers[1].weight.shape == (2, 8)
    with pytest.raises(InputError, match="skip"):
        MLP(3, 2, 5, 2, skip=3)
