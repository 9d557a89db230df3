"""What the tests of scenes share: hand-made views of known points, written in NumPy alone."""

from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from . import ball

scene = ball.scene
POINTS = np.array([[0.1, -0.2, 0.3], [-0.4, 0.3, -0.1], [0.0, 0.0, 0.0]])
WIDTH, HEIGHT, FOCAL, CENTER = 40, 24, (30.0, 33.0), (19.0, 13.0)


def view(angle, height=0.8, focal=FOCAL, center=CENTER, size=(WIDTH, HEIGHT)):
    """A camera that looks at the origin, as world→camera in OpenCV's axes: x right, y down.

    Returns its rotation and shift, its 4 x 4 camera→world matrix in OpenGL's axes, where its
    picture shows POINTS, and a picture with a red dot, a green one and a blue one there.
    """
    eye = np.array([3 * np.cos(angle), 3 * np.sin(angle), height])
    forward = -eye / np.linalg.norm(eye)
    right = np.cross(forward, [0, 0, 1])
    right /= np.linalg.norm(right)
    down = np.cross(forward, right)
    turn = np.stack([right, down, forward])
    matrix = np.eye(4)
    matrix[:3] = np.stack([right, -down, -forward, eye], 1)
    local = (POINTS - eye) @ turn.T
    pixels = local[:, :2] / local[:, 2:] * focal + center
    picture = np.zeros((size[1], size[0], 3), np.uint8)
    for color, (column, row) in enumerate(pixels.astype(int)):
        picture[row, column] = 0
        picture[row, column, color] = 255
    return SimpleNamespace(
        turn=turn, shift=-turn @ eye, matrix=matrix, pixels=pixels, depths=local[:, 2],
        picture=picture,
    )  # fmt: skip


@pytest.fixture(scope="session")
def make_view():
    return view


@pytest.fixture(scope="session")
def views():
    """Nine of them, around the origin."""
    return [view(0.7 * i, 0.5 + 0.1 * i) for i in range(9)]


@pytest.fixture(scope="session")
def save():
    """Return a function that saves pixels under a name, whose folder it makes."""

    def save_picture(path, pixels, **options):
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path, **options)

    return save_picture


@pytest.fixture(scope="session")
def shows_the_points():
    """Return a check that every camera of a scene, and its picture, show POINTS where they are."""

    def check(read, views):
        import torch

        assert len(read) == len(views)
        for i, one in enumerate(views):
            position, depth = read.cameras.project(i, torch.from_numpy(POINTS))
            np.testing.assert_allclose(position.numpy(), one.pixels, atol=1e-4)
            np.testing.assert_allclose(depth.numpy(), one.depths, atol=1e-5)
            image = read.images.image(i)
            for color, (column, row) in enumerate(one.pixels.astype(int)):
                assert image[row, column, color] == 1
                assert image[row, column, 3] == 1

    return check
