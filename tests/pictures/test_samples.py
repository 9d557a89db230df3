import numpy as np
import pytest
import torch
from torch.nn import functional as F

import coordnet as cn
from coordnet.pictures import PixelSamples
from coordnet.pictures.presets import recipe
from coordnet.training import Checkpoint

SHAPE = (12, 20, 3)


def picture(dtype):
    drawn = np.random.default_rng(0).uniform(size=SHAPE)
    if dtype == np.float32:
        return drawn.astype(dtype), 1.0
    peak = np.iinfo(dtype).max
    return (drawn * peak).astype(dtype), float(peak)


def field(samples):
    encoding = cn.FourierFeatures(2, k=4, period=2.0)
    made = cn.Field(encoding, cn.MLP(encoding.out_dim, 3, 16, 1, seed=0))
    samples.prepare(made)
    return made


def test_a_constant_picture_keeps_its_value():
    gray = np.full((5, 7, 1), 128, np.uint8)
    encoding = cn.FourierFeatures(2, k=2, period=2.0)
    made = cn.Field(encoding, cn.MLP(encoding.out_dim, 1, 8, 1, seed=0))
    samples = PixelSamples(gray, 255.0)
    cn.fit(made, samples, config=cn.FitConfig(steps=20, device="cpu"))
    assert np.allclose(cn.render_image(made, 5, 7), 128 / 255, atol=2e-3)


def test_without_evaluation_the_errors_are_nan():
    samples = PixelSamples(*picture(np.uint8))
    result = cn.fit(field(samples), samples, config=cn.FitConfig(steps=2, evaluate=False))
    assert np.isnan(result.psnr)
    assert np.isnan(result.rmse)


def test_samples_bring_their_values():
    samples = PixelSamples(*picture(np.uint8))
    with pytest.raises(cn.InputError, match="hold their values"):
        cn.fit(field(samples), samples, torch.zeros(240, 3))


def bicubic(pixels, factor, modes):
    """What PyTorch makes of a picture ``(H, W, C)``, ``factor`` times as large.

    Its antialiased kernel is that of a = -1/2 where it enlarges, which the other is not; what
    lies beyond the edge is padded first.
    """
    planes = torch.from_numpy(pixels).double().permute(2, 0, 1)[None]
    for axis, mode in enumerate(modes):  # x first
        height, width = planes.shape[2:]
        if mode == "circular":  # as often as it takes
            planes = planes.repeat(1, 1, *((1, 9) if axis == 0 else (9, 1)))
            start = 4 * (width if axis == 0 else height) - 3
            length = (width if axis == 0 else height) + 6
            planes = planes.narrow(3 - axis, start, length)
        else:
            pad = (3, 3, 0, 0) if axis == 0 else (0, 0, 3, 3)
            planes = F.pad(planes, pad, mode="replicate")
    large = F.interpolate(planes, scale_factor=factor, mode="bicubic", antialias=True)
    inside = slice(3 * factor, -3 * factor)
    return large[0, :, inside, inside].permute(1, 2, 0)


@pytest.mark.parametrize("periodic", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 9, 3), (2, 3, 4), (16, 11, 3)])
def test_between_the_pixels_lies_bicubic_interpolation(shape, periodic):
    pixels = np.random.default_rng(1).uniform(size=shape).astype(np.float32)
    samples = PixelSamples(pixels, 1.0, periodic=periodic)
    factor = 8
    points = cn.pixel_centers(factor * shape[0], factor * shape[1]).reshape(-1, 2)
    modes = ["circular" if repeats else "replicate" for repeats in periodic]
    expected = bicubic(pixels, factor, modes).reshape(-1, shape[2])
    torch.testing.assert_close(
        samples.interpolate(points), expected.float(), rtol=0, atol=1e-5 * max(shape) / 8
    )


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32])
def test_at_the_pixels_interpolation_is_exact(dtype):
    pixels, peak = picture(dtype)
    samples = PixelSamples(pixels, peak)
    x, y = samples.batch(slice(None))
    torch.testing.assert_close(samples.interpolate(x), y, rtol=0, atol=2e-5)


def drawn(step, which=slice(None), **settings):
    samples = PixelSamples(*picture(np.uint8), **{"between": 0.25, **settings})
    return samples, samples.draw(which, step)


def test_a_part_of_every_batch_is_moved():
    samples, (x, y) = drawn(3)
    pixels = samples.batch(slice(None))
    moved = (x != pixels[0]).any(-1)
    assert int(moved.sum()) == 60
    assert torch.equal(y[~moved], pixels[1][~moved])
    torch.testing.assert_close(y[moved], samples.interpolate(x[moved]))
    assert torch.equal(x, x.clamp(0, 1))


def test_what_is_drawn_follows_from_the_seed_and_the_step():
    which = torch.tensor([200, 3, 77, 12, 5, 90, 31, 8])
    _, (x, y) = drawn(3, which)
    samples, _ = drawn(2, which)  # whatever came before
    again = samples.draw(which, 3)
    assert torch.equal(again[0], x)
    assert torch.equal(again[1], y)
    others = [drawn(4, which), drawn(3, which, seed=1)]
    assert not any(torch.equal(x, other[0]) for _, other in others)
    # blocks of one step differ from each other
    assert not torch.equal(samples.draw(which, 3)[0], x)


def test_without_a_part_between_the_pixels_are_drawn():
    samples, (x, y) = drawn(3, between=0.0)
    pixels = samples.batch(slice(None))
    assert torch.equal(x, pixels[0])
    assert torch.equal(y, pixels[1])


@pytest.mark.parametrize("between", [-0.1, 1.0, float("nan")])
def test_the_part_between_is_a_part(between):
    with pytest.raises(cn.InputError, match="between must be from 0 to below 1"):
        PixelSamples(*picture(np.uint8), between=between)


def test_features_that_are_kept_would_miss_the_positions_between():
    # of an encoding with nothing to train; the field learns what lies between all the same
    pixels, peak = picture(np.uint8)
    losses = []
    for between in (0.0, 0.5):
        samples = PixelSamples(pixels, peak, between=between)
        config = cn.FitConfig(steps=5, device="cpu", batch_size=50)
        losses.append(cn.fit(field(samples), samples, config=config).losses)
    assert losses[0][0] != losses[1][0]


@pytest.mark.parametrize("batch_size", [50, 240])
def test_a_fit_with_positions_between_goes_on_bit_for_bit(tmp_path, batch_size):
    samples = PixelSamples(*picture(np.uint8), between=0.25, seed=7)

    def fit(steps, **more):
        made = field(samples)
        config = cn.FitConfig(steps=30, device="cpu", batch_size=batch_size, evaluate=False)
        left = iter([False] * steps)
        return cn.fit(made, samples, config=config, stop=lambda: next(left, True), **more)

    whole = fit(30)
    path = tmp_path / "fit.checkpoint"
    assert fit(11, checkpoint=Checkpoint(path, 500)).stop_reason == "stopped"
    found = fit(30, checkpoint=Checkpoint(path, 500, resume=True))
    assert found.losses == whole.losses


def test_a_small_grid_is_as_good_as_bilinear_interpolation_between_its_pixels():
    u = cn.pixel_centers(64, 64)
    waves = torch.sin(9 * u[..., :1] + 5 * u[..., 1:] + torch.arange(3)) * torch.cos(7 * u[..., 1:])
    whole = (0.5 + 0.4 * waves).numpy()
    fitted, target = np.ascontiguousarray(whole[::2, ::2]), whole[1::2, 1::2][:-1, :-1]
    made = recipe("fast", None, fitted.shape, (False, False))
    grid = cn.HashGrid(2, **made.settings, seed=0)
    model = cn.Field(grid, cn.MLP(grid.out_dim, 3, made.hidden_dim, made.layers, seed=0))
    samples = PixelSamples(fitted, 1.0, between=made.between)
    config = cn.FitConfig(steps=300, device="cpu", evaluate=False, **made.config)
    cn.fit(model, samples, config=config)
    pixels = (32, 32)
    box = ((0.5 / 32, 0.5 / 32), (31.5 / 32, 31.5 / 32))  # from one pixel to the next
    between = cn.render_image(model, 31, 31, box=box)
    bilinear = (fitted[:-1] + fitted[1:]) / 2
    bilinear = (bilinear[:, :-1] + bilinear[:, 1:]) / 2
    assert cn.psnr(between, target) > cn.psnr(bilinear, target)
    assert cn.psnr(cn.render_image(model, *pixels), fitted) > 35
