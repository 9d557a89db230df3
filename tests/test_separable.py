import numpy as np
import pytest
import torch

import coordnet as cn

LADDERS = {
    "harmonic": lambda: cn.FourierFeatures(2, k=7, period=[1.0, 2.0]),
    "octave": lambda: cn.FourierFeatures.octave(2, k=5, period=2.0),
    "geometric": lambda: cn.FourierFeatures.geometric(2, k=6, scale=[40.0, 30.0]),
}


def field(encoding, layers=2, activation="relu"):
    made = cn.Field(encoding, cn.MLP(encoding.out_dim, 3, 16, layers, activation, seed=0))
    made.set_values(torch.tensor([0.1, 0.5, 2.0]), torch.tensor([0.3, 1.0, 4.0]))
    return made


@pytest.mark.parametrize("name", LADDERS)
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_sum_of_two_products_is_the_product(name, layers, dtype):
    made = field(LADDERS[name](), layers, "tanh").to(dtype)
    box = ((-0.3, 0.2), (1.4, 0.9))
    quick = cn.render_image(made, 37, 53, box=box)
    plain = cn.render_image(lambda x: made(x), 37, 53, box=box)
    assert made.on_grid(torch.zeros(1), torch.zeros(1)) is not None
    np.testing.assert_allclose(quick, plain, rtol=0, atol=2e-5)


@pytest.mark.parametrize(
    "encoding",
    [
        cn.FourierFeatures.gaussian(2, k=8),
        cn.FourierFeatures.lattice(2, k=2),
        cn.FourierFeatures(2, k=3, include_input=True),
        cn.Identity(2),
    ],
)
def test_what_does_not_separate_is_left_alone(encoding):
    assert field(encoding).on_grid(torch.zeros(1), torch.zeros(1)) is None


def test_linear_networks_are_left_alone():
    assert field(LADDERS["octave"](), 0).on_grid(torch.zeros(1), torch.zeros(1)) is None
