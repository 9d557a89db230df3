"""Predictions at given times, from the command line and from Python."""

import contextlib
import datetime as dt
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.errors import InputError
from coordnet.runs import fit_file, predict_run

TINY = {"steps": 20, "hidden_dim": 16, "layers": 1, "device": "cpu"}


def silent(text):
    pass


@contextlib.contextmanager
def no_figures():
    """Draw nothing: a figure takes as long as such a fit."""
    with pytest.MonkeyPatch.context() as patch:
        for where in ("runs.fit.save_curve", "series.outputs.save_signal"):
            patch.setattr(f"coordnet.{where}", lambda *a, **k: None)
        yield


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs over plain numbers, hours, naive dates and UTC, for looking at only."""
    folder = tmp_path_factory.mktemp("predicted")
    t = np.arange(24)
    naive = [str(np.datetime64("2010-01-01T00:00") + np.timedelta64(int(n), "h")) for n in t]
    kinds = {
        "plain": (t / 8, {"periods": (1.0,)}),
        "hours": (t, {"unit": "h", "periods": ("8h",)}),
        "naive": (naive, {"periods": ("8h",)}),
        "utc": ([f"{n}Z" for n in naive], {"periods": ("8h",)}),
        "free": (t, {"unit": "h"}),
        "trend": (t, {"periods": (8.0,), "trend": True}),
    }
    for name, (times, options) in kinds.items():
        lines = [
            f"{x},{math.sin(n)!r},{math.cos(n)!r}" for n, x in zip(t.tolist(), times, strict=True)
        ]
        (folder / f"{name}.csv").write_text("\n".join(["time,a,b", *lines]) + "\n")
        settings = dict(**TINY, **options, out=folder / name)
        with no_figures():
            fit_file(folder / f"{name}.csv", settings)
    return folder


def values(folder, x):
    field = cn.load(folder / "model.safetensors")
    with torch.no_grad():
        return field(torch.as_tensor(x, dtype=torch.float64)[:, None]).double().numpy()


def cells(text):
    return [line.split(",") for line in text.splitlines()]


def test_order_duplicates_and_other_columns_stay(run, runs):
    Path("times.csv").write_text("id,time,note\nb,2.5,x y\na,0.5,\nb,2.5,007\n")
    found = run("predict", runs / "plain", "times.csv")
    assert (found.status, found.err) == (0, "")
    head, *rows = cells(found.out)
    assert head == ["id", "time", "note", "a fit", "b fit"]
    assert [row[:3] for row in rows] == [["b", "2.5", "x y"], ["a", "0.5", ""], ["b", "2.5", "007"]]
    expected = values(runs / "plain", [2.5, 0.5, 2.5])
    assert [[float(c) for c in row[3:]] for row in rows] == expected.tolist()
    returned = predict_run(runs / "plain", "times.csv")
    assert returned.tolist() == expected.tolist()
    assert returned.dtype == np.float64


def test_a_file_is_written_once_and_read_back(run, runs, refused):
    Path("times.csv").write_text("time\n0.25\n0.125\n")
    found = run("predict", runs / "plain", "times.csv", "-o", "out.csv")
    assert found == (0, "wrote out.csv: 2 rows\n", "")
    table = cn.series.read_table("out.csv")
    assert table.y[::-1].tolist() == values(runs / "plain", [0.25, 0.125]).tolist()
    words = ["out.csv", "--overwrite"]
    refused("predict", runs / "plain", "times.csv", "-o", "out.csv", words=words)
    assert run("predict", runs / "plain", "times.csv", "-o", "out.csv", "--overwrite").status == 0
    for output in ("-", None):
        rest = [] if output is None else ["-o", output]
        assert run("predict", runs / "plain", "times.csv", *rest).out == Path("out.csv").read_text()
    refused("predict", runs / "plain", "times.csv", "-o", "no/out.csv", words=["no", "folder"])
    refused("predict", runs / "plain", "times.csv", "-o", ".", words=["folder"])


@pytest.mark.parametrize(
    ("kind", "moments", "x"),
    [
        (
            "naive",
            ["2010-01-01", "2010-01-01 05:30", "2011-01-01T00:00:00.5"],
            [0, 5.5, 8760 + 1 / 7200],
        ),
        ("utc", ["2010-01-01T03:00+01:00", "2010-01-01T00:00Z"], [2, 0]),
    ],
)
def test_dates(run, runs, kind, moments, x):
    Path("times.csv").write_text("\n".join(["time", *moments]) + "\n")
    found = run("predict", runs / kind, "times.csv")
    assert (found.status, found.err) == (0, "")
    rows = cells(found.out)[1:]
    assert [row[0] for row in rows] == moments
    expected = values(runs / kind, x)
    assert [[float(c) for c in row[1:]] for row in rows] == expected.tolist()
    assert predict_run(runs / kind, moments).tolist() == expected.tolist()


def test_dates_and_numbers_of_one_moment_agree(runs):
    hours = [0.0, 5.5, 100.25]
    moments = np.datetime64("2010-01-01T00:00:00") + (3600 * np.array(hours)).astype("m8[s]")
    expected = predict_run(runs / "hours", hours)
    for times in (moments, moments.astype(str), [m.item() for m in moments]):
        assert (
            predict_run(runs / "naive", times).tolist()
            == predict_run(runs / "naive", hours, unit="h").tolist()
        )
    zone = dt.timezone(dt.timedelta(hours=-3))
    aware = [m.item().replace(tzinfo=dt.UTC).astimezone(zone) for m in moments]
    assert predict_run(runs / "utc", aware).shape == expected.shape == (3, 2)


def test_units_are_converted(run, runs, refused):
    Path("minutes.csv").write_text("time\n90\n0\n")
    found = run("predict", runs / "hours", "minutes.csv", "--unit", "min")
    rows = [[float(c) for c in row] for row in cells(found.out)[1:]]
    assert [row[0] for row in rows] == [90, 0]
    assert [row[1:] for row in rows] == values(runs / "hours", [1.5, 0]).tolist()
    found = run("predict", runs / "naive", "minutes.csv", "--unit", "min")
    rows = [[float(c) for c in row] for row in cells(found.out)[1:]]
    assert [row[1:] for row in rows] == values(runs / "naive", [1.5, 0]).tolist()
    words = ["without a known unit"]
    refused("predict", runs / "plain", "minutes.csv", "--unit", "min", words=words)
    refused("predict", runs / "hours", "minutes.csv", "--unit", "m", words=["'m'", "min, h"])


def test_missing_times_keep_their_rows(run, runs):
    Path("times.csv").write_text("time,n\n1,a\n,b\nNA,c\n2,d\n")
    found = run("predict", runs / "plain", "times.csv")
    assert found.err == "note: 2 rows without a time, left empty\n"
    rows = cells(found.out)[1:]
    assert [row[1] for row in rows] == ["a", "b", "c", "d"]
    assert rows[1] == ["", "b", "", ""]
    assert rows[2] == ["NA", "c", "", ""]
    returned = predict_run(runs / "plain", Path("times.csv"))
    assert np.isnan(returned).all(axis=1).tolist() == [False, True, True, False]
    Path("none.csv").write_text("time,n\n,b\n")
    for kind in ("plain", "utc"):
        assert run("predict", runs / kind, "none.csv").out == "time,n,a fit,b fit\n,b,,\n"


def test_files_without_a_header(run, runs, refused):
    Path("bare.csv").write_text("0.5\n0.25\n")
    found = run("predict", runs / "plain", "bare.csv")
    assert (found.status, found.err) == (0, "")
    head, *rows = cells(found.out)
    assert head == ["time", "a fit", "b fit"]
    assert [row[0] for row in rows] == ["0.5", "0.25"]
    Path("wide.csv").write_text("7,0.5\n8,0.25\n")
    refused("predict", runs / "plain", "wide.csv", words=["'time'", "'x', 'y'"], status=2)
    assert cells(run("predict", runs / "plain", "wide.csv", "--x", "1").out)[1][2:] == rows[0][1:]


def test_the_form_of_the_file_stays(run, runs):
    Path("decimal.csv").write_bytes("\ufefftime;n\r\n0,5;\u00e4\r\n1,5;b\r\n".encode())
    found = run("predict", runs / "plain", "decimal.csv")
    assert found.status == 0
    lines = found.out.splitlines()
    assert lines[0] == "time;n;a fit;b fit"
    first = lines[1].split(";")
    assert first[:2] == ["0,5", "\u00e4"]
    # a batch of the same shape: another one's products may round the last bit differently
    expected = values(runs / "plain", [0.5, 1.5])[0].tolist()
    assert [float(cell.replace(",", ".")) for cell in first[2:]] == expected
    Path("back.csv").write_text(found.out)
    assert cn.series.read_table("back.csv").x.tolist() == [0.5, 1.5]
    Path("blanks.txt").write_text("day clock n\n2010-01-01 05:30 1\n2010-01-01 06:00 2\n")
    found = run("predict", runs / "naive", "blanks.txt", "--x", "day clock")
    assert found.out.splitlines()[1].split("\t")[:2] == ["2010-01-01 05:30", "1"]


def test_cells_that_need_quotes_get_them_back(run, runs):
    Path("quoted.csv").write_text('n,time\n"# a, ""b""",1\n"line\nfeed",2\n')
    found = run("predict", runs / "plain", "quoted.csv")
    Path("again.csv").write_text(found.out)
    again = run("predict", runs / "plain", "again.csv")
    assert again.out.splitlines()[0] == "n,time,a fit,b fit,a fit',b fit'"
    assert '"# a, ""b""",1,' in again.out


def test_names_that_are_taken_stay_apart(run, runs):
    Path("taken.csv").write_text("time,a fit,a\n1,5,6\n")
    head, row = cells(run("predict", runs / "plain", "taken.csv").out)
    assert head == ["time", "a fit", "a", "a fit'", "b fit"]
    assert row[:3] == ["1", "5", "6"]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        *(("hours", None), ("plain", None), ("naive", None)),
        *(("free", "nothing is known"), ("trend", "straight")),
    ],
)
def test_times_beyond_the_data_are_said_where_nothing_repeats(run, runs, kind, said):
    times = ["2010-01-01T00:00", "2011-01-01T00:00"] if kind == "naive" else ["0", "100", "-1"]
    Path("far.csv").write_text("\n".join(["time", *times]) + "\n")
    found = run("predict", runs / kind, "far.csv")
    assert found.status == 0
    if said is None:
        assert found.err == ""
    else:
        assert f"2 of 3 times beyond 0{' h' if kind == 'free' else ''} to 23" in found.err
        assert said in found.err


def test_the_fit_repeats_bit_for_bit(runs):
    t = np.arange(24) / 8
    assert np.array_equal(predict_run(runs / "plain", t), predict_run(runs / "plain", t + 1024))


@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        ("plain", "t\n1\n", ["'time'", "'t'"]),
        ("plain", "time\n1\nsoon\n", ["line 3, column 'time': 'soon'"]),
        ("plain", "time\n1\ninf\n", ["line 3", "'inf'"]),
        ("plain", "time,n\n1\n", ["line 2", "as many cells"]),
        ("plain", "time\n", ["at least one time"]),
        ("plain", "", ["0 bytes"]),
        ("plain", "time\n2010-01-01\n", ["plain numbers", "times.csv"]),
        ("hours", "time\n2010-01-01\n", ["numbers in h"]),
        ("naive", "time\n7\n", ["must be dates", "2010-01-01T00:00:00"]),
        ("naive", "time\n2010-01-01T00:00Z\n", ["no offset", "line 2"]),
        ("utc", "time\n2010-01-01T00:00\n", ["an offset from UTC", "line 2"]),
        ("naive", "time\n2010-01-01\n1.2.2010\n", ["line 3", "ISO 8601"]),
    ],
)
def test_times_that_do_not_belong_to_the_run(refused, runs, kind, content, words):
    Path("times.csv").write_text(content)
    refused("predict", runs / kind, "times.csv", words=words)
    refused("predict", runs / kind, "times.csv", "-o", "out.csv", words=words)


def test_runs_of_other_kinds(refused, fitted, runs):
    Path("times.csv").write_text("time\n1\n")
    refused("predict", fitted / "run", "times.csv", words=["table", "picture", "coordnet render"])
    refused("predict", "nowhere", "times.csv", words=["nowhere"])
    refused("predict", runs / "plain", "no.csv", words=["no.csv", "no such file"])
    encoding = cn.FourierFeatures(1, k=2)
    cn.save(cn.Field(encoding, cn.MLP(encoding.out_dim, 1, 8, 1)), "own.safetensors")
    refused("predict", "own.safetensors", "times.csv", words=["coordnet.load"])


@pytest.mark.parametrize(
    "change",
    [
        *({"range": None}, {"range": [1]}, {"range": [2, 1]}, {"range": ["a", "b"]}),
        *({"y_names": None}, {"y_names": []}, {"y_names": [1, 2]}, {"y_names": ["a"]}),
        *({"x_name": 3}, {"samples": -1}, {"samples": "many"}, {"periods": 3}, {"periods": ["x"]}),
        *({"time": 3}, {"time": {"unit": "q"}}, {"time": {"unit": "h", "origin": "soon"}}),
        {"range": [float("1e400"), 0]},
    ],
)
def test_models_with_other_settings_are_refused(refused, runs, change):
    Path("times.csv").write_text("time\n1\n")
    field = cn.load(runs / "plain/model.safetensors")
    about = json.loads((runs / "plain/report.json").read_text())["input"]
    settings = {"task": "table", "input": {**about, **change}}
    cn.save(field, "odd.safetensors", settings)
    refused("predict", "odd.safetensors", "times.csv", words=["got"])
    refused("evaluate", "odd.safetensors", runs / "plain.csv", words=["got"])


def test_arrays_want_no_output_and_no_nan(runs):
    with pytest.raises(InputError, match="array"):
        predict_run(runs / "plain", [1.0], Path("out.csv"))
    with pytest.raises(InputError, match=r"times\[1\]"):
        predict_run(runs / "plain", [1.0, np.nan])
    assert predict_run(runs / "plain", []).shape == (0, 2)
    assert not Path("out.csv").exists()


def test_bounded_pieces_are_put_together_in_order(run, runs):
    x = np.random.default_rng(0).permutation(20_000) / 1000
    Path("many.csv").write_text("time\n" + "".join(f"{each!r}\n" for each in x.tolist()))
    assert run("predict", runs / "plain", "many.csv", "-o", "out.csv").status == 0
    rows = np.loadtxt("out.csv", delimiter=",", skiprows=1)
    assert np.array_equal(rows[:, 0], x)
    # pieces of other shapes: float32 products may round the last bit differently
    np.testing.assert_allclose(rows[:, 1:], values(runs / "plain", x), rtol=1e-5, atol=1e-6)


def test_in_a_process_of_its_own(process, runs, tmp_path):
    (tmp_path / "times.csv").write_text("time,n\n1,a\n,b\n")
    done = process("predict", runs / "plain", "times.csv")
    assert done.returncode == 0
    assert done.stderr == "note: 1 row without a time, left empty\n"
    assert [line[:3] for line in done.stdout.splitlines()] == ["tim", "1,a", ",b,"]


def test_slopes_are_those_of_the_fit(run, runs):
    Path("times.csv").write_text("time\n2.3\n\n5.1\n")
    found = run("predict", runs / "hours", "times.csv", "--derivative")
    assert found.status == 0
    assert "slopes are per h" in found.err
    head, *rows = cells(found.out)
    assert head == ["time", "a fit", "b fit", "a slope", "b slope"]
    shown = np.array([[float(c) for c in row] for row in rows])
    with torch.no_grad():  # central differences of the same field in float64
        field = cn.load(runs / "hours" / "model.safetensors").double()
        at = torch.tensor([[2.3], [5.1]], dtype=torch.float64)
        slope = (field(at + 1e-5) - field(at - 1e-5)) / 2e-5
    np.testing.assert_allclose(shown[:, 3:], slope.numpy(), rtol=1e-3, atol=1e-4)
    both = predict_run(runs / "hours", [2.3, 5.1], derivative=True)
    assert both.tolist() == shown[:, 1:].tolist()
    assert predict_run(runs / "hours", [], derivative=True).shape == (0, 4)
