import itertools
import math

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import coordnet as cn


@pytest.fixture
def photo(tmp_path):
    """A small picture file, wider than high."""
    x = cn.pixel_centers(20, 28).numpy()
    waves = np.sin(7 * x[..., :1] + 3 * x[..., 1:] + np.arange(3))
    cn.write_image(tmp_path / "photo.png", (0.5 + 0.4 * waves).astype(np.float32))
    return tmp_path / "photo.png"


def test_quality_over_time(script, tmp_path, read_json, check_picture, load):
    fits = load("_fits")
    done = script("bench_image.py", "--quick", "--device", "cpu", "--out", "r")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    content = read_json(tmp_path / "r" / "bench_image.json")
    assert content["machine"]["cpu"] in done.stdout
    assert "stands still" in content["clock"]
    assert content["picture"]["width"] == 24
    methods = {each["method"]: each for each in content["methods"]}
    assert list(methods) == list(fits.methods())
    plain = [name for name, each in methods.items() if each["plain"]]
    assert plain == ["plain-fourier", "plain-siren", "plain-hashgrid"]
    for each in methods.values():
        assert each["parameters"] > 0
        assert [run["budget"] for run in each["runs"]] == [0.3, 0.6]
        for run in each["runs"]:
            seconds = [t for t, _ in run["curve"]]
            assert seconds == sorted(seconds)
            assert run["curve"][-1] == [run["seconds"], run["psnr"]]
            if each["plain"]:  # the last step that was over in time
                assert run["seconds"] <= run["budget"] or run["steps"] == 0
        for target, found in each["seconds_to"].items():
            reached = [t for run in each["runs"] for t, p in run["curve"] if p >= float(target)]
            assert found == (min(reached) if reached else None)
    for row in content["ratios"]:
        assert row["plain"] in plain
        assert row["method"] not in plain
        assert row["bound"] in ("equal", "at most", "at least")
    check_picture(tmp_path / "r" / "bench_image.png")


def test_pixels_between(script, tmp_path, read_json, photo):
    methods = ("fast", "plain-siren")
    settings = ("--quick", "--device", "cpu", "--size", 28, "--methods", *methods, "--out", "r")
    done = script("bench_image.py", "--image", photo, "--between", *settings)
    assert done.returncode == 0, done.stderr
    content = read_json(tmp_path / "r" / "bench_image_between.json")
    row = content["rows"][0]
    assert [each["method"] for each in row["methods"]] == list(methods)
    # of a smooth picture, up to 8 bits and the last row and column
    assert row["bicubic"]["a=-0.5"] > 25
    assert "[::2, ::2] fitted" in done.stdout
    assert "bicubic, a=-0.5" in done.stdout


def test_pixels_between_of_several_pictures(script, tmp_path, read_json, photo):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "other.png").write_bytes(photo.read_bytes())
    settings = ("--between", "--image", photo, "--kodak", "photos", "--crop", 16, "--size", 16)
    done = script("bench_image.py", *settings, "--quick", "--device", "cpu", "--out", "r")
    assert done.returncode == 0, done.stderr
    content = read_json(tmp_path / "r" / "bench_image_between.json")
    assert [row["name"] for row in content["rows"]] == ["photo", "other"]
    assert all((row["height"], row["width"]) == (16, 16) for row in content["rows"])
    means = {each["method"]: each["psnr"] for each in content["mean_psnr"]}
    assert list(means) == ["fast", "quality", "bicubic, a=-0.5", "bicubic, a=-0.75"]
    scores = [row["bicubic"]["a=-0.5"] for row in content["rows"]]
    assert means["bicubic, a=-0.5"] == pytest.approx(sum(scores) / 2)


def test_a_large_picture(script, tmp_path, read_json):
    done = script(
        "bench_image.py", "--large", 0.05, "--seconds", 0.5, "--device", "cpu", "--out", "r"
    )
    assert done.returncode == 0, done.stderr
    content = read_json(tmp_path / "r" / "bench_image_large.json")
    assert abs(content["width"] * content["height"] - 50_000) < 1000
    assert 100e6 < content["peak_bytes"] < content["bound_bytes"]
    assert content["psnr"] > 5


def test_a_picture_as_large_as_asked(load, tmp_path):
    width, height = load("_large").make_picture(tmp_path / "large.png", 0.3)
    image = cn.read_image(tmp_path / "large.png")
    assert (image.width, image.height) == (width, height)
    assert abs(width * height - 300_000) < 2000
    assert image.pixels.std() > 20  # waves and edges, no flat color


def test_a_folder_of_pictures(script, tmp_path, read_json, photo):
    (tmp_path / "photos").mkdir()
    for name in ("a.png", "b.png"):
        (tmp_path / "photos" / name).write_bytes(photo.read_bytes())
    methods = ("fast", "fast-adam", "quality-float32")
    settings = ("--kodak", "photos", "--crop", 20, "--quick", "--device", "cpu", "--out", "r")
    settings = (*settings, "--size", 20, "--seconds", 0.2, 0.4, "--methods", *methods)
    done = script("bench_image.py", *settings)
    assert done.returncode == 0, done.stderr
    content = read_json(tmp_path / "r" / "bench_image_kodak.json")
    rows = content["rows"]
    assert [row["name"] for row in rows] == ["a", "b"]
    assert all(row["values"] == 20 * 20 * 3 for row in rows)
    assert [(each["method"], each["budget"]) for each in content["mean_psnr"]] == [
        (method, budget) for method in methods for budget in (0.2, 0.4)
    ]
    first = [row["methods"][0]["runs"][1]["psnr"] for row in rows]
    assert content["mean_psnr"][1]["psnr"] == pytest.approx(sum(first) / 2)


@pytest.mark.parametrize("name", ["fast-16-levels", "quality-adam", "harmonic"])
def test_variants_change_what_they_say(load, photo, name):
    fits, pictures = load("_fits"), load("_pictures")
    picture = pictures.load_picture(photo, None, photo.parent)
    cpu = torch.device("cpu")
    field, _, config = fits.task_fit(name, 10.0, picture, 0, cpu)
    preset = {"fast-16-levels": "fast", "quality-adam": "quality", "harmonic": None}[name]
    base, _, standard = fits.task_fit(preset, 10.0, picture, 0, cpu)
    assert (field.spec(), config) != (base.spec(), standard)
    if name == "quality-adam":
        assert field.spec() == base.spec()
        assert config.optimizer == "adam"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--image", "missing.png"], "no such file"),
        (["--size", "5000"], "--size must be from 1"),
        (["--seconds", "0"], "seconds must be above 0"),
        (["--crop", "4000"], "--crop must be from 1"),
        (["--large", "0"], "--large must be from"),
        (["--methods", "nonsense"], "invalid choice"),
        (["--kodak", "missing"], "--kodak must be a folder"),
    ],
)
def test_errors_are_one_line(error_of, arguments, says):
    assert says in error_of("bench_image", *arguments)


def smooth(x):
    return 0.5 + 0.4 * np.stack([np.sin(5 * x[..., 0] + 2), np.cos(3 * x[..., 1] - x[..., 0])], -1)


def test_bicubic_interpolation_is_aligned(load):
    between = load("_pictures").bicubic_between
    errors = []
    for n in (16, 32):
        whole = smooth(cn.pixel_centers(2 * n, 4 * n).double().numpy())
        fitted, target = whole[::2, ::2], whole[1::2, 1::2]
        found = between(fitted, *target.shape[:2], a=-0.5)
        inside = (slice(1, -2), slice(1, -2))
        errors.append(np.abs(found - target)[inside].max())
        for moved in ((0, 1), (1, 0)):  # half a pixel of the whole, a quarter of the fitted
            other = np.roll(whole, moved, (0, 1))[1::2, 1::2]
            assert np.abs(found - other)[inside].max() > 20 * errors[-1]
    assert errors[1] < errors[0] / 6  # of third order
    fitted = torch.rand(5, 7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    rows, columns = (2 * (torch.arange(n).double() + 0.5) / (n - 1) - 1 for n in (5, 7))
    grid = torch.stack(torch.meshgrid(columns, rows, indexing="xy"), -1)
    expected = F.grid_sample(
        fitted.permute(2, 0, 1)[None], grid[None], "bicubic", "border", align_corners=True
    )
    found = between(fitted.numpy(), 5, 7, a=-0.75)
    np.testing.assert_allclose(found, expected[0].permute(1, 2, 0).numpy(), atol=1e-12)


@pytest.mark.parametrize(("height", "width"), [(12, 20), (13, 21)])
def test_models_are_scored_where_the_pixels_between_lie(load, height, width):
    pictures = load("_pictures")
    whole = smooth(cn.pixel_centers(height, width).double().numpy()).astype(np.float32)
    fitted = whole[::2, ::2]
    rows, columns = fitted.shape[:2]
    size = torch.tensor([columns, rows])

    def model(u):
        index = 2 * (u * size - 0.5)  # in the whole picture
        center = (index + 0.5) / torch.tensor([width, height])
        return torch.from_numpy(smooth(center.double().numpy())).float()

    cpu = torch.device("cpu")
    assert pictures.score_between(whole, fitted, cpu)(model) > 100
    picture = pictures.Picture("", None, fitted)
    assert pictures.score_all(picture, cpu)(model) > 100


def test_box_averages(load):
    average = load("_pictures").box_average
    values = np.arange(24, dtype=np.float32).reshape(4, 6, 1)
    expected = values.reshape(2, 2, 2, 3, 1).mean((1, 3))
    np.testing.assert_allclose(average(values, 2, 2), expected, rtol=1e-6)
    np.testing.assert_array_equal(average(values, 4, 6), values)
    line = np.array([0.0, 3.0, 6.0], dtype=np.float32).reshape(1, 3, 1)
    np.testing.assert_allclose(average(line, 1, 2).ravel(), [1.0, 5.0])


def test_siren_starts_as_published(load):
    recipe = load("_recipes").build_recipe("plain-siren", 3, {}, 0, torch.device("cpu"))
    assert [tuple(each.weight.shape) for each in recipe.layers] == [
        (256, 2), *[(256, 256)] * 3, (3, 256),
    ]  # fmt: skip
    for i, layer in enumerate(recipe.layers):
        bound = 1 / 2 if i == 0 else math.sqrt(6 / 256) / 30
        assert bound == pytest.approx(0.5 if i == 0 else 0.005103, abs=5e-7)
        largest = float(layer.weight.detach().abs().max())
        assert 0.97 * bound < largest <= bound * (1 + 1e-6)
    recipe.start(torch.rand(6, 9, 3))
    corners = recipe.inputs.view(6, 9, 2)[[0, -1], [0, -1]]
    torch.testing.assert_close(corners, torch.tensor([[-1.0, -1.0], [1.0, 1.0]]))
    u = cn.pixel_centers(6, 9).reshape(-1, 2)
    torch.testing.assert_close(2 * recipe(u) - 1, recipe.values(recipe.inputs))


@pytest.mark.parametrize("name", ["plain-fourier", "plain-siren", "plain-hashgrid"])
def test_plain_recipes_learn(load, name):
    sizes = {"width": 32, "frequencies": 32, "batch": 64, "log2_hashmap_size": 8}
    recipe = load("_recipes").build_recipe(name, 3, sizes, 0, torch.device("cpu"))
    recipe.start(torch.rand(12, 8, 3, generator=torch.Generator().manual_seed(0)))
    losses = [float(recipe.step()) for _ in range(60)]
    assert losses[-1] < 0.9 * losses[0]
    with torch.no_grad():
        assert recipe(torch.rand(5, 2)).shape == (5, 3)


def test_the_clock_stands_still(load, monkeypatch):
    fits = load("_fits")
    now = [10.0]
    monkeypatch.setattr(fits.time, "perf_counter", lambda: now[0])
    clock = fits.Clock(torch.device("cpu"))
    now[0] += 2
    with clock.paused() as seconds:
        assert seconds == 2
        now[0] += 5
    assert clock.seconds() == 2
    now[0] += 1
    assert clock.seconds() == 3
    assert clock.spent == 5


def test_ratios_name_what_is_only_a_bound(load):
    fits = load("_fits")

    def outcome(method, *points):
        run = fits.Run(9.0, points[-1][0], 1, points[-1][1], list(points))
        return fits.Outcome(method, "", 1, [run])

    mine = outcome("mine", (1.0, 26.0), (4.0, 31.0))
    plain = outcome("plain-siren", (2.0, 24.0), (8.0, 27.0))
    rows = fits.ratios([mine, plain])
    assert [(row["target"], row["ratio"], row["bound"]) for row in rows] == [
        (25.0, 1 / 8, "equal"),
        (27.5, 4 / 8, "at most"),
        (30.0, 4 / 8, "at most"),
    ]
    rows = fits.ratios([outcome("mine", (4.0, 20.0)), plain])
    assert [(row["ratio"], row["bound"]) for row in rows] == [(4 / 8, "at least")]


def test_scores_are_spaced_geometrically(load):
    times = load("_fits").times([5.0, 15.0])
    assert times == sorted(times)
    assert times[0] == 0.25
    assert times[-1] == 15.0
    assert 5.0 in times
    assert all(b / a < 1.2501 for a, b in itertools.pairwise(times))
