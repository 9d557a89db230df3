"""Picture files in and out, against Pillow read directly and against values known beforehand."""

import io
import os
import struct
import subprocess
import sys
import zlib

import numpy as np
import pytest
from PIL import Image as PILImage, ImageOps

from coordnet.cli.host import own_process
from coordnet.errors import InputError
from coordnet.image_files import check_output, is_lossy, read_image, write_image
from coordnet.image_files.image import image_from_samples
from coordnet.image_files.png16 import decode

RNG = np.random.default_rng(0)


def noise(*shape, dtype=np.uint8):
    return RNG.integers(0, np.iinfo(dtype).max, shape, dtype=dtype, endpoint=True)


def png_chunk(kind, body):
    checksum = struct.pack(">I", zlib.crc32(kind + body))
    return struct.pack(">I", len(body)) + kind + body + checksum


def png(width, height, bits, color_type, rows, extra=b"", interlace=0):
    header = struct.pack(">IIBBBBB", width, height, bits, color_type, 0, 0, interlace)
    return (
        b"\x89PNG\r\n\x1a\n"
        + png_chunk(b"IHDR", header)
        + extra
        + png_chunk(b"IDAT", zlib.compress(rows, 9))
        + png_chunk(b"IEND", b"")
    )


def refusal(call, *args, **kwargs):
    with pytest.raises(InputError) as caught:
        call(*args, **kwargs)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_importing_the_module_imports_neither_torch_nor_an_image_library():
    code = (
        "import sys, coordnet.image_files.reading as i;"
        "print([m for m in ('torch', 'imageio', 'PIL', 'tifffile') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- depth and scale -------------------------------------------------------------------------


def test_16_bit_gray_png_is_divided_by_65535(tmp_path):
    pixels = np.linspace(0, 65535, 48 * 64).round().astype(np.uint16).reshape(48, 64)
    PILImage.fromarray(pixels).save(tmp_path / "a.png")
    image = read_image(tmp_path / "a.png")
    assert (image.height, image.width, image.channels, image.mode) == (48, 64, 1, "gray")
    assert (image.peak, image.bit_depth, image.notes) == (65535, 16, ())
    assert image.pixels.dtype == np.uint16
    np.testing.assert_array_equal(image.pixels[..., 0], pixels)
    np.testing.assert_array_equal(image.values()[..., 0], pixels / np.float32(65535))
    assert image.values(slice(3, 5)).shape == (2, 64, 1)
    PILImage.fromarray(np.full((4, 4), 200, np.uint16)).save(tmp_path / "dark.png")
    assert read_image(tmp_path / "dark.png").values().max() == np.float32(200 / 65535)


def test_int32_arrays_of_16_bit_values_have_the_peak_65535(tmp_path):
    pixels = np.array([[0, 200, 40000, 65535]], np.int32)
    image = image_from_samples("x", pixels[..., None], 32)
    assert (image.peak, image.pixels.dtype) == (65535, np.uint16)
    PILImage.fromarray(pixels).save(tmp_path / "a.tif")  # mode I: 32-bit samples in the file
    image = read_image(tmp_path / "a.tif")
    np.testing.assert_array_equal(image.pixels[..., 0], pixels)
    assert (image.peak, image.bit_depth) == (65535, 32)
    assert "65535 is white" in image.notes[0]


@pytest.mark.parametrize("value", [-1, 65536])
def test_32_bit_integers_beyond_16_bits_have_no_known_white(tmp_path, value):
    PILImage.fromarray(np.array([[0, value]], np.int32)).save(tmp_path / "a.tif")
    assert f"{min(0, value)} to {max(0, value)}" in refusal(read_image, tmp_path / "a.tif")


def tiff(pixels, endian="<", photometric=1):
    """An uncompressed TIFF of 16-bit integers or 32-bit floats, gray or RGB, laid out by hand."""
    height, width = pixels.shape[:2]
    channels, bits = pixels[0, 0].size, 8 * pixels.itemsize
    body = pixels.astype(pixels.dtype.newbyteorder(endian)).tobytes()
    depths, end = struct.pack(endian + "4H", *[bits] * 4), 8 + len(body)
    tags = {256: width, 257: height, 258: bits, 259: 1, 262: photometric, 273: 8, 277: channels}
    tags |= {278: height, 279: len(body)}
    wide = {273, 279}  # values of 32 bits
    if channels > 1:
        tags[258], wide = end, {258, *wide}  # where the depths of the channels lie
    elif pixels.dtype.kind == "f":
        tags[339] = 3
    entries = b""
    for tag, value in tags.items():
        kind, count = 4 if tag in (273, 279) else 3, channels if tag == 258 else 1
        entries += struct.pack(endian + "HHI", tag, kind, count)
        entries += struct.pack(endian + ("I" if tag in wide else "H"), value).ljust(4, b"\0")
    mark = b"MM" if endian == ">" else b"II"
    head = mark + struct.pack(endian + "HI", 42, end + len(depths))
    return head + body + depths + struct.pack(endian + "H", len(tags)) + entries + b"\0" * 4


@pytest.mark.parametrize("endian", ["<", ">"])
def test_uint16_40000_in_a_tiff_of_either_byte_order(tmp_path, endian):
    pixels = np.array([[40000, 1, 65535], [0, 256, 32768]], np.uint16)
    (tmp_path / "a.tif").write_bytes(tiff(pixels, endian))
    image = read_image(tmp_path / "a.tif")
    assert image.pixels.dtype == np.dtype("=u2")
    assert image.pixels.dtype.isnative
    np.testing.assert_array_equal(image.pixels[..., 0], pixels)
    assert image.values()[0, 0, 0] == pytest.approx(0.61036, abs=1e-5)
    (tmp_path / "b.tif").write_bytes(tiff(pixels, endian, photometric=0))  # white is zero
    np.testing.assert_array_equal(read_image(tmp_path / "b.tif").pixels[..., 0], 65535 - pixels)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_gray_below_8_bits_fills_0_to_255_and_keeps_its_depth(tmp_path, bits):
    # one byte a row: the samples 0 and the largest in its upper bits
    rows = b"\0" + bytes([(2**bits - 1) << (8 - 2 * bits)])
    (tmp_path / "a.png").write_bytes(png(2, 1, bits, 0, rows))
    image = read_image(tmp_path / "a.png")
    assert image.pixels.dtype == np.uint8
    assert image.pixels.ravel().tolist() == [0, 255]
    assert (image.peak, image.bit_depth) == (255, bits)
    keyed = png(2, 1, bits, 0, rows, png_chunk(b"tRNS", struct.pack(">H", 2**bits - 1)))
    (tmp_path / "b.png").write_bytes(keyed)
    image = read_image(tmp_path / "b.png")
    assert image.pixels.tolist() == [[[0, 255], [255, 0]]]


def test_pgm_of_any_maximum_is_read_on_its_own_scale(tmp_path):
    (tmp_path / "a.pgm").write_bytes(b"P5 2 1 1000\n" + np.array([500, 1000], ">u2").tobytes())
    image = read_image(tmp_path / "a.pgm")
    assert image.bit_depth == 10
    np.testing.assert_allclose(image.values().ravel(), [0.5, 1.0], atol=1e-5)
    (tmp_path / "b.ppm").write_bytes(b"P6 1 1 65535\n" + b"\x9c\x40" * 3)
    assert "16-bit PNG" in refusal(read_image, tmp_path / "b.ppm")


def test_float_tiff_keeps_its_values_and_says_when_they_leave_the_unit_range(tmp_path):
    pixels = np.array([[-0.5, 0.25], [1.0, 3.0]], np.float32)
    PILImage.fromarray(pixels).save(tmp_path / "a.tif")
    image = read_image(tmp_path / "a.tif")
    np.testing.assert_array_equal(image.values()[..., 0], pixels)
    assert (image.peak, image.bit_depth) == (1.0, 32)
    assert "-0.5 to 3" in image.notes[0]
    image.values()[:] = 7
    np.testing.assert_array_equal(image.pixels[..., 0], pixels)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_float_tiff_with_one_bad_pixel_is_refused_by_row_and_column(tmp_path, value):
    pixels = np.zeros((24, 40), np.float32)
    pixels[3, 20] = value
    (tmp_path / "a.tif").write_bytes(tiff(pixels, ">"))
    assert "row 3, column 20" in refusal(read_image, tmp_path / "a.tif")


# --- channels and color ---------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(24, 40), (24, 40, 2), (24, 40, 3), (24, 40, 4)])
@pytest.mark.parametrize("suffix", [".png", ".tif"])
def test_channels_come_as_the_file_has_them(tmp_path, shape, suffix):
    pixels = noise(*shape)
    PILImage.fromarray(pixels).save(tmp_path / f"a{suffix}")
    image = read_image(tmp_path / f"a{suffix}")
    np.testing.assert_array_equal(image.pixels, pixels.reshape(24, 40, -1))
    assert image.pixels.flags.c_contiguous
    assert image.pixels.flags.writeable


def test_palette_png_with_a_short_transparency_table_is_its_rgba(tmp_path):
    palette = noise(7, 3)
    indices = noise(16, 16) % 7
    picture = PILImage.frombytes("P", (16, 16), indices.tobytes())
    picture.putpalette(palette.tobytes())
    picture.save(tmp_path / "a.png", transparency=bytes([0, 128]))
    alpha = np.array([0, 128, 255, 255, 255, 255, 255], np.uint8)
    image = read_image(tmp_path / "a.png")
    np.testing.assert_array_equal(image.pixels[..., :3], palette[indices])
    np.testing.assert_array_equal(image.pixels[..., 3], alpha[indices])
    assert (image.mode, image.bit_depth) == ("RGBA", 8)
    picture.save(tmp_path / "b.png")
    np.testing.assert_array_equal(read_image(tmp_path / "b.png").pixels, palette[indices])


def test_rgb_png_with_a_transparent_color_has_alpha(tmp_path):
    pixels = np.array([[[10, 20, 30], [10, 20, 31]]], np.uint8)
    PILImage.fromarray(pixels).save(tmp_path / "a.png", transparency=(10, 20, 30))
    assert read_image(tmp_path / "a.png").pixels.tolist() == [[[10, 20, 30, 0], [10, 20, 31, 255]]]


@pytest.mark.parametrize("suffix", [".jpg", ".tif"])
def test_red_in_cmyk_is_red(tmp_path, suffix):
    PILImage.new("CMYK", (16, 16), (0, 255, 255, 0)).save(tmp_path / f"a{suffix}")
    image = read_image(tmp_path / f"a{suffix}")
    assert image.pixels.shape == (16, 16, 3)
    assert np.abs(image.pixels.astype(int) - [255, 0, 0]).max() <= 2
    assert any("CMYK" in note for note in image.notes)


def test_cmyk_jpeg_that_does_not_say_how_inks_are_stored_is_refused(tmp_path):
    buffer = io.BytesIO()
    PILImage.new("CMYK", (16, 16), (0, 255, 255, 0)).save(buffer, "JPEG")
    data = buffer.getvalue()
    start = data.index(b"\xff\xee")
    (length,) = struct.unpack_from(">H", data, start + 2)
    (tmp_path / "a.jpg").write_bytes(data[:start] + data[start + 2 + length :])
    assert "Adobe marker" in refusal(read_image, tmp_path / "a.jpg")


def test_jpeg_color_and_gray_are_rgb_and_gray(tmp_path):
    for name, color, mode in (("a.jpg", (255, 0, 0), "RGB"), ("b.jpg", 128, "L")):
        PILImage.new(mode, (20, 10), color).save(tmp_path / name, quality=95)
    assert np.abs(read_image(tmp_path / "a.jpg").pixels.astype(int) - [255, 0, 0]).max() <= 2
    assert read_image(tmp_path / "b.jpg").pixels.shape == (10, 20, 1)
    PILImage.new("LAB", (4, 4)).save(tmp_path / "a.tif")
    assert "LAB" in refusal(read_image, tmp_path / "a.tif")


# --- orientation -----------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".png", ".tif", ".webp"])
@pytest.mark.parametrize("mode", ["L", "RGB", "P"])
def test_every_orientation_is_applied(tmp_path, suffix, mode):
    path = tmp_path / f"a{suffix}"
    source = PILImage.fromarray(noise(6, 10, 3)).quantize(8).convert(mode)
    if suffix == ".webp":
        source = source.convert("RGB")
    for orientation in range(1, 9):
        exif = PILImage.Exif()
        exif[274] = orientation
        source.save(path, exif=exif, **({"lossless": True} if suffix == ".webp" else {}))
        plain = source.convert("RGB") if mode == "P" else source.copy()
        plain.getexif()[274] = orientation
        image = read_image(path)
        np.testing.assert_array_equal(
            image.pixels.squeeze(), np.asarray(ImageOps.exif_transpose(plain))
        )
        assert (f"EXIF orientation {orientation} applied." in image.notes) == (orientation > 1)


def test_jpeg_with_orientation_6_has_its_red_quadrant_at_the_top_right(tmp_path):
    exif = PILImage.Exif()
    exif[274] = 6
    pixels = np.zeros((48, 64, 3), np.uint8)
    pixels[:24, :32] = [255, 0, 0]
    PILImage.fromarray(pixels).save(tmp_path / "a.jpg", exif=exif, quality=95)
    image = read_image(tmp_path / "a.jpg")
    assert (image.height, image.width) == (64, 48)
    red = image.pixels[..., 0] > 128
    assert red[:32, 24:].all()
    assert red.sum() == 32 * 24


def test_orientation_of_a_16_bit_png_in_color(tmp_path):
    exif = PILImage.Exif()
    exif[274] = 8
    pixels = noise(6, 10, 3, dtype=np.uint16)
    extra = png_chunk(b"eXIf", exif.tobytes()[6:])
    (tmp_path / "a.png").write_bytes(png(10, 6, 16, 2, filtered(pixels, [0] * 6), extra))
    image = read_image(tmp_path / "a.png")
    np.testing.assert_array_equal(image.pixels, np.rot90(pixels))
    assert image.notes == ("EXIF orientation 8 applied.",)


# --- several pictures in a file --------------------------------------------------------------


def frames(count, height=20, width=30):
    return [PILImage.new("RGB", (width, height), (80 * i, 0, 255 - 80 * i)) for i in range(count)]


@pytest.mark.parametrize("suffix", [".gif", ".png", ".webp"])
def test_of_an_animation_the_first_frame_is_read_and_said_so(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    first, *others = frames(3)
    options = {"lossless": True} if suffix == ".webp" else {}
    first.save(path, save_all=True, append_images=others, **options)
    image = read_image(path)
    assert image.pixels.shape == (20, 30, 3)
    np.testing.assert_array_equal(image.pixels[0, 0], [0, 0, 255])
    assert "frame 0 of 3" in image.notes[0]
    assert "--page" in image.notes[0]
    image = read_image(path, page=2)
    np.testing.assert_array_equal(image.pixels[0, 0, :3], [160, 0, 95])
    assert "frame 2 of 3" in image.notes[0]
    for page in (3, -1, True):
        assert "0 to 2" in refusal(read_image, path, page=page)


def test_transparency_of_a_later_frame_is_kept(tmp_path):
    pictures = []
    for i in range(3):
        picture = PILImage.new("RGBA", (30, 20), (0, 0, 0, 0))
        picture.paste((250, 0, 0, 255), (10 * i, 0, 10 * i + 10, 20))
        pictures.append(picture)
    pictures[0].save(tmp_path / "a.gif", save_all=True, append_images=pictures[1:], disposal=2)
    for i in range(3):
        image = read_image(tmp_path / "a.gif", page=i)
        expected = np.zeros((20, 30), np.uint8)
        expected[:, 10 * i : 10 * i + 10] = 255
        np.testing.assert_array_equal(image.pixels[..., 3], expected)


def test_a_camera_jpeg_with_a_second_picture_gives_the_first(tmp_path):
    first, second, _ = frames(3)
    first.save(tmp_path / "a.jpg", "MPO", save_all=True, append_images=[second])
    image = read_image(tmp_path / "a.jpg")
    assert np.abs(image.pixels.astype(int) - [0, 0, 255]).max() <= 2
    assert "frame 0 of 2" in image.notes[0]


@pytest.mark.parametrize("suffix", [".png", ".gif"])
def test_a_file_of_one_page_has_page_0_only(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    frames(1)[0].save(path)
    for page in (None, 0):
        image = read_image(path, page=page)
        assert (image.pixels.shape, image.notes) == ((20, 30, 3), ())
    assert "page must be 0 " in refusal(read_image, path, page=1)


def test_a_tiff_of_several_pages_needs_a_page(tmp_path):
    first, *others = frames(4)
    others.append(PILImage.new("L", (5, 7), 9))
    first.save(tmp_path / "a.tif", save_all=True, append_images=others)
    text = refusal(read_image, tmp_path / "a.tif")
    assert "5 pages" in text
    assert "--page" in text
    np.testing.assert_array_equal(
        read_image(tmp_path / "a.tif", page=1).pixels, np.asarray(frames(2)[1])
    )
    assert read_image(tmp_path / "a.tif", page=4).pixels.shape == (7, 5, 1)
    assert "page=5" in refusal(read_image, tmp_path / "a.tif", page=5)


# --- 16 bits in several channels -------------------------------------------------------------


@pytest.mark.parametrize("channels", [2, 3, 4])
def test_16_bit_png_in_color_keeps_all_its_bits(tmp_path, channels):
    for size in ((1, 1), (1, 9), (9, 1), (2, 2), (24, 40)):
        pixels = noise(*size, channels, dtype=np.uint16)
        write_image(tmp_path / "a.png", pixels)
        image = read_image(tmp_path / "a.png")
        np.testing.assert_array_equal(image.pixels, pixels)
        assert (image.peak, image.bit_depth) == (65535, 16)
        with PILImage.open(tmp_path / "a.png") as other:  # which gives the upper bytes
            upper = np.asarray(other)
        np.testing.assert_array_equal(upper if channels > 2 else upper[..., [0, 3]], pixels >> 8)


def filtered(pixels, kinds):
    """PNG row filters, byte by byte from their definition."""
    height, width, channels = pixels.shape
    size = 2 * channels
    rows = pixels.astype(">u2").view(np.uint8).reshape(height, width * size).astype(int)
    out = bytearray()
    for r, kind in enumerate(kinds):
        out.append(kind)
        for i, value in enumerate(rows[r]):
            a = rows[r, i - size] if i >= size else 0
            b = rows[r - 1, i] if r else 0
            c = rows[r - 1, i - size] if r and i >= size else 0
            p = a + b - c
            paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            out.append((value - [0, a, b, (a + b) // 2, paeth][kind]) % 256)
    return bytes(out)


@pytest.mark.parametrize("shape", [(15, 11, 3), (7, 20, 4), (10, 1, 3), (5, 8, 2)])
def test_every_png_row_filter_is_undone(tmp_path, shape):
    pixels = noise(*shape, dtype=np.uint16)
    rows = filtered(pixels, [(4 + r) % 5 for r in range(shape[0])])
    color = {2: 4, 3: 2, 4: 6}[shape[2]]
    (tmp_path / "a.png").write_bytes(png(shape[1], shape[0], 16, color, rows))
    np.testing.assert_array_equal(read_image(tmp_path / "a.png").pixels, pixels)


@pytest.mark.parametrize("size", [(1, 1), (3, 5), (8, 8), (13, 10)])
def test_interlaced_16_bit_png(tmp_path, size):
    pixels = noise(*size, 3, dtype=np.uint16)
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2)]
    passes += [(0, 1, 2, 2), (1, 0, 2, 1)]
    rows = b""
    for y, x, dy, dx in passes:
        part = pixels[y::dy, x::dx]
        if part.size:
            rows += filtered(np.ascontiguousarray(part), [4] * len(part))
    (tmp_path / "a.png").write_bytes(png(size[1], size[0], 16, 2, rows, interlace=1))
    np.testing.assert_array_equal(read_image(tmp_path / "a.png").pixels, pixels)


def test_16_bit_png_with_a_transparent_color(tmp_path):
    pixels = np.array([[[1, 2, 3], [1, 2, 65535]]], np.uint16)
    rows = filtered(pixels, [0])
    key = png_chunk(b"tRNS", struct.pack(">HHH", 1, 2, 3))
    (tmp_path / "a.png").write_bytes(png(2, 1, 16, 2, rows, key))
    assert read_image(tmp_path / "a.png").pixels[..., 3].tolist() == [[0, 65535]]


def test_damaged_16_bit_png_is_refused(tmp_path):
    write_image(tmp_path / "a.png", noise(9, 9, 3, dtype=np.uint16))
    whole = (tmp_path / "a.png").read_bytes()
    for cut in (len(whole) - 3, len(whole) - 20, len(whole) // 2, 60):
        (tmp_path / "b.png").write_bytes(whole[:cut])
        assert "b.png" in refusal(read_image, tmp_path / "b.png")
    broken = bytearray(whole)
    broken[100] ^= 1
    (tmp_path / "b.png").write_bytes(broken)
    assert "undamaged" in refusal(read_image, tmp_path / "b.png")
    (tmp_path / "b.png").write_bytes(png(9, 9, 16, 2, b"\0" * 40))
    assert "undamaged" in refusal(read_image, tmp_path / "b.png")
    with pytest.raises(ValueError, match="cut short"):
        decode((tmp_path / "b.png").read_bytes())


RGB16 = np.array([[[40000, 1, 2], [3, 256, 65535]]], np.uint16)


def test_16_bit_rgb_tiff_is_read_whole_by_tifffile_or_refused(tmp_path, monkeypatch):
    pytest.importorskip("tifffile")
    (tmp_path / "a.tif").write_bytes(tiff(RGB16, photometric=2))
    image = read_image(tmp_path / "a.tif")
    np.testing.assert_array_equal(image.pixels, RGB16)
    assert (image.peak, image.bit_depth) == (65535, 16)
    monkeypatch.setitem(sys.modules, "tifffile", None)
    assert "coordnet[tiff]" in refusal(read_image, tmp_path / "a.tif")


def test_float_rgb_tiff_and_its_pages_and_layouts(tmp_path):
    tifffile = pytest.importorskip("tifffile")
    pixels = RNG.random((2, 6, 5, 3), dtype=np.float32)
    tifffile.imwrite(tmp_path / "a.tif", pixels[0], photometric="rgb", byteorder=">")
    image = read_image(tmp_path / "a.tif")
    np.testing.assert_array_equal(image.pixels, pixels[0])
    assert image.pixels.dtype.isnative
    planes = np.ascontiguousarray(pixels[0].transpose(2, 0, 1))
    tifffile.imwrite(tmp_path / "b.tif", planes, photometric="rgb", planarconfig="separate")
    np.testing.assert_array_equal(read_image(tmp_path / "b.tif").pixels, pixels[0])
    tifffile.imwrite(tmp_path / "c.tif", pixels, photometric="rgb")
    assert "2 pages" in refusal(read_image, tmp_path / "c.tif")
    np.testing.assert_array_equal(read_image(tmp_path / "c.tif", page=1).pixels, pixels[1])
    tifffile.imwrite(
        tmp_path / "d.tif", pixels[0], photometric="rgb", extratags=[(274, 3, 1, 6, True)]
    )
    np.testing.assert_array_equal(read_image(tmp_path / "d.tif").pixels, np.rot90(pixels[0], -1))
    assert "30 pixels" in refusal(read_image, tmp_path / "a.tif", max_pixels=29)
    tifffile.imwrite(tmp_path / "e.tif", noise(6, 5, 7, dtype=np.uint16), photometric="rgb")
    assert "gray or RGB" in refusal(read_image, tmp_path / "e.tif")


# --- sizes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("suffix", [".png", ".tif", ".bmp", ".webp"])
def test_tiny_pictures_survive_writing_and_reading(tmp_path, channels, suffix):
    path = tmp_path / f"a{suffix}"
    if channels not in {".bmp": (1, 3), ".webp": (3, 4)}.get(suffix, (1, 2, 3, 4)):
        assert str(channels) in refusal(write_image, path, noise(2, 2, channels))
        return
    for size in [(1, 1), (1, 9), (9, 1), (2, 2), (2, 3), (4, 2)]:
        pixels = noise(*size, channels)
        pixels[..., -1] |= 1  # at alpha 0 some formats do not keep the color
        write_image(path, pixels)
        np.testing.assert_array_equal(read_image(path).pixels, pixels)


def test_a_decompression_bomb_is_refused_before_it_is_decoded(tmp_path):
    width = height = 20000
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b"\0" * (1 + width // 8)) for _ in range(height))
    packed += packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", packed)
    (tmp_path / "a.png").write_bytes(data + png_chunk(b"IEND", b""))
    text = refusal(read_image, tmp_path / "a.png", max_pixels=None)  # by Pillow's limit
    assert "400000000 pixels" in text
    assert "PIL.Image.MAX_IMAGE_PIXELS" in text
    with own_process():
        text = refusal(read_image, tmp_path / "a.png")
    assert "20000 x 20000 = 400,000,000 pixels" in text
    assert "1.6 GB as float32" in text
    assert "max_pixels=None" in text


def test_the_limit_counts_pixels_and_can_be_lifted(tmp_path):
    PILImage.new("L", (10, 10)).save(tmp_path / "a.png")
    assert "at most 99 pixels" in refusal(read_image, tmp_path / "a.png", max_pixels=99)
    assert {read_image(tmp_path / "a.png", max_pixels=n).width for n in (100, None)} == {10}


# --- files that are no pictures --------------------------------------------------------------


def test_what_is_no_picture_file_is_refused_in_one_line(tmp_path):
    (tmp_path / "empty.png").touch()
    (tmp_path / "text.png").write_text("hello\nworld\n" * 20)
    (tmp_path / "zeros.png").write_bytes(b"\0" * 500)
    (tmp_path / "a\nb.png").write_text("text")
    assert "0 bytes" in refusal(read_image, tmp_path / "empty.png")
    assert "b'hello" in refusal(read_image, tmp_path / "text.png")
    assert "zeros.png" in refusal(read_image, str(tmp_path / "zeros.png"))
    assert "a folder" in refusal(read_image, tmp_path)
    assert "no such file" in refusal(read_image, tmp_path / "missing.png")
    assert "no such file" in refusal(read_image, "https://example.org/a.png")
    refusal(read_image, tmp_path / "a\nb.png")
    refusal(read_image, tmp_path / ("n" * 300 + ".png"))
    os.mkfifo(tmp_path / "pipe.png")
    assert "regular file" in refusal(read_image, tmp_path / "pipe.png")


@pytest.mark.parametrize("suffix", [".png", ".jpg", ".gif", ".tif", ".bmp", ".webp", ".ppm"])
def test_truncated_files_are_refused_in_one_line(tmp_path, suffix):
    PILImage.fromarray(noise(64, 48, 3)).save(tmp_path / f"a{suffix}")
    whole = (tmp_path / f"a{suffix}").read_bytes()
    for cut in (5, 40, len(whole) // 2, len(whole) * 9 // 10):
        (tmp_path / f"b{suffix}").write_bytes(whole[:cut])
        assert f"b{suffix}" in refusal(read_image, tmp_path / f"b{suffix}")


def test_names_do_not_decide(tmp_path):
    """Neither an ending, nor a folder that looks like an archive."""
    (tmp_path / "x.zip").mkdir()
    pixels = noise(6, 4, 3)
    PILImage.fromarray(pixels).save(tmp_path / "x.zip" / "a.jpg", "PNG")
    np.testing.assert_array_equal(read_image(tmp_path / "x.zip" / "a.jpg").pixels, pixels)


# --- writing ---------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".png", ".tif", ".bmp", ".webp", ".jpg"])
def test_predictions_are_clipped_scaled_and_rounded(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    for value, byte in ((-0.1, 0), (0.5, 128), (1.2, 255), (0.9999, 255), (100.4 / 255, 100)):
        write_image(path, np.full((16, 8, 3), value, np.float32))
        with PILImage.open(path) as other:
            np.testing.assert_array_equal(np.asarray(other), np.full((16, 8, 3), byte))


def test_depth_16_and_every_float(tmp_path):
    for dtype in (np.float16, np.float32, np.float64):
        write_image(tmp_path / "a.png", np.array([[[-1], [0.5], [1], [9]]], dtype), bit_depth=16)
        with PILImage.open(tmp_path / "a.png") as other:
            assert np.asarray(other).tolist() == [[0, 32768, 65535, 65535]]


@pytest.mark.parametrize(("dtype", "depth"), [(np.uint8, 8), (np.uint16, 16)])
def test_every_value_survives_values_and_write(tmp_path, dtype, depth):
    pixels = np.arange(np.iinfo(dtype).max + 1, dtype=dtype).reshape(1, -1, 1)
    write_image(tmp_path / "a.png", pixels)
    write_image(tmp_path / "b.png", read_image(tmp_path / "a.png").values(), bit_depth=depth)
    np.testing.assert_array_equal(read_image(tmp_path / "b.png").pixels, pixels)


def test_gray_float_tiff_is_written_unclipped(tmp_path):
    values = np.array([[[-0.5], [0.1], [2.0]]])
    write_image(tmp_path / "a.tif", values, bit_depth=32)
    np.testing.assert_array_equal(read_image(tmp_path / "a.tif").pixels, values.astype(np.float32))


def test_an_array_that_is_no_picture_is_refused_and_nothing_is_written(tmp_path):
    path, good = tmp_path / "a.png", np.zeros((4, 5, 3))
    nan = good.copy()
    nan[3, 2, 1] = np.nan
    assert "row 3, column 2, channel 1" in refusal(write_image, path, nan)
    assert "values[..., None]" in refusal(write_image, path, good[..., 0])
    refusal(write_image, path, good[:0])
    assert "int64" in refusal(write_image, path, good.astype(np.int64))
    assert "bool" in refusal(write_image, path, good > 0)
    assert "quality=101" in refusal(write_image, path, good, quality=101)
    assert "4 channels" in refusal(write_image, tmp_path / "a.jpg", np.zeros((4, 5, 4)))
    assert "65536 x 1 pixels" in refusal(write_image, tmp_path / "a.jpg", np.zeros((1, 65536, 1)))
    assert list(tmp_path.iterdir()) == []


def test_names_that_cannot_hold_the_picture_are_refused_beforehand(tmp_path):
    for name in ("a.png", "a.PNG", "a.tif"):
        for channels in (1, 2, 3, 4):
            check_output(tmp_path / name, channels)
    check_output(tmp_path / "a.jpg", 3)
    text = refusal(check_output, tmp_path / "a.jpg", 4)
    assert "RGBA" in text
    assert ".png" in text
    assert "gray with alpha" in refusal(check_output, tmp_path / "a.JPEG", 2)
    assert "bit_depth=16" in refusal(check_output, tmp_path / "a.jpg", 3, 16)
    assert ".png" in refusal(check_output, tmp_path / "a.tif", 3, 16)
    assert ".xyz" in refusal(check_output, tmp_path / "a.xyz", 3)
    assert "''" in refusal(check_output, tmp_path / "a", 3)
    assert "5 channels" in refusal(check_output, tmp_path / "a.png", 5)
    assert "no folder" in refusal(check_output, tmp_path / "no" / "a.png", 3)
    (tmp_path / "d.png").mkdir()
    assert "folder" in refusal(check_output, tmp_path / "d.png", 3)
    assert [path.name for path in tmp_path.iterdir()] == ["d.png"]
    assert is_lossy("a.JPG")
    assert not is_lossy("a.webp")


@pytest.mark.parametrize(("name", "longest"), [("a.jpg", 65_500), ("a.webp", 16_383)])
def test_the_longest_side_of_a_format_is_known_beforehand(tmp_path, name, longest):
    path = tmp_path / name
    check_output(path, 3, height=longest, width=longest)
    check_output(path, 3, height=1)
    for size in ({"height": longest + 1, "width": 2}, {"width": longest + 1}):
        text = refusal(check_output, path, 3, **size)
        assert f"{longest:,}" in text
        assert ".png" in text
    check_output(tmp_path / "a.png", 3, height=10**6, width=10**6)
    write_image(path, np.zeros((1, longest, 3), dtype=np.uint8))
    assert read_image(path).pixels.shape[1] == longest


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path, old = tmp_path / "a.png", noise(4, 6, 3)
    write_image(path, old)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert "No space left" in refusal(write_image, path, noise(4, 6, 3))
    monkeypatch.undo()
    np.testing.assert_array_equal(read_image(path).pixels, old)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.png"]


def test_writing_replaces_a_file_through_a_link_with_ordinary_permissions(tmp_path):
    (tmp_path / "link.png").symlink_to(tmp_path / "a.png")
    pixels = noise(4, 6, 3)
    write_image(tmp_path / "link.png", pixels)
    assert (tmp_path / "link.png").is_symlink()
    np.testing.assert_array_equal(read_image(tmp_path / "a.png").pixels, pixels)
    (tmp_path / "plain").touch()
    assert (tmp_path / "a.png").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_jpeg_quality_changes_the_file(tmp_path):
    values = RNG.random((32, 32, 3))
    sizes = []
    for quality in (20, 95):
        write_image(tmp_path / "a.jpg", values, quality=quality)
        sizes.append((tmp_path / "a.jpg").stat().st_size)
    assert sizes[0] < sizes[1]
