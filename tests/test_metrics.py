"""Errors of a fit: no wrap-around, no float32 sums, the peak stated."""

import math

import numpy as np
import pytest
import torch

from coordnet.errors import InputError
from coordnet.metrics import mse, psnr, psnr_from_mse, rmse


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
    for measure in (mse, rmse, psnr):
        with pytest.raises(InputError) as caught:
            measure(torch.zeros(a), torch.zeros(b))
        assert str(a) in caught.value.got
        assert str(b) in caught.value.got


def test_nothing_to_compare():
    with pytest.raises(InputError, match="at least one"):
        mse(torch.zeros(0, 3), torch.zeros(0, 3))


def test_complex_numbers_are_refused():
    with pytest.raises(InputError, match="real"):
        mse(torch.zeros(3), torch.zeros(3, dtype=torch.cfloat))


@pytest.mark.parametrize("peak", [0, -1.0, math.nan, math.inf, "1", True, None, 10**400])
def test_a_peak_that_is_none(peak):
    with pytest.raises(InputError, match="peak"):
        psnr(torch.zeros(2), torch.ones(2), peak=peak)


def test_errors_that_are_not_finite_show():
    assert math.isnan(mse(torch.tensor([math.nan]), torch.zeros(1)))
    assert psnr(torch.tensor([math.inf]), torch.zeros(1)) == -math.inf
