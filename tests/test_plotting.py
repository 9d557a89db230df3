import math
import subprocess
import sys
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet import plotting
from coordnet.pictures import figures as pictures, save_comparison
from coordnet.plotting import curves
from coordnet.scenes import colored_depth
from coordnet.series import figures as signals, folded_figures as folded, save_folded, save_signal


@pytest.fixture
def figures(monkeypatch):
    """The figures that were saved, for a look at what is on them."""
    found = []
    save = plotting.save_figure

    def keep(figure, path):
        save(figure, path)
        found.append(figure)

    for module in (curves, folded, pictures, signals):
        monkeypatch.setattr(module, "save_figure", keep)
    return found


def texts(figure):
    return [axes.get_title(loc) for axes in figure.axes for loc in ("left", "center", "right")]


@pytest.mark.parametrize(
    "shape", [(20, 30), (20, 30, 1), (30, 20, 3), (16, 16, 4), (9, 8, 2), (1, 1, 3), (1, 50, 3)]
)
def test_comparison_of_all_kinds_of_pictures(tmp_path, figures, shape):
    target = np.random.default_rng(0).uniform(size=shape)
    save_comparison(tmp_path / "a.png", target, target - 0.1, title="a$b_c")
    caption = texts(figures[0])
    size = f"{shape[1]} × {shape[0]}"
    assert any(size in text for text in caption)
    expected = cn.psnr(target - 0.1, target, clamp=True)
    assert f"fit: PSNR {expected:.2f} dB" in caption
    assert cn.read_image(tmp_path / "a.png").height > 100


def test_comparison_shows_the_error_where_it_is(tmp_path, figures):
    target = np.zeros((24, 40, 3))
    fit = target.copy()
    fit[3, 20] = 1.0
    save_comparison(tmp_path / "a.png", torch.from_numpy(target), torch.from_numpy(fit))
    shown = figures[0].axes[2].images[0].get_array()
    assert shown.shape == (24, 40)
    assert np.argwhere(shown).tolist() == [[3, 20]]
    assert shown[3, 20] == 1.0


def test_large_pictures_are_thinned_for_the_figure_alone(tmp_path, figures):
    target = np.full((50, 3001, 1), 100, dtype=np.uint8)
    fit = target.copy()
    fit[7, 8] = 255
    save_comparison(tmp_path / "a.png", target, fit, peak=255)
    shown = figures[0].axes[1].images[0].get_array()
    assert max(shown.shape) <= 1024
    assert shown.shape[:2] == (17, 1001)
    np.testing.assert_allclose(shown[5], 100 / 255)
    assert f"fit: PSNR {cn.psnr(fit, target, peak=255):.2f} dB" in texts(figures[0])
    assert "largest 155" in " ".join(texts(figures[0]))


def test_transparent_pixels_show_the_board_and_not_their_color(tmp_path, figures):
    target = np.zeros((8, 8, 4))
    target[..., 0] = 1.0  # red, and transparent but for one pixel
    target[2, 5, 3] = 1.0
    save_comparison(tmp_path / "a.png", target, target)
    shown = np.asarray(figures[0].axes[0].images[0].get_array())
    assert shown[2, 5].tolist() == [1, 0, 0]
    assert (shown.max(-1) == shown.min(-1)).sum() == 63
    assert "fit: exact" in texts(figures[0])


def test_curve_leaves_out_what_an_axis_lacks(tmp_path, figures):
    point = SimpleNamespace(step=10, seconds=0.5, loss=0.0, psnr=math.inf)
    other = SimpleNamespace(step=20, seconds=1.0, loss=0.1, psnr=20.0)
    for history in ([], [point], [other], [point, other]):
        plotting.save_curve(tmp_path / "c.png", history)
        drawn = [axes.lines[0].get_xdata().tolist() for axes in figures[-1].axes[:2]]
        assert drawn == [[20] if other in history else []] * 2


def test_signal_is_drawn_in_order(tmp_path, figures):
    rng = np.random.default_rng(0)
    x = rng.permutation(np.r_[np.arange(100.0), 50.0])
    fine = rng.permutation(np.linspace(0, 100, 2001))
    y = np.stack([np.sin(x), np.cos(x)], 1)
    save_signal(
        tmp_path / "s.png",
        x,
        y,
        fine,
        np.stack([np.sin(fine), np.cos(fine)], 1),
        names=("hour", "a", "b"),
        periods=(2 * math.pi, 30.0),
        fitted=y - 0.25,
    )
    figure = figures[0]
    assert len(figure.axes) == 2 * (2 + 2)
    main, rest, beside, _ = figure.axes[:4]
    for line in main.lines:
        assert (np.diff(line.get_xdata()) >= 0).all()
    assert len(main.lines[0].get_xdata()) == 101
    np.testing.assert_allclose(rest.lines[0].get_ydata(), 0.25)
    phase = beside.lines[1].get_xdata()
    back = np.flatnonzero(np.diff(phase) < 0)
    assert back.size == 0  # NaN breaks the line at each wrap
    assert np.isnan(phase).sum() == 15
    assert [text for text in texts(figure) if text.startswith("RMSE")] == ["RMSE 0.25"] * 2


def test_signal_of_a_year_and_of_one_sample(tmp_path, figures):
    x = np.arange(8760.0)
    fine = np.linspace(0, 8760, 50_001)
    wave = np.sin(math.tau * fine / 24)
    save_signal(
        tmp_path / "y.png", x, np.sin(math.tau * x / 24), fine, wave, names=("h", "y"), periods=[24]
    )
    curve = figures[0].axes[0].lines[1]
    assert len(curve.get_xdata()) <= 20_000
    assert curve.get_ydata().max() == wave.max()  # thinning keeps the peaks
    save_signal(tmp_path / "o.png", [1.0], [2.0], [1.0], [2.0], names="xy")


def test_dates_along_the_axis(tmp_path, figures):
    hours = np.linspace(0, 8760, 100)
    days = cn.series.TimeAxis("h", "2010-01-01T00:00:00").days
    for scale, dated in ((1.0, True), (1e-7, False), (1e4, False)):  # a year, a second, 10^4 years
        x = scale * hours
        calendar = ("time", days)
        save_signal(
            tmp_path / "d.png", x, x, x, x, names=("h", "y"), periods=[24.0], calendar=calendar
        )
        main, rest, beside = figures[-1].axes
        at = main.lines[0].get_xdata()
        np.testing.assert_allclose(at, days(x) if dated else x, rtol=1e-15)
        assert rest.get_xlabel() == ("time" if dated else "h")
        assert beside.get_xlabel() == "h mod 24"
        shown = [tick.get_text() for tick in rest.get_xticklabels()]
        assert ("Jul" in shown) == dated


def test_folded_data_are_shown_above_a_level(tmp_path, figures):
    x = np.arange(0, 100, 0.25)
    wave = np.stack([np.sin(x), np.cos(2 * x)], 1)
    level = (0.5 * x)[:, None]
    save_folded(
        tmp_path / "f.png", x, wave + level + 0.1, wave + level, [math.tau], levels=[level],
        names=("h", "a", "b"),
    )  # fmt: skip
    for i, axes in enumerate(figures[0].axes):
        samples, fit = axes.lines
        np.testing.assert_allclose(samples.get_xdata(), np.mod(x, math.tau))
        np.testing.assert_allclose(samples.get_ydata(), wave[:, i] + 0.1, atol=1e-12)
        assert (np.diff(fit.get_xdata()) >= 0).all()
        assert fit.get_linestyle() == "-"  # one value for a phase, without the level
        assert axes.get_ylabel() == f"{'ab'[i]} less its mean over a period"


def test_depths_with_a_sky_keep_their_colors_near():
    depth = np.array([[1.0, 2.0, 4.0, 1000.0, 0.0]])
    near = colored_depth(depth[:, :3])
    sky = colored_depth(depth)
    for found, share in ((near, (0, 1 / 3, 1)), (sky, (0, 0.5, 0.75, 1))):
        shown = matplotlib.colormaps["viridis"](1 - np.array(share))[:, :3]
        np.testing.assert_allclose(found[0, : len(share)], shown, atol=0.01)
    assert (sky[0, 4] == 1).all()


def test_figures_without_a_display_or_pyplot(tmp_path):
    code = (
        "import sys, coordnet.plotting as p; assert 'matplotlib' not in sys.modules;"
        "p.save_curve('c.svg', []); assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
    assert (tmp_path / "c.svg").read_text("utf-8").startswith("<?xml")


def test_what_cannot_be_drawn_is_refused(tmp_path):
    picture = np.zeros((4, 4, 3))
    with pytest.raises(cn.InputError, match=r"\.png, \.pdf, \.svg"):
        save_comparison(tmp_path / "a.tex", picture, picture)
    with pytest.raises(cn.InputError, match="one shape"):
        save_comparison(tmp_path / "a.png", picture, picture[:3])
    with pytest.raises(cn.InputError, match="names must be"):
        save_signal(tmp_path / "a.png", [1], [1], [1], [1], names=("x",))
    with pytest.raises(cn.InputError, match="one length"):
        save_signal(tmp_path / "a.png", [1, 2], [1], [1], [1], names="xy")
    assert not list(tmp_path.iterdir())


def test_the_same_arrays_give_the_same_bytes(tmp_path):
    for name in ("a.png", "b.png"):
        save_comparison(tmp_path / name, np.zeros((4, 4)), np.ones((4, 4)))
    data = (tmp_path / "a.png").read_bytes()
    assert data == (tmp_path / "b.png").read_bytes()
    assert data.startswith(b"\x89PNG")


def test_characters_that_the_font_lacks_are_boxes(tmp_path, figures):
    """Matplotlib would warn of each, and warnings are errors here."""
    plotting.save_curve(tmp_path / "c.png", [], title="é\x1b日\n☃ $x$")
    assert figures[0].get_suptitle() == "é□□\n☃ $x$"
