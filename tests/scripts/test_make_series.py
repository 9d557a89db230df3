import csv
import datetime
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "data"


def rows_of(path):
    with open(path, newline="", encoding="ascii") as file:
        return list(csv.DictReader(file))


def test_the_bundled_files_are_what_statsmodels_holds(script, tmp_path):
    pytest.importorskip("statsmodels")
    done = script("make_series.py", "--out", "made")
    assert done.returncode == 0, done.stderr
    for name in ("co2.csv", "sunspots.csv"):
        assert (tmp_path / "made" / name).read_bytes() == (DATA / name).read_bytes()
    again = script("make_series.py", "--out", "made")
    assert again.returncode == 2
    assert again.stderr.startswith("make_series: error: results are not replaced unasked")


def test_weeks_lie_on_a_grid_and_the_empty_ones_are_kept():
    rows = rows_of(DATA / "co2.csv")
    dates = [datetime.date.fromisoformat(row["date"]) for row in rows]
    week = datetime.timedelta(days=7)
    assert dates == [dates[0] + i * week for i in range(2284)]
    assert sum(row["co2"] == "" for row in rows) == 59
    values = [float(row["co2"]) for row in rows if row["co2"]]
    assert min(values) > 312 < max(values) < 375


def test_years_are_whole_and_in_order():
    rows = rows_of(DATA / "sunspots.csv")
    assert [int(row["year"]) for row in rows] == list(range(1700, 2009))
    values = [float(row["sunspots"]) for row in rows]
    assert min(values) == 0
    assert 180 < max(values) < 200


def test_without_statsmodels_one_line_says_what_to_install(error_of, monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.datasets", None)
    assert "pip install statsmodels" in error_of("make_series")
