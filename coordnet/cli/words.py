"""The choices and the outcome of a fit, in words."""

from __future__ import annotations

import math

import torch
from torch import nn

from ..field import Field
from ..files import JsonObject
from ..text import plural
from ..training import FitConfig, FitResult

__all__ = [
    "describe_field",
    "describe_machine",
    "describe_result",
    "describe_training",
]


def describe_field(model: nn.Module) -> str:
    """Return encoding → features → network and the number of parameters."""
    number = sum(p.numel() for p in model.parameters() if p.requires_grad)
    if isinstance(model, Field):
        spec = model.spec()
        features = plural(model.encoding.out_dim, "feature")
        shown = f"{_encoding_of(spec['encoding'])} → {features} → {_settings_of(spec['network'])}"
    else:
        spec: JsonObject = model.spec()  # type: ignore[operator]
        part = spec["field"] if "field" in spec else spec["fine"]
        shown = ", ".join(
            f"{_encoding_of(part[encoding])} → {_settings_of(part[network])}"
            for encoding, network in (
                ("encoding", "density_network"),
                ("directions", "color_network"),
            )
        )
    return f"{shown}; {plural(number, 'parameter')}"


def _encoding_of(spec: JsonObject) -> str:
    spec = _bare(spec)
    if spec["name"] == "concat":
        return " + ".join(_encoding_of(part) for part in spec["encodings"])
    if spec["name"] == "damped":
        return f"damped {_encoding_of(spec['encoding'])}"
    return _settings_of(spec)


def _bare(spec: JsonObject) -> JsonObject:
    """Return an encoding's spec without what normalizes its coordinates."""
    while spec["name"] == "normalized":
        spec = spec["encoding"]
    return spec


def _settings_of(spec: JsonObject) -> str:
    if spec["name"] == "mlp" and not spec["num_hidden_layers"]:
        return "one linear layer"
    hidden = ("name", "in_dim", "out_dim", "include_input", "seed")
    shown = ", ".join(f"{k}={v}" for k, v in spec.items() if k not in hidden and v is not None)
    return f"{spec['name']}({shown})" if shown else spec["name"]


def describe_machine(device: torch.device) -> str:
    """Return the device with its name, or the number of threads."""
    if device.type == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    if device.type == "cpu":
        return f"the CPU ({plural(torch.get_num_threads(), 'thread')})"
    return str(device)


def describe_training(config: FitConfig) -> str:
    """Return the budget, the optimizer and the seed."""
    budget = [plural(config.max_steps, "step")] if config.max_steps is not None else []
    budget += [f"{config.seconds:g} s"] if config.seconds is not None else []
    until = f", or until {config.target_psnr:g} dB" if config.target_psnr is not None else ""
    batches = f", batches of {config.batch_size}" if config.batch_size is not None else ""
    return (
        f"at most {' or '.join(budget)}{until}; {config.optimizer} at learning rate "
        f"{config.learning_rate:g}{batches}, seed {config.seed}"
    )


def describe_result(result: FitResult) -> str:
    """Return the errors, what they were measured on, and why the fit ended."""
    psnr = f"{result.psnr:.2f} dB" if math.isfinite(result.psnr) else "infinite (no error)"
    ended = {"target": ": target reached", "stopped": ": interrupted"}.get(result.stop_reason, "")
    return (
        f"PSNR {psnr} (peak {result.peak:g}), RMSE {result.rmse:.4g}, both of the model before any "
        f"file is written; {plural(result.steps, 'step')} in {result.seconds:.1f} s{ended}"
    )
