"""Fits of tables with dates, units, weights and a trend, from the command line."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest

import coordnet as cn
from coordnet.runs import fit_file

PERIODIC = ("--steps", "150", "--hidden-dim", "32", "--layers", "1", "--device", "cpu")


@contextlib.contextmanager
def no_figures():
    """Draw nothing: a figure takes as long as such a fit."""
    with pytest.MonkeyPatch.context() as patch:
        for where in ("runs.fit.save_curve", "series.outputs.save_signal"):
            patch.setattr(f"coordnet.{where}", lambda *a, **k: None)
        yield


def rows_of(path):
    lines = Path(path).read_text().splitlines()
    return lines[0].split(","), [line.split(",") for line in lines[1:]]


def days(number, *, start="2010-01-01", step=1):
    return np.datetime64(start) + step * np.arange(number)


def dated(name, moments, **columns):
    values = [map(repr, np.asarray(column).tolist()) for column in columns.values()]
    cells = zip(moments, *values, strict=True)
    head = ",".join(["time", *columns])
    Path(name).write_text("\n".join([head, *(",".join(map(str, row)) for row in cells)]) + "\n")
    return Path(name)


def test_dates_are_fitted_rendered_and_evaluated(run, fit):
    t = np.arange(96)
    moments = np.datetime64("2010-03-01T00:00") + t.astype("m8[h]")
    dated("hours.csv", moments, temp=np.cos(t * np.pi / 12), load=t % 24)
    found, report = fit("hours.csv", "--period", "24h", tiny=PERIODIC)
    assert "96 rows of temp, load over time (h since 2010-01-01T00:00:00)" in found.out
    assert "counted in h since 2010-01-01T00:00:00" in found.out
    assert "span 4 periods of 24 h" in found.out
    assert report["input"]["time"] == {"unit": "h", "origin": "2010-01-01T00:00:00"}
    assert report["input"]["periods"] == [24.0]
    assert report["options"]["periods"] == ["24h"]
    names, rows = rows_of("run/reconstruction.csv")
    assert names[:3] == ["time", "temp", "temp fit"]
    assert [row[0] for row in rows[:2]] == ["2010-03-01T00:00:00", "2010-03-01T01:00:00"]
    assert [float(row[1]) for row in rows] == np.cos(t * np.pi / 12).tolist()

    found = run("render", "run", "-o", "fine.csv", "--size", "191")
    assert "from 2010-03-01T00:00:00 to 2010-03-04T23:00:00" in found.out
    fine = cn.series.read_table("fine.csv")
    assert np.allclose(np.diff(fine.x), 0.5, rtol=0, atol=1e-11)
    found = run("evaluate", "run", "hours.csv", "--json")
    judged = json.loads(found.out)
    assert judged["rmse"] == pytest.approx(report["metrics"]["rmse"], rel=1e-6)
    assert judged["weighted"] is False


def test_a_file_of_another_year_is_evaluated_on_the_runs_axis(run, fit, refused):
    t = np.arange(48)
    for name, year in (("a.csv", 2010), ("b.csv", 2012)):
        moments = np.datetime64(f"{year}-01-01T00:00") + t.astype("m8[h]")
        dated(name, moments, v=np.sin(t * np.pi / 12))
    _, report = fit("a.csv", "--period", "24h", tiny=PERIODIC)
    found = json.loads(run("evaluate", "run", "b.csv", "--json").out)
    assert found["rmse"] == pytest.approx(report["metrics"]["rmse"], rel=1e-4)
    dated("utc.csv", ["2010-01-01T00:00Z"], v=[1.0])
    refused("evaluate", "run", "utc.csv", words=["no offset", "2010-01-01T00:00Z"])
    dated("numbers.csv", ["7"], v=[1.0])
    refused("evaluate", "run", "numbers.csv", words=["must be dates"])
    dated("minutes.csv", (t * 60).tolist(), v=np.sin(t * np.pi / 12))
    found = json.loads(run("evaluate", "run", "minutes.csv", "--json", "--unit", "min").out)
    assert found["rmse"] == pytest.approx(report["metrics"]["rmse"], rel=1e-4)


def test_offsets_are_utc_across_the_change_of_clocks(fit):
    moments = ["2010-10-31T02:00+02:00", "2010-10-31T02:00+01:00", "2010-10-31T03:00+01:00"]
    dated("dst.csv", moments, v=[0.0, 1.0, 2.0])
    found, _ = fit("dst.csv")
    assert "UTC" in found.out
    _, rows = rows_of("run/reconstruction.csv")
    times = ["2010-10-31T00:00:00Z", "2010-10-31T01:00:00Z", "2010-10-31T02:00:00Z"]
    assert [row[0] for row in rows] == times


@pytest.mark.parametrize(
    ("unit", "factor", "periods"),
    [("h", 1.0, ["24h"]), ("h", 1.0, ["1d"]), ("h", 1.0, ["24"]), ("d", 1 / 24, ["24h"])],
)
def test_a_unit_gives_periods_theirs(fit, table, unit, factor, periods):
    t = np.arange(64.0)
    table("t.csv", t=t * factor, v=np.sin(t))
    options = [text for period in periods for text in ("--period", period)]
    found, report = fit("t.csv", "--unit", unit, *options)
    assert report["input"]["periods"] == [24.0 * factor]
    assert report["input"]["time"] == {"unit": unit, "origin": None}
    assert f"rows of v over t ({unit})" in found.out
    assert report["warnings"] == []


def test_periods_with_units_are_refused_for_plain_numbers(refused, table):
    table("t.csv", t=np.arange(9.0), v=np.arange(9.0))
    refused("fit", "t.csv", "--period", "24h", words=["--unit h", "'24h'"])
    refused("fit", "t.csv", "--unit", "fortnight", words=["'fortnight'", "wk, yr"])
    refused("fit", "t.csv", "--period", "24 parsec", words=["argument --period", "'parsec'"])
    refused("fit", "t.csv", "--trend", words=["--trend", "--period"])
    linear = ("--period", "4", "--network", "linear", "--set", "k=2")
    refused("fit", "t.csv", *linear, words=["--network linear", "--set k=2"])
    refused("fit", "t.csv", "--preset", "fast", words=["--preset", "belongs to", "a table"])
    refused("fit", "t.csv", "--weights", "v", "--error", "v", words=["error", "weights"])
    refused("fit", "t.csv", "--weights", "w", words=["weights='w'", "'t', 'v'"])


@pytest.mark.parametrize("option", ["--trend", "--unit h", "--weights v", "--error v"])
def test_options_of_tables_mean_nothing_for_pictures(refused, picture, pixels, option):
    picture("p.png", pixels(4, 5))
    refused("fit", "p.png", *option.split(), words=[option.split()[0], "picture"])


def noisy():
    """A sine of period 8; every third sample is 5 too high and has a large error."""
    t = np.arange(64.0)
    poor = np.arange(64) % 3 == 0
    v = np.sin(t * np.pi / 4) + 5.0 * poor
    return t, v, np.where(poor, 50.0, 0.05)


def test_errors_weigh_the_fit(fit, table):
    t, v, e = noisy()
    table("e.csv", t=t, v=v, e=e)
    found, report = fit("e.csv", "--y", "v", "--error", "e", "--period", "8", tiny=PERIODIC)
    assert "weighted by 1/e²" in found.out
    assert "PSNR and RMSE weigh all samples alike" in found.out
    assert report["input"]["weights"] == "1/e²"
    _, rows = rows_of("run/reconstruction.csv")
    errors = np.array([float(row[3]) for row in rows])
    good = e < 1
    assert np.abs(errors[good]).max() < 0.2
    assert np.abs(errors[~good]).min() > 4
    metrics = report["metrics"]
    weights = 1 / e**2
    assert metrics["weighted"] is False
    assert metrics["rmse"] == pytest.approx(np.sqrt(np.mean(errors**2)), rel=1e-6)
    expected = np.sqrt(np.sum(weights * errors**2) / np.sum(weights))
    assert metrics["weighted_rmse"] == pytest.approx(expected, rel=1e-9)
    assert metrics["chi2_per_value"] == pytest.approx(np.mean((errors / e) ** 2), rel=1e-9)


def test_weights_are_those_of_the_errors_but_for_their_scale(fit, table):
    t, v, e = noisy()
    table("w.csv", t=t, v=v, e=e, w=7e5 / e**2)
    reports = [
        fit("w.csv", "--y", "v", *options, "--period", "8", tiny=PERIODIC, out=options[1])[1]
        for options in (["--error", "e"], ["--weights", "w"])
    ]
    assert reports[0]["metrics"]["rmse"] == pytest.approx(reports[1]["metrics"]["rmse"], rel=1e-4)
    assert "chi2_per_value" not in reports[1]["metrics"]
    assert reports[1]["input"]["weights"] == "w"
    _, plain = fit("w.csv", "--y", "v", "--period", "8", tiny=PERIODIC, out="plain")
    assert plain["metrics"]["rmse"] < 0.85 * reports[0]["metrics"]["rmse"]
    assert "weighted_rmse" not in plain["metrics"]


def test_an_error_of_zero_is_named(refused, table):
    table("z.csv", t=[0.0, 1, 2], v=[1.0, 2, 3], e=[1.0, 0.0, 1.0])
    refused("fit", "z.csv", "--error", "e", words=["z.csv", "line 3, column 'e'", "above 0"])


def test_a_row_without_one_of_its_values_is_dropped_and_said(fit):
    Path("two.csv").write_text("t,a,b\n0,1,2\n1,,3\n2,4,5\n")
    found, report = fit("two.csv", "--y", "a", "--y", "b")
    assert "1 row dropped" in found.out
    assert "lacks only some of the values" in found.out
    assert report["input"]["samples"] == 2


@pytest.fixture(scope="module")
def co2(tmp_path_factory):
    """The weekly CO₂ up to 1991, fitted with a trend in half of the steps."""
    folder = tmp_path_factory.mktemp("co2")
    lines = (Path(__file__).parents[2] / "data/co2.csv").read_text().splitlines()
    kept = [line for line in lines if line < "1992" or line.startswith("date")]
    (folder / "co2.csv").write_text("\n".join(kept) + "\n")
    options = {
        "periods": ("1yr",),
        "trend": True,
        "steps": 1000,
        "device": "cpu",
        "out": folder / "run",
    }
    with no_figures():
        result = fit_file(folder / "co2.csv", options)
    return folder / "run", result


def test_co2_is_one_command(co2, report):
    folder, result = co2
    assert result.rmse < 0.7  # a straight line with four harmonics leaves 1.62, a cubic 0.51
    about = report(folder)["input"]
    assert (about["periods"], about["trend"]) == ([365.25], True)


def test_a_trend_goes_on_beyond_the_data_and_the_season_with_it(co2):
    from coordnet.runs import predict_run

    folder, _ = co2
    table = cn.series.read_table(Path(__file__).parents[2] / "data/co2.csv")
    beyond = table.x > 34 * 365.25
    found = predict_run(folder, table.time.texts(table.x[beyond]))[:, 0]
    assert np.sqrt(np.mean((found - table.y[beyond, 0]) ** 2)) < 4.0
    far = days(365 * 30, start="1992-01-01").astype(str).tolist()
    curve = predict_run(folder, far)[:, 0]
    years = curve.reshape(30, 365)
    growth = np.diff(years.mean(axis=1))
    assert (growth > 0.5).all()
    assert (growth < 3.0).all()
    assert np.ptp(growth[5:]) < 0.25  # straight
    assert (np.ptp(years - np.linspace(0, 1, 365) * growth.mean(), axis=1) > 4).all()
    assert (np.ptp(years - np.linspace(0, 1, 365) * growth.mean(), axis=1) < 16).all()


def test_without_a_trend_it_does_not_drift(fit):
    dated("flat.csv", days(80, step=7), v=np.arange(80) % 9)
    _, report = fit("flat.csv", "--period", "9wk")
    assert report["input"]["trend"] is False
    assert report["input"]["periods"] == [63.0]
