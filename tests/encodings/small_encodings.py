"""Small encodings, one or several for each line of the tables: a new line needs one here."""

import torch

from coordnet.encodings import (
    Concat,
    Damped,
    DenseGrid,
    FourierFeatures,
    HashGrid,
    Identity,
    Normalized,
    Polynomial,
    SphericalHarmonics,
)


def hash_grid(d, **settings):
    return _with_large_tables(HashGrid(d, 3, 2, 4, 3, 9, seed=1, **settings))


def dense_grid(d, features=2, **settings):
    return _with_large_tables(DenseGrid(d, [5, 4, 3][:d], features, seed=1, **settings))


def _with_large_tables(grid):
    with torch.no_grad():
        grid.tables.mul_(1e4)  # U(-1, 1), so that a difference shows
    return grid


# name in the table → small encodings, each made from in_dim
FACTORIES = {
    "harmonic": [
        lambda d: FourierFeatures(d, k=5),
        lambda d: FourierFeatures(d, k=3, period=[24.0, 0.3, 1.0][:d], include_input=True),
    ],
    "octave": [lambda d: FourierFeatures.octave(d, k=4, period=2.0)],
    "geometric": [lambda d: FourierFeatures.geometric(d, k=4, C=100.0, scale=[3.0, 2.0, 1.0][:d])],
    "gaussian": [
        lambda d: FourierFeatures.gaussian(d, k=7, sigma=2.0, seed=3),
        lambda d: FourierFeatures.gaussian(d, k=7, sigma=2.0, seed=3, period=[1.0, 2.0, 3.0][:d]),
    ],
    "lattice": [lambda d: FourierFeatures.lattice(d, k=2, period=1.0)],
    "hashgrid": [
        hash_grid,
        lambda d: hash_grid(d, interpolation="smoothstep", periodic=[True, False, True][:d]),
    ],
    "densegrid": [
        lambda d: dense_grid(d, features=3),
        lambda d: dense_grid(d, interpolation="smoothstep", periodic=[True, False, True][:d]),
    ],
    "identity": [Identity],
    "polynomial": [lambda d: Polynomial(d, 3), Polynomial],
    "spherical": [SphericalHarmonics, lambda d: SphericalHarmonics(d, degree=1)],
    "concat": [
        lambda d: Concat([Identity(d), FourierFeatures(d, k=2), FourierFeatures.lattice(d, k=1)]),
        lambda d: Concat(
            [FourierFeatures(1, k=2, period=24.0), Identity(d)], axes=[[d - 1], list(range(d))]
        ),
        lambda d: Concat([Identity(d), hash_grid(d)]),
        lambda d: Concat(
            [FourierFeatures(d, k=2, period=24.0), FourierFeatures(d, k=1, period=[24.0, 7.0][:d])]
        ),
    ],
    "damped": [
        lambda d: Damped(FourierFeatures(d, k=3, period=[24.0, 0.3][:d])),
        lambda d: Damped(FourierFeatures.lattice(d, k=2, period=1.0), 2.0),
        lambda d: Damped(FourierFeatures.gaussian(d, k=7, sigma=2.0, seed=3), 0.5),
    ],
    "normalized": [
        lambda d: Normalized(
            FourierFeatures.gaussian(d, k=3, period=[0.5, 0.25][:d]), [-2.0] * d, [5.0] * d
        ),
        lambda d: Normalized(Normalized(Identity(d), [0.0] * d, [2.0] * d), [-1.0] * d, [1.0] * d),
        lambda d: Normalized(hash_grid(d), [-3.0] * d, [3.0] * d),
    ],
}
# encodings of a particular in_dim; shapes are tested on 1 and 2 axes, all else on the last
AXES = {"spherical": (3,)}
