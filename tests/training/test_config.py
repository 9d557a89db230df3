"""Settings of a fit, the schedule, batches, precision and device."""

import dataclasses
import json
import math

import pytest
import torch
from torch import nn

from coordnet import MLP, Field, FitConfig, FourierFeatures, InputError, fit
from coordnet.training import choose_device, choose_precision
from coordnet.training.optimizers import Optimizer, resolved, schedule
from coordnet.training.runtime import fast_bf16

POSITIVE = (0, -1.0, math.nan, math.inf, "1", True, 10**400)
BAD = {
    **dict.fromkeys(("steps", "batch_size"), (0, -1, 2.0, True, "5")),
    **dict.fromkeys(("block_size", "log_every"), (0, None, 1.5)),
    **dict.fromkeys(("warmup_steps", "cache_bytes"), (-1, None, 0.5)),
    **dict.fromkeys(("seconds", "target_psnr", "peak", "learning_rate"), POSITIVE),
    "eps": (*POSITIVE, None),
    "seed": (-1, None, 1.5, 1 << 64),
    "final_fraction": (-0.1, 1.1, math.nan, None, "0", True),
    "betas": (
        *((0.9,), (0.9, 1.0), (-0.1, 0.9), 0.9, None, "ab", (0, "b"), (math.nan, 0.9)),
        (0.9, 0.99, 0.999),
    ),
    "ema": (-0.1, 1.0, math.nan, "a", True),
    "optimizer": ("sgd", "Adam", ["adam"]),
    "decay": ("linear", None, ["cosine"]),
    "precision": ("fp16", None, "float64", 16),
}


@pytest.mark.parametrize("name", BAD)
def test_settings_that_are_refused(name):
    for value in BAD[name]:
        with pytest.raises(InputError, match=name) as caught:
            FitConfig(**{name: value})
        assert "\n" not in str(caught.value)


class TestKeywords:
    def test_they_are_the_settings(self):
        assert FitConfig.of(None, {"steps": 3, "ema": 0.5}) == FitConfig(steps=3, ema=0.5)
        assert FitConfig.of(None, {}) == FitConfig()
        assert FitConfig.of(FitConfig(steps=3), {}) == FitConfig(steps=3)
        with pytest.raises(InputError, match="steps=0"):
            FitConfig.of(None, {"steps": 0})

    @pytest.mark.parametrize(
        ("config", "settings", "says"),
        [
            (FitConfig(), {"steps": 3, "seed": 1}, "not by both.*steps, seed"),
            (None, {"step": 3}, "step. Do you mean steps"),
            (None, {"lr": 0.1}, "lr. Do you mean"),
            (None, {"learningrate": 0.1}, "Do you mean learning_rate"),
            ({"steps": 3}, {}, "FitConfig; got dict"),
        ],
    )
    def test_what_they_cannot_be(self, config, settings, says):
        with pytest.raises(InputError, match=says):
            FitConfig.of(config, settings)


class Wishful(nn.Module):
    """Two large matrices, one of which it leaves to Muon."""

    def __init__(self, learning_rate, number):
        super().__init__()
        self.learning_rate, self.number = learning_rate, number
        self.layers = nn.ModuleList([nn.Linear(40, 40) for _ in range(2)])

    def muon_parameters(self):
        return [layer.weight for layer in self.layers][: self.number]


class TestWishes:
    """What a network asks for counts where the user sets nothing."""

    def test_the_learning_rate(self):
        assert resolved(FitConfig(), Wishful(1e-4, 1)).learning_rate == 1e-4
        assert resolved(FitConfig(), Wishful(None, 1)).learning_rate == 4e-3
        assert resolved(FitConfig(), nn.Linear(40, 40)).learning_rate == 4e-3
        assert resolved(FitConfig(learning_rate=0.1), Wishful(1e-4, 1)).learning_rate == 0.1

    @pytest.mark.parametrize(
        ("optimizer", "module", "taken", "matrices"),
        [
            (None, Wishful(None, 2), "muon", 2),
            (None, Wishful(None, 1), "muon", 1),
            (None, Wishful(None, 0), "adam", 0),
            ("muon", Wishful(None, 1), "muon", 1),
            ("muon", Wishful(None, 0), "muon", 2),
            ("adam", Wishful(None, 2), "adam", 0),
            (None, nn.Linear(40, 40), "muon", 1),
            (None, nn.Linear(4, 4), "muon", 0),
        ],
    )
    def test_the_optimizer(self, optimizer, module, taken, matrices):
        config = FitConfig(optimizer=optimizer)
        assert resolved(config, module).optimizer == taken
        rules = {type(part).__name__: part for part in Optimizer(module, config).parts}
        assert len(rules["Muon"].parameters if matrices else []) == matrices
        assert sum(len(part.parameters) for part in rules.values()) == len(
            list(module.parameters())
        )

    def test_the_result_says_what_was_taken(self):
        x = torch.linspace(0, 1, 9)[:, None]
        result = fit(MLP(1, 1, hidden_dim=8), x, x, steps=1)
        assert (result.config.optimizer, result.config.learning_rate) == ("muon", 4e-3)


def test_clamping_needs_a_peak():
    with pytest.raises(InputError, match="peak"):
        FitConfig(clamp=True)
    assert FitConfig(clamp=True, peak=1.0).clamp


def test_every_setting_is_described():
    text = FitConfig.__doc__
    for setting in dataclasses.fields(FitConfig):
        assert f"        {setting.name}: " in text


def test_settings_do_not_change():
    config = FitConfig()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.steps = 3
    assert dataclasses.replace(config, steps=3).steps == 3


def test_settings_are_plain_json():
    plain = json.loads(json.dumps(FitConfig(steps=5, device=torch.device("cpu")).to_dict()))
    assert FitConfig.from_dict(plain) == FitConfig(steps=5, device="cpu")


def test_settings_of_older_checkpoints_are_read_and_others_are_not():
    plain = FitConfig(steps=5).to_dict()
    former = {**plain, "keep_memory": True, "progress": None}
    assert FitConfig.from_dict(former) == FitConfig(steps=5)
    with pytest.raises(TypeError, match="momentum"):
        FitConfig.from_dict({**plain, "momentum": 0.9})


def test_the_schedule_rises_then_falls_to_its_end():
    config = FitConfig(steps=1000, warmup_steps=9, final_fraction=0.1)
    rates = [schedule(config, step, step / 1000) for step in range(1001)]
    assert rates[0] == pytest.approx(0.1, abs=1e-3)
    assert rates[9] == pytest.approx(1.0, abs=1e-2)
    assert rates[:10] == sorted(rates[:10])
    assert rates[10:] == sorted(rates[10:], reverse=True)
    assert rates[500] == pytest.approx(0.55, abs=1e-3)
    assert rates[-1] == pytest.approx(0.1)
    assert schedule(FitConfig(warmup_steps=0), 0, 0.0) == 1.0
    assert schedule(FitConfig(), 10**6, 7.0) == 0.0  # past the end of a budget in seconds


def test_an_exponential_decay_falls_by_equal_factors():
    config = FitConfig(steps=100, warmup_steps=0, final_fraction=0.01, decay="exponential")
    rates = [schedule(config, step, step / 100) for step in (0, 25, 50, 100, 150)]
    assert rates == pytest.approx([1.0, 0.01**0.25, 0.1, 0.01, 0.01])
    with pytest.raises(InputError, match="final_fraction=0"):
        FitConfig(decay="exponential")


class TestPrecision:
    @pytest.mark.parametrize(
        ("module", "auto"),
        [
            (nn.Linear(96, 96), "bf16"),
            (nn.Linear(95, 200), "float32"),
            (nn.Sequential(nn.Linear(2, 128), nn.Linear(128, 1)), "float32"),
            (nn.Linear(128, 128).double(), "float64"),
            (nn.Linear(128, 128).bfloat16(), "bfloat16"),
            (nn.Identity(), "float32"),
        ],
    )
    def test_auto(self, module, auto, monkeypatch):
        device = torch.device("cpu")
        monkeypatch.setattr("coordnet.training.runtime.fast_bf16", lambda device: True)
        assert choose_precision("auto", device, module) == auto
        monkeypatch.setattr("coordnet.training.runtime.fast_bf16", lambda device: False)
        assert choose_precision("auto", device, module) == ("float32" if auto == "bf16" else auto)
        own = "float32" if auto == "bf16" else auto
        assert choose_precision("float32", device, module) == own

    def test_auto_takes_float32_where_the_values_are_few(self, monkeypatch):
        monkeypatch.setattr("coordnet.training.runtime.fast_bf16", lambda device: True)
        device, module = torch.device("cpu"), nn.Linear(128, 99)
        parameters = 129 * 99  # an odd number
        for values, precision in ((parameters // 2, "float32"), (parameters // 2 + 1, "bf16")):
            assert choose_precision("auto", device, module, values) == precision
            assert choose_precision("bf16", device, module, values) == "bf16"
            assert choose_precision("float32", device, module, values) == "float32"
        module.bias.requires_grad_(False)  # which can go through nothing
        assert choose_precision("auto", device, module, 64 * 99) == "bf16"

    @pytest.mark.parametrize(("samples", "precision"), [(6302, "float32"), (6303, "bf16")])
    def test_a_fit_counts_values(self, samples, precision, monkeypatch):
        monkeypatch.setattr("coordnet.training.runtime.fast_bf16", lambda device: True)
        x = torch.linspace(0, 1, samples)[:, None]
        network = MLP(4, 3, hidden_dim=190, num_hidden_layers=2, seed=0)
        field = Field(FourierFeatures(1, k=2), network)
        parameters = sum(p.numel() for p in field.parameters())
        assert 2 * 3 * 6302 < parameters <= 2 * 3 * 6303
        result = fit(field, x, x.expand(-1, 3), FitConfig(steps=1, batch_size=64, evaluate=False))
        assert result.precision == precision

    @pytest.mark.parametrize(
        ("dispatch", "units", "fast"),
        [
            ("AVX512", {"avx512_bf16"}, True),
            ("AVX512", {"amx_bf16", "avx512_bf16"}, True),
            ("AVX512", set(), False),
            ("AVX2", {"avx512_bf16"}, False),  # there, but PyTorch was told to leave them alone
            ("DEFAULT", {"amx_bf16"}, False),
        ],
    )
    def test_the_cpu_and_what_pytorch_uses_of_it_are_asked(
        self, dispatch, units, fast, monkeypatch
    ):
        monkeypatch.setattr("torch.backends.cpu.get_cpu_capability", lambda: dispatch)
        monkeypatch.setattr(
            "torch.cpu.get_capabilities", lambda: dict.fromkeys(units, True), raising=False
        )
        assert fast_bf16(torch.device("cpu")) is fast
        assert not fast_bf16(torch.device("mps"))

    def test_bf16_is_refused_for_float64(self):
        x = torch.linspace(0, 1, 9)[:, None]
        field = Field(FourierFeatures(1, k=2), MLP(4, 1, hidden_dim=8)).double()
        with pytest.raises(InputError, match="float64"):
            fit(field, x, x, FitConfig(steps=1, precision="bf16"))

    def test_float64_is_not_touched_by_autocast(self, monkeypatch):
        monkeypatch.setattr("coordnet.training.runtime.fast_bf16", lambda device: True)
        x = torch.linspace(0, 1, 33, dtype=torch.float64)[:, None]
        network = MLP(4, 1, hidden_dim=128, seed=0)
        seen = []
        network.layers[1].register_forward_hook(lambda m, i, out: seen.append(out.dtype))
        field = Field(FourierFeatures(1, k=2), network).double()
        result = fit(field, x, x, FitConfig(steps=2))
        assert result.precision == "float64"
        assert set(seen) == {torch.float64}

    @pytest.mark.parametrize("precision", ["bf16", "float32"])
    def test_training_runs_in_the_precision_it_states_and_scores_without_autocast(self, precision):
        x = torch.linspace(0, 1, 33)[:, None]
        network = MLP(4, 1, hidden_dim=8, seed=0)
        seen = []
        network.layers[0].register_forward_hook(lambda m, i, out: seen.append(out.dtype))
        field = Field(FourierFeatures(1, k=2), network)
        result = fit(field, x, x, FitConfig(steps=2, precision=precision))
        assert result.precision == precision
        trained = torch.bfloat16 if precision == "bf16" else torch.float32
        assert seen == [trained, trained, torch.float32]
        assert {p.dtype for p in field.parameters()} == {torch.float32}

    @pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
    def test_a_cast_field_is_fitted_in_its_dtype(self, dtype):
        x = torch.linspace(0, 1, 65)[:-1, None]
        field = Field(FourierFeatures(1, k=2, period=1.0), MLP(4, hidden_dim=16, seed=0)).to(dtype)
        result = fit(field, x, torch.sin(2 * math.pi * x), FitConfig(steps=60))
        assert result.precision == str(dtype).removeprefix("torch.")
        assert result.losses[-1] < 0.3 * result.losses[0]


class TestDevice:
    def test_the_cpu_is_always_there(self):
        assert choose_device("cpu") == torch.device("cpu")
        assert choose_device("auto").type in ("cpu", "cuda", "mps")

    def test_auto_prefers_an_accelerator(self, monkeypatch):
        monkeypatch.setattr("torch.backends.mps.is_available", lambda: True)
        monkeypatch.setattr("torch.cuda.is_available", lambda: False)
        assert choose_device().type == "mps"
        monkeypatch.setattr("torch.cuda.is_available", lambda: True)
        assert choose_device().type == "cuda"

    def test_one_that_is_missing_says_which_there_are(self, monkeypatch):
        monkeypatch.setattr("torch.cuda.is_available", lambda: False)
        with pytest.raises(InputError, match="cuda") as caught:
            choose_device("cuda")
        assert "cpu" in caught.value.remedy
