"""What a fit runs on: device and precision, chosen sensibly and stated."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..errors import refuse
from ..field import Field

__all__ = ["choose_device", "choose_precision", "compiled", "dtype_of", "fast_bf16"]

_WIDE = 96
# Parameters a value above which a module may go through all values, and bf16 ends the fit. A smooth
# signal of 400 samples and 140,000 parameters: 66 dB in bf16 and 104 in float32 after 500 steps.
# Pictures and 329,000 parameters: of 128² pixels (7 a value) 62 and 69 dB after 400 steps; of 256²
# (1.7 a value) 50.0 and 50.1 after 900, which take half as long again in float32.
_MANY = 2


def choose_device(name: str = "auto") -> torch.device:
    """Return the device that ``name`` means: "auto" is CUDA, else MPS, else the CPU.

    Raises:
        InputError: an unknown device, or one that this machine lacks.
    """
    if name == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        return refuse("device must be a torch device", f"device={name!r}")
    present = {
        "cpu": True,
        "cuda": torch.cuda.is_available()
        and (device.index is None or device.index < torch.cuda.device_count()),
        "mps": torch.backends.mps.is_available(),
    }
    if not present.get(device.type, False):
        have = ", ".join(kind for kind, there in present.items() if there)
        refuse("the device must be there", f"device={name!r}", f"This machine has: {have}.")
    return device


def fast_bf16(device: torch.device) -> bool:
    """Whether matrix products in bf16 are much faster than in float32 on ``device``."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    if device.type != "cpu":
        return False
    if not torch.backends.cpu.get_cpu_capability().startswith("AVX512"):
        return False  # PyTorch was told to do without them, by ATEN_CPU_CAPABILITY
    capabilities = getattr(torch.cpu, "get_capabilities", None)
    if capabilities is not None:
        units = capabilities()
        return bool(units.get("amx_bf16") or units.get("avx512_bf16"))
    probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")  # torch below 2.10
    return any(getattr(torch.cpu, probe, lambda: False)() for probe in probes)


def choose_precision(
    precision: str, device: torch.device, module: nn.Module, values: int | None = None
) -> str:
    """Return "bf16" (autocast) or the name of the dtype that the module calculates in.

    "auto" takes bf16 where all of these hold:

    * the device is fast at it;
    * the module is float32 with a linear layer at least 96 wide on both sides: narrower ones gain
      no time and lose digits;
    * it has at most two parameters for each value that it is fitted to. With more it can go
      through all of them, and bf16, which rounds to 8 bits, would end the fit at some 60 dB.

    Args:
        precision: "auto", "float32" (the module's own dtype) or "bf16".
        device: where it runs.
        module: what is fitted.
        values: how many numbers it is fitted to, samples times channels; None where the rounding
            does not limit the fit, as that of a scene.

    Raises:
        InputError: "bf16" for a module of float64, which autocast leaves alone.
    """
    own = str(dtype_of(module)).removeprefix("torch.")
    if precision == "bf16":
        if own == "float64":
            refuse("bf16 autocast needs a float32 module", own, "Pass precision='auto'.")
        return "bf16"
    wide = any(
        isinstance(part, nn.Linear) and min(part.weight.shape) >= _WIDE for part in module.modules()
    )
    if precision != "auto" or own != "float32" or not wide or not fast_bf16(device):
        return own
    parameters = sum(p.numel() for p in module.parameters() if p.requires_grad)
    return "bf16" if values is None or parameters <= _MANY * values else own


def dtype_of(module: nn.Module) -> torch.dtype:
    """Return the dtype that a module calculates in: of a field that of its network."""
    if isinstance(module, Field):
        return module.dtype
    weights = (p.dtype for p in module.parameters() if p.is_floating_point())
    return next(weights, torch.get_default_dtype())


def compiled(module: nn.Module) -> Callable[[Tensor], Tensor]:
    """Return ``module`` compiled for batches of one shape, with CUDA graphs on a GPU.

    `torch.compile` needs a C++ compiler on the CPU and Triton on a GPU; nothing is compiled
    before the first call.
    """
    mode = "reduce-overhead" if next(module.parameters()).is_cuda else None
    return torch.compile(module, dynamic=False, mode=mode)
