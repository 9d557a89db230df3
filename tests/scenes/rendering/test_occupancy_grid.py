"""Occupancy grids: what they know, how they forget, and marching past what is empty."""

import copy
import math

import pytest
import torch

from coordnet.errors import InputError
from coordnet.scenes import OccupancyGrid, contract
from coordnet.scenes.rendering import occupancy_grid as module, volume

LOWER, UPPER = [-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def shell(points):
    """Dense between the radii 0.5 and 0.6."""
    radius = points.norm(dim=-1)
    return 100.0 * ((radius > 0.5) & (radius < 0.6))


@pytest.fixture(scope="module")
def rays():
    """500 rays toward a box of side 2 or past it, unit directions."""
    draw = generator()
    origins = torch.nn.functional.normalize(torch.randn(500, 3, generator=draw), dim=-1) * 3
    origins[-50:] /= 6  # from inside
    aims = 3 * torch.rand(500, 3, generator=draw) - 1.5
    return origins, torch.nn.functional.normalize(aims - origins, dim=-1)


@pytest.fixture(scope="module")
def seen_shell():
    grid = OccupancyGrid(LOWER, UPPER, 32, step_size=0.02)
    grid.update(shell, 0)
    return grid


def looking_everywhere(monkeypatch, grid, *args, **options):
    """March without the coarser grid."""
    with monkeypatch.context() as patched:
        patched.setattr(module, "_MAX_REACH", -1)
        return grid.march(*args, **options)


def same_samples(one, other):
    names = ("ray_indices", "starts", "ends", "offsets")
    return all(torch.equal(getattr(one, name), getattr(other, name)) for name in names)


# what is occupied


def test_cells_are_occupied_until_they_are_looked_at():
    grid = OccupancyGrid(LOWER, UPPER, [4, 5, 6], warmup=0)
    assert grid.fraction() == 1
    grid.update(lambda x: torch.zeros(len(x)) + 1e-3 * (x[:, 0] > 0), 0, generator(), cells=40)
    looked_at = grid.densities >= 0
    assert 0 < looked_at.sum() < 60
    assert grid.occupied[~looked_at].all()


def test_cells_know_the_density_at_their_centers():
    grid = OccupancyGrid([0, 0, 0], [2, 4, 6], [2, 4, 3])
    grid.update(lambda x: x @ torch.tensor([100.0, 10.0, 1.0]), 0)
    x, y, z = torch.meshgrid(torch.arange(2), torch.arange(4), torch.arange(3), indexing="ij")
    expected = 100 * (x + 0.5) + 10 * (y + 0.5) + 2 * (z + 0.5)
    torch.testing.assert_close(grid.densities, expected)


def test_random_points_lie_in_their_cells():
    grid, asked = OccupancyGrid([0, 0, 0], [4, 4, 4], 4), []
    grid.update(lambda x: asked.append(x) or x[:, 0], 0, generator())
    points = torch.cat(asked)
    x, y, z = torch.meshgrid(*[torch.arange(4)] * 3, indexing="ij")
    assert torch.equal(points.floor().long(), torch.stack([x, y, z], -1).view(-1, 3))
    assert (points.frac() - 0.5).abs().max() > 0.3


@pytest.mark.parametrize("threshold", [0.01, 0.3])
def test_the_threshold_is_an_opacity_per_step(threshold):
    grid = OccupancyGrid(LOWER, UPPER, 16, step_size=0.1, threshold=threshold)
    grid.update(lambda x: 20 * ((x[:, 0] + 1) / 2) ** 4, 0)
    opaque = -torch.expm1(-grid.densities * 0.1) >= threshold
    assert 0.05 < opaque.double().mean() < 0.999
    assert torch.equal(grid.occupied, opaque)


def test_a_scene_thin_all_over_keeps_what_is_above_its_mean():
    grid = OccupancyGrid(LOWER, UPPER, 16, step_size=0.1)
    grid.update(lambda x: 1e-4 * (1 + x[:, 0]), 0)
    assert torch.equal(grid.occupied, grid.densities > 1e-4)
    for value in (0.0, 1e-7, 0.3):  # alike everywhere: nothing is lost to rounding
        grid = OccupancyGrid(LOWER, UPPER, 16, step_size=0.1, threshold=0.5)
        grid.update(lambda x, v=value: torch.full((len(x),), v), 0)
        assert grid.fraction() == 1


def test_densities_fade_where_they_are_gone():
    grid = OccupancyGrid(LOWER, UPPER, 8, step_size=0.1, decay=0.5)
    grid.update(lambda x: torch.full((len(x),), 8.0), 0)
    grid.update(lambda x: 8.0 * (x[:, 0] > 0), 1)
    assert grid.densities[4:].unique().tolist() == [8]
    assert grid.densities[:4].unique().tolist() == [4]
    for step in range(2, 9):
        grid.update(lambda x: 8.0 * (x[:, 0] > 0), step)
    assert grid.fraction() == 0.5


def test_later_updates_look_at_some_cells_half_of_them_occupied():
    grid = OccupancyGrid(LOWER, UPPER, 16, step_size=0.1, warmup=4)
    grid.update(lambda x: 50.0 * (x[:, 0] > 0.8), 0)
    occupied, asked = grid.occupied.clone(), []

    def density(points):
        asked.append(points)
        return 50.0 * (points[:, 0] > 0.8)

    grid.update(density, 3, generator())
    assert len(torch.cat(asked)) == 16**3
    asked.clear()
    grid.update(density, 4, generator(), cells=1001)
    points = torch.cat(asked)
    assert len(points) == 1001
    inside = (points[500:, 0] > 0.75).double()  # the upper two layers of cells
    among = (points[-500:, 0] >= 0.75).double().mean()
    assert among == 1
    assert inside.mean() > 0.95
    assert 0.05 < (points[:501, 0] >= 0.75).double().mean() < 0.25
    assert len(points[-500:].mul(8).floor().unique(dim=0)) > 250
    assert torch.equal(grid.occupied, occupied)


def test_what_appears_is_found_again():
    grid, draw = OccupancyGrid(LOWER, UPPER, 8, step_size=0.1, warmup=1), generator()
    grid.update(lambda x: 50.0 * (x[:, 0] > 0.5), 0)
    assert grid.fraction() == 0.25
    for step in range(1, 40):
        grid.update(lambda x: 50.0 * (x[:, 0] > 0.5) + 50.0 * (x[:, 0] < -0.5), step, draw)
    assert grid.fraction() == 0.5


def test_updates_repeat_with_the_generator_and_leave_the_global_one_alone():
    state, found = torch.get_rng_state(), []
    for _ in range(2):
        grid, draw = OccupancyGrid(LOWER, UPPER, 8, warmup=1), generator(7)
        for step in range(3):
            grid.update(lambda x: x.norm(dim=-1), step, draw)
        found.append(grid.densities)
    assert torch.equal(*found)
    assert torch.equal(torch.get_rng_state(), state)


# marching


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("step", [0.003, 0.02, 0.3])
def test_coarse_steps_miss_nothing(monkeypatch, rays, seen_shell, step, seed):
    def draw():
        return None if seed is None else generator(seed)

    found = seen_shell.march(*rays, step, generator=draw())
    every = looking_everywhere(monkeypatch, seen_shell, *rays, step, generator=draw())
    assert len(found) > 500 * 0.05 / step
    assert same_samples(found, every)


def test_coarse_steps_miss_no_single_cell(monkeypatch, rays):
    """Scattered cells, on the faces too, a box with three sides, cells not a multiple of 4."""
    grid = OccupancyGrid([-1, -0.5, -0.8], [1, 0.7, 1], [13, 22, 9])
    grid.occupied.copy_(torch.rand(13, 22, 9, generator=generator()) < 0.02)
    for step in (0.002, 0.01, 0.05):
        found = grid.march(*rays, step, generator=generator(1))
        every = looking_everywhere(monkeypatch, grid, *rays, step, generator=generator(1))
        assert same_samples(found, every)
        assert len(found)


def test_samples_are_the_steps_in_occupied_cells(rays, seen_shell):
    """Against the definition, step by step, in float64."""
    origins, directions = (each[:40] for each in rays)
    samples = seen_shell.march(origins, directions)
    total = 0
    for ray in range(40):
        o, d = origins[ray].double(), directions[ray].double()
        sides = torch.stack([(-1 - o) / d, (1 - o) / d])
        near, far = sides.amin(0).amax().clamp(min=0), sides.amax(0).amin()
        mine = slice(int(samples.offsets[ray]), int(samples.offsets[ray + 1]))
        if far <= near:
            assert mine.start == mine.stop
            continue
        starts = near + 0.02 * torch.arange(math.ceil((far - near) / 0.02))
        middle = (starts + (starts + 0.02).clamp(max=far)) / 2
        place = (o + middle[:, None] * d + 1) * 16
        clear = ((place - place.round()).abs() > 1e-3).all(-1)  # rounding decides the others
        x, y, z = place.long().clamp(0, 31).unbind(-1)
        wanted = seen_shell.occupied[x, y, z]
        found = torch.zeros(len(starts), dtype=torch.bool)
        found[((samples.starts[mine].double() - near) / 0.02).round().long()] = True
        assert torch.equal(found[clear], wanted[clear])
        total += int(wanted.sum())
    assert total > 100


@pytest.mark.parametrize("draw", [None, 5])
def test_steps_fill_the_box_without_gaps(rays, draw):
    """So a constant density gives 1 - exp(-σ L) whatever the step."""
    grid = OccupancyGrid(LOWER, UPPER, 8)
    for step in (0.05, 0.31, 10.0):
        samples = grid.march(*rays, step, generator=None if draw is None else generator(draw))
        origins, directions = (each.double() for each in rays)
        sides = torch.stack([(-1 - origins) / directions, (1 - origins) / directions])
        near, far = sides.amin(0).amax(-1).clamp(min=0), sides.amax(0).amin(-1)
        length = (far - near).clamp(min=0)
        assert (length > 0).double().mean() > 0.5
        seen = volume.opacity(volume.weights(torch.full((len(samples),), 0.7), samples), samples)
        torch.testing.assert_close(seen.double(), -torch.expm1(-0.7 * length), atol=1e-5, rtol=0)
        same = samples.ray_indices[1:] == samples.ray_indices[:-1]
        assert torch.equal(samples.starts[1:][same], samples.ends[:-1][same])
        assert samples.intervals.max() <= step * (1 + 1e-5)
        places = samples.positions(*rays)
        assert (places.abs() <= 1 + 1e-5).all()


def test_random_shifts_reach_every_place(rays):
    """Middles of first whole steps are spread evenly over a step."""
    stats = pytest.importorskip("scipy.stats")
    grid = OccupancyGrid(LOWER, UPPER, 4)
    origins = torch.tensor([[-2.0, 0.1, 0.2]]).expand(2000, 3)
    directions = torch.tensor([[1.0, 0.0, 0.0]]).expand(2000, 3)
    samples = grid.march(origins, directions, 0.25, generator=generator(2))
    second = samples.starts[samples.offsets[:-1] + 1]
    assert stats.kstest(((second - 1) / 0.25).numpy(), "uniform").pvalue > 1e-3


def test_near_and_far_cut_rays(rays, seen_shell):
    whole = seen_shell.march(*rays)
    near = torch.full((500,), 2.7)
    for low in (2.7, near, near.double()):
        some = seen_shell.march(*rays, near=low, far=3.1)
        assert 0 < len(some) < len(whole)
        assert some.starts.min() >= 2.7
        assert some.ends.max() <= 3.1
    assert len(seen_shell.march(*rays, near=3.0, far=2.0)) == 0


def test_directions_of_any_length(rays, seen_shell):
    origins, directions = rays
    once = seen_shell.march(origins, directions, 0.02)
    twice = seen_shell.march(origins, directions * 4, 0.02)
    assert torch.equal(once.ray_indices, twice.ray_indices)
    torch.testing.assert_close(once.starts, twice.starts * 4, rtol=1e-5, atol=1e-5)


def test_rays_along_axes_in_faces_and_from_nowhere(monkeypatch):
    origins = torch.tensor(
        [[-3.0, 0, 0], [-3, 1, 1], [-3, -1, 1], [0, 0, 0], [3, 3, 3], [-3, 0, 0], [0, 0, 5e6]]
    )
    directions = torch.tensor(
        [[1.0, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0], [1, 0, 0], [-1, 0, 0], [0, 0, -1]]
    )
    bad = torch.tensor([[math.nan] * 3, [math.inf, 0, 0]])
    origins = torch.cat([origins, bad])
    directions = torch.cat([directions, torch.tensor([[1.0, 0, 0]]).expand(2, 3)])
    grid = OccupancyGrid(LOWER, UPPER, 8)
    samples = grid.march(origins, directions, 0.25)
    assert samples.counts().tolist()[:6] == [8, 8, 8, 0, 0, 0]
    assert samples.counts()[7:].tolist() == [0, 0]
    assert same_samples(samples, looking_everywhere(monkeypatch, grid, origins, directions, 0.25))


def test_nothing_occupied_and_no_rays(rays):
    grid = OccupancyGrid(LOWER, UPPER, 8)
    grid.occupied.fill_(False)
    assert grid.march(*rays).counts().tolist() == [0] * 500
    assert len(grid.march(*rays, max_samples=7)) == 7
    none = torch.zeros(0, 3)
    assert len(grid.march(none, none)) == 0
    assert grid.march(none, none, max_samples=7).num_rays == 0


def test_a_change_of_the_cells_is_seen_at_once(rays):
    grid = OccupancyGrid(LOWER, UPPER, 8)
    before = len(grid.march(*rays))
    grid.occupied[:4] = False
    assert 0 < len(grid.march(*rays)) < before
    grid.load_state_dict(OccupancyGrid(LOWER, UPPER, 8).state_dict())
    assert len(grid.march(*rays)) == before


@pytest.mark.parametrize("room", [1, 1000, 10**6])
def test_a_fixed_number_of_samples(monkeypatch, rays, seen_shell, room):
    exact = seen_shell.march(*rays)
    here = seen_shell.march(*rays, max_samples=room)
    every = looking_everywhere(monkeypatch, seen_shell, *rays, max_samples=room)
    for samples in (here, every):
        kept = min(room, len(exact))
        assert len(samples) == room
        assert int(samples.filled.sum()) == kept
        for name in ("ray_indices", "starts", "ends"):
            assert torch.equal(getattr(samples, name)[:kept], getattr(exact, name)[:kept])
        whole = exact.offsets[1:] <= room
        assert torch.equal(samples.complete, whole)
        assert int(samples.needed) == len(exact)
        assert torch.equal(samples.counts()[whole], exact.counts()[whole])


def test_a_fixed_number_of_steps(rays):
    grid = OccupancyGrid(LOWER, UPPER, 8, contract=lambda x: x)
    lengths = torch.linspace(0.2, 1.0, 500)
    exact = grid.march(*rays, 0.05, far=lengths)
    needed = (lengths / 0.05).ceil()
    for steps in (8, 20):
        samples = grid.march(*rays, 0.05, far=lengths, max_samples=20_000, max_steps=steps)
        whole = samples.complete
        assert whole[needed <= steps].all()
        assert not whole[needed > steps + 2].any()
        assert torch.equal(samples.counts()[whole], exact.counts()[whole])
        kept = whole[samples.ray_indices] & samples.filled
        there = whole[exact.ray_indices]
        assert torch.equal(samples.starts[kept], exact.starts[there])
        assert torch.equal(samples.ends[kept], exact.ends[there])
    assert whole.all()


def test_skipping_changes_no_picture(rays):
    """The cells around a scene hold all of it: rendering past the others is exact."""
    grid = OccupancyGrid(LOWER, UPPER, 32)
    grid.update(lambda x: torch.full((len(x),), 1.0), 0)
    whole = grid.march(*rays, 0.01)
    radius = torch.linspace(-1, 1, 33)[:-1] + 1 / 32
    cells = torch.stack(torch.meshgrid(radius, radius, radius, indexing="ij"), -1).norm(dim=-1)
    grid.occupied.copy_((cells > 0.5 - 0.06) & (cells < 0.6 + 0.06))
    some = grid.march(*rays, 0.01)
    assert len(some) < 0.4 * len(whole)
    seen = [
        volume.composite(shell(at), at, samples)
        for samples in (whole, some)
        for at in [samples.positions(*rays)]
    ]
    assert seen[0].opacity.max() > 0.99
    torch.testing.assert_close(seen[0].color, seen[1].color, atol=1e-6, rtol=0)


def test_steps_that_grow_with_the_distance(rays):
    grid, cone = OccupancyGrid(LOWER, UPPER, 8), 0.02
    for draw in (None, generator()):
        samples = grid.march(*rays, 0.01, cone_angle=cone, generator=draw)
        evenly = grid.march(*rays, 0.01)
        assert len(samples) < 0.5 * len(evenly)
        sums = torch.zeros(500).index_add(0, samples.ray_indices, samples.intervals)
        wanted = torch.zeros(500).index_add(0, evenly.ray_indices, evenly.intervals)
        torch.testing.assert_close(sums, wanted, atol=1e-4, rtol=0)
        steps = 0.01 * (samples.starts * cone / 0.01).clamp(min=1)
        ratio = samples.intervals / steps
        assert ratio.max() < 1.03
        assert ratio.median() > 0.97
    tiny = grid.march(*rays, 0.01, cone_angle=1e-9)
    torch.testing.assert_close(tiny.counts().double(), evenly.counts().double(), atol=1, rtol=0)


def test_contracted_space(rays):
    grid = OccupancyGrid([-2] * 3, [2] * 3, 32, contract=contract)
    asked = []
    grid.update(lambda x: asked.append(x) or 100.0 * (x.norm(dim=-1) > 1.5), 0)
    assert torch.cat(asked).abs().max() < 2  # in contracted space
    origins, directions = rays
    samples = grid.march(origins / 3, directions, 0.05, far=100.0, cone_angle=0.05)
    away = samples.positions(origins / 3, directions).norm(dim=-1)
    assert samples.counts().min() > 0
    assert 1.6 < away.min() < 2.2  # contract(2) = 1.5, and half a cell's diagonal
    assert 90 < away.max() < 110
    counted = grid.march(origins / 3, directions, 0.05, far=100.0, cone_angle=0.05, max_samples=50)
    assert torch.equal(counted.starts, samples.starts[:50])


def test_points_that_land_outside_the_box_are_empty():
    grid = OccupancyGrid([0, 0, 0], [1, 1, 1], 4, contract=lambda x: x)
    origin, direction = torch.tensor([[-2.0, 0.5, 0.5]]), torch.tensor([[1.0, 0.0, 0.0]])
    samples = grid.march(origin, direction, 0.25, far=10.0)
    assert samples.starts.tolist() == [2, 2.25, 2.5, 2.75]


# as a module


def test_saved_and_loaded(rays, seen_shell):
    state = seen_shell.state_dict()
    assert set(state) == {"box", "densities", "occupied"}
    fresh = OccupancyGrid([0, 0, 0], [3, 3, 3], 32, step_size=0.02)
    fresh.load_state_dict(state)
    for grid in (fresh, copy.deepcopy(seen_shell)):
        assert same_samples(grid.march(*rays), seen_shell.march(*rays))
    with torch.device("meta"):
        empty = OccupancyGrid(LOWER, UPPER, 32, step_size=0.02)
    empty.to_empty(device="cpu").load_state_dict(state)
    assert same_samples(empty.march(*rays), seen_shell.march(*rays))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_casts_leave_the_box_alone(rays, seen_shell, dtype):
    grid = copy.deepcopy(seen_shell).to(dtype)
    assert grid.densities.dtype == torch.float32
    assert same_samples(grid.march(*rays), seen_shell.march(*rays))
    grid.update(shell, 1)
    assert torch.equal(grid.occupied, seen_shell.occupied)


def test_marching_in_inference_mode(rays, seen_shell):
    with torch.inference_mode():
        samples = seen_shell.march(*rays)
        grid = OccupancyGrid(LOWER, UPPER, 8)
        grid.update(shell, 0)
        assert len(grid.march(*rays))
    assert same_samples(samples, seen_shell.march(*rays))


def test_the_settings_are_shown():
    assert "resolution=[4, 5, 6]" in repr(OccupancyGrid(LOWER, UPPER, [4, 5, 6]))


def test_settings_out_of_range_are_refused():
    for name, value in (
        ("upper", [1.0, 1.0, -1.0]),
        ("upper", [1.0, 1.0]),
        ("upper", [1.0, 1.0, math.inf]),
        ("resolution", 0),
        ("resolution", [4, 4]),
        ("resolution", 4.5),
        ("resolution", 2000),
        ("step_size", 0.0),
        ("threshold", 1.0),
        ("decay", 1.5),
        ("warmup", -1),
    ):
        with pytest.raises(InputError, match=f"{name} must"):
            OccupancyGrid(**{"lower": LOWER, "upper": UPPER, name: value})


def test_what_cannot_be_marched_or_looked_at_is_refused(rays):
    grid = OccupancyGrid(LOWER, UPPER, 4)
    origins, directions = rays
    unbounded = OccupancyGrid(LOWER, UPPER, 4, contract=contract)
    calls = [
        (lambda: grid.march(origins[0], directions[0]), r"shape \(R, 3\)"),
        (lambda: grid.march(origins, directions[:4]), r"shape \(R, 3\)"),
        (lambda: grid.march(origins, directions, -1.0), "step_size must be"),
        (lambda: grid.march(origins, directions, near=origins), "near must be a number"),
        (lambda: grid.march(origins, directions, 1e-7), "at most 1,048,576 steps"),
        (lambda: grid.march(origins, directions, cone_angle=1.0), "cone_angle"),
        (lambda: grid.march(origins, directions, max_samples=0), "capacity must be"),
        (lambda: grid.march(origins, directions, max_steps=9), "max_steps needs max_samples"),
        (lambda: grid.march(origins, directions, max_samples=9, max_steps=0), "max_steps must"),
        (lambda: unbounded.march(origins, directions), "need an end"),
        (lambda: grid.update(lambda x: x, 0), "one number per point"),
        (lambda: grid.update(lambda x: -x[:, 0].abs(), 0), "at least 0 and finite"),
        (lambda: grid.update(lambda x: x[:, 0] * math.nan, 0), "finite; got nan"),
        (lambda: grid.update(shell, 300, generator(), cells=1), "cells must be"),
    ]
    for call, words in calls:
        with pytest.raises(InputError, match=words):
            call()
    assert grid.fraction() == 1  # nothing refused has left a trace


@pytest.mark.cuda
def test_nothing_waits_on_a_cuda_device(rays, seen_shell):
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    grid = copy.deepcopy(seen_shell).cuda()
    origins, directions = (each.cuda() for each in rays)
    draw = torch.Generator("cuda").manual_seed(0)
    torch.cuda.set_sync_debug_mode("error")
    try:
        samples = grid.march(origins, directions, generator=draw, max_samples=20_000)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert samples.complete.all()
    exact = grid.march(origins, directions)
    expected = seen_shell.march(*rays)
    # a step whose middle is on the border of two cells may round either way
    assert abs(len(exact) - len(expected)) <= 0.001 * len(expected)
