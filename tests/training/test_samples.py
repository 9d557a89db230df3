"""Samples: their weights, and what a module may do to them."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from coordnet import MLP, Field, FitConfig, FourierFeatures, InputError, fit, fit_linear
from coordnet.encodings import Identity
from coordnet.training import TensorSamples

X = torch.linspace(0, 1, 12)[:, None]
Y = torch.cat([X.square(), torch.cos(3 * X)], 1)
ONE = torch.arange(1.0, 13.0)


def field(layers=1):
    encoding = FourierFeatures(1, k=2, period=2.0)
    return Field(encoding, MLP(encoding.out_dim, 2, 8, layers, seed=0))


def read_only(array):
    array = array.copy()
    array.flags.writeable = False
    return array


def big_endian(array):
    return array.astype(array.dtype.newbyteorder(">"))


def backwards(array):
    """Strides below 0."""
    return array[::-1].copy()[::-1]


def losses(weights, x=X, y=Y):
    return fit(field(), x, y, FitConfig(steps=3), weights=weights).losses


class TestWeights:
    def test_one_a_sample_or_one_a_value(self):
        plain = losses(ONE)
        assert losses(ONE[:, None]) == plain
        assert losses(ONE[:, None].expand(12, 2).to(torch.int64)) == pytest.approx(plain)
        assert losses(None) != plain
        assert losses(1024 * ONE) == plain  # only their ratio counts

    def test_they_have_the_leading_axes_of_the_samples(self):
        x, y = X.reshape(3, 4, 1), Y.reshape(3, 4, 2)
        for weights in (ONE.reshape(3, 4), ONE.reshape(3, 4, 1)):
            assert losses(weights, x, y) == losses(ONE)
        every = torch.stack([ONE, ONE.flip(0)], 1)
        assert losses(every.reshape(3, 4, 2), x, y) == losses(every)

    @pytest.mark.parametrize(
        "shape", [(2, 12), (24,), (1, 12), (12, 3), (12, 2, 1), (11,), (3, 4), (), (0,)]
    )
    def test_another_shape_is_refused_and_never_reshaped(self, shape):
        for call in (
            lambda weights: losses(weights),
            lambda weights: TensorSamples(X, Y, weights),
            lambda weights: fit_linear(field(0), X, Y, weights=weights),
        ):
            with pytest.raises(InputError, match="weights") as caught:
                call(torch.ones(shape))
            assert str(tuple(shape)) in caught.value.got

    def test_a_linear_head_takes_one_a_sample(self):
        one, other = field(0), field(0)
        fit_linear(one, X, Y, weights=ONE)
        fit_linear(other, X.reshape(3, 4, 1), Y.reshape(3, 4, 2), weights=ONE.reshape(3, 4))
        assert torch.equal(one.network.layers[0].weight, other.network.layers[0].weight)
        with pytest.raises(InputError, match="weights"):
            fit_linear(field(0), X, Y, weights=torch.ones(12, 2))

    @pytest.mark.parametrize(
        "bad",
        [
            *(ONE.to(torch.cfloat), ["a"] * 12, [1.0, [2.0]], 3.0),
            *(ONE - 2, 0 * ONE, ONE * math.nan, ONE * math.inf),
        ],
    )
    def test_what_is_no_row_of_weights(self, bad):
        for call in (losses, lambda weights: fit_linear(field(0), X, Y, weights=weights)):
            with pytest.raises(InputError, match="weights"):
                call(bad)


class TestArraysAndLists:
    """What is no tensor is taken as it is, without a warning and without a change."""

    def test_they_are_the_samples(self):
        exact = X.double()
        expected = losses(ONE, exact, Y.double())
        x, y = exact.numpy(), Y.double().numpy()
        for convert in (np.asarray, np.ndarray.tolist, read_only, big_endian, backwards):
            assert losses(convert(ONE.numpy()), convert(x), convert(y)) == expected

    @pytest.mark.parametrize("kind", ["u1", "u2", "u4", "u8", "i1", "i8", "f2", "g", "?"])
    def test_every_real_dtype(self, kind):
        y = (Y.numpy() > 0.5).astype(kind)
        assert losses(None, X, y) == losses(None, X, torch.from_numpy(Y.numpy() > 0.5))
        if kind != "?":
            x = np.arange(12).astype(kind)[:, None]
            integers = torch.arange(12)[:, None]
            assert losses(None, x) == pytest.approx(losses(None, integers))

    def test_integers_above_those_with_a_sign(self):
        y = np.full((12, 2), 2**63, np.uint64)
        assert fit(field(), X, y, steps=1).rmse == pytest.approx(0, abs=1e-3 * 2**63)
        assert len(losses(None, y[:, :1])) == 3

    @pytest.mark.parametrize(
        ("bad", "says"),
        [
            (None, "None"),
            ([["a"]] * 12, "dtype <U1"),
            ([[1.0], [1.0, 2.0]], "values must be numbers"),
            (np.zeros((12, 2), np.complex64), "complex64"),
            (np.zeros((12, 2), "M8[s]"), "datetime64"),
            (np.ma.masked_less(Y.numpy(), 0.5), "masked"),
            (Y.cfloat(), "complex64"),
        ],
    )
    def test_what_is_refused(self, bad, says):
        with pytest.raises(InputError, match="values") as caught:
            fit(field(), X, bad, steps=1)
        assert says in str(caught.value)

    def test_the_closed_form_takes_them_too(self):
        one, other = field(0), field(0)
        fit_linear(one, X.double(), Y.double())
        fit_linear(other, X.tolist(), read_only(Y.numpy()))
        torch.testing.assert_close(other(X), one(X))


class TestModulesThatChangeTheirInput:
    """In place: what later steps read stays as it is."""

    def fitted(self, inplace, encoding, **options):
        torch.manual_seed(0)
        first = nn.ReLU(inplace=inplace)
        width = 1 if encoding is None else encoding.out_dim
        network = nn.Sequential(first, nn.Linear(width, 8), nn.Linear(8, 2))
        module = network if encoding is None else Field(encoding, network)
        x = 2 * X - 1
        before = x.clone()
        result = fit(module, x, Y, FitConfig(steps=20, **options))
        assert torch.equal(x, before)
        return result

    @pytest.mark.parametrize("encoding", [FourierFeatures(1, k=2, period=2.0), Identity(1), None])
    @pytest.mark.parametrize("options", [{}, {"cache_bytes": 0}, {"batch_size": 5}])
    def test_they_learn_the_same(self, encoding, options):
        inplace, plain = (self.fitted(each, encoding, **options) for each in (True, False))
        assert inplace.losses == plain.losses
        assert inplace.rmse == plain.rmse


def test_complex_outputs_are_refused_not_cast():
    class Complex(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(2))

        def forward(self, x):
            return torch.complex(self.scale * x, x.expand(-1, 2))

    with pytest.raises(InputError, match="real"):
        fit(Complex(), X, Y, FitConfig(steps=1))
