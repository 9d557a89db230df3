"""Sounds on the command line: fit, render at any rate, evaluate."""

import contextlib
import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.cli.console import Console
from coordnet.runs import fit_file

pytest.importorskip("soundfile")

RATE = 4000
SOON = ("--steps", "200", "--device", "cpu")


@pytest.fixture(autouse=True)
def _no_sound_figures(request, monkeypatch):
    """Drawing costs half a second a fit."""
    if "real_figures" not in request.fixturenames:
        monkeypatch.setattr(
            "coordnet.sounds.task.SoundFigure.save",
            lambda self, path: Path(path).write_bytes(b"figure"),
        )


def tones(number=1200, *rates):
    t = np.arange(number) / RATE
    return np.stack([0.4 * np.sin(2 * np.pi * f * t + f) for f in rates or (110.0,)], 1)


def snr_of(first, second):
    return 10 * np.log10(np.square(second).sum() / np.square(first - second).sum())


@pytest.fixture(scope="module")
def stereo(tmp_path_factory):
    """A run of stereo 16-bit sound with a silent right channel, for looking at only."""
    folder = tmp_path_factory.mktemp("stereo")
    values = np.concatenate([tones(), 0 * tones()], 1)
    cn.sounds.write_audio(folder / "a.wav", values, RATE)
    said = io.StringIO()
    options = {"steps": 300, "device": "cpu", "out": folder / "run"}
    with pytest.MonkeyPatch.context() as patch:
        for where in ("runs.fit.save_curve", "sounds.task.SoundFigure.save"):
            patch.setattr(f"coordnet.{where}", lambda *a, **k: None)
        with contextlib.redirect_stdout(said), Console() as console:
            fit_file(folder / "a.wav", options, listener=console)
    return folder, said.getvalue()


def test_a_fit_says_what_it_chose_and_how_well_it_fits(stereo, report):
    folder, said = stereo
    assert "0.3 s at 4,000 Hz, stereo, WAV PCM_16 (2,400 samples)" in said
    assert "preset fast: the most dB a second" in said
    assert "--preset small takes a quarter" in said
    assert "channel 1" in said
    assert "snr_0" in said
    assert "SNR in dB" in said
    metrics = report(folder / "run")["metrics"]
    assert 60 < metrics["snr"] <= metrics["snr_0"]  # the silent channel adds its error
    assert metrics["snr_1"] is None  # silence has none
    assert metrics["peak"] == 1.0
    about = report(folder / "run")["input"]
    assert (about["rate"], about["frames"], about["channels"]) == (RATE, 1200, 2)
    assert report(folder / "run")["parameters"] < 2400 + 20


def test_the_metrics_are_those_of_the_model(stereo, report):
    folder, _ = stereo
    target = cn.sounds.read_audio(folder / "a.wav").values().astype(np.float64)
    field = cn.load(folder / "run" / "model.safetensors")
    with torch.no_grad():
        values = field(torch.arange(1200, dtype=torch.float64)[:, None] / RATE).double().numpy()
    metrics = report(folder / "run")["metrics"]
    assert metrics["snr"] == pytest.approx(snr_of(values, target), rel=1e-6)
    assert metrics["snr_0"] == pytest.approx(snr_of(values[:, 0], target[:, 0]), rel=1e-6)
    assert metrics["psnr"] == pytest.approx(-10 * np.log10(np.square(values - target).mean()))


def test_16_bits_come_back_bit_for_bit(stereo):
    folder, _ = stereo
    first = cn.sounds.read_audio(folder / "a.wav")
    second = cn.sounds.read_audio(folder / "run" / "reconstruction.wav")
    assert (second.rate, second.subtype) == (RATE, "PCM_16")
    np.testing.assert_array_equal(second.samples, first.samples)


def test_evaluate_gives_what_the_fit_gave(stereo, run, report):
    folder, _ = stereo
    found = run("evaluate", folder / "run", folder / "a.wav", "--json")
    assert (found.status, found.err) == (0, "")
    values = json.loads(found.out)
    metrics = report(folder / "run")["metrics"]
    for name in ("psnr", "rmse", "snr", "snr_0"):
        assert values[name] == pytest.approx(metrics[name], rel=1e-4)
    assert values["snr_1"] is None
    assert values["samples"] == 1200


@pytest.mark.parametrize("rate", [RATE, 2000, 1000, 12_000, 44_100])
def test_render_at_any_rate(stereo, run, rate):
    folder, _ = stereo
    found = run("render", folder / "run", "-o", "out.wav", "--rate", rate)
    assert (found.status, found.err) == (0, "")
    assert ("aliases" in found.out) == (rate < RATE)
    audio = cn.sounds.read_audio("out.wav")
    assert (audio.rate, audio.channels, audio.frames) == (rate, 2, round(0.3 * rate))
    truth = 0.4 * np.sin(2 * np.pi * 110 * np.arange(audio.frames) / rate + 110)
    inside = slice(None, -rate // RATE - 1)  # the last interval has no sample at its end
    assert snr_of(audio.values()[inside, 0], truth[inside]) > 35
    back = run("evaluate", folder / "run", "out.wav", "--json")
    assert json.loads(back.out)["snr"] > 60
    assert bool(json.loads(back.out)["notes"][:-1]) == (rate != RATE)


@pytest.mark.parametrize(
    ("name", "subtype"), [("a.wav", "PCM_16"), ("a.flac", "PCM_16"), ("a.aiff", "PCM_16")]
)
def test_render_to_any_container(stereo, run, name, subtype):
    folder, _ = stereo
    found = run("render", folder / "run", "-o", name)
    assert f"wrote {name}: 0.3 s at 4,000 Hz, 2 channels, {subtype}" in found.out
    np.testing.assert_array_equal(
        cn.sounds.read_audio(name).samples,
        cn.sounds.read_audio(folder / "run" / "reconstruction.wav").samples,
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "out.mp3"], [".wav, .flac"]),
        (["-o", "out.png"], [".wav, .flac"]),
        (["-o", "out.wav", "--size", "40"], ["--size 40", "sound"]),
        (["-o", "out.wav", "--rate", "0"], ["--rate"]),
        (["-o", "out.wav", "--rate", "100000000"], ["100,000,000 Hz"]),
        (["-o", "out.flac", "--rate", "700000"], ["655,350"]),
    ],
)
def test_renderings_that_are_refused(stereo, refused, arguments, words):
    refused("render", stereo[0] / "run", *arguments, words=words)


def test_a_rate_belongs_to_sounds(fitted, refused):
    refused("render", fitted / "run", "-o", "a.png", "--rate", "8000", words=["--rate", "sounds"])


def test_files_that_do_not_fit_the_run(stereo, refused):
    folder, _ = stereo
    cn.sounds.write_audio("mono.wav", tones(), RATE)
    refused("evaluate", folder / "run", "mono.wav", words=["channels", "got 1"])
    cn.sounds.write_audio("long.wav", np.repeat(tones(1300), 2, 1), RATE)
    refused("evaluate", folder / "run", "long.wav", words=["0.325 s", "0.3 s"])
    refused("evaluate", folder / "run", "long.wav", "--page", "1", words=["--page"])


def test_a_part_of_the_sound_is_compared_and_said(stereo, run):
    folder, _ = stereo
    audio = cn.sounds.read_audio(folder / "a.wav")
    cn.sounds.write_audio("part.wav", audio.values(slice(0, 500)), RATE)
    found = run("evaluate", folder / "run", "part.wav")
    assert "0.125 s of 0.3 s" in found.out
    assert "snr" in found.out


def test_predictions_beyond_full_scale_are_clipped_and_counted(fit, run):
    """A field of few vertices overshoots a square wave, and floats keep the overshoot."""
    square = np.sign(tones(800)) * 0.999
    cn.sounds.write_audio("a.wav", square, RATE)
    options = ("--encoding", "harmonic", "--k", "30", "--layers", "0", "--steps", "300")
    found, report = fit("a.wav", *options, tiny=("--device", "cpu"))
    written = cn.sounds.read_audio("run/reconstruction.wav")
    field = cn.load("run/model.safetensors")
    blocks = list(cn.rendering.render_signal(field, 800, RATE))
    beyond = int((np.abs(np.concatenate(blocks)) > 1).sum())
    assert beyond > 10
    assert f"{beyond} values beyond full scale clipped" in report["warnings"][-1]
    assert f"warning: {beyond} values beyond full scale clipped in reconstruction" in found.out
    assert written.samples.max() == 32767
    assert (written.values()[np.concatenate(blocks) > 1] > 0.99).all()
    rendered = run("render", "run", "-o", "b.wav")
    assert f"warning: {beyond} values beyond full scale clipped in b.wav" in rendered.out
    assert rendered.err == ""


def test_floats_keep_their_scale_to_the_end(fit, run):
    cn.sounds.write_audio("a.wav", 3.75 * tones(), RATE, subtype="FLOAT")
    _, report = fit("a.wav", tiny=SOON)
    assert report["metrics"]["snr"] > 30
    assert not report["warnings"]
    run("render", "run", "-o", "b.wav")
    audio = cn.sounds.read_audio("b.wav")
    assert audio.subtype == "FLOAT"
    assert np.abs(audio.values()).max() == pytest.approx(1.5, rel=0.05)
    said = run("render", "run", "-o", "b.flac").out
    assert "PCM_24" in said
    assert "clipped" in said


@pytest.mark.parametrize(
    "options",
    [
        ["--preset", "small"],
        ["--encoding", "gaussian"],
        ["--k", "20"],
        ["--encoding", "harmonic", "--k", "40"],
        ["--encoding", "octave"],
        ["--encoding", "geometric"],
        ["--encoding", "hashgrid"],
        ["--encoding", "densegrid"],
        ["--encoding", "identity"],
    ],
)
def test_presets_and_encodings(fit, options):
    cn.sounds.write_audio("a.wav", tones(300), RATE)
    found, report = fit("a.wav", *options)
    assert np.isfinite(report["metrics"]["snr"])
    assert ("preset" in found.out) == (options[0] == "--preset")
    assert report["field"]["domain"] == [[-0.5 / RATE], [299.5 / RATE]]


def test_the_small_preset_takes_a_quarter_of_the_parameters(fit):
    cn.sounds.write_audio("a.wav", tones(1200, 60.0, 90.0), RATE)
    _, report = fit("a.wav", "--preset", "small", tiny=SOON)
    assert report["parameters"] < 0.26 * 2400 + 10
    assert report["metrics"]["snr"] > 25


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--preset", "quality"], ["--preset quality", "pictures"]),
        (["--preset", "small", "--encoding", "gaussian"], ["--preset small"]),
        (["--period", "3"], ["--period", "a sound"]),
        (["--tile"], ["--tile"]),
        (["--network", "linear"], ["--network linear", "tables"]),
        (["--k", "auto"], ["--k auto", "a sound"]),
        (["--page", "0"], ["--page"]),
        (["--x", "t"], ["--x"]),
        (["--preset", "fast", "--k", "5"], ["--k 5", "densegrid"]),
    ],
)
def test_options_that_mean_nothing_for_a_sound(refused, options, words):
    cn.sounds.write_audio("a.wav", tones(300), RATE)
    refused("fit", "a.wav", *options, words=words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["0 bytes"]),
        (b"no sound", ["WAV, FLAC"]),
        (b"RIFF\x24\0\0\0WAVEfmt ", ["a.wav"]),
    ],
)
def test_files_that_are_no_sounds(refused, content, words):
    Path("a.wav").write_bytes(content)
    refused("fit", "a.wav", words=words)


def test_a_file_that_is_cut_short_is_refused(refused):
    cn.sounds.write_audio("a.wav", tones(), RATE)
    Path("a.wav").write_bytes(Path("a.wav").read_bytes()[:1000])
    refused("fit", "a.wav", words=["2,400 bytes of samples by its header", "956 in the file"])


@pytest.mark.parametrize("number", [1, 2, 17])
@pytest.mark.parametrize("channels", [1, 3])
def test_very_short_sounds(fit, run, real_figures, opened, number, channels):
    cn.sounds.write_audio("a.wav", tones(number, *[100.0] * channels), RATE)
    _, report = fit("a.wav", tiny=SOON)
    assert report["metrics"]["rmse"] < 0.02
    assert min(opened("run/comparison.png").size) > 100
    run("render", "run", "-o", "b.wav", "--rate", "1")
    assert cn.sounds.read_audio("b.wav").frames == 1


def test_silence_is_said_and_stays_silent(fit):
    cn.sounds.write_audio("a.wav", 0 * tones(), RATE)
    found, report = fit("a.wav", tiny=SOON)
    assert "warning: The sound is silent" in found.out
    assert report["metrics"]["snr"] is None
    assert np.abs(cn.sounds.read_audio("run/reconstruction.wav").values()).max() < 1e-3


def test_the_folder_with_its_figures(fit, real_figures, opened):
    cn.sounds.write_audio("a.wav", tones(9000, 200.0, 900.0), RATE)
    fit("a.wav")
    for name in ("comparison.png", "curve.png"):
        assert min(opened(f"run/{name}").size) > 100
    assert {p.name for p in Path("run").iterdir()} == {
        *("model.safetensors", "reconstruction.wav", "comparison.png", "curve.png"),
        "report.json",
    }


def test_the_same_seed_gives_the_same_model(fit):
    cn.sounds.write_audio("a.wav", tones(5000), RATE)
    for out in ("one", "two"):
        fit("a.wav", out=out, tiny=("--steps", "20", "--device", "cpu"))
    first, second = (Path(out, "model.safetensors").read_bytes() for out in ("one", "two"))
    assert first == second


def test_in_a_process_of_its_own(process, tmp_path):
    cn.sounds.write_audio(tmp_path / "a.wav", tones(), RATE)
    code = """
import sys
from coordnet.cli import main
status = main(["fit", "a.wav", "--steps", "50", "--device", "cpu"])
sys.exit(status or main(["render", "runs/a", "-o", "b.wav", "--rate", "8000"]))
"""
    done = process(code=code)
    assert (done.returncode, done.stderr) == (0, "")
    assert "wrote runs/a" in done.stdout
    assert cn.sounds.read_audio(tmp_path / "b.wav").rate == 8000


def test_without_soundfile_one_line_names_the_extra(process, tmp_path, one_line):
    cn.sounds.write_audio(tmp_path / "a.wav", tones(), RATE)
    code = """
import sys
sys.modules["soundfile"] = None
from coordnet.cli import main
sys.exit(main(["fit", "a.wav"]))
"""
    done = process(code=code)
    assert done.returncode == 2
    one_line(done.stderr, "pip install 'coordnet[audio]'")
    assert not (tmp_path / "runs").exists()


def test_a_model_with_the_settings_of_no_sound(stereo, refused):
    folder, _ = stereo
    field = cn.load(folder / "run" / "model.safetensors")
    settings = {"task": "audio", "input": {"rate": "fast", "frames": 3, "subtype": 7}}
    cn.save(field, "odd.safetensors", settings)
    refused("render", "odd.safetensors", "-o", "b.wav", words=["rate and its length", "'fast'"])
