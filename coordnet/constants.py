"""Modules whose float64 constants survive every cast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

__all__ = ["ExactConstants", "cast_of", "exact", "supports_float64"]


def supports_float64(device: torch.device) -> bool:
    """Whether tensors of dtype float64 can live on ``device`` (they cannot on MPS)."""
    return device.type != "mps"


def cast_of(convert: Callable[[Tensor], Tensor]) -> torch.dtype | None:
    """Return the dtype that `nn.Module.to` casts to, None where it only moves.

    Args:
        convert: what `nn.Module._apply` applies to every tensor.
    """
    probes = (torch.empty(0, dtype=dtype, device="cpu") for dtype in (torch.half, torch.float))
    half, single = (convert(probe).dtype for probe in probes)
    return half if half == single else None


class ExactConstants(nn.Module):
    """A module whose own float64 buffers follow ``.to(device)`` but never a change of dtype.

    ``module.to(torch.bfloat16)`` would round a frequency to 8 bits, for good: casting back does
    not restore it. On a device without float64 the constants stay on the CPU.
    """

    def register_constant(self, name: str, value: Tensor) -> None:
        """Register ``value`` as a float64 buffer that is saved with the module."""
        device = torch.get_default_device()
        value = value.to(torch.float64)
        self.register_buffer(name, value.to(device) if supports_float64(device) else value)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        exact = {id(b) for b in self._buffers.values() if b is not None and _is_exact(b)}

        def convert(tensor: Tensor) -> Tensor:
            return _moved(tensor, fn) if id(tensor) in exact else fn(tensor)

        super()._apply(convert, recurse)
        self.derive()
        return self

    def _load_from_state_dict(self, *args: Any, **kwargs: Any) -> None:
        super()._load_from_state_dict(*args, **kwargs)
        self.derive()  # with assign=True the constants may have left the meta device

    def derive(self) -> None:
        """Work out again what follows from the constants: they have been moved, or loaded."""


def _is_exact(buffer: Tensor) -> bool:
    return buffer.dtype == torch.float64


def _moved(constant: Tensor, fn: Callable[[Tensor], Tensor]) -> Tensor:
    """Return a constant on the device that ``fn`` moves tensors to, in its own dtype."""
    device = fn(torch.empty(0, device=constant.device, dtype=torch.float32)).device
    if constant.is_meta and device.type != "meta":
        return torch.empty_like(constant, device=device)  # to_empty()
    return constant.to(device if supports_float64(device) else "cpu")


def exact(values: Tensor | Sequence[Any] | float) -> Tensor:
    """Return ``values`` as float64 on the CPU: an MPS device has no float64."""
    if isinstance(values, Tensor):
        return values.detach().cpu().to(torch.float64)
    return torch.as_tensor(values, dtype=torch.float64, device="cpu")
