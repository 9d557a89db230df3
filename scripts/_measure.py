"""How the benchmarks here measure: the machine, interleaved times, peak memory."""

from __future__ import annotations

import argparse
import functools
import gc
import os
import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

import coordnet as cn
from coordnet.training import choose_device

Work = Callable[[], object]


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Add --device and --threads."""
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, …; default: auto")
    parser.add_argument("--threads", type=int, help="of the CPU; default: PyTorch's choice")


def chosen_device(options: argparse.Namespace) -> torch.device:
    """Return the device asked for, and set the number of threads.

    Raises:
        InputError: a device that this machine lacks, or no thread.
    """
    if options.threads is not None:
        if options.threads < 1:
            raise cn.InputError("--threads must be at least 1", f"{options.threads}", "Pass 1.")
        torch.set_num_threads(options.threads)
    return choose_device(options.device)


def machine(device: torch.device) -> dict[str, Any]:
    """Return what the numbers depend on, as JSON values."""
    found: dict[str, Any] = {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": str(device),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "coordnet": cn.__version__,
    }
    if device.type == "cuda":
        found["gpu"] = torch.cuda.get_device_name(device)
    return found


def machine_line(found: Mapping[str, Any]) -> str:
    """Return the machine as one line of text."""
    gpu = f"{found['gpu']}, " if "gpu" in found else ""
    return (
        f"on {found['device']}: {gpu}{found['cpu']}, {found['threads']} of {found['cores']} "
        f"threads, torch {found['torch']}, coordnet {found['coordnet']}"
    )


def _processor() -> str:
    """Return the CPU's model."""
    path = Path("/proc/cpuinfo")
    if path.is_file():
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.processor() or platform.machine() or "unknown"


def synchronize(device: torch.device) -> None:
    """Wait for a CUDA device."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds_of(work: Work, device: torch.device) -> float:
    """Return the seconds of one call: of a CUDA device by its own events, else of the clock."""
    if device.type == "cuda":
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize(device)
        first.record()
        work()
        last.record()
        torch.cuda.synchronize(device)
        return first.elapsed_time(last) / 1e3
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def medians(works: Mapping[str, Work], device: torch.device, repeats: int) -> dict[str, float]:
    """Return the median seconds of each piece of work, taken in turns.

    Taking turns spreads what else the machine does over all of them. Each is done once (on CUDA
    three times) before, unmeasured.

    Args:
        works: by name.
        device: where they run.
        repeats: measured calls of each.
    """
    for _ in range(3 if device.type == "cuda" else 1):
        for work in works.values():
            work()
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            taken[name].append(seconds_of(work, device))
    return {name: statistics.median(each) for name, each in taken.items()}


def peak_bytes(work: Work, device: torch.device) -> int:
    """Return the most bytes that a call holds at a time beyond what was held before it.

    CUDA: its allocator's own peak. CPU: large buffers of coordnet come from NumPy, which
    tracemalloc sees, and all others from PyTorch, whose profiler logs every allocation. The two
    peaks are added, although they need not fall on one moment: the sum is an upper bound. The
    work is done once before, so that what is made once does not count.
    """
    work()
    gc.collect()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        held = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        work()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - held
    if device.type != "cpu":
        raise cn.InputError("memory is measured on cpu or cuda", f"{device}", "Pass --device cpu.")
    return _profiled_peak(work) + _traced_peak(work)


def _profiled_peak(work: Work) -> int:
    """Return the peak of PyTorch's own allocations."""
    from torch.profiler import ProfilerActivity, profile

    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # no lines of its own on stderr
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        result = work()
        del result
    inner: Any = profiler.profiler
    log = [event for event in inner.kineto_results.events() if event.name() == "[memory]"]
    held = most = 0
    for event in sorted(log, key=lambda event: event.start_ns()):
        held += event.nbytes()  # below 0 where memory is given back
        most = max(most, held)
    return most


def _traced_peak(work: Work) -> int:
    """Return the peak of Python's and NumPy's allocations."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        result = work()
        del result
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def copy_bandwidth(device: torch.device, size: int) -> float:
    """Return bytes a second, read and written, of a copy of ``size`` bytes on the device."""
    source = torch.zeros(size // 4, device=device)
    target = torch.empty_like(source)
    seconds = medians({"copy": functools.partial(target.copy_, source)}, device, 7)["copy"]
    return 2 * source.numel() * 4 / seconds


def product_rate(device: torch.device, size: int, dtype: torch.dtype) -> float:
    """Return FLOPs a second of a product of two ``size`` × ``size`` matrices."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(size, size, generator=generator).to(device, dtype) for _ in range(2))
    out = torch.empty_like(a)
    seconds = medians({"product": functools.partial(torch.mm, a, b, out=out)}, device, 7)
    return 2 * size**3 / seconds["product"]
