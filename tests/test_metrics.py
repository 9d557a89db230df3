"""Errors of a fit: no wrap-around, no float32 sums, the peak stated."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch

from coordnet.errors import InputError
from coordnet.metrics import mse, psnr, psnr_from_mse, rmse, ssim


@pytest.mark.parametrize("make", [torch.full, np.full], ids=["torch", "numpy"])
def test_bytes_do_not_wrap_around(make):
    dtype = torch.uint8 if make is torch.full else np.uint8
    dark, light = make((4, 6), 100, dtype=dtype), make((4, 6), 116, dtype=dtype)
    for a, b in ((dark, light), (light, dark)):
        assert mse(a, b) == 256.0
        assert rmse(a, b) == 16.0
        assert psnr(a, b, peak=255) == pytest.approx(24.0484, abs=1e-4)


@pytest.mark.parametrize("dtype", [np.uint16, np.int16, np.int8, np.bool_, np.float16, np.int64])
def test_other_dtypes_are_widened_first(dtype):
    info = (0, 1) if dtype in (np.bool_, np.float16) else None
    low, high = info or (np.iinfo(dtype).min, np.iinfo(dtype).max)
    error = mse(np.full(3, low, dtype), np.full(3, high, dtype))
    assert error == pytest.approx(float(high - low) ** 2)


def test_psnr_is_that_of_the_mean_error():
    target = torch.zeros(2, 100)
    prediction = torch.tensor([[0.1], [0.01]]).expand(2, 100)  # MSEs of 1e-2 and 1e-4
    assert psnr(prediction[0], target[0]) == pytest.approx(20.0, abs=1e-5)
    assert psnr(prediction[1], target[1]) == pytest.approx(40.0, abs=1e-5)
    assert psnr(prediction, target) == pytest.approx(22.967, abs=1e-3)


def test_the_peak_counts():
    a, b = torch.zeros(5), torch.full((5,), 0.5)
    assert psnr(a, b, peak=65535.0) - psnr(a, b, peak=255.0) == pytest.approx(48.199, abs=1e-3)


def test_equal_is_infinite():
    a = torch.rand(3, 4, generator=torch.Generator().manual_seed(0))
    assert mse(a, a) == 0.0
    assert psnr(a, a.clone()) == math.inf


def test_clamp_is_of_the_prediction_and_to_the_peak():
    prediction, target = torch.tensor([-0.5, 0.5, 3.0]), torch.tensor([0.0, 0.5, 2.0])
    assert psnr(prediction, target, peak=2.0, clamp=True) == math.inf
    assert psnr(prediction, target, peak=2.0) == pytest.approx(psnr_from_mse(1.25 / 3, 2.0))
    outside = torch.tensor([0.0, 0.5, 3.0])
    assert psnr(outside, outside, peak=2.0, clamp=True) == pytest.approx(psnr_from_mse(1 / 3, 2.0))


def test_sums_are_in_float64():
    number = 10_000_000
    target = torch.zeros(1).expand(number)
    prediction = torch.full((number,), 0.1)
    one = float(prediction[0]) ** 2
    assert mse(prediction, target) == pytest.approx(one, rel=1e-12)
    prediction[0] = 1e4  # the small errors must not drown in the large one
    assert mse(prediction, target) == pytest.approx((1e8 + (number - 1) * one) / number, rel=1e-12)


def test_float64_keeps_its_digits():
    large = torch.tensor([1e9, -1e9], dtype=torch.float64)
    assert mse(large + 1, large) == 1.0
    assert mse(large, large + 1) == 1.0
    assert mse(torch.tensor([1 << 40]), torch.tensor([(1 << 40) + 3])) == 9.0


def test_memory_layout_does_not_matter():
    picture = np.arange(24.0).reshape(2, 3, 4)
    flipped = picture[::-1, :, ::-2]
    assert mse(flipped, np.ascontiguousarray(flipped)) == 0.0
    assert mse(torch.from_numpy(picture).mT, picture.swapaxes(1, 2)) == 0.0
    assert mse(picture.astype(">f8"), picture.astype("<f4")) == 0.0
    kept = picture.copy()
    kept.flags.writeable = False
    assert mse(kept, picture) == 0.0


def test_gradients_and_numbers_are_taken():
    assert mse(torch.ones(2, requires_grad=True), torch.zeros(2)) == 1.0
    assert mse(torch.tensor(3.0), torch.tensor(1.0)) == 4.0


@pytest.mark.parametrize(
    ("a", "b"),
    [((3, 4), (4, 3)), ((5,), (5, 1)), ((2, 1), (2, 3)), ((), (1,))],
)
def test_shapes_that_differ_are_refused_not_broadcast(a, b):
    for measure in (mse, rmse, psnr, ssim):
        with pytest.raises(InputError) as caught:
            measure(torch.zeros(a), torch.zeros(b))
        assert str(a) in caught.value.got
        assert str(b) in caught.value.got


def pictures(*shape, seed=0):
    generator = np.random.default_rng(seed)
    a = generator.random(shape)
    return a, a + 0.3 * generator.normal(size=shape)


# the sizes: one window, one tile and one window more, several tiles either way
@pytest.mark.parametrize("shape", [(11, 11), (12, 40), (267, 300, 3), (90, 530, 1), (11, 600, 2)])
@pytest.mark.parametrize("clamp", [False, True])
def test_ssim_is_that_of_scikit_image(shape, clamp):
    reference = pytest.importorskip("skimage.metrics").structural_similarity
    target, prediction = pictures(*shape)
    expected = reference(
        prediction.clip(0, 1) if clamp else prediction,
        target,
        gaussian_weights=True,
        sigma=1.5,
        use_sample_covariance=False,
        data_range=1,
        channel_axis=-1 if len(shape) == 3 else None,
    )
    assert ssim(prediction, target, clamp=clamp) == pytest.approx(expected, abs=1e-12)
    assert ssim(torch.from_numpy(255 * prediction), 255 * target, peak=255, clamp=clamp) == (
        pytest.approx(expected, abs=1e-12)
    )


def test_ssim_of_one_window_by_the_formula():
    target, prediction = pictures(11, 11)
    offset = np.arange(-5, 6)
    weight = np.exp(-(offset[:, None] ** 2 + offset**2) / (2 * 1.5**2))
    weight /= weight.sum()
    mean_a, mean_b = (weight * prediction).sum(), (weight * target).sum()
    a, b = prediction - mean_a, target - mean_b
    squares, product = (weight * (a * a + b * b)).sum(), (weight * a * b).sum()
    likeness = (2 * mean_a * mean_b + 1e-4) / (mean_a**2 + mean_b**2 + 1e-4)
    expected = likeness * (2 * product + 9e-4) / (squares + 9e-4)
    assert ssim(prediction, target) == pytest.approx(expected, abs=1e-13)
    assert ssim(target, prediction) == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64, np.bool_])
def test_ssim_of_equal_pictures_is_one(dtype):
    picture = (255 * pictures(40, 300, 3)[0]).astype(dtype)
    assert ssim(picture, picture.copy(), peak=255.0) == 1.0
    assert ssim(picture[::-1], picture[::-1], peak=255.0) == 1.0


def test_ssim_of_flat_pictures_compares_their_means():
    dark, light = np.full((16, 12), 100, np.uint8), np.full((16, 12), 116, np.uint8)
    expected = (2 * 100 * 116 + 2.55**2) / (100**2 + 116**2 + 2.55**2)
    assert ssim(dark, light, peak=255) == pytest.approx(expected, abs=1e-12)
    assert ssim(light, dark, peak=255) == pytest.approx(expected, abs=1e-12)


def test_ssim_falls_with_noise_and_is_below_zero_for_a_negative():
    target, _ = pictures(64, 48)
    noise = np.random.default_rng(1).normal(size=target.shape)
    found = [ssim(target + strength * noise, target) for strength in (0.0, 0.05, 0.2, 1.0)]
    assert found == sorted(found, reverse=True)
    assert ssim(1 - target, target) < 0


def test_ssim_takes_the_channels_one_by_one():
    target, prediction = pictures(20, 30, 4)
    each = [ssim(prediction[..., i], target[..., i]) for i in range(4)]
    assert ssim(prediction, target) == pytest.approx(np.mean(each), abs=1e-14)


def test_ssim_of_no_picture_and_of_one_smaller_than_the_window():
    for shape in ((10, 11), (11, 10), (10, 40, 3), (1, 1, 3)):
        with pytest.raises(InputError, match="11 x 11") as caught:
            ssim(np.zeros(shape), np.zeros(shape))
        assert str(shape) in caught.value.got
    for shape in ((300,), (2, 20, 20, 3)):
        with pytest.raises(InputError, match=r"\(H, W\)"):
            ssim(np.zeros(shape), np.zeros(shape))


def test_ssim_that_is_not_finite_shows():
    target, prediction = pictures(20, 20)
    prediction[15, 15] = math.nan
    assert math.isnan(ssim(prediction, target))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss in kB")
def test_ssim_of_a_large_picture_in_bounded_memory():
    code = """
import resource, torch
from coordnet.metrics import ssim
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
a, b = torch.rand(2, 300, 1)
ssim(a.expand(300, 300), b.expand(300, 300))
before = peak()
a, b = torch.rand(2, 1500, 1)  # whole, the five means of these would take 90 MB
assert -1 < ssim(a.expand(1500, 1500), b.expand(1500, 1500)) < 1
print(peak() - before)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 60


def test_what_is_no_comparison_is_refused():
    with pytest.raises(InputError, match="at least one"):
        mse(torch.zeros(0, 3), torch.zeros(0, 3))
    with pytest.raises(InputError, match="real"):
        mse(torch.zeros(3), torch.zeros(3, dtype=torch.cfloat))
    picture = torch.zeros(12, 12)
    for peak in (0, -1.0, math.nan, math.inf, "1", True, 10**400):
        for metric in (psnr, ssim):
            with pytest.raises(InputError, match="peak"):
                metric(picture, picture + 1, peak=peak)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int64, np.uint16])
def test_integers_need_a_stated_peak(dtype):
    a, b = np.full((12, 12), 100), np.full((12, 12), 110)
    if isinstance(dtype, torch.dtype):
        a, b = (torch.as_tensor(each).to(dtype) for each in (a, b))
    else:
        a, b = a.astype(dtype), b.astype(dtype)
    for metric in (psnr, ssim):
        with pytest.raises(InputError, match="stated peak"):
            metric(a, b)
    assert psnr(a, b, peak=255) == pytest.approx(20 * math.log10(25.5))
    assert psnr(b, a, peak=255) == pytest.approx(20 * math.log10(25.5))
    assert ssim(a, a, peak=255) == 1.0
    assert mse(a, b) == mse(b, a) == 100.0


def test_errors_that_are_not_finite_show():
    assert math.isnan(mse(torch.tensor([math.nan]), torch.zeros(1)))
    assert psnr(torch.tensor([math.inf]), torch.zeros(1)) == -math.inf
