"""Moving pictures: written as they come, read back, whole or not at all."""

import os
import re
import subprocess
import sys

import imageio.v3 as iio
import numpy as np
import pytest
from PIL import Image

from coordnet import InputError
from coordnet.scenes import check_video, write_video

# eight flat colors a frame: no format has to approximate them by much
COLORS = np.array(
    [[255, 0, 0], [0, 255, 0], [0, 0, 255], [255, 255, 255], [0, 0, 0], [200, 100, 50],
     [20, 120, 220], [128, 128, 128]], np.uint8
)  # fmt: skip


def frames(number=5, height=16, width=64):
    """Yield bands of colors that move by one place in each frame."""
    for i in range(number):
        bands = np.roll(COLORS, i, axis=0)
        yield np.broadcast_to(np.repeat(bands, width // 8, axis=0), (height, width, 3)).copy()


def read_gif(path):
    with Image.open(path) as file:
        found, times = [], []
        for i in range(file.n_frames):
            file.seek(i)
            found.append(np.asarray(file.convert("RGB")))
            times.append(file.info["duration"])
        return np.stack(found), times, file.info.get("loop")


def read_mp4(path):
    """Return the frames, the rate, and what ffmpeg says of the stream."""
    ffmpeg = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    command = [ffmpeg, "-i", str(path), "-f", "rawvideo", "-pix_fmt", "rgb24", "-"]
    done = subprocess.run(command, capture_output=True, check=True)
    about = next(line for line in done.stderr.decode().splitlines() if "Video: h264" in line)
    width, height = map(int, re.search(r", (\d+)x(\d+)", about).groups())
    rate = float(re.search(r"([\d.]+) fps", about)[1])
    return np.frombuffer(done.stdout, np.uint8).reshape(-1, height, width, 3), rate, about


def test_a_gif_holds_every_frame(tmp_path):
    path = tmp_path / "bands.gif"
    assert write_video(path, frames(), fps=25) == 5
    found, times, loop = read_gif(path)
    assert np.array_equal(found, np.stack(list(frames())))
    assert times == [40] * 5
    assert loop == 0
    assert np.array_equal(iio.imread(path), np.stack(list(frames())))
    assert [each.name for each in tmp_path.iterdir()] == ["bands.gif"]


def test_times_of_a_gif_add_up(tmp_path):
    write_video(tmp_path / "fast.gif", frames(31), fps=30)
    _, times, _ = read_gif(tmp_path / "fast.gif")
    assert set(times) == {30, 40}
    assert sum(times[:30]) == 1000


def test_a_gif_of_many_colors_and_of_one(tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, (2, 40, 50, 3)).astype(np.uint8)
    noise[1] = noise[1, 0, 0]
    write_video(tmp_path / "noise.gif", noise)
    found, _, _ = read_gif(tmp_path / "noise.gif")
    assert np.abs(found[0].astype(int) - noise[0]).mean() < 16
    assert np.array_equal(found[1], noise[1])


def test_floats_are_clipped_scaled_and_rounded(tmp_path):
    values = np.empty((1, 8, 8, 3))
    values[..., 0], values[..., 1], values[..., 2] = -0.1, 0.5, 1.2
    write_video(tmp_path / "flat.gif", values)
    found, _, _ = read_gif(tmp_path / "flat.gif")
    assert found[0, 0, 0].tolist() == [0, 128, 255]


@pytest.mark.parametrize(("height", "width"), [(16, 64), (15, 64), (17, 72)])
def test_an_mp4_holds_every_frame(tmp_path, height, width):
    pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / "bands.mp4"
    assert write_video(path, frames(height=height, width=width), fps=12.5) == 5
    found, rate, about = read_mp4(path)
    assert rate == 12.5
    assert "yuv420p(tv, bt709" in about
    assert found.shape == (5, height + height % 2, width, 3)
    # the middles of bands: at their edges chroma is shared between pixels
    middle = slice(width // 16, None, width // 8)
    expected = np.stack(list(frames(height=height, width=width)))
    error = found[:, :height, middle].astype(int) - expected[:, :, middle]
    assert np.abs(error).max() <= 12
    assert [each.name for each in tmp_path.iterdir()] == ["bands.mp4"]


def test_odd_sides_are_said_to_grow_and_do_by_their_last_pixels(tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / "odd.mp4"
    (note,) = check_video(path, 33, 15)
    assert "last column and row is doubled, to 34 x 16" in note
    assert "last column is doubled, to 34 x 16" in check_video(path, 33, 16)[0]
    assert check_video(path, 34, 16) == ()
    picture = np.zeros((1, 15, 33, 3), np.uint8)
    picture[:, :, 24:] = 255
    write_video(path, picture)
    found, _, _ = read_mp4(path)
    assert found.shape == (1, 16, 34, 3)
    assert found[:, :, 28:].min() > 240
    assert found[:, :, :20].max() < 15


def test_a_folder_of_pngs(tmp_path):
    path = tmp_path / "orbit"
    assert write_video(path, frames(3)) == 3
    names = [f"frame_0000{i}.png" for i in range(3)]
    assert sorted(each.name for each in path.iterdir()) == names
    for name, frame in zip(names, frames(3), strict=True):
        assert np.array_equal(iio.imread(path / name), frame)
    # frames of another call are replaced, all of them
    clear = np.full((1, 4, 6, 4), 77, np.uint8)
    write_video(path, clear)
    assert [each.name for each in path.iterdir()] == names[:1]
    assert np.array_equal(iio.imread(path / names[0]), clear[0])
    assert [each.name for each in tmp_path.iterdir()] == ["orbit"]


@pytest.mark.parametrize("odd", ["notes.txt", "frame_1.png", "frame_00000.png.bak"])
def test_a_folder_of_anything_else_is_left_alone(tmp_path, odd):
    path = tmp_path / "mine"
    path.mkdir()
    (path / odd).write_text("mine")
    for call in (lambda: check_video(path, 8, 8), lambda: write_video(path, frames(1))):
        with pytest.raises(InputError, match=odd):
            call()
    assert (path / odd).read_text() == "mine"
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="a file"):
        write_video(tmp_path / "file", frames(1))


@pytest.mark.parametrize("name", ["a.gif", "a.mp4", "a"])
@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_what_is_interrupted_leaves_what_was_there(tmp_path, name, error):
    if name == "a.mp4":
        pytest.importorskip("imageio_ffmpeg")
    write_video(tmp_path / name, frames(1))

    def contents():
        files = [each for each in tmp_path.rglob("*") if each.is_file()]
        return {str(each): each.read_bytes() for each in files}

    before = contents()

    def broken():
        yield from frames(3)
        raise error

    with pytest.raises(error):
        write_video(tmp_path / name, broken())
    assert contents() == before
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_frames_are_taken_one_at_a_time(tmp_path):
    alive = []

    class Frame(np.ndarray):
        def __del__(self):
            alive.remove(id(self))

    def tracked():
        for frame in frames(20):
            made = frame.view(Frame)
            alive.append(id(made))
            assert len(alive) <= 3
            yield made
            del made

    assert write_video(tmp_path / "long.gif", tracked()) == 20


@pytest.mark.parametrize(
    ("name", "made", "fps", "words"),
    [
        ("a.avi", None, 30, [".mp4", ".gif", "'.avi'"]),
        ("a.gif", None, 60, ["0.01 to 50", "fps=60"]),
        ("a.gif", None, 0, ["fps", "above 0"]),
        ("a.gif", None, float("nan"), ["fps", "nan"]),
        ("a.gif", [], 30, ["frames", "none"]),
        ("a.gif", [np.zeros((8, 8))], 30, ["(H, W, 3)", "(8, 8)"]),
        ("a.gif", [np.zeros((8, 8, 4))], 30, ["no alpha", ".gif"]),
        ("a.mp4", [np.zeros((8, 8, 4))], 30, ["no alpha", ".mp4"]),
        ("a.gif", [np.zeros((8, 8, 3)), np.zeros((8, 9, 3))], 30, ["one shape", "(8, 9, 3)"]),
        ("a.gif", [np.full((8, 8, 3), np.nan)], 30, ["finite", "row 0"]),
        ("a.gif", [np.zeros((8, 8, 3), np.uint16)], 30, ["uint8", "uint16"]),
        ("a.gif", [np.zeros((1, 65536, 3), np.uint8)], 30, ["65,535", "65536 x 1"]),
    ],
)
def test_what_cannot_be_written_is_one_line(tmp_path, name, made, fps, words):
    with pytest.raises(InputError) as error:
        write_video(tmp_path / name, frames(2) if made is None else made, fps=fps)
    assert all(word in str(error.value) for word in words), str(error.value)
    assert "\n" not in str(error.value)
    assert not list(tmp_path.iterdir())


def test_without_ffmpeg_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    for call in (check_video, lambda path, *size: write_video(path, frames(1))):
        with pytest.raises(InputError, match=r"pip install 'coordnet\[video\]'; or write a \.gif"):
            call(tmp_path / "a.mp4", 8, 8)
    assert not list(tmp_path.iterdir())


def test_an_ffmpeg_that_fails_is_one_line(tmp_path, monkeypatch):
    pytest.importorskip("imageio_ffmpeg")
    if os.name != "posix":
        pytest.skip("needs a shell")
    program = tmp_path / "ffmpeg"
    for body in ("echo 'Unknown encoder' >&2; exit 1", "cat >/dev/null; exit 3"):
        program.write_text(f"#!/bin/sh\n{body}\n")
        program.chmod(0o755)
        monkeypatch.setattr("coordnet.scenes.video._ffmpeg", lambda: str(program))
        for size in ((64, 640), (8, 8)):
            with pytest.raises(RuntimeError, match=r"a\.mp4 could not be written: ffmpeg says: \w"):
                write_video(tmp_path / "a.mp4", frames(200, *size))
            assert [each.name for each in tmp_path.iterdir()] == ["ffmpeg"]
