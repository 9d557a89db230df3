"""Signals rendered block by block, their ratio to noise, and the figure of a sound."""

import math

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.metrics import snr_from_squares
from coordnet.rendering import render_signal
from coordnet.sounds import AudioWriter, SoundFigure, read_audio, save_sound
from coordnet.sounds.rendering import measure

# rendering


def test_a_signal_is_the_function_at_its_instants():
    blocks = list(render_signal(lambda t: torch.cat([t, t.sin()], -1), 50_000, 8000))
    assert max(map(len, blocks)) <= 16_384
    values = np.concatenate(blocks)
    times = np.arange(50_000) / 8000
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values[:, 0], times)
    np.testing.assert_allclose(values[:, 1], np.sin(times), rtol=0, atol=1e-12)


def test_gradients_stay_on_where_the_blocks_are_used():
    for block in render_signal(lambda t: t.float(), 3, 10):
        assert torch.is_grad_enabled()
        assert block.dtype == np.float32


@pytest.mark.parametrize(("number", "rate"), [(0, 10), (1.5, 10), (3, 0), (3, math.nan)])
def test_numbers_and_rates_that_cannot_be(number, rate):
    with pytest.raises(cn.InputError):
        next(render_signal(lambda t: t, number, rate))


def test_a_function_that_loses_rows():
    with pytest.raises(cn.InputError, match="one row of values per time"):
        next(render_signal(lambda t: t[:1], 3, 10))


def test_errors_file_and_figure_are_those_of_the_rendering(tmp_path):
    """In one pass over several blocks."""
    number = 40_000
    target = np.random.default_rng(0).integers(-9000, 9000, (number, 2)).astype(np.int16)
    audio = cn.sounds.Audio(target, 2.0**15, 8000, "WAV", "PCM_16")
    encoding = cn.FourierFeatures(1, k=2, period=1.0)
    field = cn.Field(encoding, cn.MLP(encoding.out_dim, 2, 8, 1, seed=0))
    values, done = np.concatenate(list(render_signal(field, number, 8000))), []
    figure = SoundFigure(number, 2, 8000)
    with AudioWriter(tmp_path / "a.wav", 2, 8000) as writer:
        errors = measure(field, audio, writer=writer, figure=figure, progress=done.append)
    assert errors == measure(field, audio)
    assert errors["psnr"] == pytest.approx(cn.psnr(values, audio.values(), peak=1.0), abs=1e-6)
    assert errors["rmse"] == pytest.approx(10 ** (-errors["psnr"] / 20))
    for name, channel in (("snr", slice(None)), ("snr_0", 0), ("snr_1", 1)):
        expected = cn.snr(values[:, channel], audio.values()[:, channel])
        assert errors[name] == pytest.approx(expected, abs=1e-6)
    np.testing.assert_array_equal(
        read_audio(tmp_path / "a.wav").samples, np.rint(values.clip(-1, 1) * 2**15).clip(max=32767)
    )
    figure.save(tmp_path / "a.png")
    assert sum(done) == number
    assert len(done) > 1


# the ratio of signal to noise


def test_a_tenth_of_the_amplitude_is_20_db():
    target = np.array([1.0, -2.0, 3.0])
    assert cn.snr(0.9 * target, target) == pytest.approx(20.0)
    assert cn.snr(target, target) == math.inf
    assert cn.snr(0 * target, target) == pytest.approx(0.0)
    assert math.isnan(cn.snr(target, 0 * target))


def test_whole_numbers_are_widened():
    target = np.full((1000, 2), -32768, np.int16)
    assert cn.snr(np.full_like(target, 32767), target) == pytest.approx(-6.0206, abs=1e-3)


def test_the_ratio_of_sums():
    assert snr_from_squares(100.0, 1.0) == pytest.approx(20.0)
    assert math.isnan(snr_from_squares(0.0, 0.0))
    with pytest.raises(cn.InputError, match="one shape"):
        cn.snr(np.zeros(3), np.zeros(4))


# the figure


def noise(number, channels=1):
    return np.random.default_rng(0).standard_normal((number, channels)).astype(np.float32)


@pytest.mark.parametrize("number", [1, 17, 1499, 5000, 40_000])
def test_blocks_of_any_size_give_the_same_figure(number):
    target = noise(number, 2)
    fit = target + 0.1 * noise(number, 2)[::-1]
    whole, parts = (SoundFigure(number, 2, 8000) for _ in range(2))
    whole.add(target, fit)
    at, sizes = 0, iter([1, 0, 7, 1500, 3000] + [16_384] * 4)
    while at < number:
        size = next(sizes)
        parts.add(target[at : at + size], fit[at : at + size])
        at += size
    np.testing.assert_array_equal(whole._power, parts._power)
    np.testing.assert_array_equal(whole._envelopes, parts._envelopes)
    np.testing.assert_allclose(whole._squares, parts._squares)
    assert whole._frame == whole.frames <= 800


def test_envelopes_hold_the_extremes():
    target, fit = noise(6000), noise(6000)[::-1]
    figure = SoundFigure(6000, 1, 8000)
    figure.add(target, fit)
    columns = target.reshape(1500, 4)
    np.testing.assert_array_equal(figure._envelopes[0, 0, :, 0], columns.min(1))
    np.testing.assert_array_equal(figure._envelopes[0, 1, :, 0], columns.max(1))
    error = (fit.astype(np.float64) - target).astype(np.float32).reshape(1500, 4)
    np.testing.assert_array_equal(figure._envelopes[2, 1, :, 0], error.max(1))


def test_the_spectrogram_has_a_tone_in_its_bin():
    """A sine of 1 kHz at 8 kHz is in bin 128 of 513, of target and not of a silent fit."""
    tone = np.sin(2 * np.pi * 1000 / 8000 * np.arange(20_000))[:, None]
    figure = SoundFigure(20_000, 1, 8000)
    figure.add(tone, 0 * tone)
    assert (figure._power[0].argmax(1) == 128).all()
    assert not figure._power[1].any()


@pytest.mark.parametrize(("number", "channels"), [(1, 1), (300, 5), (9000, 2)])
def test_the_figure_is_written(tmp_path, number, channels):
    target = noise(number, channels)
    save_sound(tmp_path / "a.png", target, 0.9 * target, 8000, title="a $ sound")
    save_sound(tmp_path / "b.png", 0 * target[:, 0], target[:, 0], 8000)
    assert (tmp_path / "a.png").stat().st_size > 5000
    assert (tmp_path / "b.png").stat().st_size > 5000


def test_what_the_figure_refuses(tmp_path):
    figure = SoundFigure(10, 2, 8000)
    with pytest.raises(cn.InputError, match="one shape"):
        figure.add(noise(5), noise(5))
    figure.add(noise(5, 2), noise(5, 2))
    with pytest.raises(cn.InputError, match="needs all 10"):
        figure.save(tmp_path / "a.png")
    with pytest.raises(cn.InputError, match="10 samples"):
        figure.add(noise(6, 2), noise(6, 2))
    with pytest.raises(cn.InputError, match=r"\.png"):
        save_sound(tmp_path / "a.txt", noise(5), noise(5), 8000)
    with pytest.raises(cn.InputError, match=r"\(N, C\)"):
        save_sound(tmp_path / "a.png", noise(0), noise(0), 8000)
