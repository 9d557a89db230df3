"""Pictures of scenes: premultiplied before they are averaged, of any size and depth, by name."""

import numpy as np
import pytest
import torch
from PIL import Image as PILImage

from coordnet.image_files.image import Image
from coordnet.scenes import SceneImages, composite
from coordnet.scenes.reading.pixels import area_average, premultiplied

from ..helpers import refusal

RNG = np.random.default_rng(0)


def noise(*shape):
    return RNG.integers(0, 256, shape, dtype=np.uint8)


@pytest.fixture
def load(tmp_path, save):
    """Return a function from arrays to the pictures read from PNG files of them."""

    def from_arrays(*arrays, reduction=1, **options):
        paths = [tmp_path / f"{i}.png" for i in range(len(arrays))]
        for path, array in zip(paths, arrays, strict=True):
            save(path, array)
        names = [f"r_{i}" for i in range(len(paths))]
        return SceneImages.load(paths, names, reduction, **options)

    return from_arrays


def straight(array):
    """Straight alpha to premultiplied, in float64."""
    values = array.astype(np.float64) / 255
    values[..., :3] *= values[..., 3:]
    return values


# --- values -----------------------------------------------------------------------------------


def test_half_transparent_red_on_white(load):
    images = load(np.full((2, 3, 4), (255, 0, 0, 128), np.uint8))
    white = images.composited(0)
    assert white.shape == (2, 3, 3)
    np.testing.assert_allclose(white[0, 0], [1, 0.498, 0.498], atol=5e-4)
    np.testing.assert_allclose(images.composited(0, 0.0)[0, 0], [0.502, 0, 0], atol=5e-4)
    blue = torch.tensor([0.0, 0.0, 1.0])
    np.testing.assert_allclose(images.composited(0, blue)[0, 0], [0.502, 0, 0.498], atol=5e-4)
    assert images.has_alpha


def test_averages_are_of_premultiplied_color(load):
    pixels = np.zeros((2, 2, 4), np.uint8)
    pixels[:, 0] = 255, 0, 0, 255
    pixels[:, 1] = 0, 255, 0, 0  # transparent: its green is nothing
    images = load(pixels, reduction=2)
    np.testing.assert_array_equal(images.image(0)[0, 0], [0.5, 0, 0, 0.5])
    np.testing.assert_array_equal(images.composited(0)[0, 0], [1, 0.5, 0.5])


@pytest.mark.parametrize("reduction", [1, 2, 3, 4])
def test_pixels_are_those_of_the_file_by_boxes(load, reduction):
    arrays = [noise(12, 24, 4) for _ in range(3)]
    images = load(*arrays, reduction=reduction)
    assert (len(images), images.number_of_pixels) == (3, 3 * 288 // reduction**2)
    for i, array in enumerate(arrays):
        boxes = straight(array).reshape(12 // reduction, reduction, 24 // reduction, reduction, 4)
        np.testing.assert_allclose(images.image(i), boxes.mean((1, 3)), atol=1e-7)
    assert images.image(0).dtype == torch.float32


def test_8_bit_values_are_correctly_rounded(load):
    array = noise(5, 7, 4)
    color, alpha = load(array).pixels(torch.arange(35))
    wanted = array.reshape(-1, 4).astype(np.float64)
    np.testing.assert_array_equal(alpha[:, 0], (wanted[:, 3] / 255).astype(np.float32))
    products = (wanted[:, :3] * wanted[:, 3:] / 255**2).astype(np.float32)
    np.testing.assert_array_equal(color, products)


def test_pixels_are_numbered_picture_by_picture_row_by_row(load):
    arrays = [noise(3, 5, 4), noise(6, 2, 4), noise(1, 1, 4)]
    images = load(*arrays)
    assert images.sizes.tolist() == [[5, 3], [2, 6], [1, 1]]
    assert images.offsets.tolist() == [0, 15, 27, 28]
    flat = np.concatenate([straight(array).reshape(-1, 4) for array in arrays])
    which = torch.tensor([27, 0, 16, 14, 15, 15])
    for chosen in (which, slice(3, 20)):
        color, alpha = images.pixels(chosen)
        index = which.numpy() if chosen is which else chosen
        np.testing.assert_allclose(torch.cat([color, alpha], -1), flat[index], atol=1e-7)
    np.testing.assert_allclose(images.image(-2), straight(arrays[1]), atol=1e-7)
    assert images.pixels(which[:0])[0].shape == (0, 3)
    with pytest.raises(IndexError):
        images.image(3)


def test_later_pictures_may_be_larger(load):
    arrays = [noise(1, 1, 4), noise(9, 9, 4), noise(30, 20, 4), noise(2, 2, 4)]
    images = load(*arrays)
    for i, array in enumerate(arrays):
        np.testing.assert_allclose(images.image(i), straight(array), atol=1e-7)


# --- kinds of files ---------------------------------------------------------------------------


@pytest.mark.parametrize("reduction", [1, 2])
def test_gray_rgb_and_palette_become_color_and_alpha(load, reduction):
    gray, rgb = noise(4, 6), noise(4, 6, 3)
    images = load(gray, rgb, noise(4, 6, 2), reduction=reduction)
    for i, wanted in enumerate((np.repeat(gray[..., None], 3, -1), rgb)):
        boxes = (wanted / 255).reshape(4 // reduction, reduction, 6 // reduction, reduction, 3)
        np.testing.assert_allclose(images.image(i)[..., :3], boxes.mean((1, 3)), atol=1e-6)
        assert (images.image(i)[..., 3] == 1).all()
    assert images.has_alpha
    assert "2 of 3 pictures have no alpha and are taken as opaque." in images.notes
    assert torch.equal(images.image(2)[..., 0], images.image(2)[..., 2])


@pytest.mark.parametrize("reduction", [1, 2, 3])
def test_opaque_alpha_is_no_alpha(load, reduction):
    opaque = noise(8, 10, 4)
    opaque[..., 3] = 255
    assert not load(opaque, opaque, reduction=reduction).has_alpha
    almost = opaque.copy()
    almost[4, 4, 3] = 254
    assert load(opaque, almost, reduction=reduction).has_alpha


def test_16_bits_and_floats_keep_their_values(tmp_path, save):
    deep = RNG.integers(0, 65536, (4, 6), dtype=np.uint16)
    save(tmp_path / "a.png", deep)
    images = SceneImages.load([tmp_path / "a.png"], ["a"])
    np.testing.assert_allclose(images.image(0)[..., 1], deep / 65535, atol=1e-7)
    assert not images.has_alpha
    values = RNG.random((4, 6), dtype=np.float32) * 3
    save(tmp_path / "b.tif", values)
    images = SceneImages.load([tmp_path / "b.tif"], ["b"])
    np.testing.assert_array_equal(images.image(0)[..., 2], values)
    assert "beyond [0, 1]" in images.notes[0]
    assert "(1 picture)" in images.notes[0]
    save(tmp_path / "c.png", noise(4, 6))
    text = refusal(SceneImages.load, [tmp_path / "c.png", tmp_path / "a.png"], ["c", "a"])
    assert "16 bits for 'a'" in text
    both = SceneImages.load([tmp_path / "c.png", tmp_path / "a.png"], ["c", "a"], 2)
    np.testing.assert_allclose(
        both.image(1)[..., 0], (deep / 65535).reshape(2, 2, 3, 2).mean((1, 3)), atol=1e-6
    )


def test_16_bit_alpha_is_multiplied_in():
    pixels = RNG.integers(0, 65536, (3, 5, 4), dtype=np.uint16)
    found = premultiplied(Image(pixels, 65535.0, 16))
    wanted = pixels / 65535
    wanted[..., :3] *= wanted[..., 3:]
    np.testing.assert_allclose(found, wanted, atol=2e-7)
    pixels[..., 3] = 65535
    assert (premultiplied(Image(pixels, 65535.0, 16))[..., 3] == 1).all()


def test_a_turned_picture_is_refused(tmp_path, save):
    exif = PILImage.Exif()
    exif[274] = 3
    save(tmp_path / "a.jpg", noise(8, 8, 3), exif=exif)
    text = refusal(SceneImages.load, [tmp_path / "a.jpg"], ["first"])
    assert "EXIF orientation 3" in text
    assert "frame 'first'" in text
    exif[274] = 1
    save(tmp_path / "a.jpg", noise(8, 8, 3), exif=exif)
    SceneImages.load([tmp_path / "a.jpg"], ["first"])


@pytest.mark.parametrize("content", [b"", b"no picture at all", None])
def test_an_unreadable_picture_names_its_frame(tmp_path, save, content):
    paths = [tmp_path / f"{i}.png" for i in range(20)]
    for path in paths:
        save(path, noise(8, 8, 4))
    whole = paths[7].read_bytes()
    paths[7].write_bytes(whole[: len(whole) // 2] if content is None else content)
    text = refusal(SceneImages.load, paths, [f"r_{i}" for i in range(20)])
    assert text.startswith("frame 'r_7': ")
    assert str(paths[7]) in text


def test_a_picture_of_few_pixels_cannot_be_made_much_smaller(load):
    assert load(noise(3, 5, 3), reduction=4).sizes.tolist() == [[1, 1]]
    text = refusal(load, noise(40, 50, 3), noise(3, 50, 3), reduction=8)
    assert "frame 'r_1'" in text
    assert "50 x 3" in text


def test_pictures_that_would_not_fit_are_refused_after_the_first(load, monkeypatch):
    monkeypatch.setattr("coordnet.scenes.reading.images.available_memory", lambda: 1000)
    text = refusal(load, *[noise(10, 12, 4) for _ in range(3)])
    assert "3 pictures of 12 x 10 pixels" in text
    assert "downscale of 2" in text
    assert len(load(*[noise(10, 8, 4) for _ in range(3)])) == 3
    monkeypatch.setattr("coordnet.scenes.reading.images.available_memory", lambda: None)
    assert len(load(*[noise(10, 12, 4) for _ in range(3)])) == 3


def test_loading_calls_back(load):
    seen, counted = [], []
    load(
        noise(3, 5, 3),
        noise(4, 6, 3),
        reduction=2,
        check=lambda i, width, height: seen.append((i, width, height)),
        progress=counted.append,
    )
    assert sorted(seen) == [(0, 5, 3), (1, 6, 4)]
    assert counted == [1, 1]


# --- averages over areas ----------------------------------------------------------------------


def area_by_hand(values, height, width):
    """Every small pixel's mean, from the picture repeated until all borders are whole."""
    tall, wide = values.shape[:2]
    fine = values.astype(np.float64).repeat(height, 0).repeat(width, 1)
    return fine.reshape(height, tall, width, wide, -1).mean((1, 3))


@pytest.mark.parametrize("size", [(3, 5), (4, 4), (7, 6), (8, 10), (1, 1)])
def test_area_averages(size):
    values = RNG.random((8, 10, 4), dtype=np.float32)
    found = area_average(torch.from_numpy(values), *size)
    np.testing.assert_allclose(found, area_by_hand(values, *size), atol=1e-6)
    np.testing.assert_allclose(found.mean((0, 1)), values.mean((0, 1)), atol=1e-6)


def test_composite_broadcasts():
    color, alpha = torch.full((7, 3), 0.25), torch.full((7, 1), 0.5)
    assert (composite(color, alpha, 1.0) == 0.75).all()
    each = torch.rand(7, 3)
    torch.testing.assert_close(composite(color, alpha, each), 0.25 + 0.5 * each)


@pytest.mark.cuda
@pytest.mark.parametrize("reduction", [1, 2])
def test_pictures_on_a_cuda_device(load, reduction):
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    images = load(noise(12, 8, 4), noise(4, 6, 4), reduction=reduction)
    moved = images.to("cuda")
    which = torch.arange(images.number_of_pixels)
    for one, other in zip(images.pixels(which), moved.pixels(which.cuda()), strict=True):
        torch.testing.assert_close(other.cpu(), one)
    torch.testing.assert_close(moved.composited(1).cpu(), images.composited(1))


def test_pixels_that_do_not_fit_the_sizes_are_refused():
    assert "for 12 in all" in refusal(SceneImages, torch.zeros(10, 4), torch.tensor([[3, 4]]))
