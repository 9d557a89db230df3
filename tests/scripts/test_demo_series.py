YEARS = ("1958-1979", "1980-2001")


def test_each_series_ends_in_a_figure(script, tmp_path, read_json, check_picture):
    done = script("demo_series.py", "--steps", 150, "--out", "r")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = read_json(tmp_path / "r" / "demo_series.json")
    assert list(found) == ["version", "temperatures", "co2", "sunspots"]
    for name in list(found)[1:]:
        check_picture(tmp_path / "r" / f"{name}.png")
        assert f"\n{name}\n" in done.stdout

    linear, network = found["temperatures"]["rows"]
    assert linear["numbers"] == 9
    # of a day that is longer in summer a sum of two cycles knows nothing
    assert network["rmse_held_out"] < 0.5 * linear["rmse_held_out"]
    assert network["rmse_held_out"] > network["rmse_fitted"]

    co2 = found["co2"]
    assert abs(co2["period"] - 365.2425) < 3 * co2["error"] < 1
    rows = dict(co2["rows"])
    early, late = (rows[f"from trough to peak, {years} (ppm)"] for years in YEARS)
    assert 5 < float(early) < float(late) < 8
    assert float(rows["RMSE, fitted weeks (ppm)"]) < 0.9

    assert abs(found["sunspots"]["period"] - 11.0) < 3 * found["sunspots"]["error"] < 0.3


def test_one_series_alone(load, monkeypatch, tmp_path):
    demo = load("demo_series")
    monkeypatch.setattr("sys.argv", ["demo_series", "sunspots", "--out", str(tmp_path / "r")])
    demo.main()
    written = sorted(path.name for path in (tmp_path / "r").iterdir())
    assert written == ["demo_series.json", "sunspots.png"]


def test_errors_are_one_line(error_of):
    assert "one of temperatures, co2, sunspots" in error_of("demo_series", "tides")
    assert "--steps must be at least 1" in error_of("demo_series", "--steps", 0)
