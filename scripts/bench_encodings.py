"""Time coordnet's encodings beside the formulas as they are usually written.

  bench_encodings.py                 on the default device
  bench_encodings.py --device cpu --threads 1

Ladders: harmonic (k = 64, one axis), octave (10), geometric (64), gaussian (256 vectors, σ = 10)
and lattice (k = 8) in two axes. The plain formula is
torch.stack([sin(x * omega), cos(x * omega)], -1), in float32. Grids: a hash grid of 16 levels of 2
features, tables of 2^15 rows, and a dense grid of 256 cells a side. Plain are the gather formula,
tables[index] * weight in loops over levels and corners, and F.embedding_bag with weights, both
with the backward that PyTorch has for them.

Forward is without gradients. Backward is that of x for ladders and that of the tables for grids.
All ways of one encoding take turns, and the median of --repeats is taken; the ratio is
coordnet's time over the plain one, below 1 where coordnet is quicker. The error is the largest
absolute one of the features, against the plain formula in float64 on the same float32 input. Grids
have tables drawn from U(±1) for it. Memory is the most that a forward holds at a time, its output
included, over the bytes of that output (an upper bound on a CPU: NumPy's peak plus PyTorch's).
"""

from __future__ import annotations

import argparse
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from _common import Parser, claim, print_table, run, write_json
from _measure import add_machine, chosen_device, machine, machine_line, medians, peak_bytes
from _plain import fourier, grid_by_embedding_bag, grid_by_gather, grid_levels
from torch import Tensor

import coordnet as cn
from coordnet.plotting import COLORS, new_figure, save_figure, tidy

NAME = "bench_encodings"
OURS = "coordnet"
Way = Callable[[Tensor], Tensor]


@dataclass
class Case:
    """One encoding, the other ways to compute it, and its input.

    Attributes:
        name: of the encoding.
        settings: its sizes, in words.
        x: coordinates ``(N, d)``, float32.
        domain: the range of x, in words.
        ways: how to compute the features; coordnet's comes first.
        exact: the features in float64.
        trained: the tables of a grid, None for a ladder.
    """

    name: str
    settings: str
    x: Tensor
    domain: str
    ways: dict[str, Way]
    exact: Callable[[], Tensor]
    trained: Tensor | None = None


@dataclass
class Row:
    """What was measured of one way to compute one encoding; ratios are coordnet's over it."""

    encoding: str
    settings: str
    way: str
    points: int
    domain: str
    features: int
    forward_ms: float
    forward_backward_ms: float
    max_error: float
    peak_over_output: float
    ratios: dict[str, float] = field(default_factory=dict)


def ladder(
    name: str, settings: str, encoding: cn.FourierFeatures, points: int, half: float | None
) -> Case:
    """Return a ladder on points in ±half, or in the unit cube where that is None."""
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(points, encoding.in_dim, generator=generator)
    x = x if half is None else (2 * x - 1) * half
    cycles = encoding.cycles.cpu()
    if encoding.period is not None:
        period = encoding.period.cpu()
        cycles = cycles / (period[:, None] if cycles.ndim == 2 else period)
    omega = cycles * math.tau
    narrow = omega.float().to(encoding.cycles.device)
    domain = "unit cube" if half is None else f"±{half:g}"
    return Case(
        name, settings, x, domain,
        {OURS: encoding, "plain": lambda points: fourier(points, narrow)},
        lambda: fourier(x.double(), omega),
    )  # fmt: skip


def grid(
    name: str, settings: str, encoding: Any, points: int, sizes: tuple[int, int, float, int | None]
) -> Case:
    """Return a grid on points in the unit cube; ``sizes`` are those of `grid_levels`."""
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(points, encoding.in_dim, generator=generator)
    tables = encoding.tables
    with torch.no_grad():
        tables.copy_(torch.rand(tables.shape, generator=generator) * 2 - 1)
    levels = grid_levels(encoding.in_dim, *sizes)
    ways: dict[str, Way] = {
        OURS: encoding,
        "gather": lambda points: grid_by_gather(points, tables, levels),
        "embedding_bag": lambda points: grid_by_embedding_bag(points, tables, levels),
    }

    def exact() -> Tensor:
        return grid_by_gather(x.double(), tables.detach().cpu().double(), levels)

    return Case(name, settings, x, "unit cube", ways, exact, tables)


def cases(ladder_points: int, grid_points: int, device: torch.device) -> list[Callable[[], Case]]:
    """Return what builds each case, one at a time, so that memory holds one only."""
    features, n = cn.FourierFeatures, ladder_points
    hashed, dense = (16, 16, 512.0, 15), (1, 256, 256.0, None)
    return [
        lambda: ladder("harmonic", "k=64, 1-D", features(1, 64).to(device), n, 50.0),
        lambda: ladder("octave", "k=10, 2-D", features.octave(2, 10).to(device), n, 50.0),
        lambda: ladder("geometric", "k=64, 2-D", features.geometric(2, 64).to(device), n, 50.0),
        lambda: ladder(
            "gaussian", "k=256, σ=10, 2-D", features.gaussian(2, 256, 10.0, seed=0).to(device),
            n, None,
        ),
        lambda: ladder(
            "lattice", "k=8, 2-D", features.lattice(2, 8, period=1.0).to(device), n, None
        ),
        lambda: grid(
            "hashgrid", "16 × 2, 2^15, 2-D", cn.HashGrid(2, seed=0).to(device), grid_points, hashed
        ),
        lambda: grid(
            "densegrid", "256², 2-D", cn.DenseGrid(2, 256, seed=0).to(device), grid_points, dense
        ),
    ]  # fmt: skip


def measure(case: Case, device: torch.device, repeats: int) -> list[Row]:
    """Return one row for each way of a case."""
    x = case.x.to(device)
    exact = case.exact()
    errors, outputs = {}, {}
    with torch.no_grad():
        for name, way in case.ways.items():
            found = way(x)
            outputs[name] = found.numel() * found.element_size()
            errors[name] = largest_error(found, exact)
            del found
        features = exact.shape[1]
        del exact
        memory = {
            name: peak_bytes(functools.partial(_forward, way, x), device)
            for name, way in case.ways.items()
        }
        forward = medians(
            {name: functools.partial(_forward, way, x) for name, way in case.ways.items()},
            device, repeats,
        )  # fmt: skip
    weights = torch.rand(len(x), features, generator=torch.Generator().manual_seed(1)).to(device)
    leaf = case.trained if case.trained is not None else x.clone().requires_grad_()
    points = x if case.trained is not None else leaf
    both = medians(
        {
            name: functools.partial(_both, way, points, leaf, weights)
            for name, way in case.ways.items()
        },
        device, repeats,
    )  # fmt: skip
    rows = []
    for name in case.ways:
        row = Row(
            case.name, case.settings, name, len(x), case.domain, features, 1e3 * forward[name],
            1e3 * both[name], errors[name], memory[name] / outputs[name],
        )  # fmt: skip
        if name != OURS:
            row.ratios = {
                "forward": forward[OURS] / forward[name],
                "forward_backward": both[OURS] / both[name],
            }
        rows.append(row)
    return rows


def largest_error(found: Tensor, exact: Tensor) -> float:
    """Return the largest absolute difference, in float64, block by block."""
    pairs = zip(found.split(4096), exact.split(4096), strict=True)
    return max(float((a.cpu().double() - b).abs().max()) for a, b in pairs)


def _forward(way: Way, x: Tensor) -> Tensor:
    return way(x)


def _both(way: Way, x: Tensor, leaf: Tensor, weights: Tensor) -> Tensor:
    """Return the gradient of the leaf for given gradients of the features."""
    return torch.autograd.grad(way(x), leaf, weights)[0]


def show(rows: list[Row]) -> None:
    """Print the table."""
    head = ["encoding", "settings", "way", "points", "x in", "forward ms", "ratio"]
    head += ["+ backward ms", "ratio", "max error", "peak / output"]
    lines = []
    for row in rows:
        ratios = [f"{row.ratios[key]:.2f}" if row.ratios else "—"
                  for key in ("forward", "forward_backward")]  # fmt: skip
        lines.append([
            row.encoding, row.settings, row.way, str(row.points), row.domain,
            f"{row.forward_ms:.2f}", ratios[0], f"{row.forward_backward_ms:.2f}", ratios[1],
            f"{row.max_error:.1e}", f"{row.peak_over_output:.2f}",
        ])  # fmt: skip
    print_table(head, lines)
    print("ratio: coordnet's time / this one's; below 1 where coordnet is quicker")


def draw(path: Path, rows: list[Row], about: Mapping[str, Any]) -> None:
    """Draw the ratios and the errors."""
    figure = new_figure(10.5, 5.0, machine_line(about))
    left, right = figure.subplots(1, 2, sharey=True)
    others = [row for row in rows if row.ratios]
    for shift, (key, label) in enumerate(
        (("forward", "forward"), ("forward_backward", "forward + backward"))
    ):
        places = [i + 0.38 * (shift - 0.5) for i in range(len(others))]
        beyond = [row.ratios[key] - 1 for row in others]
        left.barh(places, beyond, left=1.0, height=0.36, color=COLORS[shift], label=label)
    left.axvline(1.0, color="#333333", linewidth=1)
    left.set_xscale("log")
    labels = [f"{row.encoding} / {row.way}" for row in others]
    left.set_yticks(range(len(others)), labels)
    left.invert_yaxis()
    above: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "ncols": 2}
    left.legend(fontsize=8, frameon=False, **above)
    tidy(left, x="coordnet's time / the plain one's", title="time")
    ours = {row.encoding: row.max_error for row in rows if row.way == OURS}
    smallest = 1e-9  # exact features have a place on a log scale too
    for name, errors, color in (
        (OURS, [ours[row.encoding] for row in others], COLORS[0]),
        ("plain", [row.max_error for row in others], COLORS[1]),
    ):
        right.plot([max(e, smallest) for e in errors], range(len(others)), "o", color=color,
                   label=name)  # fmt: skip
    right.set_xscale("log")
    right.legend(fontsize=8, frameon=False, **above)
    tidy(right, x="largest error against float64", title="accuracy")
    save_figure(figure, path)


def bench(options: argparse.Namespace) -> None:
    """Measure every encoding and write what came out."""
    device = chosen_device(options)
    for name in ("points", "grid_points", "repeats"):
        if getattr(options, name) is not None and getattr(options, name) < 1:
            flag = name.replace("_", "-")
            got = f"{getattr(options, name)}"
            raise cn.InputError(f"--{flag} must be at least 1", got, "Pass more.")
    default = (512, 256, 1) if options.quick else (65_536, 16_384, 7)
    points = options.points or default[0]
    grid_points = options.grid_points or default[1]
    repeats = options.repeats or default[2]
    json_path, png_path = claim(options.out, [f"{NAME}.json", f"{NAME}.png"], options.overwrite)
    about = machine(device)
    print(machine_line(about))
    rows = []
    for build in cases(points, grid_points, device):
        rows += measure(build(), device, repeats)
    show(rows)
    content = {"machine": about, "repeats": repeats, "quick": options.quick,
               "rows": [asdict(row) for row in rows]}  # fmt: skip
    write_json(json_path, content)
    draw(png_path, rows, about)
    print(f"written: {json_path}, {png_path}")


def main() -> None:
    """Read the command line."""
    parser = Parser(NAME, __doc__)
    add = parser.add_argument
    add("--points", type=int, help="of the ladders; default: 65536")
    add("--grid-points", type=int, help="of the grids; default: 16384")
    add("--repeats", type=int, help="measured calls of each way; default: 7")
    add("--quick", action="store_true", help="tiny sizes, to see that everything runs")
    add_machine(parser)
    parser.add_output(f"runs/{NAME}")
    run(parser, bench)


if __name__ == "__main__":
    main()
