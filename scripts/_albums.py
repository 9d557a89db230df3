"""Benchmarks over many pictures: every method on every one, at the pixels or between them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _common import finite, print_table
from _fits import Outcome, fit_all, plain_json
from _pictures import Picture, Score, bicubic_between, load_picture, score_all, score_between

import coordnet as cn

__all__ = ["album", "between", "describe", "pictures_in"]


def pictures_in(folder: Path) -> list[Path]:
    """Return the pictures of a folder, by name.

    Raises:
        InputError: no folder, or none in it.
    """
    if not folder.is_dir():
        raise cn.InputError("--kodak must be a folder", f"{folder}", "Name one.")
    paths = sorted(p for p in folder.iterdir() if p.suffix.lower() in (".png", ".tif"))
    if not paths:
        raise cn.InputError("the folder must hold pictures", f"none in {folder}", "Add one.")
    return paths


def describe(picture: Picture) -> dict[str, Any]:
    """Return a picture's name and sizes as JSON values."""
    height, width, channels = picture.values.shape
    return {"name": picture.name, "height": height, "width": width, "channels": channels,
            "values": picture.values.size}  # fmt: skip


def album(options: argparse.Namespace, device: torch.device, folder: Path) -> dict[str, Any]:
    """Fit every picture of a folder with every method, at every budget."""
    found: list[tuple[Picture, list[Outcome]]] = []
    for path in pictures_in(options.kodak):
        picture = load_picture(path, options.size, folder, crop=options.crop)
        print(picture.name, flush=True)
        score = score_all(picture, device)
        found.append((picture, _fits(options, picture, score, device)))
    _show(options, found, [])
    rows = [{**describe(picture), "methods": plain_json(fits)} for picture, fits in found]
    return {"rows": rows, "mean_psnr": _means(options, [fits for _, fits in found])}


def between(options: argparse.Namespace, device: torch.device, folder: Path) -> dict[str, Any]:
    """Fit every second pixel, score those between, beside bicubic interpolation.

    The picture of --image comes first, then those of --kodak.
    """
    paths = [options.image, *([] if options.kodak is None else pictures_in(options.kodak))]
    found: list[tuple[Picture, list[Outcome]]] = []
    bicubic: list[dict[str, float]] = []
    for path in paths:
        whole = load_picture(path, options.size, folder, crop=options.crop)
        height, width = whole.values.shape[:2]
        if min(height, width) < 2:
            got = f"{width} × {height}"
            raise cn.InputError("pixels between need two rows and columns", got, "Leave --between.")
        fitted = load_picture(whole.path, None, folder, stride=2)
        print(f"{whole.name}: {width} × {height}, [::2, ::2] fitted and [1::2, 1::2] scored")
        target = whole.values[1::2, 1::2]
        other = {}
        for a in (-0.5, -0.75):
            guess = bicubic_between(fitted.values, target.shape[0], target.shape[1], a)
            other[f"a={a:g}"] = cn.psnr(guess, target, peak=1.0, clamp=True)
        bicubic.append(other)
        score = score_between(whole.values, fitted.values, device)
        found.append((whole, _fits(options, fitted, score, device)))
    _show(options, found, bicubic)
    rows = [
        {**describe(picture), "bicubic": {k: finite(v) for k, v in other.items()},
         "methods": plain_json(fits)}
        for (picture, fits), other in zip(found, bicubic, strict=True)
    ]  # fmt: skip
    means = _means(options, [fits for _, fits in found])
    for name in bicubic[0]:
        psnr = float(np.mean([each[name] for each in bicubic]))
        means.append({"method": f"bicubic, {name}", "budget": None, "psnr": finite(psnr)})
    return {"rows": rows, "mean_psnr": means}


def _fits(
    options: argparse.Namespace, picture: Picture, score: Score, device: torch.device
) -> list[Outcome]:
    return fit_all(
        options.methods, picture, score, device, options.seconds, options.seed, options.quick
    )


def _means(options: argparse.Namespace, albums: Sequence[list[Outcome]]) -> list[dict[str, Any]]:
    """Return the mean of the PSNRs of each method at each budget."""
    rows = []
    for i, method in enumerate(options.methods):
        for j, budget in enumerate(options.seconds):
            psnr = float(np.mean([fits[i].runs[j].psnr for fits in albums]))
            rows.append({"method": method, "budget": budget, "psnr": finite(psnr)})
    return rows


def _show(
    options: argparse.Namespace,
    found: Sequence[tuple[Picture, list[Outcome]]],
    bicubic: Sequence[dict[str, float]],
) -> None:
    """Print a line for each method and budget, a column for each picture, and the mean."""
    head = ["method", "seconds", "parameters", *(picture.name for picture, _ in found), "mean"]
    lines = []
    for i, method in enumerate(options.methods):
        for j, budget in enumerate(options.seconds):
            psnr = [fits[i].runs[j].psnr for _, fits in found]
            most = max(fits[i].parameters for _, fits in found)
            lines.append([method, f"{budget:g}", f"{most:,}", *_cells(psnr)])
    for name in bicubic[0] if bicubic else ():
        lines.append([f"bicubic, {name}", "", "", *_cells([each[name] for each in bicubic])])
    print_table(head, lines)


def _cells(psnr: Sequence[float]) -> list[str]:
    return [f"{each:.2f}" for each in (*psnr, float(np.mean(psnr)))]
