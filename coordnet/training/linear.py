"""The closed-form fit of a linear head."""

from __future__ import annotations

import torch
from torch import nn

from ..errors import refuse
from ..field import Field
from .samples import check_samples, check_weights
from .solving import least_squares

__all__ = ["fit_linear"]


def fit_linear(field: Field, x: object, y: object, *, weights: object = None) -> Field:
    """Set a linear head to the least-squares optimum, in place, and return the field.

    Solves min Σ w (values - [1, features] c)² in float64 by `least_squares`; where the features
    are linearly dependent on the samples (k above Nyquist) the shortest c is taken. Cast the
    field to float64 (``field.double()``) to keep the optimum's digits.

    Args:
        field: a field whose network is one linear layer: ``MLP(…, num_hidden_layers=0)``.
        x: coordinates ``(..., in_dim)``, as in `fit`.
        y: values ``(..., out_dim)``.
        weights: of the squared errors, one number a sample, ``(...)`` or ``(..., 1)``; None
            weighs all alike.

    Raises:
        InputError: another network, or samples that `fit` would refuse.
    """
    layers = [m for m in field.network.modules() if not list(m.children())]
    if len(layers) != 1 or not isinstance(layers[0], nn.Linear) or layers[0].bias is None:
        refuse(
            "a closed-form fit needs a network of one linear layer with a bias",
            f"{len(layers)} layers",
            "Pass MLP(encoding.out_dim, out_dim, num_hidden_layers=0).",
        )
    head = layers[0]
    x, y, leading = check_samples(field, x, y)
    weight = None if weights is None else check_weights(weights, leading, 1)[:, 0]
    field.prepare(x, y)
    with torch.no_grad():
        wide = torch.float64 if field.dtype == torch.float64 else None
        features = field.domain_encoding.encode(x.to(field.value_mean.device), wide)
        features = features.cpu().to(torch.float64)
        mean, std = field.value_mean.cpu(), field.value_std.cpu()
        target = (y.cpu().to(torch.float64) - mean) / std
        design = torch.cat([torch.ones_like(features[:, :1]), features], 1)
        solution = least_squares(design, target, weight).solution
        head.bias.copy_(solution[0])
        head.weight.copy_(solution[1:].T)
    return field
