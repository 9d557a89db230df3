import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.training import PixelSamples, TensorSamples

SHAPE = (12, 20, 3)


def picture(dtype):
    drawn = np.random.default_rng(0).uniform(size=SHAPE)
    if dtype == np.float32:
        return drawn.astype(dtype), 1.0
    peak = np.iinfo(dtype).max
    return (drawn * peak).astype(dtype), float(peak)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
@pytest.mark.parametrize("which", [slice(None), slice(30, 55), [0, 239, 77, 77]])
def test_batches_are_those_of_the_float_picture(dtype, which):
    pixels, peak = picture(dtype)
    samples = PixelSamples(pixels, peak)
    x = cn.pixel_centres(12, 20).reshape(-1, 2)
    y = torch.from_numpy(pixels.astype(np.float64) / peak).float().reshape(-1, 3)
    index = torch.tensor(which) if isinstance(which, list) else which
    got_x, got_y = samples.batch(index)
    assert torch.equal(got_x, x[index])
    torch.testing.assert_close(got_y, y[index], rtol=0, atol=6e-8)
    assert (len(samples), samples.out_dim) == (240, 3)
    assert samples.spread() == pytest.approx(float(y.max() - y.min()), abs=1e-7)


def field(samples):
    encoding = cn.FourierFeatures(2, k=4, period=2.0)
    made = cn.Field(encoding, cn.MLP(encoding.out_dim, 3, 16, 1, seed=0))
    samples.prepare(made)
    return made


def test_the_scale_is_one_for_all_channels():
    pixels, peak = picture(np.uint8)
    pixels[..., 2] //= 10
    made = field(PixelSamples(pixels, peak))
    values = torch.from_numpy(pixels / peak).reshape(-1, 3)
    torch.testing.assert_close(made.value_mean, values.mean(0), rtol=0, atol=1e-7)
    spread = (values - values.mean(0)).square().mean().sqrt()
    torch.testing.assert_close(made.value_std, spread.expand(3), rtol=1e-6, atol=0)
    assert made.domain == ([0.0, 0.0], [1.0, 1.0])


def test_a_constant_picture_keeps_its_value():
    grey = np.full((5, 7, 1), 128, np.uint8)
    encoding = cn.FourierFeatures(2, k=2, period=2.0)
    made = cn.Field(encoding, cn.MLP(encoding.out_dim, 1, 8, 1, seed=0))
    samples = PixelSamples(grey, 255.0)
    cn.fit(made, samples, config=cn.FitConfig(steps=20, device="cpu"))
    assert np.allclose(cn.render_image(made, 5, 7), 128 / 255, atol=2e-3)


def test_pixels_and_tensors_give_the_same_fit():
    pixels, peak = picture(np.uint8)
    samples = PixelSamples(pixels, peak)
    config = cn.FitConfig(steps=15, device="cpu", batch_size=50, peak=1.0, clamp=True)
    first, second = field(samples), field(samples)
    one = cn.fit(first, samples, config=config)
    two = cn.fit(second, TensorSamples(*samples.batch(slice(None))), config=config)
    assert one.losses == two.losses
    assert one.psnr == two.psnr


def test_without_evaluation_the_errors_are_nan():
    samples = PixelSamples(*picture(np.uint8))
    result = cn.fit(field(samples), samples, config=cn.FitConfig(steps=2, evaluate=False))
    assert np.isnan(result.psnr)
    assert np.isnan(result.rmse)


def test_samples_bring_their_values():
    samples = PixelSamples(*picture(np.uint8))
    with pytest.raises(cn.InputError, match="hold their values"):
        cn.fit(field(samples), samples, torch.zeros(240, 3))
