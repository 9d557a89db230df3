"""One period of a square wave at 128 points, and what is fitted to it."""

import math

import torch
from torch import nn

from coordnet import MLP, Field, FitConfig, FourierFeatures

X = torch.linspace(0, 1, 129)[:-1, None]
Y = torch.sign(torch.sin(2 * math.pi * X))


def field(out_dim=1, encoding=None, hidden_dim=16, layers=2, seed=0):
    encoding = encoding or FourierFeatures(1, k=6, period=1.0)
    return Field(encoding, MLP(encoding.out_dim, out_dim, hidden_dim, layers, seed=seed))


def quick(steps=10, **settings):
    return FitConfig(steps=steps, precision="float32", **settings)


def plain(*layers):
    """A network without an encoding."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return nn.Sequential(*(layers or (nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))))


def same(one, other):
    """Whether two modules, or two states, hold the same bits under the same names."""
    a, b = (part.state_dict() if isinstance(part, nn.Module) else part for part in (one, other))
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


def stop_after(calls):
    """Return what asks a fit to stop, when it has been called so often."""
    left = iter([False] * calls)
    return lambda: next(left, True)
