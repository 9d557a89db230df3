"""What PyTorch is doing with the code that runs: tracing, forward-mode derivatives, autocast."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.autograd import forward_ad

__all__ = ["is_forward_mode", "is_traced", "is_transformed", "no_autocast"]


def is_traced() -> bool:
    """Whether operations are recorded, by torch.compile, torch.export or torch.jit.trace.

    Code that is recorded must consist of ordinary operations, for batches of any size.
    """
    return torch.compiler.is_compiling() or torch.jit.is_tracing()


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


def no_autocast(device: torch.device) -> AbstractContextManager[Any]:
    """Keep float32 and float64 as they are, where an autocast is on (meta has none)."""
    if torch.amp.is_autocast_available(device.type) and torch.is_autocast_enabled(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()
