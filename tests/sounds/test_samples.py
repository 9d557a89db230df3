"""Samples of sounds: float64 times, values in the file's own dtype."""

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.sounds import AudioSamples
from coordnet.training import TensorSamples

RATE = 44_100
KINDS = {"int16": 2.0**15, "int32": 2.0**31, "float32": 1.0}


def sound(dtype, number=500):
    values = 0.5 * np.random.default_rng(0).standard_normal((number, 2)).clip(-1.9, 1.9)
    return (values * KINDS[dtype]).astype(dtype), KINDS[dtype]


def field(samples, **settings):
    encoding = cn.FourierFeatures(1, k=4, period=0.01)
    made = cn.Field(encoding, cn.MLP(encoding.out_dim, samples.out_dim, 16, 1, seed=0))
    samples.prepare(made)
    return made


@pytest.mark.parametrize("dtype", KINDS)
@pytest.mark.parametrize("which", [slice(None), slice(30, 55), [0, 499, 77, 77]])
def test_batches_are_times_and_scaled_samples(dtype, which):
    stored, peak = sound(dtype)
    samples = AudioSamples(stored, peak, RATE)
    index = torch.tensor(which) if isinstance(which, list) else which
    x, y = samples.batch(index)
    times = np.arange(500) / RATE
    assert x.dtype == torch.float64
    np.testing.assert_array_equal(x[:, 0].numpy(), times[which])
    np.testing.assert_allclose(y.numpy(), stored[which] / peak, rtol=6e-8, atol=0)
    assert (len(samples), samples.out_dim) == (500, 2)
    assert samples.stored.dtype == getattr(torch, dtype)
    assert samples.value_range() == pytest.approx(np.ptp(stored / peak), rel=1e-6)


def test_times_of_a_long_sound_differ():
    """Rounded to float32, a quarter of those after five minutes are lost."""
    samples = AudioSamples(np.zeros((1, 1), np.int16), 1.0, RATE)
    index = torch.arange(20_000_000, 20_001_000)
    x = samples.coordinates(index)[:, 0]
    assert len(x.unique()) == 1000
    assert len(x.float().unique()) < 800


def test_one_scale_for_all_channels_and_a_domain_of_half_samples():
    stored, peak = sound("int16")
    stored[:, 1] //= 100
    made = field(AudioSamples(stored, peak, RATE))
    values = torch.from_numpy(stored / peak)
    torch.testing.assert_close(made.value_mean, values.mean(0), rtol=0, atol=1e-9)
    spread = values.var(0, correction=0).mean().sqrt()
    torch.testing.assert_close(made.value_std, spread.expand(2), rtol=1e-6, atol=0)
    assert made.domain == ([-0.5 / RATE], [499.5 / RATE])


def test_a_very_quiet_sound_keeps_its_scale():
    stored = (1e-9 * np.random.default_rng(0).standard_normal((400, 1))).astype(np.float32)
    made = field(AudioSamples(stored, 1.0, RATE))
    assert float(made.value_std) == pytest.approx(1e-9, rel=0.1)


def test_vertices_lie_on_the_samples():
    """With a cell more than samples a linear grid can hold every sample: SNR without a bound."""
    stored, peak = sound("float32", 64)
    grid = cn.DenseGrid(1, resolution=65, features=2, seed=0)
    made = cn.Field(grid, cn.MLP(2, 2, num_hidden_layers=0, seed=0))
    samples = AudioSamples(stored, peak, RATE)
    samples.prepare(made)
    with torch.no_grad():
        layer = made.network.layers[0]
        layer.weight.copy_(torch.eye(2))
        layer.bias.zero_()
        target = (torch.from_numpy(stored).double() - made.value_mean) / made.value_std
        grid.tables[1:65] = target.float()
        values = made(samples.batch(slice(None))[0])
        between = made((torch.arange(63, dtype=torch.float64)[:, None] + 0.5) / RATE)
    np.testing.assert_allclose(values.numpy(), stored, rtol=0, atol=3e-7)
    halfway = (stored[1:] + stored[:-1]) / 2
    np.testing.assert_allclose(between.numpy(), halfway, rtol=0, atol=3e-7)


def test_sounds_and_tensors_give_the_same_fit():
    samples = AudioSamples(*sound("int16"), RATE)
    config = cn.FitConfig(steps=15, device="cpu", batch_size=50, peak=1.0)
    first, second = field(samples), field(samples)
    one = cn.fit(first, samples, config=config)
    two = cn.fit(second, TensorSamples(*samples.batch(slice(None))), config=config)
    assert one.losses == two.losses
    assert one.psnr == two.psnr


@pytest.mark.parametrize("shape", [(0, 1), (5,), (5, 0), (2, 3, 4)])
def test_arrays_that_are_no_sound(shape):
    with pytest.raises(cn.InputError, match=r"\(N, C\)"):
        AudioSamples(np.zeros(shape, np.int16), 1.0, RATE)
