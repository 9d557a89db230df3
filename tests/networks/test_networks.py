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

    @pytest.mark.parametrize("size", ["in_dim", "out_dim"])
    @pytest.mark.parametrize("value", [0, -1, 2.0, True, "3", None])
    def test_sizes_that_are_none(self, name, settings, size, value):
        with pytest.raises(InputError) as caught:
            NETWORKS[name](**{**settings, size: value})
        assert f"{size}={value!r}" in caught.value.got


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


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("hidden_dim", 0),
        ("hidden_dim", 2.5),
        ("num_hidden_layers", -1),
        ("num_hidden_layers", "two"),
        ("activation", "step"),
        ("activation", ["relu"]),
        ("activation", None),
        ("seed", 1.5),
        ("seed", -1),
        ("seed", 1 << 64),
    ],
)
def test_settings_that_an_mlp_refuses(setting, value):
    with pytest.raises(InputError) as caught:
        MLP(3, 1, **{setting: value})
    assert setting in str(caught.value)
    assert repr(value) in caught.value.got or str(value) in caught.value.got


def test_an_unknown_activation_names_those_there_are():
    with pytest.raises(InputError) as caught:
        MLP(3, activation="sine")
    assert all(name in caught.value.rule for name in ACTIVATIONS)


@pytest.mark.parametrize(
    "spec",
    [
        None,
        [],
        "mlp",
        {},
        {"name": 3},
        {"name": "no such"},
        {"name": "mlp"},
        {"name": "mlp", "in_dim": 3, "width": 5},
        {"name": "mlp", "in_dim": {}},
        {"name": "mlp", "in_dim": 3, "activation": "no such"},
    ],
    ids=str,
)
def test_what_is_no_spec_of_a_network(spec):
    with pytest.raises(InputError) as caught:
        build_network(spec)
    assert "\n" not in str(caught.value)


def test_an_unknown_name_lists_the_table():
    with pytest.raises(InputError, match="mlp"):
        build_network({"name": "no such"})


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
