"""The closed-form fit of a linear head."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from ..errors import refuse
from ..field import Field
from .samples import check_samples, check_weights
from .solving import least_squares

__all__ = ["fit_linear"]


def fit_linear(
    field: Field, coordinates: Tensor, values: Tensor, weights: Tensor | None = None
) -> Field:
    """Set a linear head to the least-squares optimum, in place, and return the field.

    Solves min Σ w (values - [1, features] c)² in float64 by `least_squares`; where the features
    are linearly dependent on the samples (k above Nyquist) the shortest c is taken. Cast the
    field to float64 (``field.double()``) to keep the optimum's digits.

    Args:
        field: a field whose network is one linear layer: ``MLP(…, num_hidden_layers=0)``.
        coordinates: shape ``(..., in_dim)``.
        values: shape ``(..., out_dim)``.
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
    x, y = check_samples(field, coordinates, values)
    if weights is not None:
        weights = check_weights(weights, coordinates.shape[:-1], 1)[:, 0]
    field.prepare(x, y)
    home = field.value_mean.device
    with torch.no_grad():
        features = field.encoding(x.to(home)).cpu().to(torch.float64)
        mean, std = field.value_mean.cpu(), field.value_std.cpu()
        target = (y.cpu().to(torch.float64) - mean) / std
        design = torch.cat([torch.ones_like(features[:, :1]), features], 1)
        solution = least_squares(design, target, weights).solution
        head.bias.copy_(solution[0])
        head.weight.copy_(solution[1:].T)
    return field
