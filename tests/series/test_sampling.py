"""Steps, periods spanned, and the harmonics that samples can tell apart; the bundled tables."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from coordnet.errors import InputError
from coordnet.series import (
    describe_periods,
    grid_step,
    nyquist_harmonic,
    nyquist_warning,
    read_table,
)

ROOT = Path(__file__).resolve().parents[2]


def test_a_grid_may_have_gaps_and_duplicates():
    assert grid_step(np.array([0.0, 1, 1, 2, 5, 6, 60])) == 1.0
    assert grid_step(np.array([0.0, 0.5, 1.7, 2.0])) is None
    assert grid_step(np.random.default_rng(0).uniform(size=50)) is None
    assert grid_step(np.array([1.5, 0.0, 1.0, 0.5])) == 0.5
    assert grid_step(2460000.5 + 0.01 * np.arange(1000)) == pytest.approx(0.01, rel=1e-9)
    assert grid_step(np.round(np.arange(50) / 3, 3)) == pytest.approx(1 / 3, rel=1e-4)
    for none in ([0, 1, 2.1, 3], [3.0, 3.0], [4], []):
        assert grid_step(np.array(none, dtype=float)) is None


@pytest.mark.parametrize("period", [1.0, 0.3, 24.0, 2 * math.pi])
def test_highest_harmonic_of_n_samples_a_period(period):
    for n in (3, 4, 7, 8, 9, 24, 365, 1000):
        x = 5.0 + period * np.arange(2 * n) / n
        assert nyquist_harmonic(x, period) == (n - 1) // 2


@pytest.mark.parametrize("n", [7, 8])
def test_the_limit_is_where_the_harmonics_stop_being_independent(n):
    def rank(k):
        angles = 2 * math.pi * np.outer(np.arange(3 * n) / n, np.arange(1, k + 1))
        matrix = np.hstack([np.ones((3 * n, 1)), np.cos(angles), np.sin(angles)])
        return np.linalg.matrix_rank(matrix)

    k = nyquist_harmonic(np.arange(3.0 * n), float(n))
    assert k is not None
    assert rank(k) == 2 * k + 1
    assert rank(k + 1) < 2 * k + 3


def test_fractional_samples_a_period():
    x = np.arange(100.0)
    limits = {8.5: 4, 9.9: 4, 10.1: 5, 1.5: 0, 0.01: 0}
    assert {period: nyquist_harmonic(x, period) for period in limits} == limits


def test_irregular_sampling_has_no_sharp_limit():
    x = np.random.default_rng(1).uniform(0, 1, 40)
    assert nyquist_harmonic(x, 1.0) is None
    text, warnings = describe_periods(x, 1.0)
    assert "no sharp limit" in text
    assert warnings == []


def test_warning_of_too_many_harmonics():
    x = np.arange(8) / 8
    warning = str(nyquist_warning(x, 1.0, 5))
    assert "k = 5 is above 3" in warning
    assert "irregular" in warning
    assert nyquist_warning(x, 1.0, 4) is not None
    assert nyquist_warning(x, 1.0, 3) is None
    irregular = np.random.default_rng(2).uniform(size=11)
    assert nyquist_warning(irregular, 1.0, 5) is None
    assert "13 coefficients" in str(nyquist_warning(irregular, 1.0, 6))


def test_periods_without_the_end_point_are_whole():
    text, warnings = describe_periods(2 * math.pi * np.arange(400) / 400, 2 * math.pi)
    assert text.startswith("The data span 1 period of")
    assert "up to 199" in text
    assert warnings == []


def test_period_in_another_unit_is_warned_of():
    seconds = np.arange(0, 10, 0.01)
    assert describe_periods(seconds, 1.0)[1] == []
    text, (warning,) = describe_periods(seconds * 1000, 1.0)
    assert "1e+04 periods" in text
    assert "under two samples a period" in warning
    text, (warning,) = describe_periods(seconds, 1000.0)
    assert "0.01 periods" in text
    assert "less than one" in warning


def test_bounds_of_the_warnings():
    x = np.arange(100.0)
    for period, number in ((100.0, 0), (101.0, 0), (101.1, 1), (2.0, 0), (1.9, 1)):
        assert len(describe_periods(x, period)[1]) == number
    assert describe_periods(np.arange(8759.0), 8766.0)[1] == []


def test_sentences_where_there_is_one_or_none():
    x = np.arange(20.0)
    words = {2.0: "no harmonic", 4.0: "only the first harmonic", 6.0: "harmonics up to 2"}
    for period, which in words.items():
        assert f"{which} can be told apart" in describe_periods(x, period)[0]
    assert "1 sample a period" in describe_periods(x, 1.0)[0]
    assert "not even the first harmonic" in str(nyquist_warning(x, 2.0, 3))


def test_periods_beyond_all_measure():
    for x in (np.arange(4.0), np.arange(4.0) * 1e-200):
        text, warnings = describe_periods(x, 1e300)
        assert len(text) < 200
        assert len(warnings) == 1
        assert nyquist_harmonic(x, 1e300) == 2**53 - 1
        assert "coefficients" in str(nyquist_warning(x, 1e300, 9))
    text, warnings = describe_periods(np.arange(4.0), 1e-300)
    assert "no harmonic" in text
    assert len(warnings) == 1
    text, warnings = describe_periods(np.array([3.0, 3.0]), 1.0)
    assert "one position" in text
    assert len(warnings) == 1


@pytest.mark.parametrize("period", [0, -1.0, math.nan, math.inf, "1"])
def test_bad_periods(period):
    for function in (nyquist_harmonic, describe_periods):
        with pytest.raises(InputError, match="period"):
            function(np.arange(4.0), period)


def test_bad_positions():
    for x in (np.zeros((3, 1)), np.array([0.0, math.nan])):
        with pytest.raises(InputError, match="positions"):
            grid_step(x)
    with pytest.raises(InputError, match="at least one"):
        describe_periods(np.array([]), 1.0)


def test_the_bundled_temperatures():
    table = read_table(ROOT / "data" / "temperatures.csv")
    assert (table.x_name, table.y_names, table.notes) == ("hour", ("temperature",), ())
    assert sorted(set(range(8760)) - set(table.x.tolist())) == [1731]
    assert len(table.x) == 8759
    assert (table.y.min(), table.y.max()) == (37.5, 75.9)
    assert grid_step(table.x) == 1.0
    assert nyquist_harmonic(table.x, 24.0) == 11
    assert describe_periods(table.x, 24.0)[1] == []


def test_the_wave_is_what_its_script_makes_and_band_limited(tmp_path):
    made, bundled = tmp_path / "wave.csv", ROOT / "data" / "wave.csv"
    script = ROOT / "scripts" / "make_wave.py"
    subprocess.run([sys.executable, script, "-o", made], check=True, capture_output=True)
    assert made.read_bytes() == bundled.read_bytes()
    table = read_table(bundled)
    assert np.array_equal(table.x, 2 * math.pi * np.arange(400) / 400)
    size = np.abs(np.fft.rfft(table.y[:, 0])) / 400
    assert size[:9].min() > 0.05
    assert size[9:].max() < 1e-10
