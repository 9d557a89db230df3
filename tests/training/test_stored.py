"""Values kept in the dtype of their file: pixels and sounds as samples of a fit."""

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.pictures import PixelSamples
from coordnet.sounds import AudioSamples
from coordnet.training import TensorSamples

RATE = 44_100
PEAKS = {"uint8": 255.0, "uint16": 65535.0, "int16": 2.0**15, "int32": 2.0**31, "float32": 1.0}


def stored(dtype):
    """240 rows of 3 values, of which the last are small, and their peak."""
    values = np.random.default_rng(0).uniform(0 if dtype[0] == "u" else -1, 1, (240, 3))
    values[:, 2] /= 10
    return (values * PEAKS[dtype]).astype(dtype), PEAKS[dtype]


def pixels(values, peak):
    return PixelSamples(values.reshape(12, 20, 3), peak)


def sound(values, peak):
    return AudioSamples(values, peak, RATE)


KINDS = [
    *((pixels, dtype) for dtype in ("uint8", "uint16", "float32")),
    *((sound, dtype) for dtype in ("int16", "int32", "float32")),
]


def field(samples):
    dim = samples.batch(slice(1))[0].shape[-1]
    encoding = cn.FourierFeatures(dim, k=4, period=2.0 if dim == 2 else 0.01)
    made = cn.Field(encoding, cn.MLP(encoding.out_dim, samples.out_dim, 16, 1, seed=0))
    samples.prepare(made)
    return made


@pytest.mark.parametrize(("make", "dtype"), KINDS)
def test_batches_are_coordinates_and_values(make, dtype):
    values, peak = stored(dtype)
    samples = make(values, peak)
    if make is pixels:
        expected_x = cn.pixel_centers(12, 20).reshape(-1, 2)
    else:
        expected_x = torch.from_numpy(np.arange(240) / RATE)[:, None]
    expected_y = torch.from_numpy(values.astype(np.float64) / peak).float()
    for index in (slice(None), slice(30, 55), torch.tensor([0, 239, 77, 77])):
        x, y = samples.batch(index)
        assert torch.equal(x, expected_x[index])
        torch.testing.assert_close(y, expected_y[index], rtol=0, atol=6e-8)
    assert (len(samples), samples.out_dim) == (240, 3)
    assert samples.stored.dtype == getattr(torch, dtype.replace("uint16", "int16"))
    assert samples.value_range() == pytest.approx(
        float(expected_y.max() - expected_y.min()), rel=1e-6
    )


@pytest.mark.parametrize(("make", "dtype"), KINDS)
def test_one_scale_for_all_channels(make, dtype):
    values, peak = stored(dtype)
    made = field(make(values, peak))
    expected = torch.from_numpy(values / peak)
    torch.testing.assert_close(made.value_mean, expected.mean(0).double(), rtol=0, atol=1e-7)
    spread = expected.double().var(0, correction=0).mean().sqrt()
    torch.testing.assert_close(made.value_std, spread.expand(3), rtol=1e-6, atol=0)
    half = 0.5 / RATE
    square = ([0.0, 0.0], [1.0, 1.0])
    assert made.domain == (square if make is pixels else ([-half], [239.5 / RATE]))


@pytest.mark.parametrize(("make", "dtype"), [(pixels, "uint8"), (sound, "int16")])
def test_a_fit_is_that_of_the_tensors(make, dtype):
    samples = make(*stored(dtype))
    config = cn.FitConfig(steps=15, device="cpu", batch_size=50, peak=1.0, clamp=make is pixels)
    one = cn.fit(field(samples), samples, config=config)
    two = cn.fit(field(samples), TensorSamples(*samples.batch(slice(None))), config=config)
    assert one.losses == two.losses
    assert one.psnr == two.psnr
