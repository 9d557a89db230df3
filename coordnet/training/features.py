"""Features that are worked out once and kept for all steps."""

from __future__ import annotations

import torch
from torch import Tensor

from ..field import Field
from ..memory import empty
from .samples import Samples

__all__ = ["encode_once"]


def encode_once(
    field: Field, samples: Samples, dtype: torch.dtype, most_bytes: int, block: int
) -> Tensor | None:
    """Return the features of all samples in ``dtype``, or None where they may not be kept.

    They may be kept where the encoding has nothing to train, every step sees the same samples,
    and they fit in ``most_bytes``.
    """
    if not samples.fixed or any(p.requires_grad for p in field.encoding.parameters()):
        return None
    size = field.encoding.out_dim
    if len(samples) * size * dtype.itemsize > most_bytes:
        return None
    home = next((p.device for p in field.network.parameters()), torch.device("cpu"))
    features = empty((len(samples), size), dtype, home)
    with torch.no_grad():
        for start in range(0, len(samples), block):
            part = slice(start, start + block)
            features[part] = field.encoding(samples.batch(part)[0])
    return features
