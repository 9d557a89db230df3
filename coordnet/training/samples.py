"""The samples of a fit, and batches of them."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from ..errors import refuse
from ..field import Field
from ..memory import empty

__all__ = ["check_samples", "encode_once", "shuffled"]


def check_samples(module: nn.Module, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Return coordinates ``(N, in_dim)`` and values ``(N, out_dim)``, checked.

    Raises:
        InputError: no tensors, sizes that do not fit, no samples, or numbers that are not finite.
    """
    for name, tensor in (("coordinates", x), ("values", y)):
        if not isinstance(tensor, Tensor):
            got = type(tensor).__name__
            refuse(f"{name} must be a torch tensor", got, "Pass torch.as_tensor(…).")
        if tensor.is_complex():
            refuse(f"{name} must be real numbers", f"dtype {tensor.dtype}", "Pass their parts.")
    if x.ndim < 1 or y.ndim < 1 or x.shape[:-1] != y.shape[:-1] or 0 in (x.numel(), y.numel()):
        refuse(
            "coordinates (…, in_dim) and values (…, out_dim) must share their leading axes, "
            "with at least one sample",
            f"shapes {tuple(x.shape)} and {tuple(y.shape)}",
            "One axis is missing at the end of a 1-D tensor: t[..., None].",
        )
    x, y = x.detach().reshape(-1, x.shape[-1]), y.detach().reshape(-1, y.shape[-1])
    sizes = (x.shape[1], y.shape[1])
    if isinstance(module, Field) and sizes != (module.in_dim, module.out_dim):
        refuse(
            f"the field takes {module.in_dim} coordinates and gives {module.out_dim} values",
            f"{sizes[0]} and {sizes[1]} in the samples",
            "Build the field with these sizes.",
        )
    for name, tensor in (("coordinates", x), ("values", y)):
        good = torch.isfinite(tensor).all(-1)
        if not bool(good.all()):
            row = int((~good).nonzero()[0, 0])
            refuse(
                f"{name} must be finite",
                f"{tensor[row].tolist()} in sample {row}",
                "Drop or repair the sample.",
            )
    return x, y


def encode_once(
    field: Field, x: Tensor, dtype: torch.dtype, most_bytes: int, block: int
) -> Tensor | None:
    """Return the features of all samples in ``dtype``, or None where they may not be kept.

    They may be kept where the encoding has nothing to train and they fit in ``most_bytes``.
    """
    if any(p.requires_grad for p in field.encoding.parameters()):
        return None
    size = field.encoding.out_dim
    if len(x) * size * dtype.itemsize > most_bytes:
        return None
    home = next((p.device for p in field.network.parameters()), x.device)
    features = empty((len(x), size), dtype, home)
    with torch.no_grad():
        for start in range(0, len(x), block):
            features[start : start + block] = field.encoding(x[start : start + block])
    return features


def shuffled(number: int, size: int, generator: torch.Generator) -> Iterator[Tensor | None]:
    """Yield index batches for ever: every sample once an epoch, in a fresh order.

    The end of an epoch is filled up from the next, so that all batches are of one size. None
    stands for all samples in their order.
    """
    if size >= number:
        while True:
            yield None
    rest = torch.empty(0, dtype=torch.int64, device="cpu")
    while True:
        order = torch.cat([rest, torch.randperm(number, generator=generator, device="cpu")])
        full = len(order) // size * size
        yield from order[:full].view(-1, size)
        rest = order[full:]
