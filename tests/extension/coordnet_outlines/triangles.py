"""Triangle waves."""

import torch

from coordnet import Encoding


class Triangles(Encoding):
    """Triangle waves of 1 … k oscillations a period along each axis, and their quarter shifts.

    Args:
        in_dim: number of coordinates.
        k: number of waves.
        period: one for all axes, or one for each.
    """

    def __init__(self, in_dim, k, period=1.0):
        super().__init__(in_dim)
        self.k = k
        several = isinstance(period, (list, tuple))
        self.periods = tuple(period) if several else (period,) * self.in_dim

    @property
    def out_dim(self):
        return 2 * self.k * self.in_dim

    def spec(self):
        return {
            "name": "triangles",
            "in_dim": self.in_dim,
            "k": self.k,
            "period": list(self.periods),
        }

    def features(self, x, dtype):
        period = torch.tensor(self.periods, dtype=torch.float64)
        turns = (x.double() / period).remainder(1.0)[..., None]
        turns = turns * torch.arange(1, self.k + 1, dtype=torch.float64)
        waves = [4 * (t - t.round()).abs() - 1 for t in (turns, turns + 0.25)]
        return torch.stack(waves, -1).flatten(-3).to(dtype)
