import pytest

pytest.importorskip("statsmodels")
pytest.importorskip("sklearn")


def test_regressions_agree_and_the_network_does_not_lose(
    script, tmp_path, read_json, check_picture
):
    done = script("periodic_series.py", "--steps", 200, "--k", 4, 2, "--out", "r")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    rows = {r["model"]: r for r in read_json(tmp_path / "r" / "periodic_series.json")["rows"]}
    assert len(rows) == 5
    for name in ("statsmodels", "scikit-learn"):
        assert rows[name]["difference"] < 1e-8
        assert rows[name]["held_out"] == pytest.approx(rows["coordnet linear"]["held_out"])
    # a daily curve that changes with the season is out of their reach
    assert rows["coordnet linear"]["held_out"] > 1.5
    for name in ("coordnet network", "damped network"):
        assert rows[name]["held_out"] < 0.8 * rows["coordnet linear"]["held_out"]
        assert rows[name]["fitted"] < rows[name]["held_out"]
    assert "agree to" in done.stdout
    check_picture(tmp_path / "r" / "periodic_series.png")


def test_errors_are_one_line(error_of, tmp_path):
    short = tmp_path / "short.csv"
    short.write_text("hour,v\n" + "\n".join(f"{i},{i % 5}" for i in range(99)))
    assert "one year" in error_of("periodic_series", "--table", short)
    assert "k must be" in error_of("periodic_series", "--k", 0, 2)
