"""Samples of sounds: float64 times, values in the file's own dtype."""

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.sounds import AudioSamples

RATE = 44_100


def test_times_of_a_long_sound_differ():
    """Rounded to float32, a quarter of those after five minutes are lost."""
    samples = AudioSamples(np.zeros((1, 1), np.int16), 1.0, RATE)
    index = torch.arange(20_000_000, 20_001_000)
    x = samples.coordinates(index)[:, 0]
    assert len(x.unique()) == 1000
    assert len(x.float().unique()) < 800


def test_a_very_quiet_sound_keeps_its_scale():
    stored = (1e-9 * np.random.default_rng(0).standard_normal((400, 1))).astype(np.float32)
    encoding = cn.FourierFeatures(1, k=4, period=0.01)
    made = cn.Field(encoding, cn.MLP(encoding.out_dim, 1, 16, 1, seed=0))
    AudioSamples(stored, 1.0, RATE).prepare(made)
    assert float(made.value_std) == pytest.approx(1e-9, rel=0.1)


def test_vertices_lie_on_the_samples():
    """With a cell more than samples a linear grid can hold every sample: SNR without a bound."""
    stored = np.random.default_rng(0).uniform(-0.5, 0.5, (64, 2)).astype(np.float32)
    grid = cn.DenseGrid(1, resolution=65, features=2, seed=0)
    made = cn.Field(grid, cn.MLP(2, 2, num_hidden_layers=0, seed=0))
    samples = AudioSamples(stored, 1.0, RATE)
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


@pytest.mark.parametrize("shape", [(0, 1), (5,), (5, 0), (2, 3, 4)])
def test_arrays_that_are_no_sound(shape):
    with pytest.raises(cn.InputError, match=r"\(N, C\)"):
        AudioSamples(np.zeros(shape, np.int16), 1.0, RATE)
