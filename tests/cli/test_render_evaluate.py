"""Rendering and evaluating runs."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import coordnet as cn


def test_png_at_the_fitted_size_is_the_reconstruction(run, fitted, opened):
    found = run("render", fitted / "run", "-o", "again.png")
    assert found == (0, "wrote again.png: 20 x 12, 8 bits\n", "")
    again = np.asarray(opened("again.png"))
    assert np.array_equal(again, np.asarray(opened(fitted / "run/reconstruction.png")))


@pytest.mark.parametrize(("size", "shape"), [("7x9", (9, 7)), ("40X24", (24, 40)), ("1x3", (3, 1))])
def test_other_sizes_are_the_field_at_their_pixel_centers(run, fitted, size, shape, opened):
    assert run("render", fitted / "run", "-o", "other.png", "--size", size).status == 0
    written = np.asarray(opened("other.png"))
    assert written.shape == (*shape, 3)
    field = cn.load(fitted / "run/model.safetensors")
    with torch.no_grad():
        values = field(cn.pixel_centers(*shape)).clamp(0, 1).numpy()
    assert np.abs(written - 255 * values).max() < 0.51


def test_the_model_file_itself_may_be_named(run, fitted):
    model = fitted / "run/model.safetensors"
    assert run("render", model, "-o", "again.png").status == 0
    assert run("evaluate", model, fitted / "noise.png").status == 0
    assert run("info", model).status == 0


def test_jpeg_is_written_and_said_to_lose(run, fitted, opened):
    found = run("render", fitted / "run", "-o", "lossy.jpg")
    assert found.status == 0
    assert "PSNRs are those of the model, not of this file" in found.out
    assert opened("lossy.jpg").format == "JPEG"
    png = run("render", fitted / "run", "-o", "whole.png")
    assert "JPEG" not in png.out


@pytest.mark.parametrize(("name", "size"), [("a.jpg", "65501x2"), ("a.webp", "2x16384")])
def test_a_side_too_long_for_the_format_is_refused_before_rendering(
    refused, fitted, monkeypatch, name, size
):
    monkeypatch.delattr("coordnet.pictures.task.render_image")
    width, height = size.split("x")
    words = [f"{width} x {height}", ".png", name]
    refused("render", fitted / "run", "-o", name, "--size", size, words=words)


def test_tiff_keeps_what_it_can_hold(run, fit, fitted, picture, pixels, opened):
    assert "8 bits" in run("render", fitted / "run", "-o", "color.tif").out
    assert opened("color.tif").mode == "RGB"
    deep = pixels(5, 7, peak=65535, dtype=np.uint16)
    picture("deep.png", deep)
    fit("deep.png")
    for name in ("deep.tif", "again.png"):
        assert "16 bits" in run("render", "run", "-o", name).out
        assert np.asarray(opened(name)).max() > 255
    assert "8 bits" in run("render", "run", "-o", "shallow.jpg").out


def test_no_bar_is_drawn_into_a_pipe(run, fitted):
    assert run("render", fitted / "run", "-o", "big.png", "--size", "300x300").err == ""


def test_an_alpha_channel_is_refused_for_jpeg_before_any_work(fit, refused, picture, pixels):
    picture("p.png", pixels(4, 5, 4))
    fit("p.png")
    words = [".jpg", "4 channels", ".png"]
    # as large as this, work would not end within the test
    refused("render", "run", "-o", "p.jpg", "--size", "900000x900000", words=words)


@pytest.mark.parametrize(
    "size", ["0x4", "4x0", "-3x4", "x", "4x", "4x5x6", "big", "1e3x2", "2.5x2"]
)
def test_bad_sizes_are_refused(refused, fitted, size):
    words = ["--size", "WIDTHxHEIGHT"] if not size.startswith("-") else ["--size"]
    refused("render", fitted / "run", "-o", "p.png", "--size", size, words=words)


def test_one_number_is_no_size_of_a_picture(refused, fitted):
    words = ["WIDTHxHEIGHT", "--size 40"]
    refused("render", fitted / "run", "-o", "p.png", "--size", "40", words=words)


def test_an_existing_output_is_replaced_only_when_asked(run, refused, fitted, opened):
    Path("taken.png").write_bytes(b"precious")
    refused("render", fitted / "run", "-o", "taken.png", words=["taken.png", "--overwrite"])
    assert run("render", fitted / "run", "-o", "taken.png", "--overwrite").status == 0
    assert opened("taken.png").size == (20, 12)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("missing/p.png", ["folder", "missing"]),
        ("p.xyz", ["p.xyz", ".png"]),
        ("p", ["p", ".png"]),
        ("p.csv", ["p.csv", ".png"]),
        ("folder.png", ["folder"]),
    ],
)
def test_outputs_that_cannot_be_are_refused(refused, fitted, output, words):
    Path("folder.png").mkdir()
    refused("render", fitted / "run", "-o", output, words=words)
    refused("render", fitted / "run", "-o", output, "--overwrite", words=words)


def test_a_failed_write_leaves_nothing_and_is_a_failure(refused, fitted, monkeypatch):
    def full(path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("coordnet.image_files.writing.write_atomic", full)
    words = ["p.png", "No space left"]
    refused("render", fitted / "run", "-o", "p.png", words=words, status=1)


def test_evaluate_gives_the_reported_error(run, fitted, report):
    metrics = report(fitted / "run")["metrics"]
    found = run("evaluate", fitted / "run", fitted / "noise.png", "--json", "--device", "cpu")
    assert found.err == ""
    judged = json.loads(found.out)
    assert judged["psnr"] == pytest.approx(metrics["psnr"], rel=1e-6)
    assert judged["rmse"] == pytest.approx(metrics["rmse"], rel=1e-6)
    assert judged["peak"] == 1.0
    assert judged["samples"] == 240
    assert judged["device"] == "cpu"
    assert "fitted_size" not in judged
    text = run("evaluate", fitted / "run", fitted / "noise.png").out
    assert f"psnr         {judged['psnr']:.6g}" in text


def test_evaluate_at_another_size_says_the_fitted_one(run, fitted, picture, pixels):
    picture("other.png", pixels(7, 5, 3))
    found = run("evaluate", fitted / "run", "other.png")
    assert found.status == 0
    assert "20 x 12" in found.out
    assert "samples      35" in found.out
    judged = json.loads(run("evaluate", fitted / "run", "other.png", "--json").out)
    assert judged["fitted_size"] == "20 x 12"


def test_evaluate_of_an_exact_fit_is_strict_json(run, fitted):
    """The field's own picture in float: no error at all, which JSON has no number for."""
    run("render", fitted / "run", "-o", "own.png")
    again = run("evaluate", fitted / "run", "own.png", "--json")

    def reject(name):
        raise ValueError(name)

    assert json.loads(again.out, parse_constant=reject)["psnr"] > 45


def test_other_channels_are_refused(refused, fitted, picture, pixels):
    picture("gray.png", pixels(12, 20))
    words = ["3 channels", "1 (gray)"]
    refused("evaluate", fitted / "run", "gray.png", words=words)


def test_files_of_another_kind_are_refused(refused, fitted, fitted_table):
    refused("evaluate", fitted / "run", fitted_table / "two.csv", words=["two.csv"])
    refused("evaluate", fitted_table / "run", fitted / "noise.png", words=["noise.png"])
    words = ["--page", "table"]
    refused("evaluate", fitted_table / "run", fitted_table / "two.csv", "--page", "0", words=words)


def test_a_table_is_rendered_as_csv(run, refused, fitted_table):
    found = run("render", fitted_table / "run", "-o", "as_fitted.csv")
    assert found == (0, "wrote as_fitted.csv: 24 positions from 0 to 2.875\n", "")
    assert run("render", fitted_table / "run", "-o", "fine.csv", "--size", "93").status == 0
    lines = Path("fine.csv").read_text().splitlines()
    assert lines[0] == "t,a,b"
    rows = np.array([list(map(float, line.split(","))) for line in lines[1:]])
    assert np.allclose(rows[:, 0], np.linspace(0, 2.875, 93))
    field = cn.load(fitted_table / "run/model.safetensors")
    with torch.no_grad():
        values = field(torch.from_numpy(rows[:, :1])).numpy()
    assert np.allclose(rows[:, 1:], values, atol=1e-6)
    refused("render", fitted_table / "run", "-o", "t.png", words=[".csv", "t.png"])
    words = ["--size", "whole number", "10x5"]
    refused("render", fitted_table / "run", "-o", "t.csv", "--size", "10x5", words=words)


def test_a_table_is_evaluated_by_its_columns(run, refused, fitted_table, table, report):
    metrics = report(fitted_table / "run")["metrics"]
    found = run("evaluate", fitted_table / "run", fitted_table / "two.csv", "--json")
    judged = json.loads(found.out)
    for name in ("psnr", "rmse", "peak"):
        assert judged[name] == pytest.approx(metrics[name], rel=1e-6)
    table("moved.csv", b=np.ones(4), c=np.ones(4), a=np.zeros(4), t=np.arange(4.0))
    found = run("evaluate", fitted_table / "run", "moved.csv", "--json")
    assert json.loads(found.out)["samples"] == 4
    table("other.csv", t=np.arange(4.0), a=np.ones(4))
    refused("evaluate", fitted_table / "run", "other.csv", words=["'b'", "other.csv"])
