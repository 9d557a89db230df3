"""Pictures of any callable: pixel centers, no swapped axes, bounded memory."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import torch

from coordnet import MLP, Field, FourierFeatures, InputError, pixel_centers, render_image
from coordnet.memory import empty, rows_within
from coordnet.rendering import render_points

WIDTH, HEIGHT = 40, 24  # non-square wherever the two could be swapped


def coordinates(x):
    return x


class TestPixelCenters:
    def test_the_formula(self):
        grid = pixel_centers(HEIGHT, WIDTH)
        assert grid.shape == (HEIGHT, WIDTH, 2)
        assert grid.dtype == torch.float32
        for row, column in [(0, 0), (3, 20), (23, 39)]:
            x, y = grid[row, column].tolist()
            assert x == np.float32((column + 0.5) / WIDTH)
            assert y == np.float32((row + 0.5) / HEIGHT)

    def test_some_rows_are_rows_of_the_whole(self):
        whole = pixel_centers(HEIGHT, WIDTH)
        assert torch.equal(pixel_centers(HEIGHT, WIDTH, slice(5, 9)), whole[5:9])
        assert torch.equal(pixel_centers(HEIGHT, WIDTH, slice(20, 99)), whole[20:])
        assert pixel_centers(HEIGHT, WIDTH, slice(3, 3)).shape == (0, WIDTH, 2)

    def test_a_box(self):
        grid = pixel_centers(2, 4, box=((-1.0, 10.0), (1.0, 20.0)))
        assert grid[0, :, 0].tolist() == [-0.75, -0.25, 0.25, 0.75]
        assert grid[:, 0, 1].tolist() == [12.5, 17.5]

    def test_the_default_dtype_and_device_change_nothing(self):
        expected = pixel_centers(5, 3)
        try:
            torch.set_default_dtype(torch.float64)
            torch.set_default_device("meta")
            grid = pixel_centers(5, 3)
        finally:
            torch.set_default_dtype(torch.float32)
            torch.set_default_device(None)
        assert torch.equal(grid, expected)

    def test_sizes_that_are_none(self):
        for size in (0, -1, 2.0, None):
            for height, width in ((size, 3), (3, size)):
                for call in (pixel_centers, lambda *sizes: render_image(coordinates, *sizes)):
                    with pytest.raises(InputError, match=f"={size}"):
                        call(height, width)


class TestRenderImage:
    def test_one_white_pixel_comes_out_where_it_is(self):
        """Row 3, column 20 of a picture 40 wide and 24 high."""
        picture = torch.zeros(HEIGHT, WIDTH)
        picture[3, 20] = 1.0

        def nearest(x):
            column, row = (x * torch.tensor([WIDTH, HEIGHT])).long().unbind(-1)
            return picture[row, column, None]

        found = render_image(nearest, HEIGHT, WIDTH)
        assert found.shape == (HEIGHT, WIDTH, 1)
        assert np.array_equal(found[..., 0], picture.numpy())

    def test_a_ramp_at_two_sizes(self):
        small, large = (render_image(lambda x: x[:, :1], n, n)[..., 0] for n in (8, 16))
        pairs = large.reshape(16, 8, 2).mean(-1)[::2]
        np.testing.assert_allclose(pairs, small, rtol=0, atol=1e-7)
        assert small[0, 0] == 1 / 16

    def test_values_are_those_of_the_function_at_the_centers(self):
        field = Field(FourierFeatures(2, k=3, period=1.0), MLP(12, 3, hidden_dim=8, seed=0))
        found = render_image(field, HEIGHT, WIDTH)
        assert found.shape == (HEIGHT, WIDTH, 3)
        assert found.dtype == np.float32
        expected = field(pixel_centers(HEIGHT, WIDTH)).detach().numpy()
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)

    @pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 7), (7, 1), (3, 70_001), (500, 3)])
    def test_sizes(self, height, width):
        found = render_image(coordinates, height, width)
        assert np.array_equal(found, pixel_centers(height, width).numpy())

    def test_a_box_is_a_part_of_the_picture(self):
        field = Field(FourierFeatures(2, k=3, period=1.0), MLP(12, 1, hidden_dim=8, seed=0))
        whole = render_image(field, 16, 16)
        part = render_image(field, 4, 8, box=((0.5, 0.25), (1.0, 0.5)))
        np.testing.assert_allclose(part, whole[4:8, 8:], rtol=0, atol=1e-6)

    def test_convert_sees_blocks_and_decides_the_dtype(self):
        seen = []

        def to_bytes(values):
            seen.append(values.shape)
            return np.rint(values * 255).astype(np.uint8)

        found = render_image(coordinates, 300, 400, convert=to_bytes)
        assert found.dtype == np.uint8
        expected = np.rint(pixel_centers(300, 400).numpy() * 255).astype(np.uint8)
        assert np.array_equal(found, expected)
        assert len(seen) > 1
        assert sum(shape[0] for shape in seen) == 300 * 400

    def test_convert_may_change_the_number_of_values(self):
        found = render_image(coordinates, 4, 6, convert=lambda v: v.mean(-1))
        assert found.shape == (4, 6, 1)

    def test_dtypes(self):
        for dtype, stored in (
            (torch.float64, np.float64),
            (torch.bfloat16, np.float32),
            (torch.float16, np.float16),
            (torch.uint8, np.uint8),
        ):
            assert render_image(lambda x, dtype=dtype: x.to(dtype), 3, 4).dtype == stored

    def test_progress_counts_every_pixel(self):
        counted = []
        render_image(coordinates, 333, 777, progress=counted.append)
        assert sum(counted) == 333 * 777
        assert len(counted) > 1
        assert min(counted) > 0

    def test_coordinates_are_made_in_bands_of_rows(self, monkeypatch):
        made = []

        def count(*arguments):
            made.append(pixel_centers(*arguments))
            return made[-1]

        monkeypatch.setattr("coordnet.rendering.grids.pixel_centers", count)
        render_image(lambda x: x[:, :1], 500, 1000)
        assert max(band.numel() for band in made) <= 2 << 16
        assert torch.equal(torch.cat(made), pixel_centers(500, 1000))

    def test_any_callable(self):
        network = torch.nn.Linear(2, 1)
        assert render_image(network, 4, 6).shape == (4, 6, 1)
        assert render_image(torch.sin, 4, 6).shape == (4, 6, 2)
        assert render_image(lambda x: x[:, 0], 4, 6).shape == (4, 6, 1)

    def test_a_function_that_uses_gradients(self):
        def slope(x):
            with torch.enable_grad():
                x = x.requires_grad_()
                return torch.autograd.grad((3 * x).sum(), x, create_graph=True)[0] + 0 * x

        assert np.array_equal(render_image(slope, 4, 6), np.full((4, 6, 2), 3.0, np.float32))

    def test_no_graph_is_kept(self):
        flags = []
        network = torch.nn.Linear(2, 1)
        render_image(lambda x: flags.append(torch.is_grad_enabled()) or network(x), 2, 2)
        assert flags == [False]
        assert torch.is_grad_enabled()

    def test_rows_that_do_not_match_are_refused(self):
        for values in (torch.ones(1, 3), torch.ones(3), torch.ones(2, 24)):
            with pytest.raises(InputError, match="one row of values per coordinate"):
                render_image(lambda x, values=values: values, 4, 6)

    def test_global_state_is_left_alone(self):
        state = torch.get_rng_state()
        render_image(coordinates, 4, 6)
        assert torch.equal(torch.get_rng_state(), state)


class TestRenderPoints:
    @pytest.mark.parametrize("number", [0, 1, 100_000])
    def test_points(self, number):
        x = torch.linspace(-1, 1, number, dtype=torch.float64)[:, None]
        assert np.array_equal(render_points(lambda x: 2 * x, x), 2 * x.numpy())

    def test_blocks_are_bounded(self):
        field = Field(FourierFeatures.lattice(2, k=16, period=1.0), MLP(1088, 1, hidden_dim=4))
        sizes = []
        field.network.register_forward_pre_hook(lambda module, args: sizes.append(len(args[0])))
        render_points(field, torch.zeros(10_000, 2))
        assert sum(sizes) == 10_000
        assert max(sizes) * 1088 * 4 <= 16 << 20


class TestMemory:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.complex64, torch.int16])
    @pytest.mark.parametrize("shape", [(3, 5), (2000, 1200), (0, 4), (7_000_000,)])
    def test_buffers(self, dtype, shape):
        buffer = empty(shape, dtype)
        assert buffer.shape == shape
        assert buffer.dtype == dtype
        buffer.fill_(1)
        assert buffer.is_contiguous()
        assert empty(shape, dtype, "meta").is_meta

    def test_rows(self):
        assert rows_within(1) == 16_384
        assert rows_within(1, most=5) == 5
        assert rows_within(1 << 40) == 1
        assert rows_within(0) == 16_384
        assert rows_within(16_640) * 16_640 * 4 <= 16 << 20


RENDER = """
    import resource, sys, torch, coordnet as cn

    size, ladder = int(sys.argv[1]), sys.argv[2]
    make = getattr(cn.FourierFeatures, ladder, cn.FourierFeatures)
    encoding = make(in_dim=2, k=64, period=1.0)
    field = cn.Field(encoding, cn.MLP(encoding.out_dim, 3, hidden_dim=32, num_hidden_layers=1))
    field(torch.zeros(1, 2))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    picture = cn.render_image(field, size, size)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print((after - before) * 1024, picture.nbytes)
"""


# the working set is the same at every size; all harmonics are 1 kB a pixel, the lattice 65 kB
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in other units elsewhere")
@pytest.mark.parametrize(("size", "ladder"), [(2048, "harmonic"), (64, "lattice")])
def test_memory_is_the_picture_and_a_fixed_working_set(size, ladder):
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(RENDER), str(size), ladder],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    grown, picture = map(int, done.stdout.split())
    assert picture == size * size * 3 * 4
    assert grown < picture + (150 << 20)
