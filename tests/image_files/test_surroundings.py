"""Readers and writers leave the program around them as it is."""

import contextlib
import logging
import os
import struct
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import GifImagePlugin, Image as PILImage

from coordnet.cli.host import own_process
from coordnet.errors import InputError
from coordnet.image_files import read_image, write_image
from coordnet.scenes import write_video
from coordnet.series import read_table

RNG = np.random.default_rng(0)


def noise(*shape):
    return RNG.integers(0, 255, shape, dtype=np.uint8, endpoint=True)


def test_pillows_limit_is_the_programs(tmp_path, monkeypatch):
    PILImage.new("L", (10, 10)).save(tmp_path / "a.png")
    monkeypatch.setattr(PILImage, "MAX_IMAGE_PIXELS", 60)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with pytest.warns(PILImage.DecompressionBombWarning):
            assert read_image(tmp_path / "a.png").width == 10
    monkeypatch.setattr(PILImage, "MAX_IMAGE_PIXELS", 10)
    with pytest.raises(InputError, match="limit of 20 pixels"):
        read_image(tmp_path / "a.png", max_pixels=None)
    with own_process():  # the command line's
        assert read_image(tmp_path / "a.png").width == 10
    assert PILImage.MAX_IMAGE_PIXELS == 10


def files_of_every_kind(folder):
    """Sound files and damaged ones, in whose reading Pillow warns or libtiff prints."""
    pixels = noise(12, 10, 3)
    picture = PILImage.fromarray(pixels)
    for name in ("a.png", "a.jpg", "a.gif", "a.webp", "a.bmp", "a.ppm"):
        picture.save(folder / name)
    picture.save(folder / "a.tif", compression="tiff_lzw")
    write_image(folder / "deep.png", pixels.astype(np.uint16) * 257)
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(folder / "deep.tif", pixels.astype(np.uint16), photometric="rgb")
    data = (folder / "a.tif").read_bytes()
    (folder / "damaged.tif").write_bytes(data[:20] + b"\xa5" * 60 + data[80:])
    frames = [picture, PILImage.fromarray(noise(12, 10, 3))]
    frames[0].save(folder / "several.gif", save_all=True, append_images=frames[1:])
    (folder / "a.csv").write_text("t,y\n0,1\n1,2\n2,4\n")
    return sorted(folder.iterdir())


def test_no_reader_changes_the_program_around_it(tmp_path):
    """Looked at whenever any Python function is entered or left, not only before and after."""

    def state():
        return (
            PILImage.MAX_IMAGE_PIXELS,
            GifImagePlugin.LOADING_STRATEGY,
            [*logging.getLogger("PIL").handlers, *logging.getLogger("tifffile").handlers],
            os.fstat(2).st_ino,
            warnings.showwarning,
            list(warnings.filters),
        )

    def look(frame, event, argument):
        if state() != before:
            changed.append(frame.f_code.co_name)

    files = files_of_every_kind(tmp_path)
    for path in files:  # imports first: modules may do as they like
        with contextlib.suppress(InputError):
            read_table(path) if path.suffix == ".csv" else read_image(path)
    before, changed, taken = state(), [], 0
    for path in files:
        sys.setprofile(look)
        try:
            with contextlib.suppress(InputError):
                read_table(path) if path.suffix == ".csv" else read_image(path)
                taken += 1
        finally:
            sys.setprofile(None)
    sys.setprofile(look)
    try:
        for suffix in (".png", ".tif", ".jpg", ".webp", ".gif"):
            if suffix == ".gif":
                write_video(tmp_path / "b.gif", iter([noise(4, 6, 3)] * 2), fps=10)
            else:
                write_image(tmp_path / f"b{suffix}", noise(4, 6, 3))
    finally:
        sys.setprofile(None)
    assert changed == []
    assert taken == len(files) - 1


def test_four_threads_decode_at_the_same_time(tmp_path, monkeypatch):
    pictures = [noise(6, 5, 3) for _ in range(4)]
    for i, pixels in enumerate(pictures):
        write_image(tmp_path / f"{i}.png", pixels)
    all_there, opened = threading.Barrier(4), PILImage.open

    def open_together(*arguments, **options):
        all_there.wait(timeout=30)  # raises where the four do not come here at once
        return opened(*arguments, **options)

    monkeypatch.setattr(PILImage, "open", open_together)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda i: read_image(tmp_path / f"{i}.png").pixels, range(4)))
    for pixels, again in zip(pictures, found, strict=True):
        np.testing.assert_array_equal(again, pixels)


def test_warnings_of_pillow_stay_warnings(tmp_path, capsys):
    picture = PILImage.fromarray(noise(8, 8, 3))
    picture.save(tmp_path / "a.tif", tiffinfo={270: "a" * 40})
    data = bytearray((tmp_path / "a.tif").read_bytes())
    entry = data.index(struct.pack("<HH", 270, 2))
    data[entry + 8 : entry + 12] = struct.pack("<I", len(data) + 100)  # beyond the file
    (tmp_path / "a.tif").write_bytes(data)
    with pytest.warns(UserWarning, match="[Tt]ag|EXIF|Truncated"):
        image = read_image(tmp_path / "a.tif")
    np.testing.assert_array_equal(image.pixels, np.asarray(picture))
    assert image.notes == ()
    with own_process():
        warnings.simplefilter("always")
        read_image(tmp_path / "a.tif")
    assert capsys.readouterr().err.startswith("warning: ")
