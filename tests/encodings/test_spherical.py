"""Spherical harmonics: orthonormal, tiny-cuda-nn's order and signs, polynomials everywhere."""

import math

import numpy as np
import pytest
import torch

from coordnet.encodings import SphericalHarmonics
from coordnet.errors import InputError


@pytest.fixture
def directions(uniform):
    """Number → unit vectors in float64."""

    def draw(number, seed=0):
        height = uniform(number, -1, 1, seed)
        azimuth = uniform(number, 0, 2 * math.pi, seed + 1)
        radius = (1 - height**2).sqrt()
        return torch.stack([radius * azimuth.cos(), radius * azimuth.sin(), height], -1)

    return draw


def sphere_rule(degree):
    """Points and weights that integrate polynomials up to 2 · degree over the sphere exactly."""
    heights, weights = np.polynomial.legendre.leggauss(degree + 1)
    number = 2 * degree + 1
    azimuth = 2 * np.pi * np.arange(number) / number
    radius = np.sqrt(1 - heights**2)
    points = np.stack(
        [
            radius[:, None] * np.cos(azimuth),
            radius[:, None] * np.sin(azimuth),
            np.broadcast_to(heights[:, None], (degree + 1, number)),
        ],
        -1,
    )
    areas = np.broadcast_to(weights[:, None] * 2 * np.pi / number, (degree + 1, number))
    return torch.from_numpy(points.reshape(-1, 3)), torch.from_numpy(areas.flatten())


@pytest.mark.parametrize("degree", [*range(1, 9), 16])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-13), (torch.float32, 1e-6)])
def test_orthonormal_over_the_sphere(degree, dtype, tolerance):
    points, areas = sphere_rule(degree)
    features = SphericalHarmonics(degree=degree)(points.to(dtype)).double()
    gram = (features * areas[:, None]).T @ features
    assert gram.shape == (degree**2, degree**2)
    assert (gram - torch.eye(degree**2)).abs().max() < tolerance


@pytest.mark.parametrize("degree", [8, 16])
def test_the_complex_harmonics_of_scipy(directions, degree):
    special = pytest.importorskip("scipy.special")
    at = directions(300)
    polar = torch.arccos(at[:, 2]).numpy()
    azimuth = torch.arctan2(at[:, 1], at[:, 0]).numpy()
    expected = []
    for band in range(degree):
        for order in range(-band, band + 1):
            value = special.sph_harm_y(band, abs(order), polar, azimuth)
            part = value.imag if order < 0 else value.real
            expected.append(part * (math.sqrt(2) if order else 1))
    expected = torch.from_numpy(np.stack(expected, -1))
    encoding = SphericalHarmonics(degree=degree)
    assert (encoding(at) - expected).abs().max() < 1e-12
    # rounded once: half a unit of what is below 4
    single = at.float()
    assert (encoding(single) - encoding(single.double())).abs().max() <= 2**-23


def test_the_first_nine_written_out(directions):
    at = directions(20)
    x, y, z = at.unbind(-1)
    linear, root = math.sqrt(3 / (4 * math.pi)), math.sqrt(15 / (4 * math.pi))
    expected = [
        torch.full_like(x, 1 / math.sqrt(4 * math.pi)),
        *(-linear * y, linear * z, -linear * x),
        *(root * x * y, -root * y * z, math.sqrt(5 / (16 * math.pi)) * (3 * z**2 - 1)),
        *(-root * x * z, root / 2 * (x**2 - y**2)),
    ]
    torch.testing.assert_close(SphericalHarmonics(degree=3)(at), torch.stack(expected, -1))


def test_other_vectors_give_the_solid_harmonics(directions):
    """Homogeneous of degree l: nothing is normalized, and nothing is infinite at 0."""
    encoding, at = SphericalHarmonics(degree=8), directions(50)
    bands = torch.cat([torch.full((2 * band + 1,), band) for band in range(8)])
    for length in (0.0, 0.5, 3.0):
        torch.testing.assert_close(encoding(length * at), encoding(at) * length**bands)


def test_harmonic_polynomials_have_no_laplacian(uniform):
    encoding = SphericalHarmonics(degree=5)
    x = uniform((3, 3), -1, 1)
    for row in x:
        hessian = torch.func.jacrev(torch.func.jacrev(encoding))(row)
        assert hessian.abs().max() > 1
        assert hessian.diagonal(dim1=-2, dim2=-1).sum(-1).abs().max() < 1e-12


def test_addition_theorem(directions):
    """Σ_m Y_lm(u) Y_lm(v) = (2l + 1)/4π P_l(u·v): no direction is preferred."""
    u, v = directions(100), directions(100, seed=7)
    products = SphericalHarmonics(degree=8)(u) * SphericalHarmonics(degree=8)(v)
    cosine = (u * v).sum(-1).numpy()
    for band in range(8):
        found = products[:, band**2 : (band + 1) ** 2].sum(-1)
        legendre = np.polynomial.legendre.Legendre.basis(band)(cosine)
        expected = torch.from_numpy((2 * band + 1) / (4 * np.pi) * legendre)
        assert (found - expected).abs().max() < 1e-13


def test_degrees_out_of_range_and_other_dimensions_are_refused():
    for degree in (0, -1, 17, 4.0, True, None):
        with pytest.raises(InputError, match="degree must be"):
            SphericalHarmonics(degree=degree)
    for in_dim in (1, 2, 4):
        with pytest.raises(InputError, match=f"in_dim=3; got in_dim={in_dim}"):
            SphericalHarmonics(in_dim)
