"""Compare the quality of a fit across k, the number of frequencies, on fitted and held-out points.

  compare_k.py                                      a square wave of two levels, -1 and 1
  compare_k.py data/wave.csv                        a table; one period is the whole file
  compare_k.py data/temperatures.csv --period 24    a table, folded into a day
  compare_k.py data/chelsea.png                     a picture

Signals. A coordinate is the phase u = (x mod period) / period, which runs from 0 to 1, so that all
ladders model the same period: harmonic, octave and lattice repeat with u = 1; gaussian has --sigma
cycles a period; geometric counts positions in samples (scale = fitted samples a period). Of the
square wave every other point of a uniform grid is held out, of a table a random --holdout of its
rows. The peak of the PSNR is the range of the values. Beside the network stands the least-squares
optimum of a linear head on the same features ("linear"), solved in closed form in float64. On the
square wave with harmonics that optimum is the truncated Fourier series, and its error is known
("Fourier").

Pictures. Coordinates are pixel centers in the unit square; harmonic, octave and lattice have a
period of 2, so that a photo does not wrap around; geometric counts pixels; gaussian has --sigma
cycles a picture. Pixels [::2, ::2] are fitted and [1::2, 1::2] are held out, unless --whole.

A k whose highest frequency is above what the fitted points can tell apart is marked with *: a fit
may then be good on them and arbitrary between them.
"""

from __future__ import annotations

import argparse
import csv
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from _common import Parser, claim, finite, print_table, run, write_json
from torch import Tensor
from tqdm.auto import tqdm

import coordnet as cn
from coordnet.encodings import ENCODINGS
from coordnet.plotting import COLORS, new_figure, save_figure, tidy
from coordnet.series import grid_step, nyquist_harmonic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

NAME = "compare_k"
LADDERS = ("harmonic", "octave", "geometric", "gaussian", "lattice")
TABLES = (".csv", ".tsv", ".txt", ".dat")
# enough steps that more frequencies help the fitted points, too few for float32's floor
SQUARE = {"k": [1, 2, 4, 8, 16, 32, 64, 128], "steps": 200, "hidden_dim": 64, "layers": 1}
TABLE = {"k": [1, 2, 4, 8, 16, 32], "steps": 1000, "hidden_dim": 64, "layers": 1}
PICTURE = {"k": [2, 4, 8, 16, 32], "steps": 400, "hidden_dim": 128, "layers": 2}
BATCH = 1024
FINE = np.linspace(0.0, 1.0, 1601)
CEILING = 60.0  # dB, of the figure
EXACT = 1e-12  # of the peak: the rounding of float64 in a least-squares fit


@dataclass(frozen=True)
class Problem:
    """Points to fit and points to score.

    Attributes:
        title: what it is, in a sentence.
        x: ``(N, d)`` coordinates of the fitted points, in the unit cube.
        y: ``(N, C)`` their values.
        held_x: ``(M, d)`` coordinates of the held-out points, or None.
        held_y: ``(M, C)`` their values, or None.
        peak: the peak of the PSNR.
        limit: for each axis the highest frequency in cycles per unit that the fitted points
            tell apart, or None where they lie on no grid.
        scale: positions per unit for the geometric ladder, one per axis.
        period: of the ladders that repeat, in units.
        picture: ``(H, W, C)``, or None for a signal.
        square: number of fitted points of the built-in square wave, or None.
    """

    title: str
    x: Tensor
    y: Tensor
    held_x: Tensor | None
    held_y: Tensor | None
    peak: float
    limit: tuple[float, ...] | None
    scale: tuple[float, ...]
    period: float
    picture: np.ndarray | None = None
    square: int | None = None


@dataclass
class Row:
    """One line of the table. An exact fit has a PSNR of None; so have scores that do not exist."""

    encoding: str
    k: int
    features: int
    highest_frequency: float
    above_nyquist: bool
    parameters: int | None = None
    seconds: float | None = None
    fitted_psnr: float | None = None
    fitted_rmse: float | None = None
    heldout_psnr: float | None = None
    heldout_rmse: float | None = None
    linear_fitted_psnr: float | None = None
    linear_fitted_rmse: float | None = None
    linear_heldout_psnr: float | None = None
    linear_heldout_rmse: float | None = None
    fourier_rmse: float | None = None
    fourier_rmse_continuous: float | None = None


def fourier_rmse(samples: int, k: int) -> float:
    """Return the RMSE of the best trigonometric polynomial of degree k on a sampled square wave.

    Of an even number N of uniform samples, the first half 1 and the second half -1, the discrete
    Fourier transform at an odd j is S_j = 4 / (1 - e^{-2πij/N}) and 0 at an even j. So harmonic
    j < N/2 holds 2 |S_j|² / N² = 8 / (N sin(πj/N))² of the mean square 1, harmonic N/2, where it
    is odd, half of that. From k = N/2 on the polynomial passes through all samples.
    """
    if k >= samples / 2:
        return 0.0
    # what is left out, summed up itself: 1 minus the rest would lose digits
    half = samples // 2
    left = np.arange(k + 1 + k % 2, half, 2)
    missing = math.fsum(8.0 / (samples * np.sin(math.pi * left / samples)) ** 2)
    return math.sqrt(missing + (half % 2) * 4.0 / samples**2)


def fourier_rmse_continuous(k: int) -> float:
    """Return the same for the wave itself, of which harmonic j holds 8 / (πj)²."""
    odd = np.arange(1, k + 1, 2)
    return math.sqrt(1.0 - math.fsum(8.0 / (math.pi * odd) ** 2))


def square_wave(samples: int) -> Problem:
    """Return a square wave: N points fitted, N points half-way between them held out.

    The points keep a quarter of a step away from the jumps.
    """
    if samples < 4 or samples % 2:
        raise cn.InputError(
            "--samples must be an even number of at least 4",
            f"{samples}",
            "The wave has as many samples up as down.",
        )
    u = (torch.arange(2 * samples, dtype=torch.float64) + 0.5) / (2 * samples)
    y = torch.where(u < 0.5, 1.0, -1.0).to(torch.float64)
    return Problem(
        title=f"square wave, {samples} samples fitted and the {samples} between them held out",
        x=u[::2, None],
        y=y[::2, None],
        held_x=u[1::2, None],
        held_y=y[1::2, None],
        peak=2.0,
        limit=(samples / 2 - 1,),
        scale=(float(samples),),
        period=1.0,
        square=samples,
    )


def table(path: Path, period: float | None, holdout: float, seed: int) -> Problem:
    """Return the rows of a table, a random part of them held out."""
    read = cn.series.read_table(path)
    for note in read.notes:
        print(note)
    number = len(read.x)
    held = round(holdout * number)
    if not 0 < held <= number - 2:
        raise cn.InputError(
            "--holdout must leave at least one row held out and two fitted",
            f"{holdout:g} of {number} rows",
            "Pass 0.25, say.",
        )
    span = float(read.x[-1] - read.x[0])
    step = grid_step(read.x)
    if period is None:
        period = span + (step if step is not None else span / (number - 1))
        if period <= 0:
            raise cn.InputError("a period must be known", "one position", "Pass --period.")
    mask = np.zeros(number, dtype=bool)
    mask[np.random.default_rng(seed).permutation(number)[:held]] = True
    # nyquist_harmonic also refuses a period that is not above 0
    limit = nyquist_harmonic(read.x[~mask], period)
    u = torch.from_numpy(np.mod(read.x, period) / period)[:, None]
    y = torch.from_numpy(read.y)
    positions = len(np.unique(u[~torch.from_numpy(mask)].numpy()))
    chosen = torch.from_numpy(mask)
    return Problem(
        title=f"{path.name}, period {period:.6g} ({read.x_name}), {number - held} rows fitted and "
        f"{held} drawn at random held out ({held / number:.0%})",
        x=u[~chosen],
        y=y[~chosen],
        held_x=u[chosen],
        held_y=y[chosen],
        peak=float(read.y.max() - read.y.min()) or 1.0,
        limit=None if limit is None else (float(limit),),
        scale=(float(positions),),
        period=1.0,
    )


def picture(path: Path, size: int, whole: bool) -> Problem:
    """Return the pixels of a picture, averaged over blocks to at most ``size`` a side."""
    read = cn.read_image(path)
    for note in read.notes:
        print(note)
    pixels = read.values()
    if size < 1:
        raise cn.InputError("--size must be at least 1", f"{size}", "Pass 256, say.")
    block = -(-max(pixels.shape[:2]) // size)
    height, width = (max(1, side // block) for side in pixels.shape[:2])
    rows, columns = (min(block, side) for side in pixels.shape[:2])
    cut = pixels[: height * rows, : width * columns].astype(np.float64)
    pixels = cut.reshape(height, rows, width, columns, -1).mean((1, 3)).astype(np.float32)
    if not whole and min(height, width) < 2:
        raise cn.InputError(
            "a picture must have two rows and columns to hold pixels out",
            f"{width} × {height}",
            "Pass --whole.",
        )
    x, y = cn.pixel_centers(height, width), torch.from_numpy(pixels)
    stride = 1 if whole else 2
    fitted, held = (slice(None, None, stride),) * 2, (slice(1, None, stride),) * 2
    rows_fitted, columns_fitted = pixels[fitted].shape[:2]
    what = "all pixels fitted" if whole else "pixels [::2, ::2] fitted, [1::2, 1::2] held out"
    return Problem(
        title=f"{path.name} at {width} × {height}, {what}",
        x=x[fitted].reshape(-1, 2),
        y=y[fitted].reshape(-1, y.shape[2]),
        held_x=None if whole else x[held].reshape(-1, 2),
        held_y=None if whole else y[held].reshape(-1, y.shape[2]),
        peak=1.0,
        limit=(columns_fitted / 2, rows_fitted / 2),
        scale=(float(width), float(height)),
        period=2.0,
        picture=pixels,
    )


def build(name: str, k: int, problem: Problem, options: argparse.Namespace) -> cn.FourierFeatures:
    """Return the ladder ``name`` with ``k`` frequencies for a problem's coordinates."""
    settings = {
        "geometric": {"C": options.C, "scale": problem.scale},
        "gaussian": {"sigma": options.sigma, "seed": options.seed},
    }.get(name, {"period": problem.period})
    return ENCODINGS[name](in_dim=problem.x.shape[1], k=k, **settings)


def field_of(
    encoding: cn.FourierFeatures, problem: Problem, hidden_dim: int, layers: int, seed: int
) -> cn.Field:
    """Return a field on the unit cube."""
    size = encoding.in_dim
    network = cn.MLP(encoding.out_dim, problem.y.shape[1], hidden_dim, layers, seed=seed)
    return cn.Field(encoding, network, domain=([0.0] * size, [1.0] * size))


def score(
    field: cn.Field, x: Tensor | None, y: Tensor | None, peak: float, clamp: bool
) -> tuple[float | None, float | None]:
    """Return PSNR and RMSE at points; None where there are none, or the PSNR is infinite."""
    if x is None or y is None:
        return None, None
    home = field.value_mean.device
    with torch.no_grad():
        found = torch.cat([field(part.to(home)).cpu() for part in x.split(1 << 14)])
    if clamp:
        found = found.clamp(0, peak)
    error = cn.rmse(found, y)
    exact = error <= EXACT * peak
    return None if exact else finite(cn.psnr(found, y, peak=peak)), error


def compare(
    name: str, k: int, problem: Problem, options: argparse.Namespace
) -> tuple[Row, dict[str, np.ndarray]]:
    """Fit one ladder with one k; return its line, and what the fits look like."""
    encoding = build(name, k, problem, options)
    top = (encoding.frequencies.abs().amax(0) / math.tau).tolist()
    if problem.limit is not None:
        above = any(f > most * (1 + 1e-9) for f, most in zip(top, problem.limit, strict=True))
    else:
        above = encoding.out_dim + 1 > len(problem.x.unique(dim=0))
    row = Row(name, k, encoding.out_dim, max(top), above)
    clamp = problem.picture is not None
    fitted, held = (problem.x, problem.y), (problem.held_x, problem.held_y)
    drawn: dict[str, np.ndarray] = {}

    def draw(field: cn.Field) -> np.ndarray:
        home = field.value_mean.device
        if problem.picture is not None:
            shape = problem.picture.shape[:2]
            return np.clip(cn.render_image(field, *shape, device=home), 0.0, 1.0)
        with torch.no_grad():
            return field(torch.from_numpy(FINE)[:, None].to(home)).cpu().numpy()

    if options.steps:
        field = field_of(encoding, problem, options.hidden_dim, options.layers, options.seed)
        precision = "auto" if clamp else "float32"
        settings = cn.FitConfig(
            steps=options.steps,
            batch_size=BATCH,
            seed=options.seed,
            peak=problem.peak,
            clamp=clamp,
            precision=precision,
        )
        result = cn.fit(field, *fitted, settings, progress=False)
        row.parameters, row.seconds = result.parameters, result.seconds
        row.fitted_psnr, row.fitted_rmse = score(field, *fitted, problem.peak, clamp)
        row.heldout_psnr, row.heldout_rmse = score(field, *held, problem.peak, clamp)
        drawn["network"] = draw(field)
    if not clamp:
        field = field_of(encoding, problem, 1, 0, options.seed).double()
        cn.fit_linear(field, *fitted)
        found = score(field, *fitted, problem.peak, clamp)
        row.linear_fitted_psnr, row.linear_fitted_rmse = found
        found = score(field, *held, problem.peak, clamp)
        row.linear_heldout_psnr, row.linear_heldout_rmse = found
        drawn["linear"] = draw(field)
    if problem.square is not None and name in ("harmonic", "lattice"):
        row.fourier_rmse = fourier_rmse(problem.square, k)
        row.fourier_rmse_continuous = fourier_rmse_continuous(k)
    return row, drawn


def show(rows: list[Row], problem: Problem) -> None:
    """Print the table."""

    def decibels(psnr: float | None, rmse: float | None) -> str:
        return "—" if rmse is None else "exact" if psnr is None else f"{psnr:.2f}"

    def plain(value: float | None) -> str:
        return "—" if value is None else f"{value:.3g}"

    head = ["encoding", "k", "features", "parameters", "seconds"]
    head += ["PSNR fitted", "held out", "RMSE fitted", "held out"]
    signal = problem.picture is None
    if signal:
        head += ["linear: PSNR fitted", "held out", "RMSE fitted", "held out"]
    if problem.square is not None:
        head += ["Fourier RMSE"]
    lines = []
    for row in rows:
        line = [row.encoding, f"{row.k}{'*' if row.above_nyquist else ' '}", str(row.features)]
        line += ["—" if row.parameters is None else str(row.parameters), plain(row.seconds)]
        line += [
            decibels(row.fitted_psnr, row.fitted_rmse),
            decibels(row.heldout_psnr, row.heldout_rmse),
            plain(row.fitted_rmse),
            plain(row.heldout_rmse),
        ]
        if signal:
            line += [
                decibels(row.linear_fitted_psnr, row.linear_fitted_rmse),
                decibels(row.linear_heldout_psnr, row.linear_heldout_rmse),
                plain(row.linear_fitted_rmse),
                plain(row.linear_heldout_rmse),
            ]
        if problem.square is not None:
            line += [plain(row.fourier_rmse)]
        lines.append(line)
    print_table(head, lines)
    if any(row.above_nyquist for row in rows):
        print("* " + footnote(problem))


def footnote(problem: Problem) -> str:
    """Say what the mark means."""
    if problem.limit is None:
        return "more features than fitted positions: between them the fit is arbitrary."
    unit = "picture" if problem.picture is not None else "period"
    most = " × ".join(f"{each:.4g}" for each in problem.limit)
    return (
        f"the highest frequency is above {most} cycles a {unit}, the most that the fitted points "
        "can tell apart: between them the fit is arbitrary."
    )


def draw_figure(
    path: Path, problem: Problem, rows: list[Row], drawn: list[dict[str, np.ndarray]]
) -> None:
    """Draw PSNR over k, and what some of the fits look like."""
    names = list(dict.fromkeys(row.encoding for row in rows))
    signal = problem.picture is None
    lines = names[:1] if signal else names
    shown = _spread(sorted({row.k for row in rows}), 4)
    columns = max(2, len(shown) + (0 if signal else 1))
    aspect = 0.75 if signal else problem.scale[1] / problem.scale[0]
    tall = (min(max(aspect, 0.3), 2.0) * 11.0 / columns + 0.3) * len(lines)
    figure = new_figure(11.5, 4.0 + tall, problem.title)
    parts: Any = figure.subfigures(2, 1, height_ratios=[4.0, tall])
    upper, lower = parts
    _draw_curves(upper, problem, rows, names)
    grid = lower.subplots(len(lines), columns, squeeze=False, sharey=signal)
    for axes in grid.ravel():
        axes.set_visible(False)
    found = {(row.encoding, row.k): (row, each) for row, each in zip(rows, drawn, strict=True)}
    for line, name in zip(grid, lines, strict=True):
        panels = list(line)
        if problem.picture is not None:
            _draw_picture(panels.pop(0), problem.picture, "target")
        for axes, k in zip(panels, shown, strict=False):
            row, each = found[name, k]
            caption = f"{name}, k = {k}{'*' if row.above_nyquist else ''}"
            if problem.picture is None:
                _draw_signal(axes, problem, each, caption)
                continue
            decibels = "exact" if row.fitted_psnr is None else f"{row.fitted_psnr:.1f} dB"
            _draw_picture(axes, each["network"], f"{caption}: {decibels}")
    if signal:
        grid[0, 0].legend(fontsize=7.5, loc="lower left")
    save_figure(figure, path)


def _draw_curves(figure: SubFigure, problem: Problem, rows: list[Row], names: list[str]) -> None:
    """Draw PSNR over k on the fitted and on the held-out points."""
    panels = list(figure.subplots(1, 2, sharey=True))
    finest = 0.0
    for axes, part in zip(panels, ("fitted", "heldout"), strict=True):
        for i, name in enumerate(names):
            color = COLORS[i % len(COLORS)]
            network = f"{name}, network" if problem.picture is None else name
            for head, style, label in (("", "-", network), ("linear_", "--", f"{name}, linear")):
                points = [
                    (row.k, math.inf if psnr is None else psnr, row.above_nyquist)
                    for row in rows
                    if row.encoding == name and getattr(row, f"{head}{part}_rmse") is not None
                    for psnr in [getattr(row, f"{head}{part}_psnr")]
                ]
                if not points:
                    continue
                finest = max(finest, *(psnr for _, psnr, _ in points))
                k, height = [k for k, _, _ in points], [min(y, CEILING) for _, y, _ in points]
                axes.plot(k, height, style, color=color, label=label, linewidth=1.4)
                for x, psnr, hollow in points:
                    inside = "white" if hollow else color
                    mark = "^" if psnr > CEILING else "o"
                    look = {"color": color, "markerfacecolor": inside, "markersize": 5}
                    axes.plot([x], [min(psnr, CEILING)], marker=mark, clip_on=False, **look)
        ks = sorted({row.k for row in rows})
        axes.set_xscale("log", base=2)
        axes.set_xticks(ks, [str(k) for k in ks])
        axes.minorticks_off()
    known = {row.k: row.fourier_rmse for row in rows if row.fourier_rmse}
    if known:
        values = [20 * math.log10(problem.peak / error) for error in known.values()]
        panels[0].plot([*known], values, "x", color="black", label="Fourier series", zorder=3)
    if finest > CEILING:
        panels[0].set_ylim(top=CEILING)
    tidy(panels[0], x="k", y="PSNR (dB)", title="fitted points")
    held = "held-out points" if problem.held_x is not None else "no points held out"
    tidy(panels[1], x="k", title=held)
    panels[0].legend(fontsize=8.5, loc="upper left")
    notes = ["hollow: above Nyquist"] if any(row.above_nyquist for row in rows) else []
    notes += [f"triangle: beyond {CEILING:g} dB"] if finest > CEILING else []
    panels[1].set_title(", ".join(notes), fontsize=9, loc="right")


def _draw_signal(axes: Axes, problem: Problem, fits: dict[str, np.ndarray], caption: str) -> None:
    """Draw the samples of one period and the fits to them."""
    axes.set_visible(True)
    x, y = problem.x[:, 0].numpy(), problem.y[:, 0].numpy()
    size = 3.0 if len(x) < 2000 else 1.0
    axes.plot(x, y, ".", color="#999999", markersize=size, label="samples", rasterized=True)
    for which, color in (("linear", COLORS[1]), ("network", COLORS[0])):
        if which in fits:
            axes.plot(FINE, fits[which][:, 0], color=color, linewidth=1, label=which)
    low, high = float(y.min()), float(y.max())
    room = 0.35 * (high - low or 1.0)
    axes.set_ylim(low - room, high + room)
    tidy(axes, x="periods", title=caption)


def _spread(values: list[int], most: int) -> list[int]:
    """Return at most ``most`` of the values, from first to last."""
    places = np.linspace(0, len(values) - 1, min(most, len(values)))
    return [values[round(place)] for place in places.tolist()]


def _draw_picture(axes: Axes, pixels: np.ndarray, caption: str) -> None:
    """Show a picture; transparent pixels over white."""
    if pixels.shape[2] in (2, 4):
        alpha = pixels[..., -1:]
        pixels = pixels[..., :-1] * alpha + (1 - alpha)
    if pixels.shape[2] == 1:
        pixels = np.repeat(pixels, 3, axis=2)
    axes.set_visible(True)
    axes.imshow(pixels, vmin=0, vmax=1)
    axes.set_title(caption, fontsize=9)
    axes.set_xticks([])
    axes.set_yticks([])


def compare_all(options: argparse.Namespace) -> None:
    """Fit every ladder with every k and write what came out."""
    source: Path | None = options.source
    is_picture = source is not None and source.suffix.lower() not in TABLES
    defaults = SQUARE if source is None else PICTURE if is_picture else TABLE
    for key, value in defaults.items():
        if getattr(options, key) is None:
            setattr(options, key, value)
    least = 1 if is_picture else 0
    for key, minimum in (("steps", least), ("threads", 1)):
        if getattr(options, key) < minimum:
            got = f"{getattr(options, key)}"
            raise cn.InputError(f"--{key} must be at least {minimum}", got, "Pass more.")
    names = [f"{NAME}.csv", f"{NAME}.json", f"{NAME}.png"]
    csv_path, json_path, png_path = claim(options.out, names, options.overwrite)
    if source is None:
        problem = square_wave(options.samples)
    elif is_picture:
        problem = picture(source, options.size, options.whole)
    else:
        problem = table(source, options.period, options.holdout, options.seed)
    torch.set_num_threads(options.threads)
    ladders, ks = dict.fromkeys(options.encoding), sorted(set(options.k))
    pairs = [(name, k) for name in ladders for k in ks]
    for name, k in pairs:
        build(name, k, problem, options)  # refuses what cannot be built before any fit
    print(problem.title)
    bar = tqdm(pairs, desc=NAME, unit="fits", disable=None, leave=False)
    results = [compare(name, k, problem, options) for name, k in bar]
    rows, drawn = [row for row, _ in results], [each for _, each in results]
    show(rows, problem)
    keys = ("k", "steps", "hidden_dim", "layers", "seed", "samples", "sigma", "C")
    write_json(
        json_path,
        {
            "problem": problem.title,
            "version": cn.__version__,
            "peak": problem.peak,
            "nyquist": problem.limit,
            "settings": {key: getattr(options, key) for key in keys},
            "rows": [asdict(row) for row in rows],
        },
    )
    with open(csv_path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(asdict(rows[0])), lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)
    draw_figure(png_path, problem, rows, drawn)
    print(f"written: {csv_path}, {json_path}, {png_path}")


def main() -> None:
    """Read the command line."""
    parser = Parser(NAME, __doc__)
    add = parser.add_argument
    add("source", nargs="?", type=Path, help="a table or a picture; default: the square wave")
    add("--encoding", nargs="+", choices=LADDERS, default=["harmonic"], metavar="NAME",
        help=f"one or more of {', '.join(LADDERS)}; default: harmonic")  # fmt: skip
    add("--k", nargs="+", type=int, help="default: 1 2 4 … 128; tables: to 32; pictures: 2 to 32")
    steps = "of a fit, 0: only the linear head; default: 200; tables: 1000; pictures: 400"
    add("--steps", type=int, help=steps)
    add("--hidden-dim", type=int, help="width of the network; default: 64, for pictures 128")
    add("--layers", type=int, help="hidden layers; default: 1, for pictures 2")
    add("--seed", type=int, default=0, help="default: %(default)s")
    add("--samples", type=int, default=256, help="of the square wave; default: %(default)s")
    add("--period", type=float, help="of a table, in the unit of its x; default: the whole file")
    add("--holdout", type=float, default=0.25, help="part of a table's rows; default: %(default)s")
    add("--size", type=int, default=256, help="most pixels a side; default: %(default)s")
    add("--whole", action="store_true", help="fit all pixels of a picture")
    add("--sigma", type=float, default=10.0, help="of gaussian; default: %(default)s")
    add("--threads", type=int, default=1,
        help="small networks lose time in sharing the work out; default: %(default)s")  # fmt: skip
    add("--C", type=float, default=10_000.0, help="of geometric; default: %(default)s")
    parser.add_output(f"runs/{NAME}")
    run(parser, compare_all)


if __name__ == "__main__":
    main()
