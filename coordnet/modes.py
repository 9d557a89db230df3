"""Modes of PyTorch: tracing, function transforms, forward-mode derivatives, autocast, inference."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import forward_ad

__all__ = [
    "as_tensor",
    "is_batched",
    "is_forward_mode",
    "is_traced",
    "is_transformed",
    "no_autocast",
    "own_modes",
    "without_inference",
]


_AUTOCAST = ("cpu", "cuda", "mps", "xpu")


def is_traced() -> bool:
    """Whether operations are recorded, by torch.compile, torch.export or torch.jit.trace.

    Code that is recorded must consist of ordinary operations, for batches of any size.
    """
    return torch.compiler.is_compiling() or torch.jit.is_tracing()  # pyright: ignore[reportPrivateImportUsage]


def is_forward_mode() -> bool:
    """Whether forward-mode differentiation is under way, in any level of nested transforms.

    The ``jvp`` of an `autograd.Function` is not itself differentiated in forward mode: a second
    derivative would silently be 0. The public `forward_ad.unpack_dual` sees the innermost level
    alone, and fails below vmap; hence the private counter of levels.
    """
    return getattr(forward_ad, "_current_level", 0) >= 0


def is_transformed() -> bool:
    """Whether a transform of `torch.func` is under way; vmap among them.

    PyTorch has no public word for it. Without one every call would go through an
    `autograd.Function`, whose overhead is that of all else together for a handful of rows.
    """
    return getattr(torch._C, "_are_functorch_transforms_active", lambda: True)()


def is_batched(tensor: Tensor) -> bool:
    """Whether a tensor stands for a batch of them, in `torch.autograd.grad(is_grads_batched=True)`.

    That is another vmap than `torch.func`'s: it knows no rules of an `autograd.Function`, and few
    operations in place.
    """
    functorch = getattr(torch._C, "_functorch", None)
    return getattr(functorch, "is_legacy_batchedtensor", lambda tensor: False)(tensor)


def no_autocast(device: torch.device) -> contextlib.AbstractContextManager[object]:
    """Keep float32 and float64 as they are, where an autocast is on (meta has none)."""
    if device.type in _AUTOCAST and torch.is_autocast_enabled(device.type):
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
