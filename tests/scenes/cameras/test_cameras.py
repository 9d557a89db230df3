"""Cameras against a pinhole written out in NumPy, lenses against their inverse, boxes, paths."""

import math

import numpy as np
import pytest
import torch

from coordnet.errors import InputError
from coordnet.scenes import (
    Cameras,
    RayTable,
    SceneBox,
    arrangement,
    average_pose,
    box_from_poses,
    distort,
    focus_point,
    interpolated_path,
    look_at,
    near_far_box,
    near_far_from_poses,
    orbit_around,
    orbit_path,
    spiral_path,
    undistort,
)
from coordnet.scenes.cameras.lens import fold_radius_squared

FOCAL = 0.5 * 160 / math.tan(0.5 * 0.6911112)


def identity(position=(0.0, 0.0, 0.0)):
    pose = torch.eye(4, dtype=torch.float64)[:3].clone()
    pose[:, 3] = torch.tensor(position, dtype=torch.float64)
    return pose


def some_cameras(number=5, **options):
    options = {"focal": (210.0, 190.0), "width": 160, "height": 120, **options}
    return Cameras.pinhole(orbit_path(number, radius=4.0, elevation=25.0), **options)


def pinhole(pose, point, focal, center):
    """Where a camera with OpenGL's axes shows a point: the textbook's K [R t] in NumPy."""
    pose = np.asarray(pose)
    flip = np.diag([1.0, -1.0, -1.0])
    local = flip @ pose[:, :3].T @ (np.asarray(point) - pose[:, 3])
    matrix = np.array([[focal[0], 0, center[0]], [0, focal[1], center[1]], [0, 0, 1]])
    column, row, depth = matrix @ local
    return column / depth, row / depth, depth


# --- rays -------------------------------------------------------------------------------------


def test_the_mean_ray_of_an_identity_pose_looks_along_minus_z():
    cameras = Cameras.pinhole(identity(), FOCAL, width=160, height=120)
    origins, directions = cameras.image_rays(0)
    assert origins.shape == directions.shape == (160 * 120, 3)
    assert origins.dtype == directions.dtype == torch.float32
    mean = directions.double().mean(0)
    torch.testing.assert_close(mean[:2], torch.zeros(2).double(), rtol=0, atol=1e-7)
    assert mean[2] < -0.9
    torch.testing.assert_close(directions.norm(dim=-1), torch.ones(160 * 120))


def test_the_focal_length_of_the_field_of_view():
    assert pytest.approx(222.22, abs=0.005) == FOCAL


def test_pixels_are_shot_through_their_centers():
    cameras = Cameras.pinhole(identity(), 2.0, width=4, height=2)
    _, directions = cameras.rays(0, torch.tensor([[0, 0], [3, 1]]))
    corner = torch.tensor([-1.5 / 2, 0.5 / 2, -1.0])  # column 0 lies left, row 0 on top
    torch.testing.assert_close(directions[0], corner / corner.norm())
    torch.testing.assert_close(directions[1], (corner * torch.tensor([-1, -1, 1])) / corner.norm())


def test_whole_numbers_are_pixels_and_other_numbers_positions():
    cameras = some_cameras()
    pixel = torch.tensor([[3, 7], [100, 20]])
    one, other = cameras.rays(2, pixel), cameras.rays_at(2, pixel + 0.5)
    assert torch.equal(one[0], other[0])
    assert torch.equal(one[1], other[1])
    with pytest.raises(InputError, match="rays_at"):
        cameras.rays(2, pixel.double())


@pytest.mark.parametrize("distortion", [None, (-0.2, 0.05, 1e-3, -2e-3)])
def test_rays_meet_the_points_that_are_projected(distortion):
    cameras = some_cameras(principal_point=(77.0, 63.5), distortion=distortion)
    points = 0.5 * torch.randn(5, 30, 3, generator=torch.Generator().manual_seed(0)).double()
    which = torch.arange(5)[:, None]
    position, depth = cameras.project(which, points)
    origins, directions = cameras.rays_at(which, position)
    distance = (points - origins).norm(dim=-1)
    torch.testing.assert_close(
        origins.double() + distance[..., None] * directions.double(), points, rtol=0, atol=2e-6
    )
    torch.testing.assert_close(
        depth, distance * (directions * cameras.view_directions[:, None]).sum(-1)
    )


def test_a_projection_is_the_textbooks():
    cameras = some_cameras(principal_point=(77.0, 63.5))
    point = (0.3, -0.2, 0.4)
    for i in range(5):
        position, depth = cameras.project(i, torch.tensor(point, dtype=torch.float64))
        column, row, far = pinhole(cameras.poses[i], point, (210.0, 190.0), (77.0, 63.5))
        assert position.tolist() == pytest.approx([column, row], abs=1e-10)
        assert float(depth) == pytest.approx(far)


def test_cameras_of_a_batch_are_told_apart():
    cameras = some_cameras()
    which = torch.tensor([4, 0, 2])
    pixel = torch.tensor([[1, 2], [3, 4], [5, 6]])
    origins, directions = cameras.rays(which, pixel)
    for i in range(3):
        origin, direction = cameras.rays(int(which[i]), pixel[i])
        assert torch.equal(origins[i], origin)
        assert torch.equal(directions[i], direction)
    assert cameras.rays(which[:0], pixel[:0])[1].shape == (0, 3)


def test_image_rays_go_row_by_row():
    cameras = some_cameras()
    whole = cameras.image_rays(1)[1].reshape(120, 160, 3)
    assert torch.equal(whole[7, 30], cameras.rays(1, torch.tensor([30, 7]))[1])
    part = cameras.image_rays(1, slice(118, None))[1]
    assert torch.equal(part, whole[118:].reshape(-1, 3))


def test_far_from_the_origin_directions_keep_their_digits():
    near = Cameras.pinhole(identity(), 1500.0, width=4000, height=3000)
    far = Cameras.pinhole(identity((4e5, 5e6, 100.0)), 1500.0, width=4000, height=3000)
    pixel = torch.tensor([[0, 0], [3999, 1234]])
    assert torch.equal(near.rays(0, pixel)[1], far.rays(0, pixel)[1])


# --- sizes and slices -------------------------------------------------------------------------


def test_intrinsics_follow_the_size():
    cameras = some_cameras(principal_point=(77.0, 63.5))
    half = cameras.scaled(0.5)
    assert half.sizes[0].tolist() == [80, 60]
    assert half.focal[0].tolist() == [105.0, 95.0]
    assert half.principal_point[0].tolist() == [38.5, 31.75]
    # the same points of the picture, the same rays
    at = torch.tensor([[0.0, 0.0], [31.4, 59.0]])
    torch.testing.assert_close(half.rays_at(0, at)[1], cameras.rays_at(0, 2 * at)[1])
    odd = cameras.resized(53, 41)
    scale = torch.tensor([160 / 53, 120 / 41]).double()
    torch.testing.assert_close(odd.rays_at(3, at)[1], cameras.rays_at(3, at * scale)[1])
    assert cameras.scaled(1 / 3).sizes[0].tolist() == [53, 40]
    with pytest.raises(InputError, match="at least one pixel"):
        cameras.scaled(1e-3)


def test_resizing_keeps_the_distortion_right():
    cameras = some_cameras(distortion=(-0.1, 0.02, 1e-3, 0.0))
    at = torch.tensor([[5.0, 7.0], [70.0, 59.0]])
    torch.testing.assert_close(cameras.scaled(0.5).rays_at(0, at)[1], cameras.rays_at(0, 2 * at)[1])


def test_slices_and_iteration():
    cameras = some_cameras(distortion=(0.01, 0.0, 0.0, 0.0))
    for which in (
        slice(1, 4),
        [1, 2, 3],
        torch.tensor([1, 2, 3]),
        torch.arange(5).clamp(1, 3) == 2,
    ):
        part = cameras[which]
        assert torch.equal(part.poses, cameras.poses[which])
        assert part.distortion.shape == (len(part), 4)
    assert len(cameras[-1]) == 1
    assert torch.equal(cameras[-1].poses[0], cameras.poses[4])
    assert len(cameras[[]]) == 0
    assert [len(each) for each in cameras] == [1] * 5
    with pytest.raises(IndexError):
        cameras[5]


def test_one_lens_on_other_poses():
    path = orbit_path(7, radius=2.0)
    found = some_cameras(distortion=(0.01, 0.0, 0.0, 0.0)).with_poses(path, camera=2)
    assert len(found) == 7
    assert torch.equal(found.poses, path)
    assert found.sizes[6].tolist() == [160, 120]


def test_another_world_shows_the_same_pictures():
    cameras = some_cameras()
    turn = look_at((1.0, 2.0, 3.0), (0.0, 0.5, 0.0))
    matrix = torch.eye(4).double()
    matrix[:3, :3], matrix[:3, 3] = 2.5 * turn[:, :3], turn[:, 3]
    moved = cameras.transformed(matrix)
    points = torch.randn(20, 3, generator=torch.Generator().manual_seed(1)).double()
    there = points @ matrix[:3, :3].mT + matrix[:3, 3]
    before, after = cameras.project(2, points), moved.project(2, there)
    torch.testing.assert_close(after[0], before[0])
    torch.testing.assert_close(after[1], 2.5 * before[1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"poses": lambda p: p * float("nan")}, "poses must be finite"),
        ({"poses": lambda p: torch.cat([2 * p[..., :3], p[..., 3:]], -1)}, "must be a rotation"),
        ({"poses": lambda p: p * torch.tensor([1.0, 1.0, -1.0, 1.0])}, "must be a rotation"),
        ({"poses": lambda p: p[:, :2]}, r"shape \(n, 3, 4\)"),
        ({"focal": lambda f: f * 0}, "focal must be above"),
        ({"focal": lambda f: f[:2]}, r"focal of shape \(2, 2\) with 5 poses"),
        ({"sizes": lambda s: s - 160}, "sizes must be above 0"),
        ({"distortion": lambda d: d + torch.tensor([-2.0, 0, 0, 0])}, "can be undone"),
    ],
)
def test_what_no_camera_has_is_refused(change, words):
    cameras = some_cameras(distortion=(0.0, 0.0, 0.0, 0.0))
    values = {
        name: getattr(cameras, name) for name in ("poses", "focal", "principal_point", "sizes")
    }
    values["distortion"] = cameras.distortion
    for name, function in change.items():
        values[name] = function(values[name])
    with pytest.raises(InputError, match=words) as caught:
        Cameras(**values)
    assert "\n" not in str(caught.value)


def test_float32_poses_are_rotations():
    poses = orbit_path(50, radius=4.0, elevation=70).float()
    assert Cameras.pinhole(poses, 100.0, width=10, height=10).poses.dtype == torch.float64


# --- the table of rays ------------------------------------------------------------------------


def mixed_cameras():
    """Five cameras: three share a lens, and sizes differ."""
    cameras = some_cameras(width=16, height=12, focal=20.0, distortion=(-0.05, 0.01, 0.0, 1e-3))
    sizes = torch.tensor([[16, 12], [16, 12], [7, 9], [16, 12], [5, 5]])
    return cameras.with_sizes(sizes)


@pytest.mark.parametrize("kept", [1 << 28, 0])
@pytest.mark.parametrize("make", [some_cameras, mixed_cameras])
def test_the_table_gives_the_cameras_rays(make, kept):
    cameras = make()
    table = RayTable(cameras, max_bytes=kept)
    assert (table._directions is None) == (kept == 0)
    assert len(table) == int(cameras.sizes.prod(-1).sum())
    pixel = torch.arange(len(table))
    origins, directions = table.rays(pixel)
    wanted = [cameras.image_rays(i) for i in range(len(cameras))]
    torch.testing.assert_close(directions, torch.cat([each[1] for each in wanted]))
    torch.testing.assert_close(origins, torch.cat([each[0] for each in wanted]))
    camera, within = table.locate(pixel[-3:])
    assert camera.tolist() == [4, 4, 4]
    assert torch.equal(table.offsets[camera] + within, pixel[-3:])


def test_autocast_leaves_rays_alone():
    cameras = some_cameras()
    table, pixel = RayTable(cameras), torch.arange(0, 9000, 97)
    before = table.rays(pixel)[1], cameras.image_rays(0, slice(3, 9))[1]
    with torch.autocast("cpu", torch.bfloat16):
        after = table.rays(pixel)[1], cameras.image_rays(0, slice(3, 9))[1]
    for one, other in zip(before, after, strict=True):
        assert torch.equal(one, other)


def test_a_shared_lens_is_worked_out_once():
    assert len(RayTable(some_cameras(40))._directions) == 160 * 120
    assert len(RayTable(mixed_cameras())._directions) == 16 * 12 + 7 * 9 + 5 * 5
    assert len(RayTable(some_cameras()[[]])) == 0


# --- lenses -----------------------------------------------------------------------------------

LENSES = [
    (-0.3, 0.12, 1e-3, -5e-4),  # an action camera's
    (0.15, -0.03, -1e-3, 2e-3),
    (-0.05, 0.0, 0.0, 0.0),
    (0.0, 0.0, 5e-3, -5e-3),
    (0.0, 0.0, 0.0, 0.0),
]


@pytest.mark.parametrize("lens", LENSES)
def test_undistort_undoes_distort(lens):
    coefficients = torch.tensor(lens, dtype=torch.float64)
    along = torch.linspace(-0.8, 0.8, 41, dtype=torch.float64)
    points = torch.cartesian_prod(along, 0.75 * along)
    back = undistort(distort(points, coefficients), coefficients)
    assert (back - points).abs().max() < 1e-10
    assert (
        distort(undistort(points * 0.9, coefficients), coefficients) - points * 0.9
    ).abs().max() < (1e-10)
    single = undistort(points.float(), coefficients.float())
    assert (single - undistort(points, coefficients)).abs().max() < 1e-5


def test_the_distortion_is_opencvs():
    # worked by hand: x = 0.5, y = -0.25, r² = 0.3125
    x, y, r2 = 0.5, -0.25, 0.3125
    radial = 1 + 0.1 * r2 - 0.2 * r2**2
    wanted = (
        x * radial + 2 * 0.01 * x * y + 0.03 * (r2 + 2 * x * x),
        y * radial + 0.01 * (r2 + 2 * y * y) + 2 * 0.03 * x * y,
    )
    lens = torch.tensor([0.1, -0.2, 0.01, 0.03], dtype=torch.float64)
    found = distort(torch.tensor([x, y], dtype=torch.float64), lens)
    assert found.tolist() == pytest.approx(wanted, abs=1e-15)


def test_a_barrel_shows_the_corners_nearer_to_the_middle():
    plain, barrel = (some_cameras(distortion=lens) for lens in (None, (-0.1, 0.0, 0.0, 0.0)))
    corner = torch.tensor([0.0, 0.0])
    angles = [
        float((c.rays_at(0, corner)[1] * c.view_directions[0]).sum()) for c in (plain, barrel)
    ]
    assert angles[1] < angles[0]  # the barrel's corner looks further off the axis


def test_where_a_lens_folds():
    lenses = torch.tensor([[-0.3, 0.0], [0.3, 0.0], [0.0, -0.2], [-1.0, 0.1], [-0.3, 0.1]]).double()
    found = fold_radius_squared(torch.nn.functional.pad(lenses, (0, 2)))
    for (k1, k2), square in zip(lenses.tolist(), found.tolist(), strict=True):
        radius = torch.linspace(0, 3, 30_001, dtype=torch.float64)
        slope = 1 + 3 * k1 * radius**2 + 5 * k2 * radius**4
        below = (slope < 0).nonzero()
        wanted = float(radius[below[0]]) ** 2 if len(below) else math.inf
        assert square == pytest.approx(wanted, rel=1e-3)


def test_a_point_beyond_the_fold_is_shown_nowhere():
    cameras = Cameras.pinhole(identity(), 100.0, width=80, height=60, distortion=(-0.3, 0, 0, 0))
    points = torch.tensor([[0.2, 0.1, -1.0], [6.0, 0.0, -1.0]])
    position, _ = cameras.project(0, points)
    assert torch.isfinite(position[0]).all()
    assert torch.isinf(position[1]).all()


# --- boxes ------------------------------------------------------------------------------------


def test_rays_against_a_box_known_beforehand():
    origins = torch.tensor([[0.0, 0, 3], [0, 0, 3], [0, 0, 0], [5, 0, 0], [0, 0, -3]])
    directions = torch.tensor([[0.0, 0, -1], [0, 0, 1], [0, 1, 0], [0, 0, 1], [0, 0, 2]])
    near, far = near_far_box(origins, directions, (-1, -1, -1), (1, 1, 1))
    assert near.tolist() == [2, 0, 0, 0, 1]
    assert far.tolist() == [4, 0, 1, 0, 2]


def test_a_ray_along_a_face_or_an_edge_gives_no_nan():
    origins = torch.tensor([[1.0, 0, 5], [1, 1, 5], [1 + 1e-6, 0, 5]])
    directions = torch.tensor([[0.0, 0, -1], [-0.0, 0.0, -1], [0, 0, -1]])
    near, far = near_far_box(origins, directions, (-1, -1, -1), (1, 1, 1))
    assert near.tolist() == [4, 4, 0]
    assert far.tolist() == [6, 6, 0]


def test_rays_against_a_box_by_dense_sampling():
    generator = torch.Generator().manual_seed(3)
    origins = 1.5 * torch.randn(200, 3, generator=generator).double()
    directions = torch.randn(200, 3, generator=generator).double()
    directions[::7, 0] = 0
    directions[::5, 2] = 0
    lower, upper = (-1.0, -0.5, -2.0), (0.5, 1.5, 1.0)
    near, far = near_far_box(origins, directions, lower, upper)
    t = torch.linspace(0, 20, 40_001, dtype=torch.float64)
    points = origins[:, None] + t[:, None] * directions[:, None]
    inside = ((points > torch.tensor(lower)) & (points < torch.tensor(upper))).all(-1)
    for ray in range(200):
        if inside[ray].any():
            hits = t[inside[ray]]
            assert near[ray] == pytest.approx(float(hits[0]), abs=1e-3)
            assert far[ray] == pytest.approx(float(hits[-1]), abs=1e-3)
        else:
            assert far[ray] - near[ray] < 1e-3
    assert inside.any(1).sum() > 20


def test_the_box_of_an_orbit():
    cameras = some_cameras(12, focal=222.2)
    center = torch.tensor([1.0, -2.0, 0.5]).double()
    moved = torch.eye(4).double()
    moved[:3, 3] = center
    cameras = cameras.transformed(moved)
    assert arrangement(cameras) == "inward"
    torch.testing.assert_close(focus_point(cameras), center)
    box = box_from_poses(cameras)
    half = 1.05 * 4.0 * 80 / 222.2
    assert box.center == pytest.approx(center.tolist())
    assert box.upper == pytest.approx((center + half).tolist())
    near, far = near_far_from_poses(cameras)
    assert near == pytest.approx(4 - 3**0.5 * half)
    assert far == pytest.approx(4 + 3**0.5 * half)
    assert "look at" in box.source


def facing(directions, positions):
    eyes = torch.tensor(positions, dtype=torch.float64)
    return Cameras.pinhole(
        look_at(eyes, eyes + torch.tensor(directions, dtype=torch.float64), (0.0, 1.0, 0.1)),
        100.0,
        width=100,
        height=80,
    )


def test_cameras_without_a_point_to_look_at():
    ring = [(math.cos(a), 0.0, math.sin(a)) for a in np.arange(8) * math.pi / 4]
    cases = {
        "forward": facing(
            [(0.01 * i, 0, -1) for i in range(4)], [(i, 0.1 * i, 0) for i in range(4)]
        ),
        "outward": facing(ring, ring),
        "still": facing(ring, [(3.0, 1.0, 2.0)] * 8),
    }
    for name, cameras in cases.items():
        assert arrangement(cameras) == name
        assert focus_point(cameras) is None
        assert box_from_poses(cameras) is None
        with pytest.raises(InputError, match="near and far"):
            near_far_from_poses(cameras)
    assert arrangement(some_cameras(1)) == "still"


@pytest.mark.parametrize("upper", [(1.0, 1.0, -1.0), (1.0, float("nan"), 1.0)])
def test_a_box_without_an_inside_is_refused(upper):
    with pytest.raises(InputError, match="lower corner below"):
        SceneBox((-1.0, -1.0, -1.0), upper, "a test")


# --- poses and paths --------------------------------------------------------------------------


def test_looking_at_a_point_puts_it_in_the_middle_upright():
    pose = look_at((3.0, -2.0, 1.5), (0.0, 0.5, 0.0))
    cameras = Cameras.pinhole(pose, 100.0, width=60, height=40)
    position, depth = cameras.project(0, torch.tensor([0.0, 0.5, 0.0]))
    assert position.tolist() == pytest.approx([30, 20])
    assert float(depth) == pytest.approx(math.sqrt(9 + 6.25 + 2.25))
    above, _ = cameras.project(0, torch.tensor([0.0, 0.5, 0.2]))
    assert above[0] == pytest.approx(30, abs=1e-9)
    assert above[1] < 20
    with pytest.raises(InputError, match="straight above"):
        look_at((0.0, 0.0, 3.0), (0.0, 0.0, 0.0))


def test_an_orbit_goes_around_evenly_and_closes():
    path = orbit_path(8, radius=3.0, elevation=30.0, center=(1.0, 2.0, 3.0))
    offset = path[..., 3] - torch.tensor([1.0, 2.0, 3.0]).double()
    torch.testing.assert_close(offset.norm(dim=-1), torch.full((8,), 3.0).double())
    torch.testing.assert_close(offset[:, 2], torch.full((8,), 1.5).double())
    torch.testing.assert_close(-path[..., 2] * 3.0, -offset)
    steps = (offset - offset.roll(1, 0)).norm(dim=-1)
    torch.testing.assert_close(steps, steps[:1].expand(8))
    # counterclockwise from above
    assert float(torch.linalg.cross(offset[0], offset[1])[2]) > 0


def test_an_orbit_around_what_given_cameras_see():
    cameras = some_cameras(9)
    path = orbit_around(cameras, 9)
    torch.testing.assert_close(path, cameras.poses, atol=1e-9, rtol=0)
    tilted = torch.eye(4).double()
    tilted[:3] = look_at((0.3, 5.0, 1.0), (0.0, 0.0, 0.0), (1.0, 0.2, 0.0))
    torch.testing.assert_close(
        orbit_around(cameras.transformed(tilted), 9),
        cameras.transformed(tilted).poses,
        atol=1e-9,
        rtol=0,
    )


def test_a_spiral_looks_at_one_point_and_stays_among_the_cameras():
    cameras = facing([(0.02 * i, 0, -1) for i in range(-3, 4)], [(i, i % 2, 0) for i in range(7)])
    path = spiral_path(cameras, 40, depth=10.0)
    middle = average_pose(cameras.poses)
    target = middle[:, 3] - 10 * middle[:, 2]
    toward = target - path[..., 3]
    torch.testing.assert_close(-path[..., 2], toward / toward.norm(dim=-1, keepdim=True))
    offset = ((path[..., 3] - middle[:, 3]) @ middle[:, :3]).abs()
    own = ((cameras.positions - middle[:, 3]) @ middle[:, :3]).abs()
    assert (offset.amax(0) <= own.amax(0) + 1e-9).all()
    # closed: from the last to the first is a step like others
    steps = (path[..., 3] - path[..., 3].roll(1, 0)).norm(dim=-1)
    assert steps[0] < 1.5 * steps[1:].max()


@pytest.mark.parametrize("closed", [False, True])
def test_a_path_passes_through_its_poses(closed):
    poses = orbit_path(5, radius=3.0, elevation=10.0)
    frames = 5 * 4 if closed else 4 * 4 + 1
    path = interpolated_path(poses, frames, closed=closed)
    torch.testing.assert_close(path[::4], poses, atol=1e-12, rtol=0)
    turn = path[..., :3]
    eye = torch.eye(3).double().expand_as(turn)
    torch.testing.assert_close(turn.mT @ turn, eye, atol=1e-12, rtol=0)
    assert (torch.linalg.det(turn) > 0).all()
    # the turn is even: half way between two poses of an orbit lies half the angle
    angles = torch.linalg.matrix_norm(turn[1:] - turn[:-1])
    if closed:
        torch.testing.assert_close(angles, angles[:1].expand_as(angles))


def test_a_path_through_half_a_turn_and_through_none():
    half = torch.tensor([[-1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, -1, 0]]).double()
    path = interpolated_path(torch.stack([identity(), half]), 3)
    assert path[1, 1, 1] == pytest.approx(1)
    assert abs(float(path[1, 0, 2])) == pytest.approx(1)
    assert torch.equal(interpolated_path(identity()[None], 4), identity().expand(4, 3, 4))
    still = interpolated_path(identity().expand(3, 3, 4), 7)
    torch.testing.assert_close(still, identity().expand(7, 3, 4))


@pytest.mark.parametrize(
    "call",
    [
        lambda: orbit_path(0, radius=1.0),
        lambda: orbit_path(4, radius=-1.0),
        lambda: orbit_path(4, radius=1.0, elevation=90.0),
        lambda: orbit_path(4, radius=1.0, start=(0.0, 0.0, 1.0)),
        lambda: orbit_around(some_cameras(1), 4),
        lambda: spiral_path(some_cameras(4), 4, depth=0.0),
        lambda: average_pose(orbit_path(4, radius=1.0, elevation=0.0)),
        lambda: interpolated_path(torch.empty(0, 3, 4), 4),
        lambda: Cameras.pinhole(identity(), 100.0, width=0, height=4),
    ],
)
def test_paths_that_make_no_sense_are_refused(call):
    with pytest.raises(InputError) as caught:
        call()
    assert "\n" not in str(caught.value)


@pytest.mark.cuda
def test_cameras_on_a_cuda_device():
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    for cameras in (mixed_cameras(), some_cameras()):
        table = RayTable(cameras)
        pixel = torch.arange(0, len(table), 7)
        for moved in (table.to("cuda"), RayTable(cameras.to("cuda"))):
            for one, other in zip(table.rays(pixel), moved.rays(pixel.cuda()), strict=True):
                torch.testing.assert_close(other.cpu(), one)
        rays = cameras.to("cuda").image_rays(2)[1]
        torch.testing.assert_close(rays.cpu(), cameras.image_rays(2)[1])
        torch.testing.assert_close(focus_point(cameras.to("cuda")), focus_point(cameras))


def test_nothing_depends_on_the_default_dtype_or_device():
    before = RayTable(some_cameras()).rays(torch.arange(50))[1]
    torch.set_default_dtype(torch.float64)
    try:
        with torch.device("meta"):
            path = orbit_path(4, radius=4.0, elevation=25.0)
            assert path.device.type == "cpu"
        after = RayTable(some_cameras()).rays(torch.arange(50))[1]
    finally:
        torch.set_default_dtype(torch.float32)
    assert after.dtype == torch.float32
    assert torch.equal(before, after)
