"""Quality over time of coordnet's fits of a picture, beside published recipes written plainly.

  bench_image.py                               seconds to 25, 30, 35 and 40 dB, PSNR at 5, 15, 60 s
  bench_image.py --size 256 --seconds 2 10     the picture averaged to 256 pixels, other budgets
  bench_image.py --between                     every second pixel fitted, those between scored
  bench_image.py --kodak DIR                   the default fit of every picture in a folder, 30 s
  bench_image.py --kodak DIR --methods fast fast-adam --seconds 5 15    … what was tried
  bench_image.py --between --kodak DIR --crop 512       … of that picture and those of a folder
  bench_image.py --large 100                   100 megapixels, made here: memory, time and PSNR

Methods are coordnet's presets, other settings of its fits (--help lists them), and

  same-fourier    coordnet's fit of plain-fourier's features and network
  plain-fourier   fourier-feature-networks: Gaussian features (σ = 10, 256 frequencies), 4 × 256
                  ReLU, sigmoid, Adam 1e-3, full batch
  plain-siren     SIREN: 5 linear layers, 256 wide, ω₀ = 30, Adam 1e-4, full batch
  plain-hashgrid  Instant-NGP: a hash grid of coordnet's sizes by gathers, 2 × 64, Adam 1e-2

PSNR has peak 1, is clamped and taken over the whole picture. The clock stands still meanwhile, and
starts after the picture is read, the start values are drawn, and a few steps of another fit have
loaded what is loaded at its first use. coordnet's learning rate is tied to the budget: it has one
fit for each budget, and the longest is scored on the way. The plain recipes have a constant one:
one run, scored at each budget and on the way. Seconds to X dB are those of the first score of X dB
or more in any run of a method; scores are a quarter of the time apart. The plain recipes run first,
before coordnet sets anything in the process.

--between follows fourier-feature-networks: pixels [::2, ::2] fitted, [1::2, 1::2] scored. Beside
them stands bicubic interpolation of the fitted pixels; beyond the last one it repeats the edge.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from _albums import album, between, describe
from _common import Parser, claim, print_table, run, write_json
from _fits import TARGETS, Outcome, fit_all, methods, plain_json, ratios, seconds_to
from _large import large
from _measure import add_machine, chosen_device, machine, machine_line
from _pictures import load_picture, score_all
from _recipes import RECIPES
from _variants import VARIANTS

import coordnet as cn
from coordnet.plotting import COLORS, new_figure, save_figure, tidy

NAME = "bench_image"
DATA = Path(__file__).resolve().parent.parent / "data" / "astronaut.png"


def show(outcomes: Sequence[Outcome], budgets: Sequence[float]) -> None:
    """Print PSNR at the budgets and seconds to the targets."""
    head = ["method", "parameters", *(f"dB at {b:g} s" for b in budgets)]
    head += [f"s to {t:g} dB" for t in TARGETS]
    lines = []
    for each in outcomes:
        reached = [seconds_to(each.runs, target) for target in TARGETS]
        lines.append([
            each.method, f"{each.parameters:,}", *(f"{one.psnr:.2f}" for one in each.runs),
            *("—" if t is None else f"{t:.2f}" for t in reached),
        ])  # fmt: skip
    print_table(head, lines)


def show_ratios(rows: Sequence[Mapping[str, Any]]) -> None:
    """Print the ratios, a line for each pair of methods."""
    if not rows:
        return
    pairs = list(dict.fromkeys((row["method"], row["plain"]) for row in rows))
    signs = {"equal": "", "at most": "≤ ", "at least": "≥ "}
    found = {
        (row["method"], row["plain"], row["target"]): f"{signs[row['bound']]}{row['ratio']:.3g}"
        for row in rows
    }
    print("\nseconds to X dB, coordnet's over the plain recipe's (below 1: coordnet is quicker)")
    print_table(
        ["pair", *(f"{t:g} dB" for t in TARGETS)],
        [[f"{a} / {b}", *(found.get((a, b, t), "—") for t in TARGETS)] for a, b in pairs],
    )


def draw(path: Path, outcomes: Sequence[Outcome], title: str) -> None:
    """Draw PSNR over time; a method's runs share a color, and an end has a dot."""
    figure = new_figure(8.5, 5.5, title)
    axes = figure.subplots()
    for i, each in enumerate(outcomes):
        color, style = COLORS[i % len(COLORS)], "--" if each.plain else "-"
        shown = each.runs[-1:] if each.plain else each.runs
        for j, one in enumerate(shown):
            # a recipe's first score is of the untrained model, at next to no time
            points = one.curve[1:] if each.plain and len(one.curve) > 1 else one.curve
            t, psnr = (list(column) for column in zip(*points, strict=True))
            label = each.method if j == 0 else None
            axes.plot(t, psnr, style, color=color, linewidth=1.3, label=label)
            axes.plot(t[-1:], psnr[-1:], "o", color=color, markersize=5)
    axes.set_xscale("log")
    axes.legend(fontsize=8.5)
    tidy(axes, x="seconds of training", y="PSNR (dB)")
    save_figure(figure, path)


def over_time(options: argparse.Namespace, device: torch.device, folder: Path) -> dict[str, Any]:
    """Fit one picture with every method."""
    picture = load_picture(options.image, options.size, folder, crop=options.crop)
    outcomes = fit_all(
        options.methods, picture, score_all(picture, device), device, options.seconds,
        options.seed, options.quick,
    )  # fmt: skip
    height, width = picture.values.shape[:2]
    print(f"\n{picture.name}: {width} × {height}")
    show(outcomes, options.seconds)
    compared = ratios(outcomes)
    show_ratios(compared)
    draw(options.figure, outcomes, f"{picture.name}, {width} × {height}, on {device.type}")
    return {"picture": describe(picture), "methods": plain_json(outcomes), "ratios": compared}


def bench(options: argparse.Namespace) -> None:
    """Measure what was asked for and write what came out."""
    device = chosen_device(options)
    if options.large is not None:
        name, task, budgets = f"{NAME}_large", large, [20.0]
    elif options.between:
        name, task, budgets = f"{NAME}_between", between, [8.0]
    elif options.kodak is not None:
        name, task, budgets = f"{NAME}_kodak", album, [30.0]
    else:
        name, task, budgets = NAME, over_time, [5.0, 15.0, 60.0]
    quick = [0.3] if len(budgets) == 1 else [0.3, 0.6]
    options.seconds = sorted(set(options.seconds or (quick if options.quick else budgets)))
    for seconds in options.seconds:
        if not 0 < seconds < float("inf"):
            raise cn.InputError("seconds must be above 0", f"{seconds:g}", "Pass 5 15 60, say.")
    if options.quick and options.size is None:
        options.size = 24
    default = {album: ("fast",), between: ("fast", "quality")}.get(task, methods())
    options.methods = list(dict.fromkeys(options.methods or default))
    names = [f"{name}.json", *([f"{name}.png"] if task is over_time else [])]
    paths = claim(options.out, names, options.overwrite)
    options.figure = paths[-1]
    about = machine(device)
    print(machine_line(about))
    with tempfile.TemporaryDirectory() as folder:
        found = task(options, device, Path(folder))
    clock = "stands still while a model is scored; starts with training"
    settings = {"seconds": options.seconds, "seed": options.seed, "quick": options.quick}
    write_json(paths[0], {"machine": about, "clock": clock, "settings": settings, **found})
    print(f"written: {', '.join(map(str, paths))}")


def main() -> None:
    """Read the command line."""
    parser = Parser(NAME, __doc__)
    known = (*VARIANTS, *RECIPES)
    about = ", ".join([*(f"{name} ({each.about})" for name, each in VARIANTS.items()), *RECIPES])
    add = parser.add_argument
    add("--image", type=Path, default=DATA, help="default: data/astronaut.png")
    add("--size", type=int, metavar="N", help="average the longer side to N pixels")
    add("--crop", type=int, metavar="N", help="take the N × N pixels in the middle")
    add(
        "--seconds",
        type=float,
        nargs="+",
        help="budgets; default: 5 15 60, with --kodak 30, with --between 8, with --large 20",
    )
    add(
        "--methods",
        nargs="+",
        choices=known,
        metavar="NAME",
        help=f"of {about}; default: {', '.join(methods())}, with --kodak fast, with --between "
        "fast quality",
    )
    add("--between", action="store_true", help="score pixels between the fitted ones")
    add("--kodak", type=Path, metavar="DIR", help="fit all pictures of a folder")
    add("--large", type=float, metavar="MEGAPIXELS", help="fit a picture of this size, made here")
    add("--seed", type=int, default=0, help="default: %(default)s")
    add("--quick", action="store_true", help="tiny sizes, to see that everything runs")
    add_machine(parser)
    parser.add_output(f"runs/{NAME}")
    run(parser, bench)


if __name__ == "__main__":
    main()
