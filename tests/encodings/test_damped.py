import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.encodings import Normalized


def test_harmonics_are_divided_by_a_power_of_their_number():
    plain = cn.FourierFeatures(2, k=3, period=[24.0, 7.0])
    x = torch.rand(5, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for decay in (0.0, 1.0, 2.0):
        expected = plain(x) / (torch.tensor([1, 1, 2, 2, 3, 3] * 2) ** decay)
        torch.testing.assert_close(cn.Damped(plain, decay)(x), expected, rtol=1e-15, atol=0)
    assert cn.Damped(plain).periods == (24.0, 7.0)


def test_wave_vectors_count_by_their_length():
    lattice = cn.FourierFeatures.lattice(2, k=1, period=1.0)
    scale = cn.Damped(lattice, 2.0).scale[::2]
    lengths = lattice.cycles[0].square().sum(-1)
    torch.testing.assert_close(scale, 1 / lengths)


def test_the_unit_cube_comes_before():
    field = cn.Field(cn.Damped(cn.FourierFeatures.gaussian(1, 4)), cn.MLP(8, 1, 8, 1))
    field.set_domain([10.0], [20.0])
    assert isinstance(field.encoding, Normalized)
    assert cn.Field.from_spec(field.spec()).spec() == field.spec()


def test_a_hole_in_the_data_is_filled_smoothly():
    """And a linear model is the same, damped or not."""
    x = torch.linspace(0, 1, 201, dtype=torch.float64)[:-1, None]
    y = torch.sin(2 * torch.pi * x) + 0.3 * torch.cos(4 * torch.pi * x)
    seen = (x[:, 0] < 0.4) | (x[:, 0] > 0.6)
    errors = {}
    for decay in (0.0, 2.0):
        encoding = cn.Damped(cn.FourierFeatures(1, k=12, period=1.0), decay)
        field = cn.Field(encoding, cn.MLP(24, 1, 32, 2, seed=0))
        config = cn.FitConfig(steps=200, device="cpu", precision="float32", progress=False)
        cn.fit(field, x[seen], y[seen], config)
        with torch.no_grad():
            errors[decay] = cn.rmse(field(x[~seen]).double(), y[~seen])
    assert errors[2.0] < 0.6 * errors[0.0]
    linear = [
        cn.fit_linear(cn.Field(e, cn.MLP(24, 1, num_hidden_layers=0)).double(), x, y)(x).detach()
        for e in (cn.FourierFeatures(1, 12, 1.0), cn.Damped(cn.FourierFeatures(1, 12, 1.0), 1.0))
    ]
    np.testing.assert_allclose(*linear, atol=1e-12)


def test_what_cannot_be_damped():
    plain = cn.FourierFeatures(1)
    for encoding in (cn.Identity(1), cn.FourierFeatures(1, include_input=True)):
        with pytest.raises(cn.InputError, match="FourierFeatures without include_input"):
            cn.Damped(encoding)
    for decay in (-1.0, float("nan"), "1"):
        with pytest.raises(cn.InputError, match="decay"):
            cn.Damped(plain, decay)
