"""The least bytes and operations of one training step of a field, and how long a step takes."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import torch
from _fits import task_fit
from _measure import synchronize
from _pictures import Picture
from torch import Tensor, nn

import coordnet as cn

LEAST_SIDE = 32  # of a matrix that Muon takes
NEWTON_STEPS = 5  # of Muon


@dataclass
class Step:
    """One training step of a method.

    Attributes:
        method: the preset.
        precision: of the matrix products.
        batch: samples.
        parameters: numbers trained.
        seconds: measured.
        moved: least bytes to and from memory.
        operations: FLOPs.
    """

    method: str
    precision: str
    batch: int
    parameters: int
    seconds: float
    moved: float
    operations: float

    def floor(self, bandwidth: float, rate: float) -> float:
        """Return the least seconds: the longer of moving the bytes and doing the products."""
        return max(self.moved / bandwidth, self.operations / rate)


def count(field: cn.Field, config: cn.FitConfig, batch: int, half: bool) -> tuple[float, float]:
    """Return bytes and FLOPs of a step that cannot be avoided while each layer is a kernel.

    Bytes: the features, or where tables are trained the coordinates, each corner's entry read and
    its gradient read and written, and the features both ways with their gradient; the targets;
    each hidden activation written, read forward and read backward, its gradient written and read;
    of each trained number the gradient written and read, itself and the optimizer's moments (Adam
    two, Muon one) read and written. FLOPs: two for each weight and sample forward, four backward
    (two in a first layer with nothing to train before it), and Muon's five Newton-Schulz steps.

    Args:
        field: what is trained.
        config: its optimizer.
        batch: samples.
        half: whether activations are bf16.
    """
    size = 2 if half else 4
    linear = [each for each in field.network.modules() if isinstance(each, nn.Linear)]
    tables = [each for each in field.encoding.parameters() if each.requires_grad]
    moved = 4.0 * batch * field.out_dim
    operations = 0.0
    if tables:
        corners = _corners(field.encoding)
        moved += (
            4.0 * batch * (field.in_dim + 3 * corners) + 4.0 * size * batch * linear[0].in_features
        )
        operations += 4.0 * batch * corners
    else:
        moved += float(size) * batch * linear[0].in_features
    for i, layer in enumerate(linear):
        known = 4 if i == 0 and not tables else 6
        operations += float(known) * batch * layer.weight.numel()
        if i < len(linear) - 1:
            moved += 5.0 * size * batch * layer.out_features
    for each in field.parameters():
        if each.requires_grad:
            muon = config.optimizer != "adam" and _hidden(each, linear)
            moved += 4.0 * each.numel() * (6 if muon else 8)
            if muon:
                short, long = sorted(each.shape)
                operations += NEWTON_STEPS * (4.0 * short**2 * long + 2.0 * short**3)
    return moved, operations


def _hidden(parameter: Tensor, linear: list[nn.Linear]) -> bool:
    return any(parameter is each.weight for each in linear) and min(parameter.shape) >= LEAST_SIDE


def _corners(encoding: nn.Module) -> int:
    """Return the table entries that one sample reads."""
    found = 0
    for each in encoding.modules():
        if isinstance(each, (cn.HashGrid, cn.DenseGrid)):
            found += 2**each.in_dim * each.out_dim
    return found


def time_step(
    method: str, picture: Picture, device: torch.device, skipped: int, measured: int
) -> Step:
    """Return the mean seconds of a step within `coordnet.fit`, on the device's own clock.

    Events are recorded before step ``skipped`` and ``measured`` steps later; what the device
    waits for between them counts.
    """
    field, samples, config = task_fit(method, 1.0, picture, 0, device)
    config = replace(config, steps=skipped + measured + 1, seconds=None)
    marks: dict[int, Any] = {}
    steps = 0

    def stop() -> bool:
        nonlocal steps
        if steps in (skipped, skipped + measured):
            marks[steps] = _mark(device)
        steps += 1
        return False

    result = cn.fit(field, samples, config=config, stop=stop, progress=False)
    synchronize(device)
    first, last = marks[skipped], marks[skipped + measured]
    taken = first.elapsed_time(last) / 1e3 if device.type == "cuda" else last - first
    batch = min(config.batch_size or 4096, len(samples))
    moved, operations = count(field, config, batch, result.precision == "bf16")
    return Step(method, result.precision, batch, result.parameters, taken / measured, moved,
                operations)  # fmt: skip


def _mark(device: torch.device) -> Any:
    if device.type != "cuda":
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def contract(device: torch.device, points: int) -> list[dict[str, Any]]:
    """Compare each encoding on the device with itself on the CPU.

    Returns:
        For each: the largest difference of the features, that of the gradients as a part of the
        largest gradient, and whether a state dict comes back from the device bit for bit.
    """
    features = cn.FourierFeatures
    encodings: dict[str, cn.Encoding] = {
        "harmonic": features(2, 64, period=1.0),
        "octave": features.octave(2, 10),
        "geometric": features.geometric(2, 64, scale=100.0),
        "gaussian": features.gaussian(2, 256, sigma=10.0, seed=0),
        "lattice": features.lattice(2, 8, period=1.0),
        "hashgrid": cn.HashGrid(2, seed=0),
        "densegrid": cn.DenseGrid(2, 256, seed=0),
    }
    generator = torch.Generator().manual_seed(0)
    rows = []
    for name, encoding in encodings.items():
        tables = list(encoding.parameters())
        with torch.no_grad():
            for table in tables:
                table.copy_(2 * torch.rand(table.shape, generator=generator) - 1)
        x = torch.rand(points, 2, generator=generator)
        found = {}
        before = {key: value.clone() for key, value in encoding.state_dict().items()}
        for home in (torch.device("cpu"), device):
            here = encoding.to(home)
            leaf = x.to(home, copy=True).requires_grad_(not tables)
            out = here(leaf)
            weights = torch.linspace(-1, 1, out.numel(), device="cpu").view(out.shape).to(home)
            (grad,) = torch.autograd.grad(out, tables or [leaf], weights)
            found[home] = (out.detach().cpu().double(), grad.cpu().double())
        after = encoding.to("cpu").state_dict()
        (a, slope_a), (b, slope_b) = found[torch.device("cpu")], found[device]
        largest = float(slope_a.abs().max())
        rows.append({
            "encoding": name,
            "features": float((a - b).abs().max()),
            "gradients": float((slope_a - slope_b).abs().max()) / (largest or 1.0),
            "state": all(torch.equal(after[key], value) for key, value in before.items()),
        })  # fmt: skip
    return rows
