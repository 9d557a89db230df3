"""Independence of what a caller has switched on: autocast, gradients, the default device."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["as_tensor", "no_autocast", "own_modes", "without_inference"]


def no_autocast(device: torch.device) -> contextlib.AbstractContextManager[object]:
    """Keep float32 as it is, on devices that have an autocast (meta has none)."""
    if torch.amp.is_autocast_available(device.type):
        return torch.autocast(device.type, enabled=False)
    return contextlib.nullcontext()


@contextlib.contextmanager
def own_modes(device: torch.device) -> Iterator[None]:
    """Record gradients, in the tensors' own precision, whatever the caller has switched on.

    Args:
        device: where the calculations run.
    """
    with torch.inference_mode(False), torch.enable_grad(), no_autocast(device):
        yield


def without_inference(module: nn.Module) -> None:
    """Replace parameters and buffers that were made in inference mode by ordinary ones.

    Nothing can be learned of the former. Call it outside of inference mode.
    """
    ordinary: dict[int, Tensor] = {}  # a tensor that two modules share stays shared
    for part in module.modules():
        tensors = [*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)]
        for name, tensor in tensors:
            if not tensor.is_inference():
                continue
            if id(tensor) not in ordinary:
                copied = tensor.detach().clone()
                if isinstance(tensor, nn.Parameter):
                    copied = nn.Parameter(copied, requires_grad=tensor.requires_grad)
                ordinary[id(tensor)] = copied
            setattr(part, name, ordinary[id(tensor)])


def as_tensor(values: Any) -> Tensor:
    """Return values as a tensor where they lie; `torch.as_tensor` moves them to a default."""
    if isinstance(values, Tensor):
        return values
    return torch.as_tensor(values, device="cpu")
