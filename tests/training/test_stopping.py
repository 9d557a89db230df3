"""How fits end: budgets, results, divergence; what they show on the way."""

import copy
import itertools
import math
import os
import subprocess
import sys

import pytest
import torch
from torch import nn

from coordnet import FitConfig, FourierFeatures, fit
from coordnet.metrics import psnr, rmse
from coordnet.training import NonFiniteLossError

from .square_wave import X, Y, field, plain, quick, same


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
                nn.init.zeros_(self.inner.weight)  # the start decides how far 200 steps go
                nn.init.zeros_(self.inner.bias)

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
        assert same(module.network.state_dict(), before)

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
        assert same(module.network.state_dict(), start)

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
