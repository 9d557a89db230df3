def test_a_scene(script, tmp_path, read_json):
    arguments = ("--quick", "--downscale", 4, "--views", 2, "--device", "cpu", "--out", "r")
    done = script("bench_scene.py", *arguments)
    assert done.returncode == 0, done.stderr
    content = read_json(tmp_path / "r" / "bench_scene.json")
    (row,) = content["fits"]
    assert row["preset"] == "fast"
    assert row["test_views"] == 2
    assert row["steps"] > 0
    assert row["psnr"] > 8
    assert row["samples_per_ray"] > 0
    assert row["rays_per_second"] > 0
    assert "samples/ray" in done.stdout


def test_errors_are_one_line(error_of):
    assert "--views must be" in error_of("bench_scene", "--views", "0")
    assert "seconds must be above 0" in error_of("bench_scene", "--seconds", "0")
    assert "scene" in error_of("bench_scene", "--scene", "missing")
