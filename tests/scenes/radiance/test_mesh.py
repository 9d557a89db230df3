"""Meshes: the surface of an analytic ball, and the file that they are written to."""

import struct
import sys

import numpy as np
import pytest
import torch
from torch import nn

from coordnet import InputError
from coordnet.scenes import Mesh, RadianceModel, extract_mesh, write_ply
from coordnet.scenes.radiance import mesh

RADIUS, HALF = 0.8, 1.5


class Ball(RadianceModel):
    """A ball off the middle of its box; its color tells the position and the direction."""

    def __init__(self, density=1e3, radius=RADIUS, center=(0.1, -0.2, 0.0)):
        super().__init__()
        self.center = nn.Parameter(torch.tensor(center))
        self.dense, self.radius = density, radius

    def render(self, origins, directions, generator=None):
        raise NotImplementedError

    def density(self, positions):
        assert not self.training
        assert not torch.is_grad_enabled()
        inside = torch.linalg.vector_norm(positions - self.center, dim=-1) < self.radius
        return torch.where(inside, self.dense, 0.0)

    def color(self, positions, directions):
        return torch.stack(
            [0.5 + positions[:, 0] / 4, 0.5 - directions[:, 1] / 2, torch.ones(len(positions))], -1
        )

    @property
    def box(self):
        return [-HALF] * 3, [HALF, HALF, 1.0]

    def spec(self):
        return {}


def volume(found):
    corners = found.vertices[found.faces].astype(np.float64)
    return (np.cross(corners[:, 0], corners[:, 1]) * corners[:, 2]).sum() / 6


def assert_closed(faces):
    """Every edge belongs to two faces, which run along it in opposite directions."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    ways, numbers = np.unique(edges, axis=0, return_counts=True)
    back, _ = np.unique(edges[:, ::-1], axis=0, return_counts=True)
    assert np.array_equal(ways, back)
    assert numbers.max() == 1
    assert (edges[:, 0] != edges[:, 1]).all()


@pytest.fixture(scope="module")
def ball():
    pytest.importorskip("skimage")
    return extract_mesh(Ball(), resolution=40)


def test_the_surface_of_a_ball(ball):
    side = 2 * HALF / 40
    offset = ball.vertices - np.array([0.1, -0.2, 0.0])
    assert np.abs(np.linalg.norm(offset, axis=1) - RADIUS).max() < side
    assert volume(ball) == pytest.approx(4 / 3 * np.pi * RADIUS**3, rel=0.02)
    assert_closed(ball.faces)
    assert len(ball.vertices) - 1.5 * len(ball.faces) + len(ball.faces) == 2  # Euler's number
    assert np.linalg.norm(ball.normals, axis=1) == pytest.approx(1, abs=1e-6)
    assert ((ball.normals * offset).sum(1) / RADIUS).min() > 0.7
    assert ball.faces.dtype == np.int64
    assert {each.dtype for each in (ball.vertices, ball.colors, ball.normals)} == {
        np.dtype(np.float32)
    }


def test_colors_are_those_seen_from_above_the_surface(ball):
    expected = np.stack(
        [0.5 + ball.vertices[:, 0] / 4, 0.5 + ball.normals[:, 1] / 2, np.ones(len(ball.vertices))],
        -1,
    )
    assert ball.colors == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("slab", [1, 9000])
def test_slabs_are_sewn_together_to_the_same_mesh(ball, slab, monkeypatch):
    monkeypatch.setattr(mesh, "_SLAB", slab)
    sewn = extract_mesh(Ball(), resolution=40)
    assert_closed(sewn.faces)
    # slabs count in shorter numbers, which round less
    order, other = (np.lexsort(each.vertices.round(4).T) for each in (ball, sewn))
    assert sewn.vertices[other] == pytest.approx(ball.vertices[order], abs=2e-5)
    assert volume(sewn) == pytest.approx(volume(ball), rel=1e-5)


def test_no_more_than_a_block_is_evaluated_at_once(monkeypatch):
    pytest.importorskip("skimage")
    monkeypatch.setattr(mesh, "_POINTS", 1000)
    seen, model, told = [], Ball(), []
    density, color = model.density, model.color
    model.density = lambda x: (seen.append(len(x)), density(x))[1]
    model.color = lambda x, d: (seen.append(len(x)), color(x, d))[1]
    extract_mesh(model, resolution=20, progress=lambda done, total: told.append((done, total)))
    assert max(seen) == 1000
    assert sum(done for done, _ in told) == 20 * 20 * 17  # 2.5 / 3 of 20 is 16.7
    assert {total for _, total in told} == {20 * 20 * 17}
    assert model.training


def test_the_level_chooses_the_surface():
    pytest.importorskip("skimage")

    class Fog(Ball):
        def density(self, positions):
            return 10 * torch.exp(-4 * positions.square().sum(-1))

    for level in (1.0, 5.0):
        found = extract_mesh(Fog(), resolution=40, level=level)
        radius = np.sqrt(np.log(10 / level) / 4)
        assert np.linalg.norm(found.vertices, axis=1) == pytest.approx(radius, abs=5e-3)
    # by default the density at which half of the light passes a cell of 3 / 40
    default = mesh.half_opaque(Fog(), 40)
    assert np.exp(-default * 3 / 40) == pytest.approx(0.5)
    assert np.array_equal(
        extract_mesh(Fog(), resolution=40).vertices,
        extract_mesh(Fog(), resolution=40, level=default).vertices,
    )


def test_what_reaches_the_walls_of_the_box_is_closed_there():
    pytest.importorskip("skimage")
    found = extract_mesh(Ball(radius=1.2), resolution=20)
    assert_closed(found.faces)
    side = 2 * HALF / 20
    assert found.vertices[:, 2].max() == pytest.approx(1.0, abs=side)


def test_an_enormous_density_does_not_move_the_surface():
    pytest.importorskip("skimage")
    found = extract_mesh(Ball(density=1e34), resolution=20)
    offset = np.linalg.norm(found.vertices - np.array([0.1, -0.2, 0.0]), axis=1)
    assert np.abs(offset - RADIUS).max() < 2 * HALF / 20
    assert_closed(found.faces)


@pytest.mark.parametrize(
    ("density", "settings", "words"),
    [
        (0.0, {}, ["denser than the level, 4.621", "densities up to 0", "empty"]),
        (3.0, {}, ["densities up to 3", "lower level"]),
        (3.0, {"level": 3.5}, ["denser than the level, 3.5", "densities up to 3"]),
        (3.0, {"level": 0.0}, ["level must be", "0.0"]),
        (3.0, {"level": float("nan")}, ["level must be", "nan"]),
        (float("nan"), {}, ["densities must be finite", "nan"]),
        (float("inf"), {}, ["densities must be finite", "inf"]),
        (3.0, {"resolution": 0}, ["resolution", "at least 1", "0"]),
        (3.0, {"resolution": 4096}, ["resolution", "at most 2,048", "4096"]),
    ],
)
def test_what_makes_no_mesh_is_one_clear_line(density, settings, words):
    pytest.importorskip("skimage")
    with pytest.raises(InputError) as error:
        extract_mesh(Ball(density=density), **{"resolution": 20, **settings})
    assert all(word in str(error.value) for word in words), str(error.value)
    assert "\n" not in str(error.value)


def test_without_scikit_image_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "skimage.measure", None)
    with pytest.raises(InputError, match=r"pip install 'coordnet\[mesh\]'"):
        extract_mesh(Ball(), resolution=8)


SQUARE = Mesh(
    np.array([[0, 0, 0], [1, 0, 0], [1, 2, 0], [0, 2, 0.25]], np.float32),
    np.array([[0, 1, 2], [0, 2, 3]]),
    np.array([[0, 0.5, 1], [1, 1, 1], [0.2, 1.2, -1], [0, 0, 0]], np.float32),
    np.array([[0, 0, 1]] * 4, np.float32),
)


def read_ply(path):
    """Read a file of `write_ply` by what its own header says."""
    header, _, body = path.read_bytes().partition(b"end_header\n")
    lines = header.decode("ascii").split("\n")
    assert lines[:2] == ["ply", "format binary_little_endian 1.0"]
    number = {line.split()[1]: int(line.split()[2]) for line in lines if "element" in line}
    properties = [line.split()[1:] for line in lines if line.startswith("property")]
    codes = {"float": "f", "uchar": "B"}
    row = struct.Struct("<" + "".join(codes[kind] for kind, *_ in properties[:-1]))
    names = [name for _, name in properties[:-1]]
    vertices = [
        dict(zip(names, row.unpack_from(body, i * row.size), strict=True))
        for i in range(number["vertex"])
    ]
    assert properties[-1] == ["list", "uchar", "int", "vertex_indices"]
    faces, at = [], number["vertex"] * row.size
    for _ in range(number["face"]):
        corners = body[at]
        faces.append(struct.unpack_from(f"<{corners}i", body, at + 1))
        at += 1 + 4 * corners
    assert at == len(body)
    return vertices, faces


def test_a_ply_file_holds_the_mesh(tmp_path):
    path = tmp_path / "square.ply"
    write_ply(path, SQUARE)
    vertices, faces = read_ply(path)
    assert faces == [(0, 1, 2), (0, 2, 3)]
    assert [[v[axis] for axis in "xyz"] for v in vertices] == SQUARE.vertices.tolist()
    assert [v["nz"] for v in vertices] == [1.0] * 4
    colors = [(v["red"], v["green"], v["blue"]) for v in vertices]
    assert colors == [(0, 128, 255), (255, 255, 255), (51, 255, 0), (0, 0, 0)]


def test_a_ball_comes_back_from_its_file(ball, tmp_path, monkeypatch):
    monkeypatch.setattr("coordnet.scenes.radiance.ply._BLOCK", 1000)
    write_ply(tmp_path / "ball.ply", ball)
    vertices, faces = read_ply(tmp_path / "ball.ply")
    assert np.array_equal(np.array(faces), ball.faces)
    found = np.array([[v[axis] for axis in "xyz"] for v in vertices], np.float32)
    assert np.array_equal(found, ball.vertices)


def test_a_file_that_cannot_be_finished_leaves_the_old_one(tmp_path):
    path = tmp_path / "square.ply"
    path.write_bytes(b"old")
    with pytest.raises(InputError, match="numbers 0 to 4 of 4 vertices"):
        write_ply(path, SQUARE._replace(faces=np.array([[0, 1, 4]])))
    with pytest.raises(InputError, match=r"shapes \(4, 3\), \(3, 3\)"):
        write_ply(path, SQUARE._replace(normals=SQUARE.normals[:3]))

    class Bad(np.ndarray):
        def __getitem__(self, which):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_ply(path, SQUARE._replace(normals=SQUARE.normals.view(Bad)))
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["square.ply"]
    with pytest.raises(OSError, match="No such file"):
        write_ply(tmp_path / "no" / "square.ply", SQUARE)
