"""Fit two periodic series three ways and look beyond the data.

The series: a square wave of period 1, and some days of hourly temperatures of period 24. The
models are one and the same network on different features:

  harmonic    sin and cos of 2πjx / period for j = 1 … k: repeats by construction
  ReLU, raw x the coordinate itself: goes on as a straight line
  tanh, raw x the same with another activation: levels off

All are fitted to the same periods and then continued over three further ones, which they have not
seen. Raw coordinates are normalized to [0, 1] on the fitted range by the field. Printed are the
RMSE on the fitted samples and on the three further periods, and the largest |f(x + P) - f(x)| over
the samples' positions x, shifted from the fitted range into the further periods by P = 1, 2, …
periods; it is 0 to the last bit where the positions x + P are exact numbers, as they are here.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from _common import Parser, claim, print_table, run, write_json
from torch import Tensor

import coordnet as cn
from coordnet.plotting import COLORS, new_figure, save_figure, tidy
from coordnet.series import evaluate

NAME = "periodic_regression"
FURTHER = 3
DATA = Path(__file__).resolve().parent.parent / "data" / "temperatures.csv"
MODELS = ("harmonic", "ReLU, raw x", "tanh, raw x")


@dataclass(frozen=True)
class Series:
    """Samples of some periods, and of the three after them.

    Attributes:
        name: for titles.
        x_name: the coordinate with its unit.
        y_name: the value with its unit.
        x: ``(N,)`` float64 positions, in order.
        y: ``(N,)`` values.
        fitted: number of samples that are fitted; the others lie in the further periods.
        period: in the unit of x.
    """

    name: str
    x_name: str
    y_name: str
    x: np.ndarray
    y: np.ndarray
    fitted: int
    period: float


@dataclass(frozen=True)
class Row:
    """One line of the table: what a model makes of a series."""

    series: str
    model: str
    parameters: int
    rmse_inside: float
    rmse_beyond: float
    largest_change: float
    repeats_exactly: bool


def square_wave(periods: int, samples: int) -> Series:
    """Return a square wave of period 1 with ``samples`` points a period, none on a jump."""
    x = (np.arange((periods + FURTHER) * samples) + 0.5) / samples
    y = np.where(np.mod(x, 1.0) < 0.5, 1.0, -1.0)
    return Series("square wave", "x (periods)", "y", x, y, periods * samples, 1.0)


def temperatures(path: Path, start: int, days: int) -> Series:
    """Return hourly temperatures of some days and of the three days after them."""
    read = cn.series.read_table(path)
    first = 24 * start
    chosen = (read.x >= first) & (read.x < first + 24 * (days + FURTHER))
    x, y = read.x[chosen] - first, read.y[chosen, 0]
    fitted = int((x < 24 * days).sum())
    if start < 0 or fitted < 2 or fitted == len(x):
        raise cn.InputError(
            "the table must hold the days asked for and three more",
            f"--start {start} and --days {days}",
            "Pass a day from 0 to 355.",
        )
    return Series(
        "temperatures",
        f"hours since day {start} of the year",
        "temperature (°F)",
        x,
        y,
        fitted,
        24.0,
    )


def build(model: str, series: Series, options: argparse.Namespace) -> cn.Field:
    """Return the field of a model: one network, on harmonic features or on raw x."""
    if model == "harmonic":
        encoding = cn.FourierFeatures(in_dim=1, k=options.k, period=series.period)
    else:
        encoding = cn.Identity(1)
    network = cn.MLP(
        encoding.out_dim,
        1,
        options.hidden_dim,
        options.layers,
        activation="tanh" if model.startswith("tanh") else "relu",
        seed=options.seed,
    )
    return cn.Field(encoding, network)


def examine(model: str, series: Series, options: argparse.Namespace) -> tuple[Row, cn.Field]:
    """Fit one model to one series and measure how it goes on."""
    field = build(model, series, options)
    count = series.fitted
    x: Tensor = torch.from_numpy(series.x[:count])[:, None]
    y: Tensor = torch.from_numpy(series.y[:count])[:, None]
    settings = cn.FitConfig(steps=options.steps, seed=options.seed, precision="float32")
    result = cn.fit(field, x, y, settings)
    fitted = evaluate(field, series.x)[:, 0]
    periods = math.ceil((series.x[-1] - series.x[0]) / series.period)
    inside = series.x[:count]
    values = evaluate(field, inside)
    changes = [
        np.abs(evaluate(field, inside + m * series.period) - values).max()
        for m in range(1, periods + 1)
    ]
    row = Row(
        series=series.name,
        model=model,
        parameters=result.parameters,
        rmse_inside=cn.rmse(fitted[:count], series.y[:count]),
        rmse_beyond=cn.rmse(fitted[count:], series.y[count:]),
        largest_change=float(max(changes)),
        repeats_exactly=not any(changes),
    )
    return row, field


def regress(options: argparse.Namespace) -> None:
    """Fit all models to both series, print the numbers, and draw the figure."""
    for key in ("periods", "days", "samples"):
        if getattr(options, key) < 1:
            got = f"{getattr(options, key)}"
            raise cn.InputError(f"--{key} must be at least 1", got, "Pass more.")
    json_path, png_path = claim(options.out, [f"{NAME}.json", f"{NAME}.png"], options.overwrite)
    torch.set_num_threads(1)  # networks this small lose time in sharing the work out
    all_series = (
        square_wave(options.periods, options.samples),
        temperatures(options.table, options.start, options.days),
    )
    for series in all_series:
        for model in MODELS:
            build(model, series, options)  # refuses what cannot be built before any fit
    rows: list[Row] = []
    figure = new_figure(12.0, 7.6, "The same network on three kinds of features, beyond its data")
    for axes, series in zip(figure.subplots(2, 1), all_series, strict=True):
        count, period = series.fitted, series.period
        title = f"{series.name}, period {period:g}, {count} samples fitted"
        start = math.floor(series.x[0] / period) * period
        edge = start + math.ceil((series.x[count - 1] - start) / period) * period
        end = edge + FURTHER * period
        fine = np.linspace(start, end, 2401)
        axes.axvspan(start, edge, color="#eef3f8", zorder=0)
        axes.plot(series.x[:count], series.y[:count], "o", color="#333333", markersize=3, zorder=3,
                  label="fitted samples")  # fmt: skip
        axes.plot(series.x[count:], series.y[count:], "o", color="#333333", markersize=3, zorder=3,
                  markerfacecolor="white", markeredgewidth=0.6, label="not seen")  # fmt: skip
        for number in (2, 1, 0):
            model = MODELS[number]
            row, field = examine(model, series, options)
            rows.append(row)
            label = f"{model}: RMSE {row.rmse_inside:.2g}, beyond {row.rmse_beyond:.2g}"
            width = 1.8 if number == 0 else 1.3
            color = COLORS[number]
            axes.plot(fine, evaluate(field, fine)[:, 0], color=color, label=label, linewidth=width)
        low, high = float(series.y.min()), float(series.y.max())
        room = high - low or 1.0
        axes.set_ylim(low - 0.45 * room, high + 0.45 * room)
        axes.set_xlim(start, end)
        axes.set_xticks(np.arange(start, end + period / 2, period))
        axes.axvline(edge, color="#777777", linewidth=1.0, linestyle="--")
        axes.text(edge, high + 0.4 * room, "  three further periods →", va="top", fontsize=9)
        tidy(axes, x=series.x_name, y=series.y_name, title=title)
        drawn, labels = axes.get_legend_handles_labels()
        order = [0, 1, 4, 3, 2]  # as in MODELS
        drawn, labels = [drawn[i] for i in order], [labels[i] for i in order]
        axes.legend(
            drawn, labels, loc="center left", bbox_to_anchor=(1.005, 0.5), frameon=False, fontsize=9
        )
    rows.sort(key=lambda row: (row.series != all_series[0].name, MODELS.index(row.model)))
    head = ["series", "model", "parameters", "RMSE inside", "RMSE beyond", "max |f(x+P) - f(x)|"]
    lines = [
        [
            row.series,
            row.model,
            str(row.parameters),
            f"{row.rmse_inside:.3g}",
            f"{row.rmse_beyond:.3g}",
            "0 (every bit)" if row.repeats_exactly else f"{row.largest_change:.3g}",
        ]
        for row in rows
    ]
    print_table(head, lines)
    keys = ("k", "steps", "hidden_dim", "layers", "seed", "periods", "samples", "start", "days")
    settings = {key: getattr(options, key) for key in keys}
    content = {"version": cn.__version__, "settings": settings, "rows": [asdict(r) for r in rows]}
    write_json(json_path, content)
    save_figure(figure, png_path)
    print(f"written: {json_path}, {png_path}")


def main() -> None:
    """Read the command line."""
    parser = Parser(NAME, __doc__)
    add = parser.add_argument
    add("--k", type=int, default=3, help="harmonics; default: %(default)s")
    add("--steps", type=int, default=1500, help="of each fit; default: %(default)s")
    add("--hidden-dim", type=int, default=64, help="default: %(default)s")
    add("--layers", type=int, default=3, help="hidden layers; default: %(default)s")
    add("--seed", type=int, default=0, help="default: %(default)s")
    add("--periods", type=int, default=3, help="of the square wave; default: %(default)s")
    add("--samples", type=int, default=64, help="a period of it; default: %(default)s")
    add("--table", type=Path, default=DATA, help="hourly values; default: data/temperatures.csv")
    add("--start", type=int, default=180, help="first day; default: %(default)s")
    add("--days", type=int, default=5, help="that are fitted; default: %(default)s")
    parser.add_output(f"runs/{NAME}")
    run(parser, regress)


if __name__ == "__main__":
    main()
