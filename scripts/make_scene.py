"""Make the bundled scene: posed pictures with alpha, as NeRF-synthetic has them, and depth maps.

A ray tracer shows some textured solids on a plate, with soft shadows, and with highlights that
move with the eye. Or, with --analytic, a smooth cloud whose density and color are formulas, to
see whether a fit finds what is there. With --ground the solids stand on a paved ground under a
sky, without an end and without alpha; with --ahead the cameras all look the same way.

The folder holds transforms_train.json and transforms_test.json, the pictures train/r_0.png … and
test/r_0.png … (RGBA, 8 bits; the colors are not multiplied by alpha), and depth/r_0.png … of the
test views: 16-bit gray in steps of 0.0001, the distance along the ray through the pixel's center
to the first surface, or in a cloud the mean distance at which the ray is stopped; 0 where there is
nothing (or nothing within 6.5), or where a cloud stops less than half of the light. The same seed
gives the same files.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
from _cloud import gather
from _common import Parser, claim, run
from _scene import DEPTH_UNIT, RADIUS, View, poses_ahead, poses_around, rays, straight, write_split
from _solids import first_hit
from _still_life import SOLIDS, lamp_points, shade
from _surroundings import surroundings

import coordnet as cn

NAME = "make_scene"
DATA = Path(__file__).resolve().parent.parent / "data" / "scene"
REACH = 1.5 * np.sqrt(3.0)  # of the box [-1.5, 1.5]³ from its middle


def trace(
    pose: np.ndarray, size: int, samples: int, generator: np.random.Generator, ground: bool = False
) -> View:
    """See the solids, with samples x samples rays a pixel.

    A pixel is the mean of its rays' encoded colors, those that meet nothing counting as
    transparent black: so it is what the same rays would give on any background.

    Args:
        pose: camera to world.
        size: pixels a side.
        samples: rays a side of a pixel; each goes to another part of the lamp.
        generator: chooses which.
        ground: whether there are surroundings: then no pixel is transparent.
    """
    total, covered = np.zeros((size * size, 3)), np.zeros(size * size)
    lamp = lamp_points(samples)
    part = generator.permuted(np.tile(np.arange(samples**2), (size * size, 1)), axis=1)
    for j in range(samples**2):
        offset = (j % samples + 0.5) / samples, (j // samples + 0.5) / samples
        origin, direction = rays(pose, size, offset)
        distance, number = first_hit(SOLIDS, origin, direction)
        met = np.flatnonzero(number >= 0)
        point = origin[met] + distance[met, None] * direction[met]
        total[met] += shade(point, direction[met], number[met], lamp[part[met, j]])
        covered[met] += 1
        if ground:
            missed = np.flatnonzero(number < 0)
            total[missed] += surroundings(origin[missed], direction[missed])[0]
            covered[missed] += 1
    depth = first_hit(SOLIDS, *rays(pose, size))[0]
    if ground:
        depth = np.minimum(depth, surroundings(*rays(pose, size))[1])
        depth = np.where(depth * (1 / DEPTH_UNIT) < 65_535, depth, 0.0)
    pixels = straight(total / samples**2, covered / samples**2)
    depth = np.where(np.isfinite(depth), depth, 0.0)
    return View(pixels.reshape(size, size, 4), depth.reshape(size, size))


def see_cloud(pose: np.ndarray, size: int, steps: int = 512) -> View:
    """See the cloud, with one ray through the center of each pixel.

    Args:
        pose: camera to world.
        size: pixels a side.
        steps: along each ray through the box.
    """
    light = gather(*rays(pose, size), RADIUS - REACH, RADIUS + REACH, steps)
    pixels = straight(light.color, light.opacity)
    depth = np.where(light.opacity >= 0.5, light.depth, 0.0)
    return View(pixels.reshape(size, size, 4), depth.reshape(size, size))


def make(options: argparse.Namespace) -> None:
    """Write the scene."""
    for key in ("train", "test", "size", "samples"):
        if getattr(options, key) < 1:
            got = str(getattr(options, key))
            raise cn.InputError(f"--{key} must be at least 1", got)
    if options.analytic and options.ground:
        got = "--analytic --ground"
        raise cn.InputError("the cloud has no ground", got)
    if options.seed < 0:
        raise cn.InputError("--seed must be 0 or more", str(options.seed))
    names = [f"transforms_{split}.json" for split in ("train", "test")]
    claim(options.out, names, options.overwrite)
    generator = np.random.default_rng(options.seed)
    files: list[Path] = []
    for split, number in (("train", options.train), ("test", options.test)):
        poses = (poses_ahead if options.ahead else poses_around)(number, generator)
        see: Callable[[np.ndarray], View] = (
            (lambda pose: see_cloud(pose, options.size))
            if options.analytic
            else (
                lambda pose: trace(pose, options.size, options.samples, generator, options.ground)
            )
        )
        files += write_split(options.out, split, poses, see, depth=split == "test")
    size = sum(path.stat().st_size for path in files)
    print(f"written: {options.out}, {len(files)} files, {size / 1e6:.2f} MB")


def main() -> None:
    """Read the command line."""
    parser = Parser(NAME, __doc__)
    add = parser.add_argument
    add("--out", type=Path, default=DATA, help="folder; default: data/scene")
    add("--overwrite", action="store_true", help="replace the files in --out")
    add("--analytic", action="store_true", help="the cloud instead of the solids")
    add("--ground", action="store_true", help="ground, hills and sky around the solids, no alpha")
    add("--ahead", action="store_true", help="cameras that all look the same way")
    add("--train", type=int, default=40, help="views to fit; default: %(default)s")
    add("--test", type=int, default=10, help="views to compare with; default: %(default)s")
    add("--size", type=int, default=100, help="pixels a side; default: %(default)s")
    add("--samples", type=int, default=6, help="rays a side of a pixel; default: %(default)s")
    add("--seed", type=int, default=0, help="default: %(default)s")
    run(parser, make)


if __name__ == "__main__":
    main()
