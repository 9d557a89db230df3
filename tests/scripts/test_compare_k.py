import csv
import itertools
import math
from pathlib import Path

import numpy as np
import pytest

import coordnet as cn

ROOT = Path(__file__).resolve().parents[2]


def truncated_series_rmse(samples, k):
    """What a discrete Fourier transform leaves of a square wave beyond harmonic k."""
    wave = np.where(np.arange(samples) < samples // 2, 1.0, -1.0)
    spectrum = np.fft.rfft(wave)
    spectrum[: k + 1] = 0.0
    return math.sqrt(np.mean(np.fft.irfft(spectrum, samples) ** 2))


def test_closed_form_of_the_square_wave(load):
    module = load("compare_k")
    for samples, k in itertools.product((4, 6, 64, 250), (1, 2, 3, 7, 31, 32, 200)):
        expected = truncated_series_rmse(samples, k) if k < samples / 2 else 0.0
        assert module.fourier_rmse(samples, k) == pytest.approx(expected, abs=1e-12)
    for k in (1, 2, 7, 64):
        dense = module.fourier_rmse(1 << 18, k)
        assert module.fourier_rmse_continuous(k) == pytest.approx(dense, abs=1e-6)
    assert module.fourier_rmse_continuous(1) == pytest.approx(math.sqrt(1 - 8 / math.pi**2))


def test_least_squares_on_the_square_wave_is_the_truncated_fourier_series(
    script, tmp_path, read_json, check_picture
):
    ks = [1, 2, 3, 8, 32, 33, 40]
    done = script("compare_k.py", "--samples", 66, "--k", *ks, "--steps", 3, "--out", "r")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # no bar where stderr is no terminal
    content = read_json(tmp_path / "r" / "compare_k.json")
    rows = content["rows"]
    assert [row["k"] for row in rows] == ks
    for row in rows[:-2]:
        expected = truncated_series_rmse(66, row["k"])
        assert row["linear_fitted_rmse"] == pytest.approx(expected, abs=1e-9)
        assert row["fourier_rmse"] == pytest.approx(expected, abs=1e-9)
        assert row["linear_fitted_psnr"] == pytest.approx(20 * math.log10(2 / expected), abs=1e-6)
    for row in rows[-2:]:  # good on the grid only
        assert row["linear_fitted_psnr"] is None
        assert row["linear_fitted_rmse"] < 1e-12
        assert row["linear_heldout_rmse"] > 0.05
    errors = [row["linear_fitted_rmse"] for row in rows]
    assert all(b <= a + 1e-12 for a, b in itertools.pairwise(errors))
    assert [row["above_nyquist"] for row in rows] == [k > 32 for k in ks]
    assert "40*" in done.stdout
    assert "32*" not in done.stdout
    assert "above 32 cycles a period" in done.stdout
    with open(tmp_path / "r" / "compare_k.csv", encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["k"] for line in lines] == [str(k) for k in ks]
    assert [float(line["fitted_rmse"]) for line in lines] == [row["fitted_rmse"] for row in rows]
    assert lines[-1]["linear_fitted_psnr"] == ""
    check_picture(tmp_path / "r" / "compare_k.png")


def test_network_fits_no_worse_with_more_harmonics(script, tmp_path, read_json):
    done = script("compare_k.py", "--k", 1, 4, 16, 64, "--out", "r")
    assert done.returncode == 0, done.stderr
    rows = read_json(tmp_path / "r" / "compare_k.json")["rows"]
    fitted = [row["fitted_psnr"] for row in rows]
    assert fitted == sorted(fitted)
    assert fitted[-1] > fitted[0] + 10


def test_tables(script, tmp_path, read_json):
    wave = ROOT / "data" / "wave.csv"  # of degree 8
    ladders = ["harmonic", "lattice", "octave", "geometric", "gaussian"]
    done = script(
        "compare_k.py", wave, "--k", 4, 8, "--steps", 0, "--encoding", *ladders, "--out", "r"
    )
    assert done.returncode == 0, done.stderr
    rows = {(r["encoding"], r["k"]): r for r in read_json(tmp_path / "r/compare_k.json")["rows"]}
    assert len(rows) == 10
    assert rows["harmonic", 8]["linear_heldout_rmse"] < 1e-9
    assert rows["harmonic", 4]["linear_heldout_rmse"] > 0.1
    assert rows["harmonic", 8]["seconds"] is None
    for k in (4, 8):
        a, b = rows["harmonic", k], rows["lattice", k]
        assert a["linear_fitted_rmse"] == pytest.approx(b["linear_fitted_rmse"], abs=1e-12)
    assert rows["octave", 8]["highest_frequency"] == pytest.approx(128)
    assert "100 drawn at random held out (25%)" in done.stdout

    hourly = ROOT / "data" / "temperatures.csv"
    done = script("compare_k.py", hourly, "--period", 24, "--k", 11, 12, "--steps", 0, "--out", "h")
    assert done.returncode == 0, done.stderr
    rows = read_json(tmp_path / "h" / "compare_k.json")["rows"]
    assert [row["above_nyquist"] for row in rows] == [False, True]


def test_pictures(script, tmp_path, read_json, check_picture):
    ramp = np.linspace(0, 255, 24)[None, :, None] * np.linspace(0, 1, 16)[:, None, None]
    cn.write_image(tmp_path / "ramp.png", ramp.repeat(3, 2) / 255)
    ladders = ["harmonic", "lattice", "octave", "geometric", "gaussian"]
    settings = ("--k", 1, 2, "--steps", 5, "--hidden-dim", 16, "--encoding", *ladders)
    done = script("compare_k.py", "ramp.png", *settings, "--out", "r")
    assert done.returncode == 0, done.stderr
    rows = read_json(tmp_path / "r" / "compare_k.json")["rows"]
    assert len(rows) == 10
    for row in rows:
        for part in ("fitted", "heldout"):
            psnr, rmse = row[f"{part}_psnr"], row[f"{part}_rmse"]
            assert psnr == pytest.approx(-20 * math.log10(rmse))
        assert row["linear_fitted_rmse"] is None
    assert rows[0]["features"] == 4
    assert "24 × 16" in done.stdout
    check_picture(tmp_path / "r" / "compare_k.png")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--k", "0"], "k must be an integer of at least 1"),
        (["--samples", "7"], "--samples must be an even number"),
        (["missing.png"], "no such file"),
        (["--encoding", "nonsense"], "invalid choice"),
    ],
)
def test_errors_are_one_line(error_of, arguments, says):
    assert says in error_of("compare_k", *arguments)


def test_results_are_not_replaced_unasked(script, error_of, tmp_path):
    settings = ("--k", 1, "--samples", 8, "--steps", 0, "--out", "r")
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "compare_k.png").write_text("mine")
    assert "--overwrite" in error_of("compare_k", *settings)
    assert [path.name for path in (tmp_path / "r").iterdir()] == ["compare_k.png"]
    assert (tmp_path / "r" / "compare_k.png").read_text() == "mine"
    assert script("compare_k.py", *settings, "--overwrite").returncode == 0
    assert len(list((tmp_path / "r").iterdir())) == 3
