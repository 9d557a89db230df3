"""Quality over time of fits of a scene: coordnet's preset beside the original NeRF's recipe.

  bench_scene.py                                      the bundled scene, 60 s, the fast preset
  bench_scene.py --scene chair --downscale 4 --seconds 60 180 600
  bench_scene.py --scene chair --downscale 4 --seconds 180 --presets fast nerf --views 3
  bench_scene.py --seeds 0 1 2 3 4                    several seeds: their spread, and collapses

Every budget is a fit of its own, since the learning rate is tied to it. The clock starts when the
pictures are read: carving by silhouettes and building the model count. PSNR is the mean over all
test views on white, SSIM likewise, measured after the clock has stopped; a fit whose mean opacity
inside the silhouettes is below a half has collapsed. Depth is compared where the scene has depth
maps (depth/r_0.png …, 16-bit in steps of 0.0001, as make_scene.py writes them).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _common import Parser, claim, finite, print_table, run, write_json
from _measure import add_machine, chosen_device, machine, machine_line, synchronize

import coordnet as cn
from coordnet.kinds import Listener
from coordnet.scenes import SceneOptions, SceneTask, render_view
from coordnet.training import minimize

NAME = "bench_scene"
DATA = Path(__file__).resolve().parent.parent / "data" / "scene"
PRESETS = ("fast", "nerf")
WHITE = (1.0, 1.0, 1.0)
_QUICK_STEPS = 5
DEPTH_STEP = 1e-4


def fit_scene(
    path: Path,
    preset: str,
    seconds: float | None,
    seed: int,
    downscale: int,
    device: torch.device,
    views: int | None = None,
) -> dict[str, Any]:
    """Fit a scene and measure it on its test views, or on so many of them, evenly spread.

    Without a budget in seconds it takes a few steps, to see that it runs.
    """
    options = SceneOptions(
        preset=preset,
        seconds=seconds,
        steps=_QUICK_STEPS if seconds is None else None,
        seed=seed,
        device=str(device),
        downscale=downscale,
    )
    task = SceneTask(path, options, Listener())
    start = time.perf_counter()
    recipe = task.recipe(options)
    config = task.config(options, recipe)
    model = task.model(options, recipe).to(device)
    objective = task.objective(model, config, device)
    prepared = time.perf_counter() - start
    result = minimize(objective, config, start=start, progress=False)
    synchronize(device)
    total = time.perf_counter() - start
    begin, scene, rows = time.perf_counter(), task.test or task.train, []
    number = len(scene) if views is None else min(views, len(scene))
    chosen = sorted({round(i * (len(scene) - 1) / max(1, number - 1)) for i in range(number)})
    for i in chosen:
        view = render_view(model, scene.cameras, i)
        target = scene.images.composited(i, 1.0).numpy()
        alpha = scene.images.image(i)[..., 3].numpy()
        pred = np.clip(view.composite(WHITE), 0, 1)
        row = {
            "psnr": cn.psnr(pred, target, peak=1.0),
            "ssim": cn.ssim(pred, target, peak=1.0),
            "opacity": float(view.opacity[alpha > 0.5].mean()) if (alpha > 0.5).any() else 1.0,
        }
        depth = _depth_of(path, scene, i, view.depth.shape)
        if depth is not None:
            both = (depth > 0) & (view.opacity > 0.5)
            error = np.abs(view.depth - depth)[both]
            row["depth_error"] = float(error.mean()) if both.any() else float("nan")
        rows.append(row)
    rendering = time.perf_counter() - begin
    means = {name: float(np.nanmean([row[name] for row in rows])) for name in rows[0]}
    pixels = int(scene.cameras.sizes[chosen].prod(-1).sum())
    return {
        "preset": preset, "budget": seconds, "seed": seed, "seconds": total, "prepared": prepared,
        "steps": result.steps, "parameters": result.parameters,
        "rays_per_second": objective.rays_taken / max(1e-9, total - prepared),
        "samples_per_ray": objective.samples_per_ray,
        "rendered_rays_per_second": pixels / rendering,
        "test_views": len(chosen), **means, "collapsed": means["opacity"] < 0.5,
    }  # fmt: skip


def _depth_of(
    path: Path, scene: cn.scenes.Scene, i: int, shape: tuple[int, ...]
) -> np.ndarray | None:
    """Return the depth map of a test view, where there is one of its size."""
    file = path / "depth" / (Path(scene.names[i]).stem + ".png")
    if not file.is_file():
        return None
    depth = cn.read_image(file).pixels[..., 0].astype(np.float64) * DEPTH_STEP
    return depth if depth.shape == shape else None


def show(rows: Sequence[dict[str, Any]]) -> None:
    """Print a line for each fit."""
    depth = any("depth_error" in row for row in rows)
    head = ["preset", "seconds", "seed", "steps", "PSNR", "SSIM", "opacity", "rays/s",
            "samples/ray", "carving s", *(["depth error"] if depth else [])]  # fmt: skip
    lines = []
    for row in rows:
        budget = f"{row['budget'] or row['seconds']:g}"
        lines.append([
            row["preset"], budget, f"{row['seed']}", f"{row['steps']:,}",
            f"{row['psnr']:.2f}", f"{row['ssim']:.4f}", f"{row['opacity']:.3f}",
            f"{row['rays_per_second']:,.0f}",
            "" if row["samples_per_ray"] is None else f"{row['samples_per_ray']:.1f}",
            f"{row['prepared']:.1f}", *([f"{row['depth_error']:.4f}"] if depth else []),
        ])  # fmt: skip
    print_table(head, lines)


def bench(options: argparse.Namespace) -> None:
    """Fit with every preset, budget and seed; write what came out."""
    device = chosen_device(options)
    seconds: Sequence[float | None] = [None]
    if not options.quick or options.seconds:
        seconds = sorted(set(options.seconds or [60.0]))
    for budget in seconds:
        if budget is not None and not 0 < budget < float("inf"):
            raise cn.InputError("seconds must be above 0", f"{budget:g}")
    if options.views is not None and options.views < 1:
        raise cn.InputError("--views must be at least 1", f"{options.views}")
    (path,) = claim(options.out, [f"{NAME}.json"], options.overwrite)
    about = machine(device)
    print(machine_line(about))
    rows = []
    for preset in options.presets:
        for budget in seconds:
            for seed in options.seeds:
                row = fit_scene(
                    options.scene, preset, budget, seed, options.downscale, device, options.views
                )
                rows.append(row)
                print(
                    f"{preset}, {row['seconds']:.0f} s, seed {seed}: {row['psnr']:.2f} dB",
                    flush=True,
                )
    show(rows)
    for row in rows:
        row["psnr"] = finite(row["psnr"])
    write_json(path, {"machine": about, "scene": options.scene.name,
                      "downscale": options.downscale, "fits": rows})  # fmt: skip
    print(f"written: {path}")


def main() -> None:
    """Read the command line."""
    parser = Parser(NAME, __doc__)
    add = parser.add_argument
    add("--scene", type=Path, default=DATA, help="default: data/scene")
    add("--downscale", type=int, default=1, help="make the pictures this many times smaller")
    add("--seconds", type=float, nargs="+", help="budgets; default: 60")
    add("--presets", nargs="+", choices=PRESETS, default=["fast"], help="default: fast")
    add("--views", type=int, help="measure on so many test views; default: all")
    add("--seeds", type=int, nargs="+", default=[0], help="default: 0")
    add("--quick", action="store_true", help="a few steps, to see that it runs")
    add_machine(parser)
    parser.add_output(f"runs/{NAME}")
    run(parser, bench)


if __name__ == "__main__":
    main()
