"""Axis-aligned features on a regular grid: the first layer costs height + width, not their product.

On pixel centers (x_i, y_j) the features of an axis-aligned ladder are those of x_i beside those of
y_j, and a linear layer on them is the sum of two small products,

    W [e(x_i), e(y_j)] + b = W_x e(x_i) + (W_y e(y_j) + b),

evaluated once for each column and each row instead of once for each pixel.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from .encodings import Encoding, FourierFeatures
from .networks import MLP

__all__ = ["separate"]


def separate(
    encoding: Encoding, network: nn.Module, x: Tensor, y: Tensor
) -> Callable[[slice], Tensor] | None:
    """Return a function from a run of rows to the network's output, or None.

    Args:
        encoding: an encoding of two coordinates.
        network: the network behind it.
        x: coordinates of the columns, shape ``(W,)``, on the network's device.
        y: coordinates of the rows, shape ``(H,)``.

    Returns:
        ``lines(rows)``, the output for whole rows, shape ``(number of rows · W, out_dim)``; None
        unless the encoding is an axis-aligned ladder and the network an `MLP` without a skip.
    """
    if not isinstance(network, MLP) or network.num_hidden_layers < 1 or network.skip:
        return None
    if not isinstance(encoding, FourierFeatures) or not encoding.axis_aligned:
        return None
    if encoding.in_dim != 2 or encoding.include_input:
        return None
    first = network.layers[0]
    assert isinstance(first, nn.Linear)
    weight, bias = first.weight, first.bias
    half = weight.shape[1] // 2
    zero = torch.zeros(1, device=x.device, dtype=x.dtype)
    across = encoding(torch.stack([x, zero.expand(len(x))], -1))[:, :half].to(weight.dtype)
    down = encoding(torch.stack([zero.expand(len(y)), y], -1))[:, half:].to(weight.dtype)
    columns = across @ weight[:, :half].T
    rows = down @ weight[:, half:].T + bias

    def lines(which: slice) -> Tensor:
        hidden = rows[which, None, :] + columns
        return network.after_first(hidden.flatten(0, 1))

    return lines
