import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from coordnet.errors import InputError
from coordnet.series.reading.tables import read_table, write_table
from coordnet.series.sampling import (
    describe_periods,
    grid_step,
    nyquist_harmonic,
    nyquist_warning,
    uniform_step,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def csv(tmp_path):
    """Write bytes or text to a file and return its path."""

    def write(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def error(path, **options):
    with pytest.raises(InputError) as caught:
        read_table(path, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert str(path.name) in text
    assert caught.value.remedy in text
    return text


def rows(table):
    return np.column_stack([table.x, table.y]).tolist()


THREE = [[0.0, 2.5], [0.5, 3.0], [1.0, -1e3]]
PLAIN = "t,v\n0,2.5\n0.5,3\n1,-1e3\n"


class TestForms:
    @pytest.mark.parametrize(
        "content",
        [
            PLAIN,
            b"\xef\xbb\xbf" + PLAIN.encode(),
            PLAIN.encode("utf-16"),
            b"\xfe\xff" + PLAIN.encode("utf-16-be"),
            PLAIN.encode("utf-32"),
            PLAIN.replace("\n", "\r\n"),
            PLAIN.replace("\n", "\r"),
            PLAIN.rstrip("\n"),
            PLAIN.replace(",", "\t"),
            PLAIN.replace(",", ";"),
            PLAIN.replace(",", "|"),
            PLAIN.replace(",", "   "),
            "  t   v\n  0   2.5\n  0.5\t3 \n  1  -1e3\n",
            PLAIN.replace(",", " , "),
            PLAIN.replace(",", ";").replace(".", ","),
            PLAIN.replace(",", "\t").replace(".", ","),
            PLAIN.replace(",", " ").replace(".", ",").replace("-1e3", "-1000,0"),
            PLAIN + "\x1a",
            "sep=;\n" + PLAIN.replace(",", ";"),
            "sep=\t\n" + PLAIN.replace(",", "\t"),
            '"t","v"\n"0","2.5"\n"0.5","3"\n"1","-1e3"\n',
            "\n\n" + PLAIN.replace("\n", "\n\n  \n"),
            '# made by 5" of tape, and more\n#;;;\n' + PLAIN.replace("1,", "# half\n1,"),
        ],
    )
    def test_the_same_table_in_every_form(self, csv, content):
        table = read_table(csv(content))
        assert rows(table) == THREE
        assert (table.x_name, table.y_names) == ("t", ("v",))
        assert table.x.dtype == table.y.dtype == np.float64
        assert table.y.shape == (3, 1)

    def test_a_plain_file_has_no_notes(self, csv):
        assert read_table(csv(PLAIN)).notes == ()

    def test_first_row_without_a_header_is_kept(self, csv):
        table = read_table(csv("0,1\n1,2\n2,3\n"))
        assert rows(table) == [[0, 1], [1, 2], [2, 3]]
        assert (table.x_name, table.y_names) == ("x", ("y",))
        assert any("no header" in note for note in table.notes)

    @pytest.mark.parametrize("first", ["0,", "0,nan", "nan,NaN", ","])
    def test_first_row_with_missing_cells_is_counted_not_taken_as_header(self, csv, first):
        table = read_table(csv(f"{first}\n1,2\n2,3\n"))
        assert rows(table) == [[1, 2], [2, 3]]
        assert any("1 row dropped" in n and "line 1)" in n for n in table.notes)

    def test_first_row_with_a_bad_cell_is_an_error(self, csv):
        text = error(csv("0,oops\n1,2\n2,3\n"))
        assert "line 1, column 'y': 'oops'" in text

    def test_header_of_years(self, csv):
        table = read_table(csv("hour,2010,2011\n0,4.5,3.5\n1,4,3\n"))
        assert table.y_names == ("2010", "2011")
        assert rows(table) == [[0, 4.5, 3.5], [1, 4, 3]]
        assert any("2010, 2011" in note for note in table.notes)

    def test_no_header_with_many_columns(self, csv):
        table = read_table(csv("0,1,2\n1,2,3\n"))
        assert table.y_names == ("y1", "y2")
        assert read_table(csv("0,1,2\n1,2,3\n"), y="y2").y.tolist() == [[2], [3]]

    def test_decimal_commas(self, csv):
        table = read_table(csv("0,5;2,5\n1,5;-,5\n"))
        assert rows(table) == [[0.5, 2.5], [1.5, -0.5]]
        assert any("'0,5' is read as 0.5" in note for note in table.notes)
        assert rows(read_table(csv("0,5 2,5\n1,5 -0,5\n"))) == rows(table)
        assert not any("thousands" in note for note in table.notes)

    def test_a_comma_that_may_separate_thousands_is_read_as_decimal_and_said(self, csv):
        table = read_table(csv("1,234;5\n2,345;6\n"))
        assert table.x.tolist() == [1.234, 2.345]
        assert any("1.234" in note and "thousands" in note for note in table.notes)

    @pytest.mark.parametrize(
        ("content", "named"),
        [
            ("1,234;0.5\n", "line 1, column 'x': '1,234' and line 1, column 'y': '0.5'"),
            ("0;0.5\n1;2\n3;0,5\n", "line 3, column 'y': '0,5' and line 1, column 'y': '0.5'"),
            ("0;0,5\n1;1,234,567\n", "line 2, column 'y': '1,234,567'"),
            ("0;0,5\n1;1.234,5\n", "line 2, column 'y': '1.234,5'"),
            ("0;1.234.567\n", "line 1, column 'y': '1.234.567'"),
            ('0,"1,234"\n', "line 1, column 'y': '1,234'"),
        ],
    )
    def test_two_decimal_signs_or_thousands_are_refused(self, csv, content, named):
        text = error(csv(content))
        assert named in text
        assert "decimal" in text

    def test_decimal_sign_is_held_to_across_blocks(self, csv):
        content = "".join(f"{i};{i},5\n" for i in range(9000)) + "9000;0.5\n"
        assert "line 9001" in error(csv(content))

    def test_old_encoding_of_names(self, csv):
        table = read_table(csv("t,temp (°C)\n0,1\n".encode("latin-1")))
        assert table.y_names == ("temp (°C)",)
        assert any("Latin-1" in note for note in table.notes)

    def test_all_digits_of_julian_days(self, csv):
        days = 2460000.5 + 0.01 * np.arange(20000)
        lines = "".join(f"{d!r},{i}\n" for i, d in enumerate(days.tolist()))
        table = read_table(csv("jd,mag\n" + lines))
        assert np.array_equal(table.x, days)
        assert np.array_equal(table.y[:, 0], np.arange(20000))
        assert nyquist_harmonic(table.x, 0.3) == 14


class TestRows:
    def test_empty_and_nan_cells_drop_their_rows_with_the_count(self, csv):
        table = read_table(csv("t,v\n0,1\n1,\n2,NaN\n3,n/a\n,5\n4, \n5,6\n6,NULL\n7,-nan\n"))
        assert rows(table) == [[0, 1], [5, 6]]
        assert any("7 rows dropped" in n and "3, 4, 5, 6, 7, …" in n for n in table.notes)

    def test_missing_cells_of_unused_columns_drop_nothing(self, csv):
        table = read_table(csv("t,a,b\n0,1,\n1,2,5\n"), y=["a"])
        assert rows(table) == [[0, 1], [1, 2]]
        assert table.notes == ()

    @pytest.mark.parametrize("bad", ["abc", "1_000", "0x10", "1 2", "--1", "1e", "+", "1\u00a0000"])
    def test_text_in_a_number_column_names_line_and_column(self, csv, bad):
        text = error(csv(f"time,value\n\n0,1\n# c\n1,{bad}\n2,3\n"))
        assert f"line 5, column 'value': {bad!r}" in text

    def test_text_far_down_names_its_line(self, csv):
        content = "t,v\n" + "".join(f"{i},{i}\n" for i in range(20000)) + "20000,bad\n"
        assert "line 20002, column 'v': 'bad'" in error(csv(content))

    @pytest.mark.parametrize("bad", ["inf", "-Infinity", "1e999"])
    def test_infinite_numbers_name_their_line(self, csv, bad):
        assert f"line 3, column 'v': {bad!r}" in error(csv(f"t,v\n0,1\n1,{bad}\n"))

    @pytest.mark.parametrize("ragged", ["1", "1,2,3", "1,2,"])
    def test_ragged_rows_name_their_line(self, csv, ragged):
        text = error(csv(f"t,v\n0,1\n{ragged}\n2,3\n"))
        assert "line 3" in text
        assert f"got {ragged.count(',') + 1} in" in text

    def test_a_ragged_row_far_down(self, csv):
        content = "".join(f"{i},{i}\n" for i in range(9000)) + "1\n"
        assert "line 9001" in error(csv(content))

    def test_a_title_above_the_header(self, csv):
        assert "line 2" in error(csv("Temperatures\nt,v\n0,1\n"))

    @pytest.mark.parametrize("content", ['t,v\n0,"1\n1,2\n', 't,v\n0,"1"2\n1,2\n'])
    def test_quotes_left_open(self, csv, content):
        assert "line" in error(csv(content))

    def test_a_quoted_cell_of_two_lines_counts_as_two(self, csv):
        text = error(csv('t,"value\n(m)"\n0,1\n1,bad\n'))
        assert "line 4, column 'value (m)'" in text

    def test_shuffled_rows_with_a_duplicate_are_sorted_and_all_kept(self, csv):
        table = read_table(csv("t,v\n2,20\n0,0\n1,11\n3,30\n1,10\n"))
        assert rows(table) == [[0, 0], [1, 11], [1, 10], [2, 20], [3, 30]]
        assert any("sorted" in note for note in table.notes)
        assert any("1 row repeats" in n and "first at 1.0" in n for n in table.notes)

    def test_constant_positions_are_said(self, csv):
        table = read_table(csv("t,v\n4,2\n4,1\n4,3\n"))
        assert rows(table) == [[4, 2], [4, 1], [4, 3]]
        assert any("All 3 rows" in note for note in table.notes)

    def test_one_row(self, csv):
        assert rows(read_table(csv("t,v\n4,2\n"))) == [[4, 2]]
        assert rows(read_table(csv("4,2"))) == [[4, 2]]


class TestColumns:
    CONTENT = "station,t,a,b\nX1,0,1,2\nX2,1,3,4\n"

    def test_chosen_by_name_and_by_place(self, csv):
        path = csv(self.CONTENT)
        for x, y in (("t", ["b", "a"]), (1, [3, 2]), (-3, (-1, "a"))):
            table = read_table(path, x=x, y=y)
            assert rows(table) == [[0, 2, 1], [1, 4, 3]]
            assert (table.x_name, table.y_names) == ("t", ("b", "a"))

    def test_a_single_name_is_one_column(self, csv):
        assert read_table(csv(self.CONTENT), x="t", y="a").y.tolist() == [[1], [3]]

    def test_text_columns_are_left_out_and_said(self, csv):
        table = read_table(csv(self.CONTENT), x="t")
        assert table.y_names == ("a", "b")
        assert any("'station'" in note for note in table.notes)

    def test_digits_are_a_name_or_else_a_place(self, csv):
        assert read_table(csv(self.CONTENT), x="1", y=["3", "-2"]).y_names == ("b", "a")
        table = read_table(csv("t,2,1\n0,1,2\n1,3,4\n"), x="0", y="2")
        assert (table.x_name, table.y_names) == ("t", ("2",))
        assert table.y.tolist() == [[1], [3]]

    @pytest.mark.parametrize(
        "options",
        [
            *({"x": "time"}, {"x": "t", "y": ["c"]}, {"x": 4}, {"x": -5}, {"x": True}),
            *({"x": "4"}, {"x": "-5"}, {"x": "1.0"}, {"x": "９"}, {"x": "1" * 9999}),
        ],
    )
    def test_unknown_columns_list_the_names(self, csv, options):
        assert "'station', 't', 'a', 'b'" in error(csv(self.CONTENT), **options)

    def test_no_y_at_all(self, csv):
        with pytest.raises(InputError, match="at least one column"):
            read_table(csv(self.CONTENT), x="t", y=[])

    def test_no_other_column_of_numbers(self, csv):
        assert "'station'" in error(csv("t,station\n0,a\n1,b\n"))

    def test_unnamed_and_equal_names_can_be_told_apart(self, csv):
        table = read_table(csv(",v,v\n0,1,2\n"))
        assert (table.x_name, table.y_names) == ("column 1", ("v", "v (column 3)"))
        assert read_table(csv(",v,v\n0,1,2\n"), y="v (column 3)").y.tolist() == [[2]]

    @pytest.mark.parametrize("date", ["1.2.2010", "01/02/10", "12:30", "2010/01/02"])
    def test_dates_of_other_forms_say_what_to_do(self, csv, date):
        text = error(csv(f"date,v\n{date},1\n"))
        assert f"line 2, column 'date': '{date}'" in text
        assert "hours" in text
        assert "dates" in error(csv(f"{date},1\n{date},2\n"))


class TestNoTable:
    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (b"", "0 bytes"),
            (b"\n \n# only\n", "comment lines only"),
            (b"t,v\n", "none"),
            (b"sep=;\n", "none"),
            (b"t,v\n1,\n2,\n", "no numbers in 'v'"),
            (b"1\n2\n3\n", "one column"),
            (b"value\n2\n3\n", "one column"),
            (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "0x00 at offset 8"),
            ("t,v\n0,1\n".encode("utf-16-le"), "0x00 at offset 1"),
            (b"\x00" * 100, "0x00 at offset 0"),
        ],
    )
    def test_files_without_a_table(self, csv, content, said):
        assert said in error(csv(content))

    def test_all_values_missing_says_which_rows_were_dropped(self, csv):
        text = error(csv("t,v\n,1\n,2\n"))
        assert "2 rows dropped" in text
        assert "lines 2, 3" in text

    def test_a_folder_and_a_missing_file(self, tmp_path):
        assert "folder" in error(tmp_path)
        assert "no such file" in error(tmp_path / "no.csv")

    def test_utf16_cut_in_half(self, csv):
        assert "line 3" in error(csv(PLAIN.replace("3\n1,-1e3\n", "37").encode("utf-16")[:-1]))


class TestWrite:
    def test_round_trip_is_exact(self, tmp_path):
        rng = np.random.default_rng(0)
        x = np.sort(rng.normal(size=300)) * 10.0 ** rng.integers(-300, 300, 300)
        x.sort()
        columns = {
            "x": x,
            "single": rng.normal(size=300).astype(np.float32),
            "whole": np.arange(300) - 7,
            'odd "name", with; all|': np.nextafter(np.ones(300), 2),
        }
        path = tmp_path / "out.csv"
        write_table(path, columns)
        table = read_table(path)
        assert (table.x_name, *table.y_names) == tuple(columns)
        assert np.array_equal(table.x, x)
        for got, expected in zip(table.y.T, list(columns.values())[1:], strict=True):
            assert np.array_equal(got, expected.astype(np.float64))
        assert table.notes == ()

    def test_plain_text(self, tmp_path):
        path = tmp_path / "out.csv"
        write_table(path, {"#t": np.array([0, 1]), "v": np.array([0.1, np.nan])})
        assert path.read_bytes() == b'"#t",v\n0,0.1\n1,nan\n'
        table = read_table(path)
        assert rows(table) == [[0, 0.1]]
        assert table.x_name == "#t"

    def test_replaces_a_file_and_leaves_nothing_else(self, tmp_path):
        path = tmp_path / "out.csv"
        path.write_text("old")
        write_table(path, {"a": np.arange(2), "b": np.arange(2)})
        assert rows(read_table(path)) == [[0, 0], [1, 1]]
        assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]

    def test_a_failure_keeps_the_old_file(self, tmp_path, monkeypatch):
        path = tmp_path / "out.csv"
        path.write_text("old")

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("coordnet.series.reading.tables.os.replace", full)
        with pytest.raises(OSError, match="No space"):
            write_table(path, {"a": np.arange(2)})
        assert path.read_text() == "old"
        assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]

    @pytest.mark.parametrize(
        "columns",
        [
            {},
            {"a": np.zeros((2, 1))},
            {"a": np.zeros(2), "b": np.zeros(3)},
            {"a": np.array(["x"])},
            {"a": np.array(1.0)},
            {"1": np.zeros(2), "2": np.zeros(2)},
        ],
    )
    def test_what_is_no_table_is_refused(self, tmp_path, columns):
        with pytest.raises(InputError):
            write_table(tmp_path / "out.csv", columns)
        assert not list(tmp_path.iterdir())


class TestSampling:
    def test_uniform_step(self):
        assert uniform_step(np.array([0.0, 0.5, 1.0, 1.5])) == 0.5
        assert uniform_step(np.array([1.5, 0.0, 1.0, 0.5])) == 0.5
        assert uniform_step(2460000.5 + 0.01 * np.arange(1000)) == pytest.approx(0.01, rel=1e-9)
        assert uniform_step(np.round(np.arange(50) / 3, 3)) == pytest.approx(1 / 3, rel=1e-4)
        for irregular in ([0, 1, 3], [0, 1, 1, 2], [0, 1, 2.1, 3], [4], []):
            assert uniform_step(np.array(irregular, dtype=float)) is None

    def test_a_grid_may_have_gaps_and_duplicates(self):
        assert grid_step(np.array([0.0, 1, 1, 2, 5, 6, 60])) == 1.0
        assert grid_step(np.array([0.0, 0.5, 1.7, 2.0])) is None
        assert grid_step(np.random.default_rng(0).uniform(size=50)) is None
        assert grid_step(np.array([3.0, 3.0])) is None

    @pytest.mark.parametrize("n", [3, 4, 7, 8, 9, 24, 365, 1000])
    @pytest.mark.parametrize("period", [1.0, 0.3, 24.0, 2 * math.pi])
    def test_highest_harmonic_of_n_samples_a_period(self, n, period):
        x = 5.0 + period * np.arange(2 * n) / n
        assert nyquist_harmonic(x, period) == (n - 1) // 2

    @pytest.mark.parametrize("n", [7, 8])
    def test_the_limit_is_where_the_harmonics_stop_being_independent(self, n):
        def rank(k):
            angles = 2 * math.pi * np.outer(np.arange(3 * n) / n, np.arange(1, k + 1))
            matrix = np.hstack([np.ones((3 * n, 1)), np.cos(angles), np.sin(angles)])
            return np.linalg.matrix_rank(matrix)

        k = nyquist_harmonic(np.arange(3.0 * n), float(n))
        assert k is not None
        assert rank(k) == 2 * k + 1
        assert rank(k + 1) < 2 * k + 3

    def test_fractional_samples_a_period(self):
        x = np.arange(100.0)
        assert nyquist_harmonic(x, 8.5) == 4
        assert nyquist_harmonic(x, 9.9) == 4
        assert nyquist_harmonic(x, 10.1) == 5
        assert nyquist_harmonic(x, 1.5) == 0
        assert nyquist_harmonic(x, 0.01) == 0

    def test_irregular_sampling_has_no_sharp_limit(self):
        x = np.random.default_rng(1).uniform(0, 1, 40)
        assert nyquist_harmonic(x, 1.0) is None
        text, warnings = describe_periods(x, 1.0)
        assert "no sharp limit" in text
        assert warnings == []

    def test_warning_of_too_many_harmonics(self):
        x = np.arange(8) / 8
        warning = nyquist_warning(x, 1.0, 5)
        assert warning is not None
        assert "k = 5 is above 3" in warning
        assert "irregular" in warning
        assert nyquist_warning(x, 1.0, 4) is not None
        assert nyquist_warning(x, 1.0, 3) is None
        irregular = np.random.default_rng(2).uniform(size=11)
        assert nyquist_warning(irregular, 1.0, 5) is None
        assert "13 coefficients" in str(nyquist_warning(irregular, 1.0, 6))

    def test_periods_without_the_end_point_are_whole(self):
        text, warnings = describe_periods(2 * math.pi * np.arange(400) / 400, 2 * math.pi)
        assert text.startswith("The data span 1 period of")
        assert "up to 199" in text
        assert warnings == []

    def test_period_in_another_unit_is_warned_of(self):
        seconds = np.arange(0, 10, 0.01)
        assert describe_periods(seconds, 1.0)[1] == []
        text, (warning,) = describe_periods(seconds * 1000, 1.0)
        assert "1e+04 periods" in text
        assert "under two samples a period" in warning
        text, (warning,) = describe_periods(seconds, 1000.0)
        assert "0.01 periods" in text
        assert "less than one" in warning

    def test_bounds_of_the_warnings(self):
        x = np.arange(100.0)
        assert describe_periods(x, 100.0)[1] == []
        assert describe_periods(x, 101.0)[1] == []
        assert len(describe_periods(x, 101.1)[1]) == 1
        assert describe_periods(np.arange(8759.0), 8766.0)[1] == []
        assert describe_periods(x, 2.0)[1] == []
        assert len(describe_periods(x, 1.9)[1]) == 1

    def test_sentences_where_there_is_one_or_none(self):
        x = np.arange(20.0)
        assert "no harmonic can be told apart" in describe_periods(x, 2.0)[0]
        assert "only the first harmonic can be told apart" in describe_periods(x, 4.0)[0]
        assert "harmonics up to 2 can be told apart" in describe_periods(x, 6.0)[0]
        assert "1 sample a period" in describe_periods(x, 1.0)[0]
        assert "not even the first harmonic" in str(nyquist_warning(x, 2.0, 3))

    def test_periods_beyond_all_measure(self):
        for x in (np.arange(4.0), np.arange(4.0) * 1e-200):
            text, warnings = describe_periods(x, 1e300)
            assert len(text) < 200
            assert len(warnings) == 1
            assert nyquist_harmonic(x, 1e300) == 2**53 - 1
            assert "coefficients" in str(nyquist_warning(x, 1e300, 9))
        text, warnings = describe_periods(np.arange(4.0), 1e-300)
        assert "no harmonic" in text
        assert len(warnings) == 1

    def test_one_position(self):
        text, warnings = describe_periods(np.array([3.0, 3.0]), 1.0)
        assert "one position" in text
        assert len(warnings) == 1

    @pytest.mark.parametrize("period", [0, -1.0, math.nan, math.inf, "1"])
    def test_bad_periods(self, period):
        for function in (nyquist_harmonic, describe_periods):
            with pytest.raises(InputError, match="period"):
                function(np.arange(4.0), period)

    def test_bad_positions(self):
        for x in (np.zeros((3, 1)), np.array([0.0, math.nan])):
            with pytest.raises(InputError, match="positions"):
                uniform_step(x)
        with pytest.raises(InputError, match="at least one"):
            describe_periods(np.array([]), 1.0)


class TestShippedData:
    def test_temperatures(self):
        table = read_table(ROOT / "data" / "temperatures.csv")
        assert (table.x_name, table.y_names, table.notes) == ("hour", ("temperature",), ())
        assert sorted(set(range(8760)) - set(table.x.tolist())) == [1731]
        assert len(table.x) == 8759
        assert (table.y.min(), table.y.max()) == (37.5, 75.9)
        assert uniform_step(table.x) is None
        assert nyquist_harmonic(table.x, 24.0) == 11
        assert describe_periods(table.x, 24.0)[1] == []

    def test_the_wave_is_what_its_script_makes(self, tmp_path):
        made = tmp_path / "wave.csv"
        script = ROOT / "scripts" / "make_wave.py"
        subprocess.run([sys.executable, script, "-o", made], check=True, capture_output=True)
        assert made.read_bytes() == (ROOT / "data" / "wave.csv").read_bytes()

    def test_the_wave_is_band_limited(self):
        table = read_table(ROOT / "data" / "wave.csv")
        assert np.array_equal(table.x, 2 * math.pi * np.arange(400) / 400)
        size = np.abs(np.fft.rfft(table.y[:, 0])) / 400
        assert size[:9].min() > 0.05
        assert size[9:].max() < 1e-10


def test_importing_the_readers_needs_no_torch():
    code = (
        "import sys, coordnet.series.reading.tables, coordnet.series.sampling; "
        "sys.exit(bool({'torch', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
