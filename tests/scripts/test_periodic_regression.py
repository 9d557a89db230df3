def test_the_harmonic_model_repeats_and_the_others_drift(
    script, tmp_path, read_json, check_picture
):
    done = script("periodic_regression.py", "--steps", 80, "--out", "r")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    rows = read_json(tmp_path / "r" / "periodic_regression.json")["rows"]
    assert len(rows) == 6
    for harmonic, *others in (rows[:3], rows[3:]):
        assert harmonic["model"] == "harmonic"
        assert harmonic["repeats_exactly"]
        assert harmonic["largest_change"] == 0
        assert harmonic["rmse_beyond"] < 3 * harmonic["rmse_inside"] + 0.01
        for other in others:
            assert not other["repeats_exactly"]
            assert other["largest_change"] > 0.1
            assert other["rmse_beyond"] > 2 * harmonic["rmse_beyond"]
    assert done.stdout.count("0 (every bit)") == 2
    check_picture(tmp_path / "r" / "periodic_regression.png")


def test_errors_are_one_line(error_of):
    assert "--days must be at least 1" in error_of("periodic_regression", "--days", 0)
    assert "three more" in error_of("periodic_regression", "--start", 364)
    assert "k must be" in error_of("periodic_regression", "--k", 0)
