"""Grids against a reference in plain NumPy, and what their own backward promises."""

import itertools
import json
import math
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.encodings import Concat, DenseGrid, HashGrid, Identity, Normalized, build_encoding
from coordnet.encodings.vertices import interpolate_plainly
from coordnet.errors import InputError

PRIMES = (1, 2654435761, 805459861)
SIZE = {1: 3, 2: 6, 3: 7}  # small enough for the finer levels to be hashed
WRAPS = {
    1: [(False,), (True,)],
    2: [(False, False), (True, False), (True, True)],
    3: [(False, False, False), (False, True, True)],
}
CASES = [(d, wraps) for d, every in WRAPS.items() for wraps in every]
INTERPOLATIONS = ("linear", "smoothstep")


def hash_grid(d, features=2, interpolation="linear", periodic=False, size=None):
    grid = HashGrid(d, 4, features, size or SIZE[d], 3, 17, interpolation, periodic, seed=1)
    return with_large_tables(grid)


def dense_grid(d, features=2, interpolation="linear", periodic=False, resolution=None):
    resolution = resolution or [5, 4, 3][:d]
    grid = DenseGrid(d, resolution, features, interpolation, periodic, seed=1)
    return with_large_tables(grid)


def with_large_tables(grid):
    with torch.no_grad():
        grid.tables.mul_(1e4)  # U(-1, 1)
    return grid


def matrices(x, levels, size, wraps, smooth):
    """A and its derivatives by each axis, as the docstrings describe them, one number at a time.

    Args:
        x: float64 (N, d).
        levels: cells along each axis, for each level.
        size: rows of a hashed level; None for a grid with a row for every vertex.
        wraps: whether each axis is periodic.
        smooth: smoothstep or linear.

    Returns:
        Float64 (N, L, rows), and a list of d of them.
    """
    number, d = x.shape
    whole = [[math.ceil(round(c, 9)) for c in cells] for cells in levels]
    vertices = [
        [w if wrap else w + 1 for w, wrap in zip(cells, wraps, strict=True)] for cells in whole
    ]
    rows = [math.prod(each) if size is None else min(math.prod(each), size) for each in vertices]
    starts = [sum(rows[:level]) for level in range(len(levels))]
    shape = (number, len(levels), sum(rows))
    value, slopes = np.zeros(shape), [np.zeros(shape) for _ in range(d)]
    for n, (level, cells) in itertools.product(range(number), enumerate(levels)):
        scale = [
            w if wrap else c - 1 for c, w, wrap in zip(cells, whole[level], wraps, strict=True)
        ]
        place = [u * s + 0.5 for u, s in zip(x[n].tolist(), scale, strict=True)]
        low = [math.floor(p) for p in place]
        part = [p - f for p, f in zip(place, low, strict=True)]
        weigh = [f * f * (3 - 2 * f) if smooth else f for f in part]
        slope = [s * (6 * f * (1 - f) if smooth else 1) for f, s in zip(part, scale, strict=True)]
        for corner in itertools.product((0, 1), repeat=d):
            vertex = [(f + c) % v for f, c, v in zip(low, corner, vertices[level], strict=True)]
            if math.prod(vertices[level]) <= rows[level]:
                row = sum(v * math.prod(vertices[level][:axis]) for axis, v in enumerate(vertex))
            else:
                row = 0
                for v, prime in zip(vertex, PRIMES, strict=False):
                    row ^= v * prime
                row %= size
            factors = [w if c else 1 - w for w, c in zip(weigh, corner, strict=True)]
            value[n, level, starts[level] + row] += math.prod(factors)
            for axis in range(d):
                others = math.prod(factors[:axis] + factors[axis + 1 :])
                sign = 1 if corner[axis] else -1
                slopes[axis][n, level, starts[level] + row] += sign * slope[axis] * others
    return value, slopes


def reference(grid, x):
    """Features (N, L·F), their slopes (N, L·F, d) and the matrix A of a grid, in float64."""
    if isinstance(grid, HashGrid):
        first, last = (
            np.broadcast_to(np.float64(each), grid.in_dim)
            for each in (grid.base_resolution, grid.max_resolution)
        )
        growth = (last / first) ** (1 / (grid.num_levels - 1))
        levels = [(first * growth**level).tolist() for level in range(grid.num_levels)]
        size = 2**grid.log2_hashmap_size
    else:
        levels, size = [[float(r) for r in grid.resolution]], None
    tables = grid.tables.detach().double().numpy()
    smooth = grid.interpolation == "smoothstep"
    value, slopes = matrices(x.double().numpy(), levels, size, grid.periodic, smooth)
    assert value.shape[2] == len(tables)
    features = (value @ tables).reshape(len(x), -1)
    return features, np.stack([(s @ tables).reshape(len(x), -1) for s in slopes], -1), value


@pytest.fixture(params=[hash_grid, dense_grid], ids=["hash", "dense"])
def make(request):
    return request.param


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize(("d", "wraps"), CASES, ids=str)
def test_features_and_all_gradients_are_the_references(make, uniform, d, wraps, interpolation):
    grid = make(d, interpolation=interpolation, periodic=wraps)
    if isinstance(grid, HashGrid):
        assert 0 < grid.dense_levels < grid.num_levels
    for lower, upper in ((0.0, 1.0), (-3.0, 3.0)):
        x = uniform((19, d), lower, upper)
        x[0], x[1] = 0.0, 1.0
        x[2:4] = x[2:4].round()
        features, slopes, matrix = reference(grid, x)
        found = grid(x)
        np.testing.assert_allclose(found.detach(), features, rtol=0, atol=1e-12)
        narrow = grid(x.float())
        assert narrow.dtype == torch.float32
        near = reference(grid, x.float())[0]
        np.testing.assert_allclose(narrow.detach(), near, rtol=0, atol=1e-6)

        weights = uniform(tuple(found.shape), -1, 1, seed=3)
        (tables,) = torch.autograd.grad((found * weights).sum(), grid.tables)
        each = weights.reshape(len(x), grid.num_levels, -1).numpy()
        expected = np.einsum("nlr,nlf->rf", matrix, each)
        np.testing.assert_allclose(tables, expected, rtol=0, atol=2e-6)

        x.requires_grad_()
        jacobian = torch.autograd.functional.jacobian(lambda x: grid(x).sum(0), x)
        inside = slice(4, None)  # at a vertex the slope has a step
        np.testing.assert_allclose(
            jacobian.movedim(0, 1)[inside], slopes[inside], rtol=0, atol=1e-11
        )


@pytest.mark.parametrize("features", [1, 2, 3, 4])
def test_any_number_of_features(make, uniform, features):
    grid = make(2, features=features)
    x = uniform((23, 2))
    expected, _, matrix = reference(grid, x)
    np.testing.assert_allclose(grid(x).detach(), expected, rtol=0, atol=1e-12)
    for dtype, error in ((torch.float64, 1e-6), (torch.float32, 2e-6)):
        out = grid(x.to(dtype))
        weights = uniform(tuple(out.shape), -1, 1, seed=3).to(dtype)
        (tables,) = torch.autograd.grad(out, grid.tables, weights)
        each = weights.double().reshape(len(x), grid.num_levels, features).numpy()
        np.testing.assert_allclose(
            tables, np.einsum("nlr,nlf->rf", matrix, each), rtol=0, atol=error
        )


def test_axes_may_have_resolutions_of_their_own(uniform):
    grid = with_large_tables(HashGrid(2, 3, 2, 6, [3, 4], (17.5, 4), periodic=[False, True]))
    assert (grid.base_resolution, grid.max_resolution) == ((3, 4), (17.5, 4.0))
    assert 0 < grid.dense_levels < 3
    x = uniform((30, 2), -1, 2)
    np.testing.assert_allclose(grid(x).detach(), reference(grid, x)[0], rtol=0, atol=1e-12)
    again = build_encoding(json.loads(json.dumps(grid.spec())))
    assert again.spec() == grid.spec()


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize(("d", "wraps"), CASES, ids=str)
def test_the_quick_way_has_the_bits_of_the_plain_one(
    make, uniform, same_bits, d, wraps, interpolation
):
    """So that a value does not depend on whether its coordinates are differentiated."""
    grid = make(d, interpolation=interpolation, periodic=wraps)
    smooth = interpolation == "smoothstep"
    for x in (uniform((101, d)), uniform((101, d), -2, 2)):
        for dtype in (torch.float32, torch.float64):
            quick = grid(x.to(dtype))
            tables = grid.tables.to(dtype)
            plain = interpolate_plainly(x.to(dtype), tables, grid.layout(), smooth)
            assert same_bits(quick, plain)
            assert same_bits(grid(x.to(dtype).requires_grad_()), quick)
            weights = uniform(tuple(quick.shape), -1, 1, seed=3).to(dtype)
            one, other = (torch.autograd.grad(o, grid.tables, weights)[0] for o in (quick, plain))
            torch.testing.assert_close(one, other, rtol=0, atol=2e-5)


@pytest.mark.parametrize("wraps", [(False, False), (True, False)], ids=str)
@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_derivatives_of_every_order_and_kind(make, uniform, interpolation, wraps):
    grid = make(2, interpolation=interpolation, periodic=wraps)
    if make is hash_grid:  # a small one: every number of the tables is moved in turn
        grid = with_large_tables(HashGrid(2, 2, 2, 4, 3, 6, interpolation, wraps, seed=1))
    grid.double()
    # the middle of cells: central differences do not step over a vertex
    x = uniform((3, 2), 0.05, 0.95, seed=5)
    tables = grid.tables.detach().clone().requires_grad_()

    def features(x, tables):
        return torch.func.functional_call(grid, {"tables": tables}, (x,))

    def of_tables(tables):
        return features(x, tables)

    moving = x.clone().requires_grad_()
    assert torch.autograd.gradcheck(of_tables, tables)
    assert torch.autograd.gradgradcheck(of_tables, tables)
    assert torch.autograd.gradcheck(features, (moving, tables))
    assert torch.autograd.gradgradcheck(features, (moving, tables))


def test_the_gradient_of_the_gradient_of_the_tables_is_the_grid_again(make, uniform):
    """A is linear in the tables: A of Aᵀ, on the quick way in both directions."""
    grid = make(2)
    x = uniform((31, 2)).float()
    out = grid(x)
    weights = uniform(tuple(out.shape), -1, 1, seed=2).float().requires_grad_()
    (first,) = torch.autograd.grad(out, grid.tables, weights, create_graph=True)
    toward = uniform(tuple(grid.tables.shape), -1, 1, seed=4).float()
    (second,) = torch.autograd.grad(first, weights, toward, create_graph=True)
    with torch.no_grad():
        grid.tables.copy_(toward)
    torch.testing.assert_close(second, grid(x), rtol=0, atol=2e-6)
    loss = (grid(x) ** 3).sum()
    (slope,) = torch.autograd.grad(loss, grid.tables, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.square().sum(), grid.tables)
    assert curvature.isfinite().all()
    assert curvature.abs().max() > 0


def test_function_transforms_of_tables_and_coordinates(make, uniform):
    grid = make(2)
    x = uniform((7, 2))
    tables = grid.tables.detach().double()

    def loss(tables, x):
        return torch.func.functional_call(grid, {"tables": tables}, (x,)).square().sum()

    by_tables, by_x = torch.func.grad(loss, argnums=(0, 1))(tables, x)
    plain = tables.clone().requires_grad_(), x.clone().requires_grad_()
    expected = torch.autograd.grad(loss(*plain), plain)
    torch.testing.assert_close((by_tables, by_x), expected, rtol=1e-12, atol=1e-12)
    quick = torch.autograd.grad(loss(plain[0], x), plain[0])[0]
    torch.testing.assert_close(by_tables, quick, rtol=1e-12, atol=1e-12)
    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(tables, x)
    torch.testing.assert_close(each.sum(0), by_tables, rtol=1e-12, atol=1e-12)
    several = torch.stack([tables, 2 * tables])
    losses = torch.func.vmap(loss, in_dims=(0, None))(several, x)
    torch.testing.assert_close(losses[1], 4 * losses[0], rtol=1e-12, atol=0)


def test_bits_do_not_depend_on_threads_place_or_split(make, uniform, same_bits, set_threads):
    """Larger than a block, and so large that PyTorch would split an operation among threads."""
    grid = HashGrid(3, seed=0) if make is hash_grid else DenseGrid(3, 20, 4, seed=0)
    x = uniform((9_001 if make is hash_grid else 140_001, 3)).float()
    found = []
    for threads in (1, 2, 3, 5):
        set_threads(threads)
        out = grid(x)
        (slope,) = torch.autograd.grad(out, grid.tables, out.detach())
        found.append((out.detach(), slope))
        assert same_bits(grid(x[77:1010]), out[77:1010])
        assert same_bits(grid(x.flip(0)), out.flip(0))
    assert all(same_bits(out, found[0][0]) and same_bits(s, found[0][1]) for out, s in found[1:])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_periodic_axes_repeat_to_the_last_bit(make, uniform, same_bits, dtype):
    grid = make(2, periodic=(True, False), interpolation="smoothstep")
    assert grid.periods == (1.0, None)
    x = ((uniform((200, 2)) * 1024).round() / 1024).to(dtype)
    features = grid(x)
    for m in (1, -1, 2, -3, 1000):
        moved = x + torch.tensor([m, 0.0], dtype=dtype)
        assert same_bits(grid(moved), features)
        moved.requires_grad_()
        still = x.clone().requires_grad_()
        pair = [torch.autograd.grad(grid(each).sum(), each)[0] for each in (moved, still)]
        assert same_bits(*pair)
    up = grid(x + torch.tensor([0.0, 1.0], dtype=dtype))
    assert (up - features).abs().max() > 0.1


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
def test_no_step_at_the_seam(make, uniform, interpolation):
    grid = make(2, periodic=(True, False), interpolation=interpolation)
    y = uniform(50)
    for seam in (0.0, 0.5, 1.0):
        below, above = (
            torch.stack([torch.full_like(y, seam + side), y], -1) for side in (-1e-9, 1e-9)
        )
        torch.testing.assert_close(grid(below), grid(above), rtol=0, atol=1e-6)
        slopes = [torch.func.vmap(torch.func.jacrev(grid))(x) for x in (below, above)]
        if seam != 0.5 or interpolation == "smoothstep":  # 0.5 is a vertex of an odd number
            torch.testing.assert_close(*slopes, rtol=0, atol=1e-5)


def test_axes_that_do_not_wrap_have_two_ends():
    grid = dense_grid(1, features=1, resolution=4)
    with torch.no_grad():
        grid.tables.copy_(torch.arange(5.0)[:, None])
    ends = grid(torch.tensor([[0.0], [1.0]])).flatten().tolist()
    assert ends == [0.5, 3.5]
    wraps = dense_grid(1, features=1, resolution=4, periodic=True)
    assert wraps(torch.tensor([[0.0]])).equal(wraps(torch.tensor([[1.0]])))


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_vertices_have_the_values_of_their_rows(d, interpolation):
    grid = dense_grid(d, resolution=[6, 5, 4][:d], interpolation=interpolation)
    sides = [range(1, cells) for cells in grid.resolution]  # vertices 0 and the last lie outside
    vertices = list(itertools.product(*sides))
    x = torch.tensor(vertices, dtype=torch.float64) - 0.5
    x /= torch.tensor(grid.resolution, dtype=torch.float64) - 1
    strides = [math.prod(cells + 1 for cells in grid.resolution[:axis]) for axis in range(d)]
    rows = [sum(v * s for v, s in zip(each, strides, strict=True)) for each in vertices]
    torch.testing.assert_close(grid(x), grid.tables[rows].double(), rtol=0, atol=1e-13)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_dense_levels_reproduce_linear_functions(d, uniform):
    grid = HashGrid(d, 2, 1, log2_hashmap_size=12, base_resolution=4, max_resolution=7.5, seed=0)
    assert grid.dense_levels == 2
    slopes = torch.arange(1.0, d + 1, dtype=torch.float64)
    rows = []
    for cells in (4.0, 7.5):
        along = torch.arange(math.ceil(cells) + 1, dtype=torch.float64)
        places = torch.cartesian_prod(*[along] * d).reshape(-1, d).flip(-1)  # first axis fastest
        rows.append(2 + ((places - 0.5) / (cells - 1)) @ slopes)
    grid.double()
    with torch.no_grad():
        grid.tables.copy_(torch.cat(rows)[:, None])
    x = uniform((100, d))
    expected = (2 + x @ slopes)[:, None].expand(100, 2)
    torch.testing.assert_close(grid(x), expected, rtol=0, atol=1e-12)


def test_smoothstep_has_a_continuous_slope_and_linear_has_not(make):
    steps = {}
    for interpolation in INTERPOLATIONS:
        grid = make(1, interpolation=interpolation, features=1)
        scale = 16 if make is hash_grid else 4  # of the last level
        vertex = (2 - 0.5) / scale
        x = torch.tensor([[vertex - 1e-9], [vertex + 1e-9]], dtype=torch.float64)
        x.requires_grad_()
        (slope,) = torch.autograd.grad(grid(x)[:, -1].sum(), x)
        steps[interpolation] = (slope[1] - slope[0]).abs().item()
    assert steps["smoothstep"] < 1e-4
    assert steps["linear"] > 0.1


def test_start_values_come_from_the_seed_or_the_global_generator():
    for make in (lambda s: HashGrid(2, seed=s), lambda s: DenseGrid(2, 100, seed=s)):
        before = torch.get_rng_state()
        first, again, other = make(3), make(3), make(4)
        assert torch.equal(torch.get_rng_state(), before)
        assert torch.equal(first.tables, again.tables)
        assert not torch.equal(first.tables, other.tables)
        values = first.tables.detach()
        assert values.dtype == torch.float32
        assert values.abs().max() <= 1e-4
        assert values.abs().max() > 0.99e-4
        assert values.double().mean().abs() < 3e-6
        assert abs(values.double().std().item() * math.sqrt(3) - 1e-4) < 2e-6
        with torch.random.fork_rng():
            torch.manual_seed(5)
            drawn = make(None)
            torch.manual_seed(5)
            assert torch.equal(make(None).tables, drawn.tables)
            assert not torch.equal(make(None).tables, drawn.tables)


def test_numbers_of_rows_and_parameters():
    grid = HashGrid(2, 4, 2, log2_hashmap_size=6, base_resolution=3, max_resolution=17)
    cells = [3 * (17 / 3) ** (i / 3) for i in range(4)]
    rows = sum(min(64, (math.ceil(c) + 1) ** 2) for c in cells)
    assert sum(p.numel() for p in grid.parameters()) == 2 * rows
    assert (grid.num_levels, grid.out_dim, grid.dense_levels) == (4, 8, 2)
    usual = HashGrid(2)
    assert usual.num_levels == 16
    finer = [math.ceil(16 * 32 ** (i / 15) - 1e-9) for i in range(16)]
    assert usual.tables.shape == (sum(min(2**15, (c + 1) ** 2) for c in finer), 2)
    dense = DenseGrid(3, [4, 5, 6], 3, periodic=[True, False, False])
    assert dense.tables.shape == (4 * 6 * 7, 3)
    assert dense.out_dim == 3
    assert len(HashGrid(2, 16, 1, 20, 16, 512).tables) == len(
        HashGrid(2, 16, 1, 20, 16, 512.0).tables
    )


@pytest.mark.parametrize("make", [HashGrid, DenseGrid])
def test_what_no_grid_can_be(make):
    features = "features_per_level" if make is HashGrid else "features"
    for setting, values in {
        "in_dim": (0, 8),
        features: (0, 2.0),
        "interpolation": ("cubic", None),
        "periodic": (1, None, [True], [True, None], "xy"),
        "seed": (-1, 2**64, "7"),
    }.items():
        for value in values:
            with pytest.raises(InputError, match=setting) as caught:
                make(**{"in_dim": 2, setting: value})
            assert "\n" not in str(caught.value)


def test_what_no_hash_or_dense_grid_can_be():
    for setting, values in {
        "num_levels": (0, 10**9),
        "log2_hashmap_size": (0, 31),
        "base_resolution": (0, 1.5, [16, 0]),
        "max_resolution": (15, math.nan, math.inf, 1e30, [64], [64, 15]),
    }.items():
        for value in values:
            with pytest.raises(InputError, match=setting):
                HashGrid(2, **{setting: value})
    with pytest.raises(InputError, match="rows"):
        HashGrid(2, log2_hashmap_size=30, max_resolution=2.0**30)
    for resolution in (0, -1, 2.5, "64", [4], [4, 4, 4], [4, None]):
        with pytest.raises(InputError, match="resolution"):
            DenseGrid(2, resolution)
    with pytest.raises(InputError, match="rows"):
        DenseGrid(2, 10**6)


def test_specs_hold_plain_numbers_and_older_ones_are_read():
    dense = DenseGrid(2, [5, 5], 3, seed=0)
    assert dense.spec()["resolution"] == 5
    assert HashGrid(2, base_resolution=[16, 16]).spec() == HashGrid(2).spec()
    old = {"name": "densegrid", "in_dim": 2, "resolution": [5, 5], "features_per_level": 3}
    old |= {"interpolation": "linear", "periodic": [False, False]}
    assert build_encoding(old).spec() == dense.spec()
    old = HashGrid(2).spec() | {"base_resolution": [16, 16], "periodic": [False, False]}
    assert build_encoding(old).spec() == HashGrid(2).spec()


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e30, -1e300], ids=str)
@pytest.mark.parametrize("periodic", [False, True])
def test_coordinates_that_are_no_places_do_no_harm(make, bad, periodic):
    grid = make(2, periodic=periodic)
    x = torch.tensor([[0.3, 0.4], [bad, 0.5], [0.6, 0.7]], dtype=torch.float64)
    expected = grid(x[[0, 2]])
    for each in (x, x.clone().requires_grad_()):
        out = grid(each)
        assert torch.equal(out[[0, 2]], expected)
        out.sum().backward()
    assert grid(x.float()).shape == (3, grid.out_dim)


def test_an_empty_batch_has_a_gradient_of_zeros(make):
    grid = make(2)
    out = grid(torch.zeros(0, 2))
    assert out.shape == (0, grid.out_dim)
    out.sum().backward()
    assert torch.equal(grid.tables.grad, torch.zeros_like(grid.tables))


def test_a_single_sample_beside_other_features(uniform):
    """Its gradient is a slice that starts at an odd place, where no complex number may."""
    encoding = Concat([Identity(1), hash_grid(1)])
    x = uniform((1, 1)).float()
    out = encoding(x)
    (out * torch.arange(1.0, 1 + out.shape[1])).sum().backward()
    slope = encoding.encodings[1].tables.grad.clone()
    alone = hash_grid(1)
    (alone(x) * torch.arange(2.0, 2 + alone.out_dim)).sum().backward()
    assert torch.equal(slope, alone.tables.grad)


def test_tables_that_are_part_of_a_larger_tensor(make, uniform, same_bits):
    grid, whole = make(2), make(2)
    x = uniform((9, 2)).float()
    flat = torch.cat([torch.zeros(1), whole.tables.detach().flatten()])
    grid.tables.data = flat[1:].view_as(whole.tables)
    assert same_bits(grid(x), whole(x))


def test_gradients_of_any_memory_layout(make, uniform):
    grid = make(2)
    x = uniform((6, 2)).float()
    out = grid(x)
    weights = uniform(tuple(out.shape[::-1]), -1, 1).float().t()
    wide = uniform((6, 2 * out.shape[1] + 1), -1, 1).float()[:, 1::2]
    for each in (weights, wide, torch.ones(1, 1).expand_as(out)):
        one, other = (
            torch.autograd.grad(grid(x), grid.tables, w)[0] for w in (each, each.contiguous())
        )
        assert torch.equal(one, other)


def test_modes_without_gradients_change_no_bit(make, uniform, same_bits):
    grid = make(2)
    x = uniform((40, 2)).float()
    with torch.inference_mode():
        inside = grid(x)
    out = grid(x)
    assert out.requires_grad
    with torch.no_grad():
        assert same_bits(grid(x), out)
        assert same_bits(grid(x.clone().requires_grad_()), out)
    assert same_bits(inside.clone(), out)
    out.sum().backward()
    with torch.inference_mode():
        assert same_bits(grid(x).clone(), out)
    point = x.clone().requires_grad_()
    assert torch.autograd.grad(grid(point).sum(), point)[0].isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_order_and_number_of_backward_passes(make, uniform, dtype):
    grid = make(2)
    a, b = uniform((30, 2), seed=1).to(dtype), uniform((20, 2), seed=2).to(dtype)
    expected = []
    for x in (a, b):
        expected.append(torch.autograd.grad(grid(x).square().sum(), grid.tables)[0])
    first, second = grid(a).square().sum(), grid(b).square().sum()
    assert torch.equal(torch.autograd.grad(first, grid.tables, retain_graph=True)[0], expected[0])
    assert torch.equal(torch.autograd.grad(second, grid.tables)[0], expected[1])
    assert torch.equal(torch.autograd.grad(first, grid.tables)[0], expected[0])
    x = a.clone()
    later = grid(x)
    x.zero_()  # after the forward pass
    assert torch.equal(torch.autograd.grad(later.square().sum(), grid.tables)[0], expected[0])


def test_frozen_tables_still_pass_gradients_to_coordinates(make, uniform):
    grid = make(2).requires_grad_(False)
    x = uniform((5, 2)).float()
    assert not grid(x).requires_grad
    x.requires_grad_()
    grid(x).sum().backward()
    assert x.grad.abs().max() > 0
    assert grid.tables.grad is None


def test_compiled_with_its_gradient(make, uniform):
    grid = make(2)
    x = uniform((12, 2)).float()
    compiled = torch.compile(grid, backend="eager", fullgraph=True)
    out = compiled(x)
    assert torch.equal(out, grid(x))
    one, other = (torch.autograd.grad(o.sum(), grid.tables)[0] for o in (out, grid(x)))
    torch.testing.assert_close(one, other, rtol=0, atol=2e-6)


@pytest.mark.parametrize("wraps", [(False, False), (True, False)], ids=str)
def test_fields_bring_their_domain_to_the_unit_cube(make, uniform, same_bits, tmp_path, wraps):
    grid = make(2, periodic=wraps)
    lower, upper = torch.tensor([-3.0, 10.0]), torch.tensor([5.0, 30.0])
    field = cn.Field(grid, cn.MLP(grid.out_dim, 1, hidden_dim=8), domain=(lower, upper))
    x = lower + (upper - lower) * uniform((50, 2)).float()
    unit = (x.double() - lower) / (upper - lower)
    if wraps[0]:
        unit[:, 0] = x[:, 0]
    assert isinstance(field.encoding, Normalized)
    assert field.encoding.encoding is grid
    assert field.encoding.periods == (1.0 if wraps[0] else None, None)
    assert same_bits(field.encoding(x), grid.features(unit, torch.float32))
    if wraps[0]:
        x = torch.stack([(x[:, 0] * 256).round() / 256, x[:, 1]], -1)
        moved = x + torch.tensor([7.0, 0.0])
        assert same_bits(field(moved), field(x))
    cn.save(field, tmp_path / "field.safetensors")
    again = cn.load(tmp_path / "field.safetensors")
    assert same_bits(again(x), field(x))
    assert again.spec() == field.spec()
    config = cn.FitConfig(steps=3, device="cpu")
    fitted = cn.fit(again, x, x[:, :1].sin(), config)
    assert math.isfinite(fitted.losses[-1])


PEAK = """
import resource, torch, coordnet as cn
torch.set_num_threads(1)
grid = cn.HashGrid(2, seed=0)
before = 0
for number in (1000, 1000, 16384, 131072, 262144):
    out = grid(torch.rand(number, 2))
    out.backward(out.detach())
    grid.tables.grad, size, out = None, 4 * out.numel(), None
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(number, peak - before, size)
    before = peak
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="ru_maxrss is in KB on Linux")
def test_memory_of_a_step_is_a_few_times_its_features():
    done = subprocess.run(
        [sys.executable, "-c", PEAK],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=120,
    )
    rows = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert rows[2][1] <= 100e6, rows  # 2 MB of features, 2 MB of tables, and the blocks
    grown = rows[4][2] - rows[3][2]
    assert rows[4][1] <= 10 * grown, rows


FORK = """
import os, sys, torch, coordnet as cn
torch.set_num_threads(2)
grid = cn.HashGrid(2, 4, log2_hashmap_size=6, max_resolution=32, seed=0)
x = torch.rand(50, 2, generator=torch.Generator().manual_seed(0))

def step():
    return torch.autograd.grad(grid(x).square().sum(), grid.tables)[0]

expected = step()
child = os.fork()
if child == 0:
    sys.exit(0 if torch.equal(step(), expected) else 7)
status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
assert torch.equal(step(), expected)
sys.exit(status)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_after_use_does_not_hang():
    done = subprocess.run([sys.executable, "-c", FORK], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
