import math

import numpy as np
import pytest


def test_what_is_drawn(load):
    module = load("plot_encodings")
    positions = np.linspace(0.0, 200.0, 31)
    waves = module.position_waves(10_000.0, positions)
    for row, i in zip(waves, (1, 10, 50, 100), strict=True):
        expected = np.sin(positions / 10_000.0 ** (2 * (i - 1) / 512))
        np.testing.assert_allclose(row, expected, atol=1e-9)
    columns = module.heat_map(10_000.0)
    assert columns.shape == (128, 100)
    for index, position in ((1, 1), (2, 1), (3, 100), (128, 57)):
        pair = (index + 1) // 2
        angle = position / 10_000.0 ** (2 * (pair - 1) / 128)
        expected = math.sin(angle) if index % 2 else math.cos(angle)
        assert columns[index - 1, position - 1] == pytest.approx(expected, abs=1e-6)
    x = np.linspace(0.0, 4 * math.pi, 33)
    waves = module.harmonic_waves(x)
    for k in (1, 2, 3, 4):
        np.testing.assert_allclose(waves[:, k - 1, 0], np.sin(k * x), atol=1e-9)
        np.testing.assert_allclose(waves[:, k - 1, 1], np.cos(k * x), atol=1e-9)


def test_figures(script, tmp_path, check_picture):
    done = script("plot_encodings.py", "--out", "r")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for name in ("positions.png", "heat_map.png", "harmonics.png"):
        check_picture(tmp_path / "r" / name)


def test_errors_are_one_line(error_of, tmp_path):
    assert "C=-1.0" in error_of("plot_encodings", "--C", -1)
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "harmonics.png").touch()
    assert "--overwrite" in error_of("plot_encodings", "--out", "r")
    (tmp_path / "file").touch()
    assert "must be a folder" in error_of("plot_encodings", "--out", "file")
