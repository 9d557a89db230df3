"""Run coordnet as on a GPU where there is none: what would go wrong, and what a step would cost.

  gpu_dry_run.py                                everything, for an H200
  gpu_dry_run.py --only encoding "scene, fast"  cases whose names begin so
  gpu_dry_run.py --bandwidth 3.35e12            for another GPU

Needs a CUDA build of PyTorch and no driver; says "skipped" otherwise. Tensors are fake: they have
a shape, a dtype and a device, but no numbers. Modules, whole steps of fits (objective, autocast,
backward, optimizer, EMA, schedule) and rendering run as they are; only the autograd graph is gone
through in Python, since PyTorch's engine asks for a driver (_fake_gpu.py says more). Not seen:
numbers, and what kernels and the allocator do inside.

Exits with 1, and a line for each, where an operation takes a tensor of the CPU beside one of the
GPU, where the host waits for the GPU within a step (for a number: ``item()``, a truth value,
``nonzero()``; or for a copy), and where anything raises. Waits outside of steps are listed, and
are no fault.

In the table, bytes are the sum of what each operation reads and writes, nothing twice and nothing
kept in a cache; FLOPs are those of matrix products. The milliseconds are those bytes over the
bandwidth, those FLOPs over the peak of their precision, and as many launches at ``--launch``
seconds each: a step takes about the longest of the three, or more. Where sizes depend on numbers,
as those of a scene do, a part ``--share`` of a mask is taken to be True.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

import torch
from _common import Parser, print_table, run
from _dry_cases import STRICT, Step, all_cases
from _fake_gpu import missing
from _watch import MIXED, Finding, Watch

import coordnet as cn

NAME = "gpu_dry_run"


def check(options: argparse.Namespace) -> None:
    """Run the cases and say what was met."""
    why_not = missing()
    if why_not is not None:
        print(f"skipped: {why_not}")
        return
    steps: dict[str, Step] = {}
    watches: dict[str, Watch] = {}
    faults: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        cases = all_cases(Path(folder))
        names = [name for name in cases if name.startswith(tuple(options.only or [""]))]
        if not names:
            got, known = " ".join(options.only), ", ".join(cases)
            raise cn.InputError("--only takes beginnings of names", got, f"Known: {known}.")
        for name in names:
            watch = watches[name] = Watch(options.share)
            try:
                step = cases[name](watch)
            except Exception as error:  # whatever it is: the other cases are of interest, too
                text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
                faults.append(f"{name}: {watch.phase}: {text}")
                continue
            if step is not None:
                steps[name] = step
    print(f"torch {torch.__version__}, coordnet {cn.__version__}, {len(names)} cases\n")
    if steps:
        show_steps(steps, options)
    show_waits(watches)
    for name, watch in watches.items():
        faults += [f"{name}: {described(each)}" for each in watch.findings if is_fault(each)]
    for fault in faults:
        print(f"{NAME}: {fault}", file=sys.stderr)
    if faults:
        sys.exit(1)
    print("No mixed devices, and no waits within a step.")


def is_fault(finding: Finding) -> bool:
    """Whether a finding is a fault."""
    return finding.kind == MIXED or finding.phase in STRICT


def described(finding: Finding) -> str:
    """Return a finding in words."""
    return f"{finding.phase}: {finding.kind} ({finding.operation}), {finding.place}:{finding.line}"


def show_steps(steps: dict[str, Step], options: argparse.Namespace) -> None:
    """Print what steps cost."""
    peaks = {torch.bfloat16: options.bf16, torch.float16: options.bf16}
    lines = []
    for name, step in steps.items():
        totals = step.totals
        products = sum(n / peaks.get(dtype, options.float32) for dtype, n in totals.flops.items())
        lines.append([
            name, step.precision, f"{step.batch:,}", f"{totals.launches:,}",
            f"{totals.moved / 1e6:,.1f}", f"{sum(totals.flops.values()) / 1e9:,.2f}",
            f"{1e3 * totals.moved / options.bandwidth:.3f}", f"{1e3 * products:.3f}",
            f"{1e3 * totals.launches * options.launch:.2f}",
        ])  # fmt: skip
    print_table(
        ["a step of", "precision", "batch", "launches", "MB", "GFLOP", "ms: bytes", "products",
         "launches"],
        lines,
    )  # fmt: skip
    print(
        f"at {options.bandwidth / 1e12:g} TB/s, {options.bf16 / 1e12:g} TFLOP/s in bf16, "
        f"{options.float32 / 1e12:g} in float32, {1e6 * options.launch:g} µs a launch\n"
    )


def show_waits(watches: dict[str, Watch]) -> None:
    """Print the waits that are no faults: where, how often, and in which cases."""
    cases: dict[tuple[str, str, str], Counter[str]] = {}
    for name, watch in watches.items():
        # faults are told apart, and what a fit moves to the GPU before it begins is plain
        for finding, times in watch.findings.items():
            if is_fault(finding) or finding.phase == "preparation":
                continue
            key = (finding.phase, finding.place, finding.kind)
            cases.setdefault(key, Counter())[name] += times
    for (phase, place, kind), times in sorted(cases.items()):
        number = max(times.values())
        where = next(iter(times)) if len(times) == 1 else f"{len(times)} cases"
        print(f"  {phase}: {kind}, {place}: {number} times in {where}")
    if cases:
        print()


def main() -> None:
    """Read the command line."""
    parser = Parser(NAME, __doc__)
    add = parser.add_argument
    add("--only", nargs="+", metavar="NAME", help="cases whose names begin so; default: all")
    add("--share", type=float, default=0.25, help="the True part of a mask; default: %(default)s")
    add("--bandwidth", type=float, default=4.8e12, help="bytes a second; default: %(default)g")
    add("--bf16", type=float, default=989e12, help="FLOPs a second; default: %(default)g")
    add("--float32", type=float, default=67e12, help="FLOPs a second; default: %(default)g")
    add("--launch", type=float, default=5e-6, help="seconds; default: %(default)g")
    run(parser, check)


if __name__ == "__main__":
    main()
