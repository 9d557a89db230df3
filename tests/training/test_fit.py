"""Fits: that they learn, what they leave alone, what they refuse."""

import copy
import math

import pytest
import torch
from torch import nn

import coordnet as cn
from coordnet import MLP, Concat, Field, FitConfig, FourierFeatures, Identity, InputError, fit
from coordnet.metrics import rmse
from coordnet.training import NonFiniteLossError, TensorSamples

from .square_wave import X, Y, field, plain, quick, same


class TestModules:
    def test_a_square_wave_is_learnt(self):
        x = torch.linspace(0, 2 * math.pi, 401)[:-1, None]
        y = torch.sign(torch.sin(x))
        encoding = FourierFeatures(1, k=16)
        network = MLP(encoding.out_dim, hidden_dim=64, num_hidden_layers=2, seed=0)
        result = fit(Field(encoding, network), x, y, FitConfig(steps=300))
        assert result.psnr > 30
        assert result.losses[-1] < 1e-2 * result.losses[0]

    @pytest.mark.parametrize("optimizer", ["muon", "adam"])
    @pytest.mark.parametrize("ladder", ["octave", "geometric", "gaussian", "lattice"])
    def test_every_ladder_learns(self, ladder, optimizer):
        encoding = {
            "octave": FourierFeatures.octave(1, k=4, period=1.0),
            "geometric": FourierFeatures.geometric(1, k=6, C=100.0, scale=40.0),
            "gaussian": FourierFeatures.gaussian(1, k=6, sigma=2.0),
            "lattice": FourierFeatures.lattice(1, k=4, period=1.0),
        }[ladder]
        config = quick(150, optimizer=optimizer, batch_size=32)
        result = fit(field(encoding=encoding, hidden_dim=32), X, torch.sin(12 * X), config)
        assert result.losses[-1] < 0.2 * result.losses[0]

    def test_a_module_of_ones_own(self):
        class Parabola(nn.Module):
            def __init__(self):
                super().__init__()
                self.coefficients = nn.Parameter(torch.zeros(3))

            def forward(self, x):
                a, b, c = self.coefficients
                return a + b * x + c * x**2

        module = Parabola()
        result = fit(module, X, 1 - 2 * X + 3 * X**2, quick(500, learning_rate=0.5))
        assert result.rmse < 0.05
        assert (result.parameters, result.precision) == (3, "float32")
        assert module.coefficients.tolist() == pytest.approx([1, -2, 3], abs=0.5)

    def test_a_trained_encoding(self):
        class Scaled(cn.Encoding):
            def __init__(self):
                super().__init__(1)
                self.scale = nn.Parameter(torch.ones(1))

            out_dim = 1

            def spec(self):
                return {"name": "scaled"}

            def features(self, x, dtype):
                return (x * self.scale).to(dtype)

        encoding = Scaled()
        fit(field(encoding=encoding), X, Y, quick())
        assert encoding.scale.item() != 1.0

    def test_frozen_parameters_stay(self):
        module = field()
        module.network.layers[1].requires_grad_(False)
        before = copy.deepcopy(module.network.layers[1].state_dict())
        first = module.network.layers[0].weight.detach().clone()
        result = fit(module, X, Y, quick())
        assert same(module.network.layers[1].state_dict(), before)
        assert not torch.equal(module.network.layers[0].weight, first)
        assert result.parameters == (12 * 16 + 16) + (16 + 1)

    def test_nothing_to_train(self):
        for module in (field().requires_grad_(False), nn.Identity()):
            with pytest.raises(InputError, match="parameter to train"):
                fit(module, X, Y, quick())

    def test_shared_weights_are_updated_once(self):
        """Step for step as PyTorch's own loop has it, in which a parameter has one name."""
        layer = nn.Linear(40, 40)
        module = plain(nn.Linear(1, 40), layer, nn.Tanh(), layer, nn.Linear(40, 1))
        twin = copy.deepcopy(module)
        config = quick(6, optimizer="adam", warmup_steps=0, final_fraction=1.0)
        adam = torch.optim.Adam(twin.parameters(), 4e-3, betas=config.betas, eps=config.eps)
        expected = []
        for _ in range(6):
            loss = (twin(X) - Y).square().mean()
            expected.append(loss.item() / Y.var().item())
            adam.zero_grad()
            loss.backward()
            adam.step()
        assert fit(module, X, Y, config).losses == pytest.approx(expected, rel=1e-4)
        torch.testing.assert_close(layer.weight, twin[1].weight, rtol=1e-4, atol=1e-5)

    def test_a_compiled_field_is_prepared_as_a_field(self):
        encoding = FourierFeatures.gaussian(1, k=4, sigma=2.0)
        eager, inner = field(encoding=encoding), field(encoding=encoding)
        compiled = torch.compile(inner, backend="eager")
        x, y = X * 500, 1000 + Y
        first, second = fit(eager, x, y, quick()), fit(compiled, x, y, quick())
        assert first.losses == second.losses
        assert inner.domain == ([0.0], [500 * X.max().item()])
        assert torch.equal(eager(x), inner(x))

    def test_modes_of_training_come_back(self):
        module = plain(nn.Linear(1, 8), nn.Dropout(0.5), nn.Linear(8, 1))
        module[0].eval()
        fit(module, X, Y, quick())
        assert [part.training for part in module.modules()] == [True, False, True, True]
        module.eval()
        fit(module, X, Y, quick())
        assert not any(part.training for part in module.modules())

    def test_steps_are_taken_in_training_and_measured_outside_of_it(self):
        class Recorder(nn.Linear):
            modes = ()

            def forward(self, x):
                self.modes += (self.training,)
                return super().forward(x)

        module = Recorder(1, 1).eval()
        fit(module, X, Y, quick(3))
        assert module.modes == (True, True, True, False)

    def test_several_values(self):
        y = torch.cat([Y, torch.cos(2 * math.pi * X), 100 * Y], 1)
        module = field(3)
        result = fit(module, X, y, quick(200))
        for column in range(3):  # each in its own scale, none drowned by the large one
            error = rmse(module(X)[:, column], y[:, column])
            assert error < 0.2 * y[:, column].std()
        assert result.peak == 200.0

    def test_leading_axes_are_flattened(self):
        one, two = field(), field()
        losses = fit(one, X.reshape(8, 16, 1), Y.reshape(8, 16, 1), quick()).losses
        assert losses == fit(two, X, Y, quick()).losses

    def test_the_callers_tensors_are_left_alone(self):
        x, y = X.clone().requires_grad_(), Y.clone().requires_grad_()
        fit(field(), x, y, quick())
        assert x.grad is None
        assert y.grad is None
        assert torch.equal(x, X)
        assert torch.equal(y, Y)


class TestSettings:
    def test_keywords_are_the_settings(self):
        by_config = fit(field(), X, Y, quick(5, batch_size=32))
        by_name = fit(field(), X, Y, steps=5, batch_size=32, precision="float32")
        assert by_name.losses == by_config.losses
        assert by_name.config == by_config.config
        with pytest.raises(InputError, match="both"):
            fit(field(), X, Y, quick(), seed=1)
        with pytest.raises(InputError, match="Do you mean steps"):
            fit(field(), X, Y, stepz=3)

    def test_samples_hold_the_values(self):
        samples = TensorSamples(X, Y)
        assert fit(field(), samples, steps=3).losses == fit(field(), X, Y, steps=3).losses
        for extra in ({"y": Y}, {"weights": torch.ones(len(X))}):
            with pytest.raises(InputError, match="samples and"):
                fit(field(), samples, steps=3, **extra)


class TestWhatStays:
    @pytest.mark.parametrize(
        "encoding", [FourierFeatures.gaussian(1, k=4), Identity(1), FourierFeatures(1, k=2)]
    )
    def test_the_encoding_is_the_one_that_was_passed_in(self, encoding):
        spec, names = encoding.spec(), set(encoding.state_dict())
        module = field(encoding=encoding)
        fit(module, 5 + 3 * X, Y, quick())
        assert module.encoding is encoding
        assert encoding.spec() == spec
        assert set(encoding.state_dict()) == names
        assert module.domain == ([5.0], [5 + 3 * float(X.max())])

    def test_domain_and_scale_are_those_of_the_first_fit(self):
        module = field(encoding=FourierFeatures.gaussian(1, k=4, sigma=1.0))
        fit(module, X, Y, quick())
        domain, mean = module.domain, module.value_mean.clone()
        fit(module, X / 2, 7 * Y, quick())
        with pytest.warns(RuntimeWarning, match=r"to \[9.9.* leave the field's domain"):
            fit(module, 10 * X, Y, quick())
        assert module.domain == domain
        assert torch.equal(module.value_mean, mean)

    @pytest.mark.parametrize(("device", "moves"), [("auto", ["cpu", "cpu"]), ("cpu", ["cpu"])])
    def test_the_module_comes_back_unless_a_device_was_named(self, device, moves, monkeypatch):
        monkeypatch.setattr("torch.cuda.is_available", lambda: False)
        monkeypatch.setattr("torch.backends.mps.is_available", lambda: False)
        module, told = plain(), []
        monkeypatch.setattr(module, "to", lambda device: told.append(str(device)))
        fit(module, X, Y, quick(2, device=device))
        with pytest.raises(NonFiniteLossError):
            fit(module, X, Y, quick(9, device=device, learning_rate=1e30, warmup_steps=0))
        assert told == 2 * moves
        assert {p.dtype for p in module.parameters()} == {torch.float32}


class TestReproducibility:
    def test_the_same_seed_gives_the_same_losses(self):
        config = quick(30, batch_size=32)
        runs = [fit(field(), X, Y, config) for _ in range(2)]
        assert runs[0].losses == runs[1].losses
        assert runs[0].psnr == runs[1].psnr
        other = fit(field(), X, Y, quick(30, batch_size=32, seed=1))
        assert other.losses[0] != runs[0].losses[0]

    def test_the_global_seed_changes_nothing(self):
        losses = fit(field(), X, Y, quick(batch_size=32)).losses
        with torch.random.fork_rng():
            torch.manual_seed(99)
            assert fit(field(), X, Y, quick(batch_size=32)).losses == losses

    def test_global_state_is_left_alone(self):
        state, dtype = torch.get_rng_state(), torch.get_default_dtype()
        device, threads = torch.get_default_device(), torch.get_num_threads()
        fit(field(), X, Y, quick(batch_size=32))
        fit(field(encoding=FourierFeatures.gaussian(1, k=4)), X, Y, FitConfig(steps=3))
        assert torch.equal(torch.get_rng_state(), state)
        assert torch.get_default_dtype() == dtype
        assert torch.get_default_device() == device
        assert torch.get_num_threads() == threads
        assert torch.is_grad_enabled()

    def test_a_second_fit_goes_on_from_the_first(self):
        module = field()
        first = fit(module, X, Y, quick(100))
        second = fit(module, X, Y, quick(1))
        assert second.losses[0] < 0.5 * first.losses[0]

    @pytest.mark.parametrize(
        "encoding",
        [
            FourierFeatures(1, k=6, period=1.0, include_input=True),
            FourierFeatures.gaussian(1, k=6),
            Concat([Identity(1), FourierFeatures(1, k=2)]),
        ],
        ids=["harmonic", "gaussian", "concat"],
    )
    @pytest.mark.parametrize("precision", ["float32", "bf16"])
    def test_features_computed_once_or_each_time(self, encoding, precision):
        losses = []
        for cache_bytes in (1 << 30, 0):
            config = FitConfig(steps=8, batch_size=32, cache_bytes=cache_bytes, precision=precision)
            losses.append(fit(field(encoding=encoding), X.double(), Y, config).losses)
        assert losses[0] == pytest.approx(losses[1], rel=1e-5)


class TestBlocks:
    @pytest.mark.parametrize("batch_size", [None, 50])
    @pytest.mark.parametrize("block_size", [1, 7, 32])
    def test_blocks_add_up_to_the_batch(self, block_size, batch_size):
        y = torch.cat([Y, X], 1)
        runs = []
        for size in (block_size, 1 << 14):
            config = quick(12, block_size=size, batch_size=batch_size, optimizer="adam")
            module = field(2).double()
            runs.append((fit(module, X.double(), y, config), module(X.double())))
        (small, few), (whole, all_at_once) = runs
        assert small.losses == pytest.approx(whole.losses, rel=1e-10)
        torch.testing.assert_close(few, all_at_once, rtol=1e-8, atol=1e-8)
        assert small.psnr == pytest.approx(whole.psnr, rel=1e-10)

    def test_the_loss_is_the_mean_square_of_standardized_values(self):
        module = field()
        x, y = X, 40 + 3 * Y
        module.prepare(x, y)
        expected = ((module(x) - y) / module.value_std).square().mean().item()
        result = fit(module, x, y, quick(1))
        assert result.losses[0] == pytest.approx(expected, rel=1e-5)


class TestRefusals:
    @pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
    @pytest.mark.parametrize("which", ["coordinates", "values"])
    def test_samples_that_are_not_finite_are_named_with_their_row(self, which, bad):
        x, y = X.clone(), Y.clone()
        (x if which == "coordinates" else y)[37] = bad
        with pytest.raises(InputError) as caught:
            fit(field(), x, y, quick())
        assert which in caught.value.rule
        assert "sample 37" in caught.value.got
        assert str(bad) in caught.value.got

    @pytest.mark.parametrize(
        ("x", "y"),
        [
            (torch.zeros(5, 1), torch.zeros(5)),
            (torch.zeros(5), torch.zeros(5, 1)),
            (torch.zeros(5, 1), torch.zeros(4, 1)),
            (torch.zeros(1, 5), torch.zeros(5, 1)),
            (torch.zeros(()), torch.zeros(())),
            (torch.zeros(0, 1), torch.zeros(0, 1)),
            (torch.zeros(5, 0), torch.zeros(5, 1)),
            (torch.zeros(5, 1), torch.zeros(5, 0)),
        ],
        ids=lambda t: str(tuple(t.shape)),
    )
    @pytest.mark.parametrize("make", [field, plain])
    def test_shapes(self, make, x, y):
        with pytest.raises(InputError) as caught:
            fit(make(), x, y, quick())
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("make", [field, plain])
    def test_one_axis_only(self, make):
        with pytest.raises(InputError, match="128") as caught:
            fit(make(), X[:, 0], Y[:, 0], quick())
        assert "x[..., None]" in caught.value.remedy

    def test_sizes_that_are_not_the_fields(self):
        for x, y in (
            (torch.zeros(5, 2), torch.zeros(5, 1)),
            (torch.zeros(5, 1), torch.zeros(5, 3)),
        ):
            with pytest.raises(InputError) as caught:
                fit(field(), x, y, quick())
            assert f"{x.shape[1]} and {y.shape[1]}" in caught.value.got
            assert "1 coordinates" in caught.value.rule

    def test_an_output_that_would_broadcast(self):
        for layers in ((nn.Linear(1, 1), nn.Flatten(0)), (nn.Linear(1, 3),)):
            with pytest.raises(InputError, match="shape of the values"):
                fit(plain(*layers), X, Y, quick())

    @pytest.mark.parametrize("device", ["no such device", "meta", None, "cuda:99"])
    def test_devices(self, device):
        with pytest.raises(InputError, match="device"):
            fit(field(), X, Y, quick(device=device))

    def test_nothing_is_changed_by_a_refusal(self):
        module = field(encoding=FourierFeatures.gaussian(1, k=4))
        with pytest.raises(InputError):
            fit(module, X, Y * math.nan, quick())
        assert module.domain is None
        assert not module.standardized
