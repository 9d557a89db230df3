"""Settings of a fit, the schedule, batches, precision and device."""

import dataclasses
import json
import math

import pytest
import torch
from torch import nn

from coordnet import MLP, Field, FitConfig, FourierFeatures, InputError, fit
from coordnet.training import choose_device, choose_precision
from coordnet.training.optimizers import schedule
from coordnet.training.runtime import fast_bf16
from coordnet.training.samples import Shuffler

BAD = [
    *[(name, value) for name in ("steps", "batch_size") for value in (0, -1, 2.0, True, "5")],
    *[(name, value) for name in ("block_size", "log_every") for value in (0, None, 1.5)],
    *[(name, value) for name in ("warmup_steps", "cache_bytes") for value in (-1, None, 0.5)],
    *[("seed", value) for value in (-1, None, 1.5, 1 << 64)],
    *[
        (name, value)
        for name in ("seconds", "target_psnr", "peak", "learning_rate", "eps")
        for value in (0, -1.0, math.nan, math.inf, "1", True, 10**400)
    ],
    *[("learning_rate", None), ("eps", None)],
    *[("final_fraction", value) for value in (-0.1, 1.1, math.nan, None, "0", True)],
    *[("betas", value) for value in ((0.9,), (0.9, 1.0), (-0.1, 0.9), 0.9, None, "ab", (0, "b"))],
    *[("ema", value) for value in (-0.1, 1.0, math.nan, "a", True)],
    *[("betas", (math.nan, 0.9)), ("betas", (0.9, 0.99, 0.999))],
    *[("optimizer", value) for value in ("sgd", None, "Adam", ["adam"])],
    *[("decay", value) for value in ("linear", None, ["cosine"])],
    *[("precision", value) for value in ("fp16", None, "float64", 16)],
]


@pytest.mark.parametrize(("name", "value"), BAD, ids=lambda v: repr(v)[:20])
def test_settings_that_are_refused(name, value):
    with pytest.raises(InputError) as caught:
        FitConfig(**{name: value})
    assert name in str(caught.value)
    assert caught.value.remedy
    assert "\n" not in str(caught.value)


def test_clamping_needs_a_peak():
    with pytest.raises(InputError, match="peak"):
        FitConfig(clamp=True)
    assert FitConfig(clamp=True, peak=1.0).clamp


def test_every_setting_is_described():
    text = FitConfig.__doc__
    for each in dataclasses.fields(FitConfig):
        assert f"        {each.name}: " in text


def test_settings_do_not_change():
    config = FitConfig()
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.steps = 3
    assert dataclasses.replace(config, steps=3).steps == 3


def test_settings_are_plain_json():
    found = json.loads(json.dumps(FitConfig(steps=5, device=torch.device("cpu")).to_dict()))
    assert FitConfig.from_dict(found) == FitConfig(steps=5, device="cpu")


def test_settings_of_older_checkpoints_are_read_and_others_are_not():
    found = FitConfig(steps=5).to_dict()
    assert FitConfig.from_dict({**found, "keep_memory": True}) == FitConfig(steps=5)
    with pytest.raises(TypeError, match="momentum"):
        FitConfig.from_dict({**found, "momentum": 0.9})


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
    with pytest.raises(InputError, match=r"end above 0; got final_fraction=0\. Pass final_fract"):
        FitConfig(decay="exponential")


class TestBatches:
    @pytest.mark.parametrize(("number", "size"), [(12, 4), (10, 3), (7, 5), (1001, 1000), (5, 1)])
    def test_every_sample_once_an_epoch(self, number, size):
        batches = Shuffler(number, size, torch.Generator().manual_seed(0))
        epochs = 6
        drawn = torch.cat([next(batches) for _ in range(math.ceil(epochs * number / size))])
        for epoch in range(epochs):
            seen = drawn[epoch * number : (epoch + 1) * number]
            assert seen.sort().values.tolist() == list(range(number))

    def test_batches_are_of_one_size_and_shuffled_afresh(self):
        batches = Shuffler(100, 30, torch.Generator().manual_seed(0))
        drawn = [next(batches) for _ in range(20)]
        assert {len(batch) for batch in drawn} == {30}
        flat = torch.cat(drawn)
        assert flat[:100].tolist() != flat[100:200].tolist()
        assert flat[:100].tolist() != list(range(100))

    def test_the_seed_decides(self):
        first, same, other = (
            next(Shuffler(100, 30, torch.Generator().manual_seed(seed))).tolist()
            for seed in (0, 0, 1)
        )
        assert first == same != other

    @pytest.mark.parametrize("size", [5, 6, 100])
    def test_batches_as_large_as_the_data_take_all(self, size):
        batches = Shuffler(5, size, torch.Generator())
        assert [next(batches) for _ in range(3)] == [None] * 3


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
