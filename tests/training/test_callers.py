"""What a caller has switched on changes nothing of a fit, and a fit nothing of the caller's."""

import contextlib
import platform
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

import coordnet as cn
from coordnet.series import (
    choose_k,
    derivative,
    evaluate,
    find_period,
    fit_harmonics,
    harmonic_spectrum,
)
from coordnet.training import FitConfig

X = torch.linspace(0, 1, 129)[:-1, None]
Y = torch.sin(2 * torch.pi * X)


def fitted(module, precision="auto", steps=40, **options):
    """Return what a fit says and what it has learnt."""
    config = FitConfig(steps=steps, precision=precision)
    result = cn.fit(module, X, Y, config, **options)
    return result, [p.detach().clone() for p in module.parameters()]


def field(width=128):
    encoding = cn.FourierFeatures(1, k=2, period=1.0)
    return cn.Field(encoding, cn.MLP(encoding.out_dim, 1, hidden_dim=width, seed=0))


@contextlib.contextmanager
def default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize(
    "context",
    [
        lambda: torch.autocast("cpu", torch.bfloat16),
        torch.no_grad,
        torch.inference_mode,
        lambda: torch.device("meta"),
        lambda: default_dtype(torch.float64),
    ],
    ids=["autocast", "no_grad", "inference_mode", "meta", "float64"],
)
def test_a_fit_inside_a_callers_context_is_the_same(context, precision):
    plain, learnt = fitted(field(), precision)
    module = field()
    with context():
        result, again = fitted(module, precision)
    assert result.losses == plain.losses
    assert (result.psnr, result.precision) == (plain.psnr, precision)
    assert same(learnt, again)
    assert plain.losses[-1] < 0.1 * plain.losses[0]


def test_everything_made_in_inference_mode_can_be_fitted():
    _, learnt = fitted(field())
    with torch.inference_mode():
        module = field()
        x, y, weights = X.clone(), Y.clone(), torch.ones(len(X))
        assert x.is_inference()
        assert next(module.parameters()).is_inference()
        cn.fit(module, x, y, FitConfig(steps=40), weights=weights)
        plain = nn.Sequential(nn.Linear(1, 8), nn.ReLU(), nn.Linear(8, 1))
        cn.fit(plain, x, y, FitConfig(steps=2, batch_size=16))
    assert same(learnt, module.parameters())
    assert all(p.requires_grad for p in plain.parameters())


def test_shared_tensors_made_in_inference_mode_stay_shared():
    with torch.inference_mode():
        layer = nn.Linear(1, 1)
        module = nn.Sequential(layer, nn.Linear(1, 1))
        module[1].weight = layer.weight
        module.register_buffer("mean", torch.zeros(1))
        cn.fit(module, X, Y, FitConfig(steps=1))
    assert module[1].weight is module[0].weight
    assert set(dict(module.named_buffers())) == {"mean"}
    assert set(module.state_dict()) == {"0.weight", "0.bias", "1.weight", "1.bias", "mean"}


def test_values_and_slopes_keep_their_digits_inside_autocast():
    module = field(32)
    fitted(module, steps=5)
    x = X.numpy()
    plain = evaluate(module, x), derivative(module, x)
    with torch.autocast("cpu", torch.bfloat16), torch.inference_mode():
        again = evaluate(module, x), derivative(module, x)
    assert all(np.array_equal(a, b) for a, b in zip(plain, again, strict=True))


def public_results():
    """Return numbers from public functions, made of tensors and arrays on the CPU."""
    t = np.linspace(0, 30, 240)
    y = 3 + np.sin(2 * np.pi * t / 7.0) + 0.2 * np.cos(2 * np.pi * t / 3.5)
    picture = torch.linspace(0, 1, 32 * 20, device="cpu").reshape(32, 20)
    other = picture.square()
    with torch.device("cpu"):
        linear = cn.Field(e := cn.FourierFeatures(1, k=2), cn.MLP(e.out_dim, num_hidden_layers=0))
        module = field(16)
    result, learnt = fitted(module, steps=5, weights=torch.linspace(1, 2, 128, device="cpu"))
    cn.fit_linear(linear, X, Y, weights=torch.linspace(1, 2, 128, device="cpu"))
    model = fit_harmonics(t, y, 7.0, 2, trend=1)
    found = [
        *result.losses, result.psnr, result.rmse, *learnt, *linear.parameters(),
        model.coefficients, model.predict(t), model.spectrum(0).amplitude,
        derivative(model, t), evaluate(model.to_field(), t),
        choose_k(t, y, 7.0).error, find_period(t, y).period,
        harmonic_spectrum(module, 1.0, 3).amplitude,
        cn.psnr(picture, other), cn.mse(picture, other), cn.ssim(picture, other),
        cn.psnr(picture.numpy(), other.numpy()),
    ]  # fmt: skip
    return [np.asarray(v.detach() if isinstance(v, torch.Tensor) else v) for v in found]


def test_a_default_device_without_memory_changes_no_bit():
    plain = public_results()
    torch.set_default_device("meta")
    try:
        again = public_results()
    finally:
        torch.set_default_device(None)
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(plain, again, strict=True))


@pytest.mark.parametrize("method", ["linear", "network"])
def test_a_regressor_under_a_default_device_without_memory(method):
    regressor = pytest.importorskip("coordnet.series.regressor").PeriodicRegressor
    hours, load = X.numpy() * 24, Y.numpy()[:, 0]

    def predicted():
        model = regressor(24.0, k=2, method=method, hidden_dim=8, steps=5)
        return model.fit(hours, load, np.ones(len(load))).predict(hours)

    plain = predicted()
    torch.set_default_device("meta")
    try:
        assert np.array_equal(predicted(), plain)
    finally:
        torch.set_default_device(None)


def test_the_precision_of_a_field_is_that_of_its_network():
    encoding = cn.HashGrid(1, num_levels=2, max_resolution=16.0)
    module = cn.Field(encoding, cn.MLP(encoding.out_dim, hidden_dim=8, seed=0).double())
    assert next(module.parameters()).dtype == torch.float32
    assert fitted(module, steps=2)[0].precision == "float64"


FREED = """
import os, sys, torch
import coordnet as cn
from coordnet.memory import keep_freed_memory, return_freed_memory

def held():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

def free():
    blocks = [torch.ones(16 << 20, dtype=torch.uint8) for _ in range(40)]

encoding = cn.FourierFeatures(1, k=2)
field = cn.Field(encoding, cn.MLP(encoding.out_dim, hidden_dim=8))
x = torch.linspace(0, 1, 64)[:, None]
before = held()
if sys.argv[1] == "fit":
    cn.fit(field, x, x, cn.FitConfig(steps=3))
    return_freed_memory()  # as where memory has run out
    cn.fit(field, x, x, cn.FitConfig(steps=3))
elif sys.argv[1] == "command":
    with keep_freed_memory():
        free()
        print(held() - before)
    print(held() - before)
    # a heap that has grown is used again, whatever the thresholds: freed in its midst it stays
    free()
    return_freed_memory()
    print(held() - before)
    sys.exit()
free()
print(held() - before)
"""


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc" or not sys.platform.startswith("linux"), reason="needs glibc"
)
class TestFreedMemory:
    def held(self, what):
        """Return the bytes held after 640 MB were freed, beyond those before."""
        command = [sys.executable, "-c", FREED, what]
        found = subprocess.run(command, capture_output=True, check=True)
        return [int(line) for line in found.stdout.split()]

    def test_after_a_fit_it_goes_back_to_the_system(self):
        (plain,), (after,) = self.held("nothing"), self.held("fit")
        assert after < plain + (50 << 20)

    def test_a_command_keeps_it_until_its_end(self):
        inside, at_the_end, later = self.held("command")
        assert inside > 600 << 20
        assert max(at_the_end, later) < 50 << 20
