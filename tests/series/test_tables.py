import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from coordnet.errors import InputError
from coordnet.series import nyquist_harmonic, read_table, write_table

ROOT = Path(__file__).resolve().parents[2]
THREE = [[0.0, 2.5], [0.5, 3.0], [1.0, -1e3]]
PLAIN = "t,v\n0,2.5\n0.5,3\n1,-1e3\n"


@pytest.fixture
def error(csv, refusal):
    """Return the refusal of a table, which names its file."""

    def text(content, **options):
        path = content if isinstance(content, Path) else csv(content)
        said = refusal(read_table, path, **options)
        assert path.name in said
        return said

    return text


def rows(table):
    return np.column_stack([table.x, table.y]).tolist()


def noted(table, *words):
    return any(all(word in note for word in words) for note in table.notes)


class TestForms:
    @pytest.mark.parametrize(
        "content",
        [
            *(PLAIN, b"\xef\xbb\xbf" + PLAIN.encode(), PLAIN.encode("utf-16")),
            *(b"\xfe\xff" + PLAIN.encode("utf-16-be"), PLAIN.encode("utf-32")),
            *(PLAIN.replace("\n", "\r\n"), PLAIN.replace("\n", "\r"), PLAIN.rstrip("\n")),
            *(PLAIN.replace(",", mark) for mark in ("\t", ";", "|", "   ", " , ")),
            "  t   v\n  0   2.5\n  0.5\t3 \n  1  -1e3\n",
            *(PLAIN.replace(",", mark).replace(".", ",") for mark in ";\t"),
            PLAIN.replace(",", " ").replace(".", ",").replace("-1e3", "-1000,0"),
            PLAIN + "\x1a",
            *(f"sep={mark}\n" + PLAIN.replace(",", mark) for mark in ";\t"),
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
        assert noted(table, "no header")
        assert read_table(csv("0,1,2\n1,2,3\n")).y_names == ("y1", "y2")
        assert read_table(csv("0,1,2\n1,2,3\n"), y="y2").y.tolist() == [[2], [3]]

    @pytest.mark.parametrize("first", ["0,", "0,nan", "nan,NaN", ","])
    def test_first_row_with_missing_cells_is_counted_not_taken_as_header(self, csv, first):
        table = read_table(csv(f"{first}\n1,2\n2,3\n"))
        assert rows(table) == [[1, 2], [2, 3]]
        assert noted(table, "1 row dropped", "line 1)")

    def test_first_row_with_a_bad_cell_is_an_error(self, error):
        assert "line 1, column 'y': 'oops'" in error("0,oops\n1,2\n2,3\n")

    def test_header_of_years(self, csv):
        table = read_table(csv("hour,2010,2011\n0,4.5,3.5\n1,4,3\n"))
        assert table.y_names == ("2010", "2011")
        assert rows(table) == [[0, 4.5, 3.5], [1, 4, 3]]
        assert noted(table, "2010, 2011")

    def test_decimal_commas(self, csv):
        table = read_table(csv("0,5;2,5\n1,5;-,5\n"))
        assert rows(table) == [[0.5, 2.5], [1.5, -0.5]]
        assert noted(table, "'0,5' is read as 0.5")
        assert rows(read_table(csv("0,5 2,5\n1,5 -0,5\n"))) == rows(table)
        assert not noted(table, "thousands")

    def test_a_comma_that_may_separate_thousands_is_read_as_decimal_and_said(self, csv):
        table = read_table(csv("1,234;5\n2,345;6\n"))
        assert table.x.tolist() == [1.234, 2.345]
        assert noted(table, "1.234", "thousands")

    @pytest.mark.parametrize(
        ("content", "place"),
        [
            ("1,234;0.5\n", "line 1, column 'x': '1,234' and line 1, column 'y': '0.5'"),
            ("0;0.5\n1;2\n3;0,5\n", "line 3, column 'y': '0,5' and line 1, column 'y': '0.5'"),
            ("0;0,5\n1;1,234,567\n", "line 2, column 'y': '1,234,567'"),
            ("0;0,5\n1;1.234,5\n", "line 2, column 'y': '1.234,5'"),
            ("0;1.234.567\n", "line 1, column 'y': '1.234.567'"),
            ('0,"1,234"\n', "line 1, column 'y': '1,234'"),
            ("".join(f"{i};{i},5\n" for i in range(9000)) + "9000;0.5\n", "line 9001"),
        ],
    )
    def test_two_decimal_signs_or_thousands_are_refused(self, error, content, place):
        text = error(content)
        assert place in text
        assert "decimal" in text

    def test_old_encoding_of_names(self, csv):
        table = read_table(csv("t,temp (°C)\n0,1\n".encode("latin-1")))
        assert table.y_names == ("temp (°C)",)
        assert noted(table, "Latin-1")

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
        assert noted(table, "7 rows dropped", "3, 4, 5, 6, 7, …")

    def test_missing_cells_of_unused_columns_drop_nothing(self, csv):
        table = read_table(csv("t,a,b\n0,1,\n1,2,5\n"), y=["a"])
        assert rows(table) == [[0, 1], [1, 2]]
        assert table.notes == ()

    def test_a_row_that_lacks_one_of_several_values_is_dropped_whole_and_said(self, csv):
        path = csv("t,a,b\n0,1,2\n1,,3\n2,4,\n3,,\n4,5,6\n")
        table = read_table(path)
        assert table.x.tolist() == [0, 4]
        assert noted(table, "3 rows dropped", "2 of them lack only some of the values")
        table = read_table(path, y="a")
        assert table.x.tolist() == [0, 2, 4]
        assert not noted(table, "only some")

    @pytest.mark.parametrize("bad", ["abc", "1_000", "0x10", "1 2", "--1", "1e", "+", "1\u00a0000"])
    def test_text_in_a_number_column_names_line_and_column(self, error, bad):
        text = error(f"time,value\n\n0,1\n# c\n1,{bad}\n2,3\n")
        assert f"line 5, column 'value': {bad!r}" in text

    @pytest.mark.parametrize("bad", ["inf", "-Infinity", "1e999"])
    def test_infinite_numbers_name_their_line(self, error, bad):
        assert f"line 3, column 'v': {bad!r}" in error(f"t,v\n0,1\n1,{bad}\n")

    @pytest.mark.parametrize("ragged", ["1", "1,2,3", "1,2,"])
    def test_ragged_rows_name_their_line(self, error, ragged):
        text = error(f"t,v\n0,1\n{ragged}\n2,3\n")
        assert "line 3" in text
        assert f"got {ragged.count(',') + 1} in" in text

    def test_faults_far_down_name_their_line(self, error):
        many = "".join(f"{i},{i}\n" for i in range(9000))
        assert "line 9001" in error(many + "1\n")
        assert "line 9002, column 'v': 'bad'" in error(f"t,v\n{many}9000,bad\n")

    def test_a_title_above_the_header(self, error):
        assert "line 2" in error("Temperatures\nt,v\n0,1\n")

    @pytest.mark.parametrize("content", ['t,v\n0,"1\n1,2\n', 't,v\n0,"1"2\n1,2\n'])
    def test_quotes_left_open(self, error, content):
        assert "line" in error(content)

    def test_a_quoted_cell_of_two_lines_counts_as_two(self, error):
        assert "line 4, column 'value (m)'" in error('t,"value\n(m)"\n0,1\n1,bad\n')

    def test_shuffled_rows_with_a_duplicate_are_sorted_and_all_kept(self, csv):
        table = read_table(csv("t,v\n2,20\n0,0\n1,11\n3,30\n1,10\n"))
        assert rows(table) == [[0, 0], [1, 11], [1, 10], [2, 20], [3, 30]]
        assert noted(table, "sorted")
        assert noted(table, "1 row repeats", "first at 1.0")

    def test_constant_positions_are_said(self, csv):
        table = read_table(csv("t,v\n4,2\n4,1\n4,3\n"))
        assert rows(table) == [[4, 2], [4, 1], [4, 3]]
        assert noted(table, "All 3 rows")

    def test_one_row(self, csv):
        for content in ("t,v\n4,2\n", "4,2"):
            assert rows(read_table(csv(content))) == [[4, 2]]


class TestColumns:
    CONTENT = "station,t,a,b\nX1,0,1,2\nX2,1,3,4\n"

    def test_chosen_by_name_and_by_place(self, csv):
        path = csv(self.CONTENT)
        for x, y in (("t", ["b", "a"]), (1, [3, 2]), (-3, (-1, "a")), ("1", ["3", "-2"])):
            table = read_table(path, x=x, y=y)
            assert rows(table) == [[0, 2, 1], [1, 4, 3]]
            assert (table.x_name, table.y_names) == ("t", ("b", "a"))
        assert read_table(path, x="t", y="a").y.tolist() == [[1], [3]]

    def test_text_columns_are_left_out_and_said(self, csv):
        table = read_table(csv(self.CONTENT), x="t")
        assert table.y_names == ("a", "b")
        assert noted(table, "'station'")

    def test_digits_are_a_name_before_a_place(self, csv):
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
    def test_unknown_columns_list_the_names(self, error, options):
        assert "'station', 't', 'a', 'b'" in error(self.CONTENT, **options)

    def test_no_y_at_all(self, csv, refusal):
        assert "at least one column" in refusal(read_table, csv(self.CONTENT), x="t", y=[])

    def test_no_other_column_of_numbers(self, error):
        assert "'station'" in error("t,station\n0,a\n1,b\n")

    def test_unnamed_and_equal_names_can_be_told_apart(self, csv):
        table = read_table(csv(",v,v\n0,1,2\n"))
        assert (table.x_name, table.y_names) == ("column 1", ("v", "v (column 3)"))
        assert read_table(csv(",v,v\n0,1,2\n"), y="v (column 3)").y.tolist() == [[2]]

    @pytest.mark.parametrize("date", ["1.2.2010", "01/02/10", "12:30", "2010/01/02"])
    def test_dates_of_other_forms_say_what_to_do(self, error, date):
        text = error(f"date,v\n{date},1\n")
        assert f"line 2, column 'date': '{date}'" in text
        assert "hours" in text
        assert "dates" in error(f"{date},1\n{date},2\n")


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
            (b"t,v\n,1\n,2\n", "2 rows dropped for empty or NaN cells (lines 2, 3)"),
            (PLAIN.replace("3\n1,-1e3\n", "37").encode("utf-16")[:-1], "line 3"),
        ],
    )
    def test_files_without_a_table(self, error, content, said):
        assert said in error(content)

    def test_a_folder_and_a_missing_file(self, error, tmp_path):
        assert "folder" in error(tmp_path)
        assert "no such file" in error(tmp_path / "no.csv")


class TestWrite:
    def test_round_trip_is_exact(self, tmp_path):
        rng = np.random.default_rng(0)
        columns = {
            "x": np.sort(rng.normal(size=300) * 10.0 ** rng.integers(-300, 300, 300)),
            "single": rng.normal(size=300).astype(np.float32),
            "whole": np.arange(300) - 7,
            'odd "name", with; all|': np.nextafter(np.ones(300), 2),
        }
        path = tmp_path / "out.csv"
        write_table(path, columns)
        table = read_table(path)
        assert (table.x_name, *table.y_names) == tuple(columns)
        expected = np.stack([column.astype(np.float64) for column in columns.values()], 1)
        assert np.array_equal(np.column_stack([table.x, table.y]), expected)
        assert table.notes == ()

    def test_plain_text(self, tmp_path):
        path = tmp_path / "out.csv"
        write_table(path, {"#t": np.array([0, 1]), "v": np.array([0.1, np.nan])})
        assert path.read_bytes() == b'"#t",v\n0,0.1\n1,nan\n'
        table = read_table(path)
        assert rows(table) == [[0, 0.1]]
        assert table.x_name == "#t"

    def test_replaces_a_file_and_leaves_nothing_else(self, tmp_path, monkeypatch):
        path = tmp_path / "out.csv"
        path.write_text("old")
        write_table(path, {"a": np.arange(2), "b": np.arange(2)})
        assert rows(read_table(path)) == [[0, 0], [1, 1]]
        before = path.read_text()

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.replace", full)
        with pytest.raises(OSError, match="No space"):
            write_table(path, {"a": np.arange(2)})
        assert path.read_text() == before
        assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]

    @pytest.mark.parametrize(
        "columns",
        [
            *({}, {"a": np.zeros((2, 1))}, {"a": np.zeros(2), "b": np.zeros(3)}),
            *({"a": np.array(["x"])}, {"a": np.array(1.0)}, {"1": np.zeros(2), "2": np.zeros(2)}),
        ],
    )
    def test_what_is_no_table_is_refused(self, tmp_path, columns):
        with pytest.raises(InputError):
            write_table(tmp_path / "out.csv", columns)
        assert not list(tmp_path.iterdir())


class TestWeights:
    CONTENT = "t,v,s\n2,20,4\n0,0,1\n1,10,2\n"

    def test_weights_follow_their_rows(self, csv):
        table = read_table(csv(self.CONTENT), weights="s")
        assert table.y_names == ("v",)
        assert table.y[:, 0].tolist() == [0, 10, 20]
        assert table.weights.tolist() == [1, 2, 4]
        assert (table.weighting, table.weights_name, table.from_errors) == ("s", "s", False)

    def test_errors_give_inverse_squares(self, csv):
        table = read_table(csv(self.CONTENT), error=2, y="v")
        assert table.weights.tolist() == [1, 1 / 4, 1 / 16]
        assert (table.weighting, table.weights_name, table.from_errors) == ("1/s²", "s", True)

    def test_without(self, csv):
        table = read_table(csv(self.CONTENT))
        assert (table.weights, table.weighting, table.y_names) == (None, None, ("v", "s"))

    def test_a_row_without_a_weight_is_dropped(self, csv):
        table = read_table(csv("t,v,s\n0,1,\n1,2,3\n2,3,nan\n"), weights="s")
        assert table.x.tolist() == [1]
        assert noted(table, "2 rows dropped")

    @pytest.mark.parametrize("bad", ["0", "-1", "1e-200", "1e200"])
    @pytest.mark.parametrize("role", ["weights", "error"])
    def test_what_gives_no_weight_names_its_line(self, error, role, bad):
        content = "t,v,s\n" + "".join(f"{i},{i},1\n" for i in range(8200)) + f"8200,1,{bad}\n"
        text = error(content, **{role: "s"})
        assert "line 8202, column 's'" in text
        assert "above 0" in text

    def test_text_infinity_both_and_unknown(self, error):
        for bad in ("much", "inf"):
            assert f"line 2, column 's': '{bad}'" in error(f"t,v,s\n0,1,{bad}\n", weights="s")
        assert "'t', 'v', 's'" in error(self.CONTENT, weights="w")

    def test_both(self, csv, refusal):
        assert "one of" in refusal(read_table, csv(self.CONTENT), weights="s", error="s")


def test_importing_the_readers_needs_no_torch():
    code = (
        "import sys, coordnet.series.reading.tables, coordnet.series.sampling; "
        "sys.exit(bool({'torch', 'pandas'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
