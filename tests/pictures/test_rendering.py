"""A fitted picture: its pixels and its errors in one pass."""

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.pictures import PixelSamples
from coordnet.pictures.rendering import measure, quantize


@pytest.fixture
def field():
    encoding = cn.FourierFeatures(2, k=2, period=2.0)
    return cn.Field(encoding, cn.MLP(encoding.out_dim, 3, 8, 1, seed=0))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_errors_and_pixels_are_those_of_the_rendering(field, dtype):
    """Of several blocks, the fit clamped and not rounded."""
    target = np.random.default_rng(0).integers(0, 256, (300, 400, 3), dtype=np.uint8)
    values, done = cn.render_image(field, 300, 400), []
    out = np.zeros(target.shape, dtype)
    errors = measure(field, PixelSamples(target, 255.0), out=out, progress=done.append)
    assert errors["psnr"] == pytest.approx(cn.psnr(values, target / 255, clamp=True), abs=1e-6)
    assert errors["rmse"] == pytest.approx(10 ** (-errors["psnr"] / 20))
    assert errors == measure(field, PixelSamples(target, 255.0))
    assert np.array_equal(out, quantize(values, dtype))
    assert np.array_equal(out, np.rint(values.clip(0, 1) * np.iinfo(dtype).max))
    assert sum(done) == 300 * 400
    assert len(done) > 1


@pytest.mark.parametrize("out", [None, np.zeros((4, 5, 3), np.uint8)])
def test_a_diverged_fit_is_an_error(field, out):
    with torch.no_grad():
        field.network.layers[-1].bias.fill_(torch.nan)
    samples = PixelSamples(np.zeros((4, 5, 3), np.uint8), 255.0)
    with pytest.raises(RuntimeError, match="diverged"):
        measure(field, samples, out=out)
