"""Tables whose positions are dates or have a unit, and the axis they are put on."""

import datetime as dt
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from coordnet.series import UNITS, TimeAxis, read_table, write_table
from coordnet.series.reading.positions import positions_on
from coordnet.series.reading.time_axis import scaled

DATA = Path(__file__).parents[2] / "data"
ORIGIN = "2010-01-01T00:00:00"


def dated(moments, values=None):
    values = range(len(moments)) if values is None else values
    return "time,v\n" + "".join(f"{m},{v}\n" for m, v in zip(moments, values, strict=True))


def noted(table, word):
    return any(word in note for note in table.notes)


class TestAxisOfDates:
    @pytest.mark.parametrize(
        ("moments", "axis", "x"),
        [
            (["2010-03-01", "2010-03-08", "2010-03-15"], f"d since {ORIGIN}", [59, 66, 73]),
            (["2010-01-01T06:00", "2010-01-01T07:30"], f"h since {ORIGIN}", [6, 7.5]),
            (["2010-01-02 00:00:00", "2010-01-02 00:10:00"], f"h since {ORIGIN}", [24, 24 + 1 / 6]),
            (["2010-01-01T06:00", "2010-03-01T18:00"], f"d since {ORIGIN}", [0.25, 59.75]),
            (["2010-05-02T00:00:01.5", "2010-05-02T00:00:02"],
             "s since 2010-05-02T00:00:00", [1.5, 2]),
            (["2010-02", "2010-03"], f"d since {ORIGIN}", [31, 59]),
            (["2010-01-01T01:00+01:00", "2010-01-01T01:00Z"], f"h since {ORIGIN}Z", [0, 1]),
            (["2010-01-01T00:30+01:00", "2010-01-01T01:00Z"],
             "h since 2009-01-01T00:00:00Z", [8759.5, 8761]),
            (["2010-07-04"], f"d since {ORIGIN}", [184]),
        ],
    )  # fmt: skip
    def test_the_usual_unit_and_origin(self, csv, moments, axis, x):
        table = read_table(csv(dated(moments)))
        assert str(table.time) == axis
        assert table.x.tolist() == x
        assert table.time.dated
        assert noted(table, axis)

    @pytest.mark.parametrize(
        ("unit", "x"),
        [
            *(("s", 43_200), ("min", 720), ("h", 12 + 31 * 24), ("d", 31.5), ("wk", 4.5)),
            ("yr", 31.5 / 365.25),
        ],
    )
    def test_a_unit_that_is_asked_for(self, csv, unit, x):
        table = read_table(csv(dated(["2010-02-01T12:00"])), unit=unit)
        assert table.time.unit == unit
        assert table.x.tolist() == [x]

    def test_numbers_are_the_nearest_to_the_exact_ones(self, csv):
        rng = np.random.default_rng(0)
        start = dt.datetime(1999, 1, 1)
        moments = [
            start + dt.timedelta(microseconds=int(n)) for n in np.sort(rng.integers(0, 10**16, 200))
        ]
        path = csv(dated([m.isoformat() for m in moments]))
        for unit in UNITS:
            table = read_table(path, unit=unit)
            origin = dt.datetime.fromisoformat(str(table.time.origin))
            for number, moment in zip(table.x.tolist(), moments, strict=True):
                exact = Fraction((moment - origin) // dt.timedelta(microseconds=1)) * 1000
                assert number == float(exact / UNITS[unit])

    def test_nanoseconds_are_kept_within_a_day(self, csv):
        moments = ["2010-12-31T23:59:59.123456789", "2010-12-31T23:59:59.123456790"]
        table = read_table(csv(dated(moments)))
        assert table.time == TimeAxis("s", "2010-12-31T00:00:00")
        assert table.time.texts(table.x) == [moments[0], moments[1].rstrip("0")]

    def test_clocks_set_forward_and_back_are_told_apart_by_offsets(self, csv):
        moments = ["2010-10-31T02:30+02:00", "2010-10-31T02:30+01:00", "2010-10-31T03:30+01:00"]
        table = read_table(csv(dated(moments)))
        assert np.diff(table.x).tolist() == [1, 1]
        assert not noted(table, "repeat")
        table = read_table(csv(dated([m[:16] for m in moments])))
        assert np.diff(table.x).tolist() == [0, 1]
        (note,) = (note for note in table.notes if "repeats" in note)
        assert "2010-10-31T02:30:00" in note
        assert "set back in autumn" in note

    def test_a_naive_clock_has_24_hours_and_says_so(self, csv):
        table = read_table(csv(dated(["2010-03-27T12:00", "2010-03-28T12:00"])), unit="h")
        assert np.diff(table.x).tolist() == [24]
        assert noted(table, "24 hours every day")
        assert not noted(read_table(csv(dated(["2010-03-27"]))), "24 hours")
        aware = read_table(csv(dated(["2010-03-27T12:00+01:00", "2010-03-28T12:00+02:00"])))
        assert np.diff(aware.x).tolist() == [23]
        assert noted(aware, "UTC")

    def test_shuffled_missing_and_equal_dates(self, csv):
        content = "when,v\n2010-01-03,3\n,9\n2010-01-01,1\nNA,9\n2010-01-03,4\n2010-01-02,\n"
        table = read_table(csv(content))
        assert table.x.tolist() == [0, 2, 2]
        assert table.y[:, 0].tolist() == [1, 3, 4]
        notes = " ".join(table.notes)
        assert "3 rows dropped" in notes
        assert "sorted" in notes
        assert "first at 2010-01-03" in notes

    def test_other_forms_of_files(self, csv):
        for content in (
            "\ufefftime;v\r\n2010-01-02 12:00;0,5\r\n2010-01-03 12:00;1,5\r\n",
            "2010-01-02T12:00\t0.5\n2010-01-03T12:00\t1.5\n",
            '"time","v"\n"2010-01-02 12:00:00,000",0.5\n"2010-01-03 12:00:00,000",1.5\n',
            "# logger 7\ntime|v\n2010-01-02T12:00|0.5\n2010-01-03T12:00|1.5\n",
        ):
            table = read_table(csv(content))
            assert table.x.tolist() == [1.5, 2.5]
            assert table.y[:, 0].tolist() == [0.5, 1.5]

    def test_a_first_row_of_dates_is_no_header(self, csv, refusal):
        table = read_table(csv("2010-01-01,1\n2010-01-02,2\n"))
        assert table.y[:, 0].tolist() == [1, 2]
        assert noted(table, "no header")
        text = refusal(read_table, csv("2010-01-01,oops\n2010-01-02,2\n"))
        assert "line 1, column 'y': 'oops'" in text
        table = read_table(csv("time,2010\n2010-01-01,1\n2010-01-02,2\n"))
        assert table.y_names == ("2010",)
        assert len(table.x) == 2

    def test_co2_by_the_week(self):
        table = read_table(DATA / "co2.csv")
        assert table.time == TimeAxis("d", "1958-01-01T00:00:00")
        assert set(np.diff(table.x).tolist()) <= set(range(7, 200, 7))
        assert (table.x_name, table.y_names, len(table.x)) == ("date", ("co2",), 2225)
        assert table.time.texts(table.x[[0, -1]]) == ["1958-03-29", "2001-12-29"]


class TestDatesAndClocks:
    MOMENTS = ("2010-01-02T06:00:00", "2010-01-02T06:30:00")

    @pytest.mark.parametrize(
        ("content", "name"),
        [
            ("date,clock,v\n2010-01-02,06:00,1\n2010-01-02,06:30,2\n", "date clock"),
            ("date;clock;v\n2010-01-02;06:00:00;1,0\n2010-01-02;06:30:00;2,0\n", "date clock"),
            ("2010-01-02,06:00,1\n2010-01-02,06:30,2\n", "x"),
            ("time v\n2010-01-02 06:00 1\n2010-01-02 06:30 2\n", "time"),
            ("day hour v\n2010-01-02 06:00:00 1\n2010-01-02 06:30:00.0 2\n", "day hour"),
            ("2010-01-02 06:00 1\n2010-01-02 06:30 2\n", "x"),
        ],
    )
    def test_two_columns_make_one_time(self, csv, content, name):
        table = read_table(csv(content))
        assert table.time.texts(table.x) == list(self.MOMENTS)
        assert table.y[:, 0].tolist() == [1, 2]
        assert table.x_name == name
        assert noted(table, "taken together")

    def test_offsets_and_missing_cells(self, csv):
        content = (
            "n,date,utc,v\n1,2010-01-02,06:00Z,5\n2,,07:00Z,6\n3,2010-01-02,NA,7\n"
            "4,2010-01-02,09:00Z,8\n"
        )
        table = read_table(csv(content), x="date utc", y="v")
        assert table.y[:, 0].tolist() == [5, 8]
        assert table.time.origin == "2010-01-01T00:00:00Z"
        assert noted(table, "2 rows dropped")

    def test_a_clock_that_stands_elsewhere_is_left_alone(self, csv):
        table = read_table(csv("date,v,clock\n2010-01-02,1,06:00\n2010-01-03,2,06:30\n"))
        assert table.time.unit == "d"
        assert table.y_names == ("v",)
        assert noted(table, "'clock'")

    def test_rows_of_other_lengths_are_named_all_the_same(self, csv, refusal):
        text = refusal(read_table, csv("time v\n2010-01-02 06:00 1\n2010-01-02 2\n"))
        assert "line 3" in text
        text = refusal(read_table, csv("2010-01-02 2\n2010-01-02 06:00 1\n2010-01-02 06:30 1\n"))
        assert "line 1" in text


class TestRefusals:
    @pytest.mark.parametrize(
        ("moments", "words"),
        [
            (["2010-01-01", "02.01.2010"], ["line 3, column 'time': '02.01.2010'", "ISO 8601"]),
            (["2010-01-01", "2010-02-30"], ["line 3, column 'time': '2010-02-30'", "no such date"]),
            (["2010-01-01", "17"], ["line 3, column 'time': '17'", "ISO 8601"]),
            (["2010-01-01", "soon"], ["line 3, column 'time': 'soon'"]),
            (["17", "2010-01-01"], ["line 3, column 'time': '2010-01-01'", "--x"]),
            (["2010-01-01T00:00Z", "2010-01-01T01:00"],
             ["line 3, column 'time': '2010-01-01T01:00' and line 2, column 'time'", "offset"]),
            (["2010-01-01T00:00", "2010-01-01T01:00+01:00"], ["line 2", "and line 3", "offset"]),
            (["2016-12-31T23:59:60Z"], ["leap second"]),
        ],
    )  # fmt: skip
    def test_lines_are_named(self, csv, moments, words, refusal):
        text = refusal(read_table, csv(dated(moments)))
        for word in words:
            assert word in text

    def test_a_date_far_down(self, csv, refusal):
        moments = ["2010-01-01"] * 9000 + ["2010-01-01T00:00Z"]
        assert "line 9002" in refusal(read_table, csv(dated(moments)))

    def test_dates_as_values(self, csv, refusal):
        text = refusal(read_table, csv("t,v\n0,2010-01-01\n"), y="v")
        assert "column of positions" in text

    def test_a_column_of_dates_is_left_out_of_the_values(self, csv):
        table = read_table(csv("t,d,e,v\n0,1.2.2010,2010-01-01,5\n"))
        assert table.y_names == ("v",)
        assert noted(table, "'d', 'e'")

    def test_an_unknown_unit(self, csv, refusal):
        for content in (dated(["2010-01-01"]), "t,v\n0,1\n"):
            assert "'parsec'" in refusal(read_table, csv(content), unit="parsec")


class TestAnotherTablesAxis:
    DATES = TimeAxis("h", ORIGIN)
    UTC = TimeAxis("h", ORIGIN + "Z")
    HOURS = TimeAxis("h")
    PLAIN = TimeAxis()

    @pytest.mark.parametrize(
        ("axis", "moments", "unit", "x"),
        [
            (DATES, ["2009-12-31", "2010-01-02T00:00:01.8"], None, [-24, 24.0005]),
            (UTC, ["2010-01-01T02:00+01:00"], None, [1]),
            (DATES, ["90", "0.5"], "min", [0.5 / 60, 1.5]),
            (HOURS, ["90", "5"], "min", [5 / 60, 1.5]),
            (HOURS, ["2"], "d", [48]),
            (HOURS, ["2"], "h", [2]),
            (HOURS, ["2.5"], None, [2.5]),
            (PLAIN, ["2.5"], None, [2.5]),
        ],
    )
    def test_positions_are_put_on_it(self, csv, axis, moments, unit, x):
        table = read_table(csv(dated(moments)), time=axis, unit=unit)
        assert table.time == axis
        assert table.x.tolist() == x
        numbers = [float(m) for m in moments] if unit or not axis.dated else moments
        assert sorted(positions_on(axis, numbers, unit).tolist()) == x

    @pytest.mark.parametrize(
        ("axis", "moments", "unit", "words"),
        [
            (DATES, ["17"], None, ["must be dates", ORIGIN]),
            (HOURS, ["2010-01-01"], None, ["numbers in h"]),
            (PLAIN, ["2010-01-01"], None, ["plain numbers"]),
            (DATES, ["2010-01-01T00:00Z"], None, ["no offset", "2010-01-01T00:00Z"]),
            (UTC, ["2010-01-01T00:00"], None, ["an offset from UTC"]),
            (DATES, ["2010-01-01"], "h", ["that are numbers"]),
            (PLAIN, ["1"], "h", ["without a known unit"]),
        ],
    )
    def test_what_does_not_belong_on_it(self, csv, axis, moments, unit, words, refusal):
        path = csv(dated(moments))
        numbers = [float(m) if "-" not in m else m for m in moments]
        for text in (
            refusal(read_table, path, time=axis, unit=unit),
            refusal(positions_on, axis, numbers, unit),
        ):
            for word in words:
                assert word in text

    def test_arrays(self):
        days = np.array(["2010-01-01", "2010-01-03"], "datetime64[D]")
        assert positions_on(self.DATES, days).tolist() == [0, 48]
        assert positions_on(self.DATES, days.astype("datetime64[ns]")).tolist() == [0, 48]
        utc = dt.timezone(dt.timedelta(hours=1))
        moments = [dt.datetime(2010, 1, 1, 2, tzinfo=utc)]
        assert positions_on(self.UTC, moments).tolist() == [1]
        assert positions_on(self.DATES, [dt.date(2010, 1, 2)]).tolist() == [24]
        assert positions_on(self.PLAIN, np.array([[1], [2]])).tolist() == [1, 2]
        assert positions_on(self.PLAIN, []).shape == (0,)

    @pytest.mark.parametrize(
        "times",
        [
            *([np.nan], [[1, 2]], 3.0, [True], [None], [1 + 2j], ["x"], [""]),
            np.array(["NaT"], "M8[s]"),
        ],
    )
    def test_arrays_that_are_no_times(self, times, refusal):
        for axis in (self.PLAIN, self.DATES):
            refusal(positions_on, axis, times)


class TestWriting:
    @pytest.mark.parametrize("unit", UNITS)
    @pytest.mark.parametrize("zone", ["", "Z"])
    def test_dates_read_back_as_the_same_numbers(self, tmp_path, unit, zone):
        axis = TimeAxis(unit, ORIGIN + zone)
        rng = np.random.default_rng(3)
        moments = np.sort(rng.integers(-(10**17), 10**17, 100))
        x = np.array([float(Fraction(int(n), UNITS[unit])) for n in moments])
        write_table(tmp_path / "t.csv", {"time": x, "v": x}, time=axis)
        table = read_table(tmp_path / "t.csv", time=axis)
        assert np.array_equal(table.x, x)
        assert np.array_equal(table.y[:, 0], x)

    def test_the_shortest_text(self):
        axis = TimeAxis("h", ORIGIN)
        x = np.array([0, 1 / 6, 24 + 1 / 3, 8784.1, 1 / 7200, -1e-13])
        assert axis.texts(x) == [
            *("2010-01-01T00:00:00", "2010-01-01T00:10:00", "2010-01-02T00:20:00"),
            *("2011-01-02T00:06:00", "2010-01-01T00:00:00.5", "2010-01-01T00:00:00"),
        ]
        assert axis.texts(np.array([0.0, 24])) == ["2010-01-01", "2010-01-02"]
        assert TimeAxis("d", ORIGIN + "Z").texts(np.array([1.0])) == ["2010-01-02T00:00:00Z"]

    def test_beyond_the_calendar(self, refusal):
        for far in (1e7, -1e7, 1e300):
            assert "years 1 to 9999" in refusal(TimeAxis("d", ORIGIN).texts, np.array([0.0, far]))


class TestTimeAxis:
    def test_as_json_and_back(self):
        for axis in (TimeAxis(), TimeAxis("h"), TimeAxis("d", ORIGIN)):
            assert TimeAxis.from_dict(axis.to_dict()) == axis
        assert TimeAxis.from_dict(None) == TimeAxis()
        assert TimeAxis("h").label("t") == "t (h)"
        assert TimeAxis().label("t") == "t"

    @pytest.mark.parametrize(
        "found",
        [
            *({"unit": "parsec"}, {"unit": 3}, {"unit": ["h"]}, {"origin": "2010-01-01"}, "h", 3),
            *({"unit": "h", "origin": "soon"}, {"unit": "h", "origin": 5}),
            {"unit": "h", "origin": []},
        ],
    )
    def test_what_is_no_axis(self, found, refusal):
        refusal(TimeAxis.from_dict, found)

    def test_an_axis_of_numbers_has_no_dates(self, refusal):
        assert "origin" in refusal(TimeAxis("h").texts, np.array([0.0]))


def test_scaling_is_rounded_once(refusal):
    x = np.random.default_rng(0).normal(size=200) * 10.0 ** np.arange(-100, 100)
    for factor in (Fraction(60), Fraction(1, 3600), Fraction(487, 20), Fraction(31557600 * 10**9)):
        exact = [float(Fraction(each) * factor) for each in x.tolist()]
        assert scaled(x, factor).tolist() == exact
    assert scaled(np.empty(0), Fraction(3, 7)).shape == (0,)
    for factor in (Fraction(60), Fraction(487, 20)):
        assert "finite" in refusal(scaled, np.array([0.0, 1e308]), factor)
