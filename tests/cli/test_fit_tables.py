"""Fits of tables from the command line."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.encodings import ENCODINGS

PERIODIC = ("--steps", "40", "--hidden-dim", "32", "--layers", "1", "--device", "cpu")


def columns(path):
    lines = Path(path).read_text().splitlines()
    return lines[0].split(","), np.array([list(map(float, line.split(","))) for line in lines[1:]])


def test_temperatures_with_two_periods(fit, data):
    found, report = fit(data / "temperatures.csv", "--period", "24", "--period", "8760")
    assert "8,759 rows of temperature over hour" in found.out
    shown = "damped harmonic(k=8, period=24.0) + damped harmonic(k=8, period=8760.0) → 32 features"
    assert shown in found.out
    assert "365 periods of 24" in found.out
    about = report["input"]
    assert about["periods"] == [24.0, 8760.0]
    assert (about["x_name"], about["y_names"]) == ("hour", ["temperature"])
    names, rows = columns("run/reconstruction.csv")
    assert names == ["hour", "temperature", "temperature fit", "temperature error"]
    assert len(rows) == 8759
    error = rows[:, 2] - rows[:, 1]
    assert np.allclose(error, rows[:, 3])
    rmse = np.sqrt(np.square(error).mean())
    assert rmse == pytest.approx(report["metrics"]["rmse"], rel=1e-6)
    peak = np.ptp(rows[:, 1])
    assert report["metrics"]["peak"] == pytest.approx(peak)
    assert report["metrics"]["psnr"] == pytest.approx(20 * np.log10(peak / rmse), rel=1e-6)
    assert report["metrics"]["clamped"] is False


def test_one_period_is_exact_in_the_model(fit, data):
    fit(data / "temperatures.csv", "--period", "24")
    field = cn.load("run/model.safetensors")
    hours = torch.arange(48, dtype=torch.float64)[:, None]
    with torch.no_grad():
        assert torch.equal(field(hours), field(hours + 24 * 300))
        assert not torch.allclose(field(hours), field(hours + 12))


def test_a_hole_in_the_data_is_filled_smoothly(fit, run):
    """By harmonics that fall like 1/j, the default: those of one size all swing through it."""
    days = np.arange(0, 365.0)
    phase = 2 * np.pi * days / 365
    values = 50 - 20 * np.cos(phase - 0.4) + 4 * np.cos(2 * phase + 1)
    noise = 0.3 * np.random.default_rng(0).normal(size=365)
    hole = (days > 200) & (days < 235)
    for name, shown, y in (("s.csv", ~hole, values + noise), ("hole.csv", hole, values)):
        rows = [f"{d},{v}" for d, v in zip(days[shown].tolist(), y[shown].tolist(), strict=True)]
        Path(name).write_text("\n".join(["day,v", *rows]) + "\n")
    error = {}
    for name, encoding in (("damped", ()), ("plain", ("--encoding", "harmonic"))):
        steps = ("--steps", "400", "--hidden-dim", "32", "--device", "cpu")
        fit("s.csv", "--period", "365", *encoding, out=name, tiny=steps)
        error[name] = json.loads(run("evaluate", name, "hole.csv", "--json").out)["rmse"]
    assert error["damped"] < 0.5 * error["plain"]
    assert error["damped"] < 8  # of 44


def test_the_wave_with_its_figures(fit, data, real_figures, opened):
    fit(data / "wave.csv", "--period", "6.283185307179586")
    for name in ("comparison.png", "curve.png", "folded.png"):
        assert min(opened(f"run/{name}").size) > 100
    assert {p.name for p in Path("run").iterdir()} == {
        *("model.safetensors", "reconstruction.csv", "comparison.png", "curve.png"),
        *("report.json", "folded.png", "harmonics.csv"),
    }


NOT_PERIODIC = ("geometric", "identity", "polynomial")


@pytest.mark.parametrize("periods", [[], ["--period", "1"]])
@pytest.mark.parametrize("name", ENCODINGS)
def test_every_encoding_fits_a_table_or_says_why_not(fit, refused, table, name, periods):
    table("t.csv", t=np.arange(16) / 8, v=np.arange(16.0) % 5)
    if name == "spherical":
        words = ["directions in space", "in_dim=1"]
        refused("fit", "t.csv", "--encoding", name, *periods, words=words)
        return
    if periods and name in NOT_PERIODIC:
        words = ["--period", f"--encoding {name}", "harmonic"]
        refused("fit", "t.csv", "--encoding", name, *periods, words=words)
        return
    found, report = fit("t.csv", "--encoding", name, *periods)
    assert f"  {name}" in found.out
    assert name in str(report["field"]["encoding"])
    if periods:  # grids too: those that wrap around do so after 1
        assert cn.load("run/model.safetensors").encoding.periods == (1.0,)


def test_without_a_period_the_ends_are_free_to_differ(fit, table):
    table("ramp.csv", t=np.arange(40.0), v=np.arange(40.0))
    tiny = ("--steps", "150", "--hidden-dim", "32", "--layers", "1")
    for name in ("gaussian", "harmonic"):
        fit("ramp.csv", "--encoding", name, tiny=tiny, out=name)
        _, rows = columns(f"{name}/reconstruction.csv")
        assert rows[-1, 2] - rows[0, 2] > 30


def test_units_change_no_metric(fit, table):
    t, v = np.arange(64) / 8, np.sin(np.arange(64.0)) + np.arange(64) % 8
    table("s.csv", t=t, v=v)
    table("ms.csv", t=t * 1000, v=v)
    for options in ([], ["--encoding", "gaussian"], ["--encoding", "gaussian", "--sigma", "3"]):
        name = "-".join(options) or "harmonic"
        runs = [
            fit(f"{unit}.csv", "--period", period, *options, tiny=PERIODIC, out=f"{unit}{name}")[1]
            for unit, period in (("s", "1"), ("ms", "1000"))
        ]
        assert runs[0]["metrics"] == runs[1]["metrics"]


def test_a_period_in_the_wrong_unit_is_warned_of(fit, table):
    table("ms.csv", t=np.arange(32) * 125.0, v=np.sin(np.arange(32.0)))
    found, report = fit("ms.csv", "--period", "1")
    assert "warning: The data span 4000 periods" in found.out
    assert any("ms and s" in warning for warning in report["warnings"])
    found, report = fit("ms.csv", "--period", "1e6", out="long")
    assert "warning: The data span 0.004 periods, less than one" in found.out
    found, report = fit("ms.csv", "--period", "1000", out="right")
    assert "span 4 periods of 1000" in found.out
    assert report["warnings"] == []
    assert "warning" not in found.out


def test_columns_by_place(fit, refused, table):
    table("t.csv", a=np.ones(9), t=np.arange(9.0), v=np.arange(9.0))
    found, _ = fit("t.csv", "--x", "1", "--y", "2")
    assert "9 rows of v over t" in found.out
    refused("fit", "t.csv", "--x", "3", words=["place (from 0)", "'a', 't', 'v'"])


def test_k_above_nyquist_is_warned_of_and_the_default_stays_below(fit, table):
    table("e.csv", t=np.arange(32) / 8, v=np.sin(np.arange(32.0)))
    found, report = fit("e.csv", "--period", "1", "--k", "5")
    assert "warning: k = 5 is above 3" in found.out
    assert any("k = 5 is above 3" in warning for warning in report["warnings"])
    found, report = fit("e.csv", "--period", "1", "--k", "3", out="at")
    assert report["warnings"] == []
    found, report = fit("e.csv", "--period", "1", out="default")
    assert "harmonic(k=3, period=1.0)" in found.out
    assert report["warnings"] == []


def test_shuffled_rows_with_a_duplicate_time_fit_as_sorted_ones(fit, table):
    t, v = np.r_[np.arange(24), 7] / 8, np.r_[np.sin(np.arange(24.0)), 0.5]
    order = np.argsort(t, kind="stable")
    table("sorted.csv", t=t[order], v=v[order])
    order = np.random.default_rng(0).permutation(25)
    table("shuffled.csv", t=t[order], v=v[order])
    _, a = fit("sorted.csv", "--period", "1", tiny=PERIODIC, out="a")
    found, b = fit("shuffled.csv", "--period", "1", tiny=PERIODIC, out="b")
    assert "have been sorted" in found.out
    assert "1 row repeats an earlier 't'" in found.out
    assert a["metrics"]["psnr"] == pytest.approx(b["metrics"]["psnr"], rel=1e-4)
    _, rows = columns("b/reconstruction.csv")
    assert (np.diff(rows[:, 0]) >= 0).all()


def test_julian_days_keep_their_digits(run, fit, table):
    t = 2460000.5 + 0.01 * np.arange(90)
    table("days.csv", t=t, v=np.cos(np.arange(90) * np.pi / 15))
    fit("days.csv", "--period", "0.3", tiny=PERIODIC)
    _, rows = columns("run/reconstruction.csv")
    assert np.array_equal(rows[:, 0], t)
    assert len(np.unique(rows[:30, 2])) > 20
    found = run("render", "run", "-o", "fine.csv", "--size", "5")
    assert "from 2460000.5 to 2460001.39" in found.out


def test_columns_are_chosen_by_name(fit, table):
    table("many.csv", a=np.arange(9.0), b=np.arange(9.0) ** 2, c=-np.arange(9.0))
    found, report = fit("many.csv", "--x", "b", "--y", "c", "--y", "a")
    assert "9 rows of c, a over b" in found.out
    assert (report["input"]["x_name"], report["input"]["y_names"]) == ("b", ["c", "a"])
    names, rows = columns("run/reconstruction.csv")
    assert names == ["b", "c", "c fit", "c error", "a", "a fit", "a error"]
    assert np.array_equal(rows[:, 0], np.arange(9.0) ** 2)
    assert np.array_equal(rows[:, 4], np.arange(9.0))


def test_no_column_of_the_reconstruction_is_lost(fit, table):
    table("e.csv", t=np.arange(9.0), v=np.arange(9.0) ** 2)
    fit("e.csv", out="first")
    fit("first/reconstruction.csv", out="second")
    names, rows = columns("second/reconstruction.csv")
    assert len(set(names)) == len(names) == rows.shape[1] == 1 + 3 * 3
    assert names[:4] == ["t", "v", "v fit", "v error"]
    original, _ = columns("first/reconstruction.csv")
    assert set(original) <= set(names)


def test_a_column_of_positions_may_be_called_by_a_number(run, fit):
    Path("years.csv").write_text("month,2019\n0,1\n1,3\n2,7\n")
    fit("years.csv", "--x", "2019", "--y", "month")
    names, rows = columns("run/reconstruction.csv")
    assert names[0] == "x 2019"
    assert rows[:, 0].tolist() == [1, 3, 7]
    assert run("render", "run", "-o", "again.csv").status == 0


def test_dropped_rows_and_a_missing_header_are_said(fit):
    Path("holes.csv").write_text("0,3\n1,nan\n2,\n3,5\n")
    found, report = fit("holes.csv")
    assert "no header line" in found.out
    assert "2 rows dropped" in found.out
    assert report["input"]["samples"] == 2
    assert len(report["notes"]) == 2


@pytest.mark.parametrize(
    ("text", "periods"),
    [
        ("t,v\n0,3\n", []),
        ("t,v\n0,3\n", ["--period", "2"]),
        ("t,v\n1,3\n1,4\n", []),
        ("t,v\n0,3\n1,3\n", ["--period", "2"]),
    ],
)
def test_the_least_tables_work(fit, text, periods, real_figures):
    Path("least.csv").write_text(text)
    _, report = fit("least.csv", *periods)
    assert np.isfinite(report["metrics"]["rmse"])


def test_the_time_of_a_closed_form_fit_is_its_own(fit, data, monkeypatch):
    from coordnet.series import task as table

    solve, clock = table.fit_exactly, [0.0]
    monkeypatch.setattr(table.time, "perf_counter", lambda: clock[0])

    def slowly(*arguments):
        clock[0] += 7.5
        return solve(*arguments)

    monkeypatch.setattr(table, "fit_exactly", slowly)
    _, report = fit(data / "wave.csv", "--period", "6.283185307179586", "--network", "linear",
                    tiny=())  # fmt: skip
    assert report["stop_reason"] == "solved"
    assert report["seconds"] == 7.5


def test_a_table_far_from_zero_keeps_its_shape(fit, run):
    """Values 1e7 ± 1 through fit, evaluate, render and predict: float32 would round them to 1."""
    t = np.arange(400) / 100
    for name, offset in (("near", 0.0), ("far", 1e7)):
        y = offset + np.sin(2 * np.pi * t)
        rows = [f"{a!r},{b!r}" for a, b in zip(t.tolist(), y.tolist(), strict=True)]
        Path(f"{name}.csv").write_text("\n".join(["t,v", *rows]) + "\n")
        steps = ("--steps", "150", "--hidden-dim", "32", "--device", "cpu")
        fit(f"{name}.csv", "--period", "1", out=name, tiny=steps)
        found = json.loads(run("evaluate", name, f"{name}.csv", "--json").out)["rmse"]
        report = json.loads(Path(name, "report.json").read_text())["metrics"]["rmse"]
        _, made = columns(Path(name, "reconstruction.csv"))
        run("render", name, "-o", f"{name}-again.csv", "--size", "400")
        _, again = columns(f"{name}-again.csv")
        rendered = np.sqrt(np.square(again[:, 1] - y).mean())
        shown = np.sqrt(np.square(made[:, 2] - y).mean())
        assert [found, rendered, shown] == pytest.approx([report] * 3, rel=1e-3)
        if name == "near":
            near = report
    assert report == pytest.approx(near, rel=0.01)
    assert report < 0.05
