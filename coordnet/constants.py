"""Modules whose float64 constants survive every cast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["ExactConstants", "supports_float64"]


def supports_float64(device: torch.device) -> bool:
    """Whether tensors of dtype float64 can live on ``device`` (they cannot on MPS)."""
    return device.type != "mps"


class ExactConstants(nn.Module):
    """A module whose own float64 buffers follow ``.to(device)`` but never a change of dtype.

    ``module.to(torch.bfloat16)`` would round a frequency to 8 bits, for good: casting back does
    not restore it. On a device without float64 the constants stay on the CPU.
    """

    def register_constant(self, name: str, value: Tensor) -> None:
        """Register ``value`` as a float64 buffer that is saved with the module."""
        home = torch.get_default_device()
        value = value.to(torch.float64)
        self.register_buffer(name, value.to(home) if supports_float64(home) else value)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        exact = {
            name: buffer
            for name, buffer in self._buffers.items()
            if buffer is not None and buffer.dtype == torch.float64
        }
        for name in exact:
            self._buffers[name] = None  # out of the way of a cast that the device may not allow
        super()._apply(fn, recurse)
        for name, buffer in exact.items():
            device = fn(torch.empty(0, device=buffer.device, dtype=torch.float32)).device
            if buffer.is_meta and device.type != "meta":
                self._buffers[name] = torch.empty_like(buffer, device=device)  # to_empty()
            elif supports_float64(device):
                self._buffers[name] = buffer.to(device)
            else:
                self._buffers[name] = buffer.cpu()
        return self
