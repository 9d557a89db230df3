"""The fit loop: what it leaves alone, when it stops, what it refuses, that it learns."""

import copy
import itertools
import math
import os
import subprocess
import sys

import pytest
import torch
from torch import nn

import coordnet as cn
from coordnet import MLP, Concat, Field, FitConfig, FourierFeatures, Identity, InputError, fit
from coordnet.metrics import psnr, rmse
from coordnet.training import NonFiniteLossError, TensorSamples

X = torch.linspace(0, 1, 129)[:-1, None]
Y = torch.sign(torch.sin(2 * math.pi * X))


def field(out_dim=1, encoding=None, hidden_dim=16, layers=2, seed=0):
    encoding = encoding or FourierFeatures(1, k=6, period=1.0)
    return Field(encoding, MLP(encoding.out_dim, out_dim, hidden_dim, layers, seed=seed))


def quick(steps=10, **settings):
    return FitConfig(steps=steps, precision="float32", **settings)


def plain(*layers):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(*(layers or (nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))))


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

    def test_any_module(self):
        module = plain()
        result = fit(module, X, 3 * X, quick(300, learning_rate=1e-2))
        assert result.losses[-1] < 0.1 * result.losses[0]
        assert result.parameters == 16 + 16 + 16 + 1
        assert result.precision == "float32"

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
        for name, value in module.network.layers[1].state_dict().items():
            assert torch.equal(value, before[name])
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

    def test_a_shared_matrix_is_updated_once_by_muon(self):
        class Twice(nn.Module):
            def __init__(self, first, shared, last):
                super().__init__()
                self.first, self.shared, self.last = first, shared, last

            def forward(self, x):
                return self.last(self.shared(self.shared(self.first(x)).tanh()))

        layer = nn.Linear(40, 40)
        module = plain(nn.Linear(1, 40), layer, nn.Tanh(), layer, nn.Linear(40, 1))
        named_once = copy.deepcopy(Twice(module[0], layer, module[4]))
        config = quick(6, optimizer="muon")
        assert fit(module, X, Y, config).losses == fit(named_once, X, Y, config).losses

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

    @pytest.mark.parametrize(
        "dtype", [torch.uint8, torch.int8, torch.int64, torch.bool, torch.float64, torch.float16]
    )
    def test_values_of_any_real_dtype(self, dtype):
        y = (100 * Y).to(dtype) if dtype != torch.uint8 else (100 * Y + 100).to(dtype)
        result = fit(field(), X, y, quick())
        assert result.peak == float(y.max()) - float(y.min()) > 0
        assert math.isfinite(result.psnr)

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


class TestBudgets:
    def test_steps(self):
        result = fit(field(), X, Y, quick(7, log_every=3))
        assert (result.steps, result.stop_reason) == (7, "steps")
        assert len(result.losses) == 7
        assert [point.step for point in result.history] == [3, 6, 7]

    def test_seconds(self):
        result = fit(field(), X, Y, FitConfig(seconds=0.2, precision="float32"))
        assert result.stop_reason == "seconds"
        assert result.seconds >= 0.2
        assert result.steps == len(result.losses) > 1

    def test_seconds_of_a_clock_that_stands_still_between_questions(self, monkeypatch):
        ticks = itertools.count()
        monkeypatch.setattr("time.perf_counter", lambda: next(ticks) / 64)
        result = fit(field(), X, Y, quick(None, seconds=4.0))
        assert result.stop_reason == "seconds"
        assert 4.0 <= result.history[-1].seconds < 4.25

    def test_the_nearer_of_two(self):
        result = fit(field(), X, Y, quick(5, seconds=1000.0))
        assert (result.steps, result.stop_reason) == (5, "steps")

    def test_a_psnr(self):
        module = field(hidden_dim=32)
        result = fit(module, X, torch.sin(2 * math.pi * X), quick(3000, target_psnr=25.0))
        assert result.stop_reason == "target"
        assert result.psnr >= 25.0
        assert result.steps < 1500
        assert result.steps % result.config.log_every == 0

    def test_a_psnr_counts_as_it_is_measured_at_the_end(self):
        """The batches of a module that is worse outside of training promise too much."""

        class Worse(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Linear(1, 1)

            def forward(self, x):
                return self.inner(x) + (0.0 if self.training else 0.5)

        result = fit(Worse(), X, X, quick(200, target_psnr=20.0, learning_rate=0.05))
        assert result.history[-1].psnr > 20
        assert (result.steps, result.stop_reason) == (200, "steps")

    def test_a_psnr_out_of_reach(self):
        result = fit(field(), X, Y, quick(30, target_psnr=300.0))
        assert (result.steps, result.stop_reason) == (30, "steps")

    def test_a_callback(self):
        asked = []

        def stop():
            asked.append(1)
            return len(asked) > 4

        result = fit(field(), X, Y, quick(100), stop=stop)
        assert (result.steps, result.stop_reason) == (4, "stopped")
        assert result.history[-1].step == 4

    def test_stopped_before_the_first_step(self):
        module = field()
        before = copy.deepcopy(module.network.state_dict())
        result = fit(module, X, Y, quick(), stop=lambda: True)
        assert (result.steps, result.losses, result.history) == (0, [], [])
        assert result.psnr == pytest.approx(psnr(module(X), Y, peak=2.0))
        for name, value in module.network.state_dict().items():
            assert torch.equal(value, before[name])

    def test_the_default_takes_2000_steps(self):
        assert FitConfig().max_steps == 2000
        assert FitConfig(seconds=1.0).max_steps is None

    def test_a_callback_that_raises(self):
        def stop():
            raise KeyboardInterrupt

        module = field().eval()
        with pytest.raises(KeyboardInterrupt):
            fit(module, X, Y, quick(), stop=stop)
        assert not module.training


class TestResult:
    @pytest.mark.parametrize("settings", [{}, {"peak": 4.0}, {"peak": 1.0, "clamp": True}], ids=str)
    def test_psnr_and_rmse_are_those_of_the_values(self, settings):
        module = field()
        y = (Y + 1) / 2
        result = fit(module, X, y, quick(40, batch_size=32, **settings))
        values = module(X).detach()
        clamp = settings.get("clamp", False)
        assert result.peak == settings.get("peak", 1.0)
        assert result.psnr == pytest.approx(psnr(values, y, peak=result.peak, clamp=clamp))
        if not clamp:
            assert result.rmse == pytest.approx(rmse(values, y))

    @pytest.mark.parametrize("dtype", [torch.uint8, torch.int64, torch.float64])
    def test_sums_are_exact_for_any_dtype_of_the_values(self, dtype):
        y = (100 + 100 * Y).to(dtype)
        module = field()
        result = fit(module, X, y, quick(5))
        assert result.rmse == pytest.approx(rmse(module(X), y), rel=1e-12)

    def test_the_history(self):
        y = 50 + 7 * Y
        result = fit(field(), X, y, quick(47, log_every=10))
        steps = [point.step for point in result.history]
        assert steps == [10, 20, 30, 40, 47]
        seconds = [point.seconds for point in result.history]
        assert seconds == sorted(seconds)
        assert result.seconds >= seconds[-1] > 0
        first = result.history[0]
        assert first.loss == pytest.approx(sum(result.losses[:10]) / 10)
        # in the values' unit: mse = loss · std², std = 7
        mse = first.loss * Y.std(correction=0).item() ** 2 * 49
        assert first.psnr == pytest.approx(10 * math.log10(14.0**2 / mse), abs=1e-4)

    def test_plain_values(self):
        import json

        result = fit(field(), X, Y, quick(3, betas=(0.8, 0.9)))
        found = json.loads(json.dumps(result.to_dict()))
        assert found["steps"] == 3
        assert found["samples"] == 128
        assert found["config"]["betas"] == [0.8, 0.9]
        assert "losses" not in found
        assert found["history"][-1]["step"] == 3

    def test_an_exact_fit(self):
        module = nn.Linear(1, 1)
        nn.init.ones_(module.weight)
        nn.init.zeros_(module.bias)
        result = fit(module, X, X, quick(2))
        assert result.psnr == math.inf
        assert result.losses == [0.0, 0.0]


class TestDivergence:
    def big(self):
        return field(hidden_dim=32, layers=3)

    def test_a_huge_learning_rate_names_the_step_and_keeps_finite_parameters(self):
        module = self.big()
        start = copy.deepcopy(module.network.state_dict())
        with pytest.raises(NonFiniteLossError) as caught:
            fit(module, X, Y, quick(200, learning_rate=1e6, warmup_steps=0))
        error = caught.value
        assert 1 < error.step <= 200
        assert error.good_step < error.step
        assert f"step {error.step}" in str(error)
        assert "1e+06" in str(error)
        assert "\n" not in str(error)
        assert all(p.isfinite().all() for p in module.parameters())
        assert module(X).isfinite().all()
        assert error.good_step == 0
        for name, value in module.network.state_dict().items():
            assert torch.equal(value, start[name])

    def test_what_a_previous_fit_learnt_is_kept(self):
        module = self.big()
        good = fit(module, X, Y, quick(50)).psnr
        with pytest.raises(NonFiniteLossError):
            fit(module, X, Y, quick(50, learning_rate=1e6, warmup_steps=0))
        assert psnr(module(X), Y, peak=2.0) == pytest.approx(good, abs=1e-3)

    def test_later_snapshots_are_taken(self):
        """The step that goes wrong comes after a hundred good ones."""

        class Trap(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner, self.calls = nn.Linear(1, 1), 0

            def forward(self, x):
                self.calls += 1
                return self.inner(x) * (math.nan if self.calls > 150 else 1.0)

        module = Trap()
        with pytest.raises(NonFiniteLossError) as caught:
            fit(module, X, Y, quick(300))
        assert (caught.value.step, caught.value.good_step) == (151, 100)
        assert all(p.isfinite().all() for p in module.parameters())

    def test_the_last_step_counts_too(self):
        module = plain(nn.Linear(1, 8), nn.Linear(8, 8), nn.Linear(8, 1)).bfloat16()
        before = [p.clone() for p in module.parameters()]
        config = quick(1, learning_rate=1e30, warmup_steps=0)
        with pytest.raises(NonFiniteLossError) as caught:
            fit(module, X.bfloat16(), Y, config)
        assert caught.value.good_step == 0
        for kept, now in zip(before, module.parameters(), strict=True):
            assert torch.equal(kept, now)

    def test_running_statistics_are_restored_as_well(self):
        module = plain(nn.Linear(1, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 1))
        with pytest.raises(NonFiniteLossError):
            fit(module, X, Y, quick(100, learning_rate=1e25, warmup_steps=0))
        assert all(tensor.isfinite().all() for tensor in module.state_dict().values())

    def test_modes_of_training_come_back(self):
        module = self.big().eval()
        with pytest.raises(NonFiniteLossError):
            fit(module, X, Y, quick(200, learning_rate=1e6, warmup_steps=0))
        assert not module.training


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


CODE = """
import sys, torch, coordnet as cn
x = torch.linspace(0, 1, 33)[:-1, None]
for progress in (None, False, True):
    if progress:
        print("now with a bar", file=sys.stderr)
    encoding = cn.FourierFeatures(1, k=2, period=1.0)
    field = cn.Field(encoding, cn.MLP(4, 1, hidden_dim=8))
    cn.fit(field, x, torch.sin(6 * x), steps=40, progress=progress)
"""


def test_output_where_stderr_is_no_terminal(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", CODE],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    quiet, bar = done.stderr.split("now with a bar\n")
    assert quiet == ""
    assert "40/40 steps" in bar
    assert "loss" in bar
    assert "dB" in bar
    assert list(tmp_path.iterdir()) == []


def test_a_callback_in_place_of_the_bar(capfd):
    told = []
    result = fit(field(), X, Y, quick(25, log_every=10), progress=lambda *point: told.append(point))
    assert told == [(point, "") for point in result.history]
    assert capfd.readouterr() == ("", "")


def test_a_bar_over_seconds(capfd):
    fit(field(), X, Y, seconds=0.15, precision="float32", progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "fit on cpu in float32" in err


@pytest.mark.cuda
def test_on_a_cuda_device():
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    for encoding in (FourierFeatures(1, k=6, period=1.0), FourierFeatures.gaussian(1, k=32)):
        module = field(hidden_dim=128, encoding=encoding)
        result = fit(module, X, Y, steps=300)
        assert result.device.startswith("cuda")
        assert result.psnr > 25
        assert not module(X).is_cuda
        fit(module, X, Y, steps=3, device="cuda")
        assert module(X.cuda()).is_cuda
