"""Check coordnet on a GPU, and measure it there: one command, under four minutes.

  gpu_check.py                        on the default device
  gpu_check.py --device cpu --quick   that everything runs, without a GPU

First the contract: features on the device equal those on the CPU within 1e-6, gradients within
1e-5 of the largest, and a state dict that went to the device and back is the same bit for bit. Then
the encodings as bench_encodings.py has them and a picture as bench_image.py has it, at sizes of a
GPU. Last the training step of each preset: its time on the device's own clock, and the part of it
that a floor explains: the bytes that it must move over the bandwidth of a copy, or the operations
that it must do over the rate of a matrix product in its precision, both measured here, whichever is
longer. Then a scene as bench_scene.py has it: the bundled one, or another with --scene, such as
NeRF-synthetic's chair with --downscale 2 and --scene-seconds 60. Exits with 1 where the contract is
broken.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import bench_encodings
import bench_image
import bench_scene
import torch
from _common import Parser, claim, print_table, run, write_json
from _fits import PRESETS, Outcome, fit_all, methods, plain_json, ratios
from _floor import Step, contract, time_step
from _measure import add_machine, chosen_device, copy_bandwidth, machine, machine_line, product_rate
from _pictures import Picture, load_picture, score_all

NAME = "gpu_check"
FEATURES, GRADIENTS = 1e-6, 1e-5
FULL = {"points": 1 << 18, "repeats": 7, "seconds": [2.0, 8.0], "size": None, "scene": 30.0,
        "skipped": 100, "measured": 200, "copy": 1 << 31, "product": 8192}  # fmt: skip
QUICK = {"points": 256, "repeats": 1, "seconds": [0.3], "size": 24, "scene": None,
         "skipped": 2, "measured": 3, "copy": 1 << 24, "product": 512}  # fmt: skip


def check_contract(device: torch.device, points: int) -> tuple[list[dict[str, Any]], bool]:
    """Print and return the differences between the device and the CPU, and whether all is well."""
    rows = contract(device, points)
    for row in rows:
        close = row["features"] <= FEATURES and row["gradients"] <= GRADIENTS
        row["good"] = close and row["state"]
    print_table(
        ["contract", "features", "gradients", "state dict", ""],
        [[row["encoding"], f"{row['features']:.1e}", f"{row['gradients']:.1e}",
          "equal" if row["state"] else "changed", "good" if row["good"] else "BROKEN"]
         for row in rows],
    )  # fmt: skip
    return rows, all(row["good"] for row in rows)


def measure_steps(
    picture: Picture, device: torch.device, sizes: dict[str, Any]
) -> tuple[list[Step], dict[str, float]]:
    """Return the step of each of coordnet's methods, and what the machine can do at most."""
    steps = [
        time_step(name, picture, device, sizes["skipped"], sizes["measured"]) for name in PRESETS
    ]
    machine_can = {"bandwidth": copy_bandwidth(device, sizes["copy"])}
    dtypes = {"bf16": torch.bfloat16, "float32": torch.float32}
    for name in dict.fromkeys(step.precision for step in steps):
        machine_can[name] = product_rate(device, sizes["product"], dtypes[name])
    return steps, machine_can


def show(
    steps: list[Step], machine_can: dict[str, float], outcomes: list[Outcome], budgets: list[float]
) -> list[dict[str, Any]]:
    """Print and return one row for each method: step, floor, PSNR over time."""
    by_name = {step.method: step for step in steps}
    rows, lines = [], []
    for each in outcomes:
        row: dict[str, Any] = {"method": each.method, "parameters": each.parameters}
        line = [each.method, f"{each.parameters:,}"]
        step = by_name.get(each.method)
        if step is not None:
            rate = machine_can[step.precision]
            floor = step.floor(machine_can["bandwidth"], rate)
            row |= {**asdict(step), "floor_seconds": floor, "part_of_floor": floor / step.seconds}
            line += [step.precision, f"{step.batch:,}", f"{1e3 * step.seconds:.3f}",
                     f"{step.moved / 1e6:.1f}", f"{step.operations / 1e9:.2f}",
                     f"{1e3 * floor:.3f}", f"{floor / step.seconds:.1%}"]  # fmt: skip
        else:
            one = each.runs[-1]
            line += ["float32", "", f"{1e3 * one.seconds / max(1, one.steps):.3f}", *[""] * 4]
        rows.append(row)
        lines.append(line + [f"{one.psnr:.2f}" for one in each.runs])
    head = ["method", "parameters", "precision", "batch", "ms a step", "MB", "GFLOP", "floor ms"]
    print_table([*head, "floor / step", *(f"dB at {b:g} s" for b in budgets)], lines)
    rates = ", ".join(f"{v / 1e12:.3g} TFLOP/s in {k}" for k, v in machine_can.items()
                      if k != "bandwidth")  # fmt: skip
    print(f"measured here: {machine_can['bandwidth'] / 1e9:.4g} GB/s copied (read and written), "
          f"{rates}")  # fmt: skip
    return rows


def check(options: argparse.Namespace) -> None:
    """Run everything and write what came out."""
    begin = time.perf_counter()
    device = chosen_device(options)
    sizes: dict[str, Any] = QUICK if options.quick else FULL
    json_path, png_path = claim(options.out, [f"{NAME}.json", f"{NAME}.png"], options.overwrite)
    about = machine(device)
    print(machine_line(about) + "\n")
    compared, good = check_contract(device, sizes["points"])
    print()
    encodings = []
    for build in bench_encodings.cases(sizes["points"], sizes["points"], device):
        encodings += bench_encodings.measure(build(), device, sizes["repeats"])
    bench_encodings.show(encodings)
    print()
    with tempfile.TemporaryDirectory() as folder:
        picture = load_picture(bench_image.DATA, sizes["size"], Path(folder))
        score = score_all(picture, device)
        budgets = sizes["seconds"]
        outcomes = fit_all(methods(), picture, score, device, budgets, 0, options.quick)
        steps, machine_can = measure_steps(picture, device, sizes)
    print()
    rows = show(steps, machine_can, outcomes, budgets)
    faster = ratios(outcomes)
    bench_image.show_ratios(faster)
    height, width = picture.values.shape[:2]
    bench_image.draw(png_path, outcomes, f"{picture.name}, {width} × {height}, {about['device']}")
    print()
    budget = options.scene_seconds or sizes["scene"]
    views = 2 if options.quick else None
    scene = bench_scene.fit_scene(
        options.scene, "fast", budget, 0, options.downscale, device, views
    )  # fmt: skip
    bench_scene.show([scene])
    seconds = time.perf_counter() - begin
    write_json(json_path, {
        "machine": about, "quick": options.quick, "seconds": seconds, "good": good,
        "contract": compared, "encodings": [asdict(row) for row in encodings],
        "machine_can": machine_can, "methods": rows, "fits": plain_json(outcomes),
        "ratios": faster, "scene": scene,
    })  # fmt: skip
    print(f"written: {json_path}, {png_path}; {seconds:.0f} s in all")
    if not good:
        sys.exit(1)


def main() -> None:
    """Read the command line."""
    parser = Parser(NAME, __doc__)
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    add = parser.add_argument
    add("--scene", type=Path, default=bench_scene.DATA, help="default: data/scene")
    add("--downscale", type=int, default=1, help="of the scene; default: 1")
    add("--scene-seconds", type=float, help="budget of the scene; default: 30")
    add_machine(parser)
    parser.add_output(f"runs/{NAME}")
    run(parser, check)


if __name__ == "__main__":
    main()
