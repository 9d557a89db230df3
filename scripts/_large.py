"""A picture too large to hold as floats, fitted by the command line in a process of its own."""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import imageio.v3 as iio
import numpy as np
import torch
from _common import print_table

import coordnet as cn

__all__ = ["large"]

_STRIP = 256
_ALLOWED = 1e9  # bytes besides three times the picture's


def make_picture(path: Path, megapixels: float) -> tuple[int, int]:
    """Write an RGB picture of waves, edges and grain, half as wide again as high.

    Args:
        path: the PNG.
        megapixels: its size.

    Returns:
        Width and height.
    """
    height = max(1, round(math.sqrt(megapixels * 1e6 / 1.5)))
    width = max(1, round(megapixels * 1e6 / height))
    generator = np.random.default_rng(0)
    pixels = np.empty((height, width, 3), np.uint8)
    x = np.linspace(0, 1.5, width, dtype=np.float32)
    for top in range(0, height, _STRIP):
        y = np.linspace(0, 1, height, dtype=np.float32)[top : top + _STRIP, None]
        rings = np.sin(400 * ((x - 0.7) ** 2 + (y - 0.4) ** 2))
        blocks = np.sign(np.sin(90 * x) * np.sin(70 * y))
        shade = 0.5 + 0.2 * rings + 0.1 * blocks
        for channel in range(3):
            tint = shade + 0.15 * np.sin(2 * (channel + 1) * (x + y))
            grain = generator.normal(0, 0.01, shade.shape).astype(np.float32)
            values = 255 * np.clip(tint + grain, 0, 1)
            pixels[top : top + _STRIP, :, channel] = np.rint(values)
    iio.imwrite(path, pixels, compress_level=1)
    return width, height


def large(options: argparse.Namespace, device: torch.device, folder: Path) -> dict[str, Any]:
    """Make the picture, fit it with ``coordnet fit`` and report memory, time and PSNR."""
    if not 1e-4 <= options.large <= 1e4:
        got = f"{options.large:g}"
        raise cn.InputError("--large must be from 0.0001 to 10000 megapixels", got, "Pass 100.")
    path, out = folder / "large.png", folder / "run"
    width, height = make_picture(path, options.large)
    seconds = options.seconds[0]
    print(f"made {width} × {height}; fitting for {seconds:g} s …", flush=True)
    command = [sys.executable, "-m", "coordnet", "fit", str(path), "--out", str(out)]
    command += ["--seconds", f"{seconds:g}", "--device", str(device), "--seed", str(options.seed)]
    start = time.perf_counter()
    done = subprocess.run(command, check=False, stdout=subprocess.DEVNULL)
    total = time.perf_counter() - start
    if done.returncode:
        raise cn.InputError("the fit must succeed", f"exit {done.returncode}", "See above.")
    # the largest child so far: the fit, since nothing before it held a picture
    unit = 1 if sys.platform == "darwin" else 1024
    peak = unit * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    bound = 3 * width * height * 3 + _ALLOWED
    psnr = report["metrics"]["psnr"]
    print_table(
        ["megapixels", "dB", "seconds in all", "peak MB", "3 × uint8 + 1 GB"],
        [[f"{width * height / 1e6:.1f}", f"{psnr:.2f}", f"{total:.1f}", f"{peak / 1e6:.0f}",
          f"{bound / 1e6:.0f}"]],
    )  # fmt: skip
    return {"width": width, "height": height, "budget": seconds, "psnr": psnr,
            "seconds": total, "peak_bytes": peak, "bound_bytes": int(bound)}  # fmt: skip
