"""A scene that is known in closed form: a soft ball whose color changes with place and angle."""

import math

import pytest
import torch

from coordnet.scenes import Cameras, look_at
from coordnet.scenes.rendering.volume import render_rays

NAMES = ("color", "opacity", "depth")
LOWER, UPPER = [-1.0] * 3, [1.0] * 3


def ball(positions, directions):
    """Density and color of a ball of radius 0.6 with a soft edge."""
    radius = positions.square().sum(-1).sqrt()
    density = 40 * torch.sigmoid((0.6 - radius) / 0.02)
    place = 0.5 + 0.35 * torch.sin(5 * positions)
    shine = 0.15 * directions[..., 2:3].clamp(-1, 1)
    return density, (place + shine).clamp(0, 1)


def cameras_around(number, size, distance=3.0):
    golden = math.pi * (3 - math.sqrt(5))
    poses = []
    for i in range(number):
        z = 1 - 2 * (i + 0.5) / number
        r = math.sqrt(1 - z * z)
        eye = (
            distance * r * math.cos(golden * i),
            distance * r * math.sin(golden * i),
            distance * z,
        )
        poses.append(look_at(eye, (0.0, 0.0, 0.0)))
    poses = torch.cat([each.reshape(1, 3, 4) for each in poses])
    return Cameras.pinhole(poses, 1.2 * size, width=size, height=size)


def truth(origins, directions):
    """Color over nothing, opacity and depth by fine quadrature."""
    edges = torch.linspace(1.5, 4.5, 1501)
    parts = [
        render_rays(ball, o, d, edges.expand(len(o), -1))
        for o, d in zip(origins.split(1024), directions.split(1024), strict=True)
    ]
    return tuple(
        torch.cat([getattr(p, name) for p in parts]) for name in ("color", "opacity", "depth")
    )


class Pixels:
    """Pictures of the ball, as a fit takes them."""

    def __init__(self, cameras):
        rays = [cameras.image_rays(i) for i in range(len(cameras))]
        seen = [truth(*each) for each in rays]
        self.color, self.opacity, self.depth = (torch.cat(each) for each in zip(*seen, strict=True))

    def __call__(self, which):
        return self.color[which], self.opacity[which, None]


@pytest.fixture(scope="session")
def scene():
    """Twenty training cameras of 32 pixels and what they see."""
    cameras = cameras_around(20, 32)
    return cameras, Pixels(cameras)
