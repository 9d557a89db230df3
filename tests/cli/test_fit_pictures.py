"""Fits of pictures from the command line: what lies in the run folder, and what is said."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

import coordnet as cn
from coordnet.encodings import ENCODINGS
from coordnet.kinds import task as fit_module
from coordnet.pictures import PictureTask

FILES = {"model.safetensors", "reconstruction.png", "comparison.png", "curve.png", "report.json"}
REPEATING = ("harmonic", "octave", "lattice", "gaussian")


def test_run_folder_holds_five_files_and_every_choice_is_said(
    fit, picture, pixels, data, real_figures, opened
):
    picture("noise.png", pixels(12, 20, 3))
    found, report = fit("noise.png", "--seed", "7")
    assert {p.name for p in Path("run").iterdir()} == FILES
    for name in ("comparison.png", "curve.png"):
        assert min(opened(f"run/{name}").size) > 100
    said = ("20 x 12 RGB, 8 bits", "240 pixels", "hashgrid(num_levels=4", "8 features")
    said += ("hidden_dim=16", "parameters", "CPU", "thread", "float32", "3 steps", "muon")
    said += ("0.01", "batches of 8192", "seed 7", "PSNR", "dB (peak 1)", "RMSE", "wrote run")
    for words in said:
        assert words in found.out, words
    assert report["file"] == "noise.png"
    assert report["task"] == "image"
    about = {"height": 12, "width": 20, "channels": 3, "mode": "RGB", "bit_depth": 8}
    assert report["input"] == about
    assert report["seed"] == 7
    assert report["device"] == "cpu"
    assert report["precision"] == "float32"
    assert report["steps"] == report["history"][-1]["step"] == 3
    assert report["stop_reason"] == "steps"
    assert report["options"]["hidden_dim"] == 16
    assert report["config"]["learning_rate"] == 0.01
    assert report["field"]["encoding"]["name"] == "hashgrid"
    assert report["versions"]["torch"] == torch.__version__
    assert report["versions"]["coordnet"] == cn.__version__
    assert (report["notes"], report["warnings"]) == ([], [])
    assert report["metrics"]["peak"] == 1.0
    assert report["metrics"]["clamped"] is True
    assert f"PSNR {report['metrics']['psnr']:.2f} dB" in found.out


@pytest.mark.parametrize(
    ("shape", "mode"),
    [
        ((12, 20, 3), "RGB"),
        ((20, 12), "L"),
        ((12, 20, 4), "RGBA"),
        ((12, 20, 2), "LA"),
        ((1, 1, 3), "RGB"),
        ((1, 1), "L"),
        ((1, 9, 3), "RGB"),
        ((9, 1), "L"),
        ((2, 2, 3), "RGB"),
    ],
)
def test_reconstruction_has_the_reported_error_within_rounding(
    fit, picture, pixels, shape, mode, opened, values_of
):
    target = pixels(*shape)
    picture("p.png", target)
    _, report = fit("p.png")
    written = opened("run/reconstruction.png")
    assert written.mode == mode
    assert written.size == (shape[1], shape[0])
    error = values_of("run/reconstruction.png") - target / 255
    rmse = math.sqrt(np.square(error).mean())
    assert rmse == pytest.approx(10 ** (-report["metrics"]["psnr"] / 20), abs=0.5 / 255)
    assert report["metrics"]["rmse"] == pytest.approx(10 ** (-report["metrics"]["psnr"] / 20))


def test_16_bits_are_divided_by_65535_and_stay_16_bits(fit, picture, pixels, opened):
    target = pixels(12, 20, peak=65535, dtype=np.uint16)
    picture("deep.png", target)
    found, report = fit("deep.png")
    assert "gray, 16 bits" in found.out
    written = np.asarray(opened("run/reconstruction.png"))
    assert written.max() > 255
    rmse = math.sqrt(np.square(written / 65535 - target / 65535).mean())
    assert rmse == pytest.approx(report["metrics"]["rmse"], abs=0.5 / 65535)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9, 3), (2, 2, 2)])
def test_figures_of_slivers_are_drawn(fit, picture, pixels, real_figures, shape, opened):
    picture("p.png", pixels(*shape))
    fit("p.png")
    assert min(opened("run/comparison.png").size) > 100


def test_one_white_pixel_is_rendered_where_it_lies(fit, picture, opened):
    target = np.zeros((24, 40), np.uint8)
    target[3, 20] = 255
    picture("dot.png", target)
    tiny = ("--steps", "150", "--hidden-dim", "64", "--layers", "1", "--sigma", "10")
    fit("dot.png", tiny=tiny)
    written = np.asarray(opened("run/reconstruction.png"))
    assert np.unravel_index(written.argmax(), written.shape) == (3, 20)


def test_constant_gray_comes_back_as_the_byte_it_was(run, fit, picture, opened):
    picture("gray.png", np.full((6, 9), 128, np.uint8))
    fit("gray.png", tiny=("--steps", "60", "--hidden-dim", "16", "--layers", "1"))
    assert run("render", "run", "-o", "again.png").status == 0
    for path in ("run/reconstruction.png", "again.png"):
        assert set(np.unique(np.asarray(opened(path)))) <= {127, 128}


def test_exif_orientation_counts_in_fit_render_and_evaluate(run, fit, picture, report, values_of):
    stored = np.zeros((24, 32, 3), np.uint8)
    stored[:12, :16] = (254, 0, 0)
    exif = Image.Exif()
    exif[274] = 6
    picture("turned.jpg", stored, exif=exif, quality=95)
    tiny = ("--steps", "80", "--hidden-dim", "32", "--layers", "1", "--sigma", "3")
    tiny += ("--learning-rate", "0.02")
    found, about = fit("turned.jpg", tiny=tiny)
    assert "orientation 6" in found.out
    assert (about["input"]["height"], about["input"]["width"]) == (32, 24)
    assert run("render", "run", "-o", "again.png").status == 0
    for path in ("run/reconstruction.png", "again.png"):
        red = values_of(path)[..., 0]
        assert red.shape == (32, 24)
        means = [red[:16, :12].mean(), red[:16, 12:].mean(), red[16:, :12].mean()]
        assert means[1] > 0.8
        assert max(means[0], means[2], red[16:, 12:].mean()) < 0.2
    judged = run("evaluate", "run", "turned.jpg")
    assert "orientation 6" in judged.out
    assert f"{about['metrics']['psnr']:.6g}" in judged.out


def test_edges_that_differ_can_be_fitted_with_harmonics(fit, picture, values_of):
    """With period 1 on an end-point grid both edges are one point: never above 21.07 dB."""
    ramp = np.rint(np.linspace(0, 255, 64)).astype(np.uint8)
    picture("ramp.png", np.tile(ramp, (64, 1)))
    tiny = ("--steps", "150", "--hidden-dim", "64", "--layers", "1", "--batch-size", "512")
    tiny += ("--learning-rate", "0.02")
    _, report = fit("ramp.png", "--encoding", "harmonic", "--k", "2", tiny=tiny)
    assert report["metrics"]["psnr"] > 25
    written = values_of("run/reconstruction.png")
    assert written[:, -1].mean() - written[:, 0].mean() > 0.8


@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_fits_a_picture_and_is_named(fit, refused, picture, pixels, name):
    picture("p.png", pixels(6, 9, 3))
    if name == "spherical":
        refused("fit", "p.png", "--encoding", name, words=["directions in space", "in_dim=2"])
        return
    found, report = fit("p.png", "--encoding", name)
    line = next(line for line in found.out.splitlines() if "→" in line)
    assert line.strip().startswith(name)
    assert name in str(report["field"]["encoding"])
    assert report["options"]["encoding"] == name


def shifts(field, dx, dy):
    """Whether a shift leaves the values as they are, bit for bit (dyadic points: no rounding)."""
    axis = torch.arange(8, dtype=torch.float32) / 8
    x = torch.cartesian_prod(axis, axis)
    return torch.equal(field(x), field(x + torch.tensor([dx, dy])))


@pytest.mark.parametrize("name", REPEATING)
@pytest.mark.parametrize(
    ("options", "repeats"),
    [
        (["--tile"], (True, True)),
        (["--wrap", "x"], (True, False)),
        (["--wrap", "y"], (False, True)),
        ([], (False, False)),
    ],
)
def test_pictures_repeat_where_they_are_told_to(fit, picture, pixels, name, options, repeats):
    picture("p.png", pixels(6, 9))
    fit("p.png", "--encoding", name, "--k", "4", *options)
    field = cn.load("run/model.safetensors")
    with torch.no_grad():
        assert (shifts(field, 1.0, 0.0), shifts(field, 0.0, 1.0)) == repeats
        if any(repeats):
            assert shifts(field, 2.0 - repeats[0], 0.0)
            assert shifts(field, 0.0, 2.0 - repeats[1])


def test_animations_are_read_at_their_first_frame_and_say_so(run, fit, picture, pixels):
    frames = [Image.fromarray(np.full((20, 30), value, np.uint8)) for value in (0, 90, 180)]
    frames[0].save("a.gif", save_all=True, append_images=frames[1:])
    found, report = fit("a.gif")
    assert "frame 0 of 3" in found.out
    assert "frame 0 of 3" in report["notes"][0]
    assert (report["input"]["height"], report["input"]["width"]) == (20, 30)
    assert "frame 0 of 3" in run("evaluate", "run", "a.gif").out
    assert '"Read frame 1 of 3' in run("evaluate", "run", "a.gif", "--page", 1, "--json").out


def test_a_page_of_a_tiff_is_chosen(fit, refused, values_of):
    levels = [Image.fromarray(np.full((5, 8), value, np.uint8)) for value in (0, 60, 120)]
    levels[0].save("stack.tif", save_all=True, append_images=levels[1:])
    refused("fit", "stack.tif", words=["3 pages", "--page"])
    found, _ = fit("stack.tif", "--page", "2")
    assert "page 2 of 3" in found.out
    assert abs(values_of("run/reconstruction.png") * 255 - 120).mean() < 40
    refused("fit", "stack.tif", "--page", "3", "--out", "other", words=["page", "0 to 2"])


def test_budgets_and_targets_are_kept_and_said(fit, picture):
    picture("gray.png", np.full((4, 4), 128, np.uint8))
    tiny = ("--steps", "4000", "--hidden-dim", "16", "--layers", "1")
    found, report = fit("gray.png", "--target-psnr", "20", "--seconds", "50", tiny=tiny)
    assert "at most 4,000 steps or 50 s, or until 20 dB" in found.out
    assert report["stop_reason"] == "target"
    assert "target reached" in found.out
    assert report["metrics"]["psnr"] >= 20
    assert report["steps"] < 4000
    found, report = fit("gray.png", "--seconds", "0.05", tiny=tiny[2:], out="short")
    assert "at most 0.05 s" in found.out
    assert report["stop_reason"] == "seconds"


def test_settings_reach_the_fit(fit, picture, pixels):
    picture("p.png", pixels(6, 9))
    options = ["--optimizer", "adam", "--learning-rate", "0.01", "--batch-size", "16"]
    found, report = fit("p.png", *options, "--encoding", "geometric", "--C", "100", "--k", "5")
    assert "geometric(k=5, C=100.0, scale=[9.0, 6.0]) → 20 features" in found.out
    assert "adam at learning rate 0.01, batches of 16" in found.out
    config = report["config"]
    assert (config["optimizer"], config["learning_rate"], config["batch_size"]) == (
        "adam",
        0.01,
        16,
    )
    assert report["field"]["encoding"]["C"] == 100


def test_precision_is_what_was_asked_for(fit, picture, pixels):
    picture("p.png", pixels(6, 9))
    found, report = fit("p.png", "--precision", "bf16")
    assert "in bf16" in found.out
    assert report["precision"] == "bf16"


@pytest.mark.parametrize(("side", "precision"), [(70, "float32"), (90, "bf16")])
def test_small_pictures_are_not_fitted_in_bf16(fit, picture, pixels, side, precision, monkeypatch):
    monkeypatch.setattr("coordnet.training.runtime.fast_bf16", lambda device: True)
    picture("p.png", pixels(side, side, 3))
    found, report = fit(
        "p.png", "--encoding", "gaussian", "--k", "16", "--hidden-dim", "128", tiny=["--steps", "2"]
    )
    # at 70² pixels there are more than two parameters a value
    assert (report["parameters"] <= 2 * 3 * side**2) == (precision == "bf16")
    assert f"in {precision}" in found.out
    assert report["precision"] == precision


def test_same_seed_same_model_other_seed_another(fit, picture, pixels):
    picture("p.png", pixels(6, 9))
    for out, seed in (("a", 1), ("b", 1), ("c", 2)):
        fit("p.png", "--seed", seed, out=out)
    a, b, c = (cn.load(f"{name}/model.safetensors").state_dict() for name in "abc")
    assert all(torch.equal(a[name], b[name]) for name in a)
    assert not all(torch.equal(a[name], c[name]) for name in a)


def test_an_exact_fit_is_said_in_words_and_null_in_json(fit, picture, pixels, monkeypatch):
    picture("p.png", pixels(6, 9))

    def exact(task, folder, field):
        return {**real(task, folder, field), "psnr": math.inf, "rmse": 0.0}

    real = PictureTask.write_outputs
    monkeypatch.setattr(PictureTask, "write_outputs", exact)
    found, report = fit("p.png")
    assert report["metrics"]["psnr"] is None
    assert "PSNR infinite" in found.out


def test_default_folder_is_named_after_the_input(run, picture, pixels):
    picture("photo.of.me.png", pixels(4, 4))
    assert run("fit", "photo.of.me.png", "--steps", "1").status == 0
    assert {p.name for p in Path("runs/photo.of.me").iterdir()} == FILES


def test_odd_file_names_end_no_run(fit, picture, pixels, real_figures):
    picture("a$b$\\bad$.PNG", pixels(4, 4))
    fit("a$b$\\bad$.PNG")
    name = b"n\xffame.png".decode(errors="surrogateescape")
    Path("a$b$\\bad$.PNG").rename(name)
    found, report = fit(name, out="other")
    assert "n\N{REPLACEMENT CHARACTER}ame.png" in found.out
    assert report["file"] == "n\N{REPLACEMENT CHARACTER}ame.png"


def test_the_first_words_come_before_the_fit(run, picture, pixels, monkeypatch):
    """What was chosen is printed while there is time to stop."""
    picture("p.png", pixels(4, 4))
    seen = []
    real = PictureTask.samples
    monkeypatch.setattr(PictureTask, "samples", lambda self: seen.append("read") or real(self))
    monkeypatch.setattr(fit_module, "fit", lambda *a, **k: (_ for _ in ()).throw(KeyboardInterrupt))
    found = run("fit", "p.png")
    assert seen
    assert "hashgrid" in found.out
    assert "CPU" in found.out


def test_pillows_limit_does_not_bind_the_command_line(fit, picture, pixels, monkeypatch):
    picture("p.png", pixels(5, 7, 3))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10)
    with pytest.raises(cn.InputError, match="MAX_IMAGE_PIXELS"):
        cn.read_image("p.png")
    fit("p.png")
    assert Image.MAX_IMAGE_PIXELS == 10
