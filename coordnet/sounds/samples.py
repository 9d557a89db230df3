"""The samples of a sound over time, without a float copy of them."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..constants import supports_float64
from ..errors import refuse
from ..training.stored import StoredSamples

__all__ = ["AudioSamples"]


class AudioSamples(StoredSamples):
    """The samples of a sound: sample n lies at n / rate seconds.

    The times are float64: in float32 those of a sound at 44.1 kHz are off by a tenth of a sample
    after a minute, and coincide after five.
    The domain is that of the samples with half a sample's time at either end, so that a grid with
    as many cells as samples has a vertex at each.

    Args:
        samples: ``(N, C)``, int16, int32 or float32.
        peak: the stored number that means 1.0.
        rate: samples a second.
    """

    def __init__(self, samples: np.ndarray, peak: float, rate: float) -> None:
        if samples.ndim != 2 or not samples.size:
            rule = "a sound must be an array (N, C) with samples"
            refuse(rule, f"shape {samples.shape}", "Of one channel: samples[:, None].")
        super().__init__(samples, peak)
        self.rate = float(rate)

    def coordinates(self, index: Tensor) -> Tensor:
        """Return the times in seconds ``(n, 1)``, float64; on the CPU where a device lacks it."""
        if not supports_float64(index.device):
            index = index.cpu()
        return (index.to(torch.float64) / self.rate)[:, None]

    def box(self) -> tuple[list[float], list[float]]:
        """Return the times half a sample before the first and after the last."""
        return [-0.5 / self.rate], [(len(self) - 0.5) / self.rate]
