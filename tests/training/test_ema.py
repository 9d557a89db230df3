"""Fits that end with a running mean of their parameters."""

import pytest
import torch
from torch import nn

import coordnet as cn
from coordnet.training import Checkpoint
from coordnet.training.ema import EMA

from .square_wave import X, Y, field, same, stop_after


def test_the_mean_is_that_of_the_formula():
    module = nn.Linear(3, 2).double()
    module.bias.requires_grad_(False)
    average = EMA(module, 0.9)
    expected = module.weight.detach().clone()
    for step in range(1, 30):
        with torch.no_grad():
            module.weight.copy_(torch.randn(2, 3))
        average.update(step)
        decay = min(0.9, (1 + step) / (10 + step))
        expected = decay * expected + (1 - decay) * module.weight.detach()
    (mean,) = average.state_dict().values()
    torch.testing.assert_close(mean, expected)
    last = module.weight.detach().clone()
    with average.applied():
        torch.testing.assert_close(module.weight.detach(), expected)
    assert torch.equal(module.weight, last)


def test_a_fit_ends_with_the_mean_and_is_measured_with_it():
    # a constant rate, at which the last step still jumps about
    options = {"steps": 300, "learning_rate": 0.04, "final_fraction": 1.0, "batch_size": 16,
               "optimizer": "adam", "device": "cpu", "precision": "float32"}  # fmt: skip
    plain, mean = field(), field()
    last = cn.fit(plain, X, Y, cn.FitConfig(**options))
    found = cn.fit(mean, X, Y, cn.FitConfig(ema=0.95, **options))
    assert found.losses == last.losses  # the steps are the same
    assert found.psnr > last.psnr + 1
    with torch.no_grad():
        assert found.rmse == pytest.approx(cn.rmse(mean(X), Y), rel=1e-5)


def test_it_goes_on_from_a_checkpoint(tmp_path):
    config = cn.FitConfig(steps=40, batch_size=48, ema=0.9, device="cpu")
    whole, second = field(), field()
    cn.fit(whole, X, Y, config)
    path = tmp_path / "a.checkpoint"
    cn.fit(field(), X, Y, config, stop=stop_after(15), checkpoint=Checkpoint(path))
    cn.fit(second, X, Y, config, checkpoint=Checkpoint(path, resume=True))
    assert same(whole, second)
    with pytest.raises(ValueError, match="another module"):
        EMA(nn.Linear(2, 2), 0.9).load_state_dict(EMA(whole, 0.9).state_dict())
