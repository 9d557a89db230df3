"""Signals as people have them: faults of neighboring tools, on the command line and the API."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

import coordnet as cn

PERIODIC = ("--steps", "150", "--hidden-dim", "32", "--layers", "1", "--device", "cpu")


def rows_of(path):
    return np.loadtxt(path, delimiter=",", skiprows=1)


def test_julian_days_are_folded_in_float64(fit, table):
    # float32 numbers are a quarter of a day apart there: no period of 0.3 d survives them
    t = 2460000.5 + 0.01 * np.arange(90)
    v = np.cos(2 * np.pi * np.arange(90) / 30)
    table("jd.csv", jd=t, mag=v)
    _, report = fit("jd.csv", "--unit", "d", "--period", "0.3", "--k", "1", tiny=PERIODIC)
    assert report["metrics"]["rmse"] < 0.05
    read = cn.series.read_table("jd.csv")
    assert np.array_equal(read.x, t)
    encoding = cn.FourierFeatures(in_dim=1, k=1, period=0.3)
    features = encoding(torch.from_numpy(read.x)[:, None]).numpy()
    turns = [float(Fraction(each) / Fraction(0.3) % 1) for each in t.tolist()]
    assert np.abs(features[:, 1] - np.cos(2 * np.pi * np.array(turns))).max() < 1e-12


FORMS = {
    "mark.csv": "\ufefft,v\n0.5,2.5\n1.5,3.5\n2.5,4.5\n",
    "crlf.csv": "t,v\r\n0.5,2.5\r\n1.5,3.5\r\n2.5,4.5\r\n",
    "decimal.csv": "t;v\n0,5;2,5\n1,5;3,5\n2,5;4,5\n",
    "tabs.tsv": "t\tv\n0.5\t2.5\n1.5\t3.5\n2.5\t4.5\n",
    "bare.csv": "0.5,2.5\n1.5,3.5\n2.5,4.5\n",
    "bare_decimal.csv": "0,5;2,5\n1,5;3,5\n2,5;4,5\n",
    "all.csv": "\ufefft;v\r\n0,5;2,5\r\n1,5;3,5\r\n2,5;4,5\r\n",
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_right_rows(fit, name):
    Path(name).write_bytes(FORMS[name].encode())
    found, report = fit(name)
    assert report["input"]["samples"] == 3
    assert rows_of("run/reconstruction.csv")[:, :2].tolist() == [[0.5, 2.5], [1.5, 3.5], [2.5, 4.5]]
    read = cn.series.read_table(name)
    assert (read.x.tolist(), read.y[:, 0].tolist()) == ([0.5, 1.5, 2.5], [2.5, 3.5, 4.5])
    for part, word in (("bare", "no header line"), ("decimal", "Decimal commas")):
        assert (word in found.out) == (part in name or (part == "decimal" and name == "all.csv"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("t;v\n0,5;2.5\n", ["line 2", "decimal"]),
        ("t,v\n0,5,2,5\n", ["line 2", "4"]),
        ("t,v\n0,1\n1,much\n", ["line 3, column 'v': 'much'"]),
        ("t,v\n0,1\nsoon,2\n", ["line 3, column 't': 'soon'"]),
        ("0,much\n1,2\n", ["line 1, column 'y': 'much'"]),
    ],
)
def test_what_is_wrong_is_one_line(refused, content, words):
    Path("bad.csv").write_text(content)
    refused("fit", "bad.csv", words=["bad.csv", *words])
    with pytest.raises(cn.InputError) as caught:
        cn.series.read_table("bad.csv")
    assert all(word in str(caught.value) for word in words)


def test_milliseconds_with_the_period_in_seconds(fit, table):
    table("ms.csv", t=np.arange(32) * 125.0, v=np.sin(np.arange(32.0)))
    found, report = fit("ms.csv", "--period", "1", out="wrong")
    assert "warning: The data span 4000 periods" in found.out
    found, report = fit("ms.csv", "--period", "1e6", out="long")
    assert "warning: The data span 0.004 periods, less than one" in found.out
    found, report = fit("ms.csv", "--unit", "ms", "--period", "1s")
    assert "The data span 4 periods of 1000 ms" in found.out
    assert report["warnings"] == []
    assert report["input"]["periods"] == [1000.0]


def test_another_unit_changes_no_metric(fit, table):
    t, v = np.arange(64) / 8, np.sin(np.arange(64.0)) + np.arange(64) % 8
    table("s.csv", t=t, v=v)
    table("ms.csv", t=t * 1000, v=v)
    runs = [
        fit(f"{unit}.csv", "--unit", unit, "--period", "1s", *trend, tiny=PERIODIC, out=unit + name)
        for name, trend in (("", []), ("trend", ["--trend"]))
        for unit in ("s", "ms")
    ]
    metrics = [report["metrics"] for _, report in runs]
    assert metrics[0] == metrics[1]
    assert metrics[2]["rmse"] == pytest.approx(metrics[3]["rmse"], rel=1e-3)


def test_shuffled_rows_with_a_duplicate_are_the_sorted_fit(fit, table, real_figures, monkeypatch):
    t, v = np.r_[np.arange(24), 7] / 8, np.r_[np.sin(np.arange(24.0)), 0.5]
    orders = {
        "sorted": np.argsort(t, kind="stable"),
        "shuffled": np.random.default_rng(3).permutation(25),
    }
    drawn = []
    monkeypatch.setattr(
        "coordnet.series.outputs.save_signal", lambda path, x, *rest, **k: drawn.append(x)
    )
    monkeypatch.setattr("coordnet.runs.fit.save_curve", lambda *a, **k: None)
    found = {}
    for name, order in orders.items():
        table(f"{name}.csv", t=t[order], v=v[order])
        found[name] = fit(f"{name}.csv", "--period", "1", tiny=PERIODIC, out=name)
    assert "have been sorted" in found["shuffled"][0].out
    assert "1 row repeats an earlier 't'" in found["shuffled"][0].out
    first, second = (rows_of(f"{name}/reconstruction.csv") for name in orders)
    assert np.allclose(first[:, 2], second[:, 2], atol=1e-4)
    for x in drawn:
        assert (np.diff(x) >= 0).all()  # no zigzag
    assert len(drawn) == 2


def test_empty_and_nan_cells_drop_their_rows_with_the_count(fit):
    Path("holes.csv").write_text("t,v\n0,3\n1,nan\n2,\n3,5\n,6\n")
    found, report = fit("holes.csv")
    assert "3 rows dropped for empty or NaN cells (lines 3, 4, 6)" in found.out
    assert report["input"]["samples"] == 2
    assert np.isfinite(rows_of("run/reconstruction.csv")).all()
    assert cn.series.read_table("holes.csv").x.tolist() == [0, 3]
