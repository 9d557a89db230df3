"""Compare Fourier regressions and networks on months that they have not seen.

The series: hourly temperatures of a year, with the periods 24 hours and one year. Every month is
held out once: the months 1, 4, 7, 10 in the first fold, 2, 5, 8, 11 in the second, the others in
the third. The models have the same harmonics of both periods:

  statsmodels      OLS on the columns of its Fourier, day and year
  scikit-learn     LinearRegression on the same columns
  coordnet linear  fit_harmonics: the same regression, in closed form
  coordnet network a small network behind the same harmonics
  damped network   the same behind harmonics that fall like 1/j (Damped)

The three regressions must agree to 1e-8 on the held-out months; the script fails where they do
not. They add a daily curve to a yearly one. The network may change the daily curve with the
season, which is what the temperatures do. Where it has many harmonics of the year, all of one
size, it fills a month without data with all of them; damped ones fill it smoothly.

Needs statsmodels and scikit-learn.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from _common import Parser, claim, print_table, run, write_json

import coordnet as cn
from coordnet.plotting import COLORS, new_figure, save_figure, tidy
from coordnet.series import evaluate

NAME = "periodic_series"
DATA = Path(__file__).resolve().parent.parent / "data" / "temperatures.csv"
PERIODS = (24.0, 8760.0)
FOLDS = 3
AGREE = 1e-8
LINEAR, NETWORK, DAMPED = "coordnet linear", "coordnet network", "damped network"

# positions and values to fit, positions to predict → predictions
Model = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        k: harmonics of the day and of the year.
        model: its name.
        held_out: RMSE over all months, each predicted while it was held out.
        fitted: RMSE over the fitted months, averaged over the folds.
        months: held-out RMSE of each month.
        difference: largest difference to coordnet's linear model on held-out months.
        seconds: of all fits.
    """

    k: tuple[int, int]
    model: str
    held_out: float
    fitted: float
    months: list[float]
    difference: float
    seconds: float


def fourier_columns(x: np.ndarray, k: Sequence[int]) -> np.ndarray:
    """Return statsmodels' own columns for both periods, at any hours."""
    import pandas as pd
    from statsmodels.tsa.deterministic import Fourier

    index = pd.RangeIndex(int(x.max()) + 1)
    rows = x.astype(int)
    blocks = [
        Fourier(period, order).in_sample(index).to_numpy()[rows]
        for period, order in zip(PERIODS, k, strict=True)
    ]
    return np.concatenate(blocks, axis=1)


def by_statsmodels(k: Sequence[int]) -> Model:
    """Return ordinary least squares of statsmodels."""
    import statsmodels.api as sm

    def model(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
        fitted = sm.OLS(y, sm.add_constant(fourier_columns(x, k))).fit()
        return fitted.predict(sm.add_constant(fourier_columns(at, k), has_constant="add"))

    return model


def by_scikit_learn(k: Sequence[int]) -> Model:
    """Return linear regression of scikit-learn."""
    from sklearn.linear_model import LinearRegression

    def model(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
        return LinearRegression().fit(fourier_columns(x, k), y).predict(fourier_columns(at, k))

    return model


def by_harmonics(k: Sequence[int]) -> Model:
    """Return coordnet's closed form."""

    def model(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
        return cn.series.fit_harmonics(x, y, PERIODS, k).predict(at)[:, 0]

    return model


def by_network(k: Sequence[int], decay: float, options: argparse.Namespace) -> Model:
    """Return a network behind the harmonics."""

    def model(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
        blocks = [
            cn.FourierFeatures(1, k=order, period=period)
            for period, order in zip(PERIODS, k, strict=True)
        ]
        encoding = cn.Concat([cn.Damped(block, decay) for block in blocks] if decay else blocks)
        network = cn.MLP(encoding.out_dim, 1, 64, 2, seed=options.seed)
        field = cn.Field(encoding, network)
        config = cn.FitConfig(
            steps=options.steps, seed=options.seed, device="cpu", precision="float32",
            evaluate=False,
        )  # fmt: skip
        cn.fit(field, torch.from_numpy(x)[:, None], torch.from_numpy(y)[:, None], config)
        return evaluate(field, at)[:, 0]

    return model


def examine(
    k: tuple[int, int], name: str, model: Model, series: Series, linear: np.ndarray | None
) -> tuple[Row, np.ndarray]:
    """Fit a model in every fold; return its row, and each month as predicted unseen."""
    start = time.perf_counter()
    unseen = np.empty_like(series.y)
    inside = []
    for fold in range(FOLDS):
        out = series.month % FOLDS == fold
        predicted = model(series.x[~out], series.y[~out], series.x)
        unseen[out] = predicted[out]
        inside.append(np.square(predicted - series.y)[~out].mean())
    square = np.square(unseen - series.y)
    months = [float(np.sqrt(square[series.month == m].mean())) for m in range(12)]
    row = Row(
        k=k,
        model=name,
        held_out=cn.rmse(unseen, series.y),
        fitted=float(np.sqrt(np.mean(inside))),
        months=months,
        difference=0.0 if linear is None else float(np.abs(unseen - linear).max()),
        seconds=time.perf_counter() - start,
    )
    return row, unseen


@dataclass(frozen=True)
class Series:
    """Hours, temperatures and the number of the month, from 0 to 11, ``(N,)`` each."""

    x: np.ndarray
    y: np.ndarray
    month: np.ndarray


def read_series(path: Path) -> Series:
    """Read hourly values of one year and cut it into twelve months of equal length."""
    table = cn.series.read_table(path)
    month = np.floor(table.x / (PERIODS[1] / 12)).astype(int)
    if set(month.tolist()) != set(range(12)) or np.any(table.x != np.rint(table.x)):
        got = f"x from {table.x[0]:.10g} to {table.x[-1]:.10g}"
        raise cn.InputError("the table must hold whole hours of one year", got, "See data/.")
    return Series(table.x, table.y[:, 0], month)


def draw(
    path: Path, series: Series, rows: Sequence[Row], unseen: dict[str, np.ndarray], k: object
) -> None:
    """Draw a week of a winter and of a summer month, and the error of each month.

    Args:
        path: the PNG.
        series: the data.
        rows: of the models to draw.
        unseen: their predictions.
        k: the harmonics, for the title.
    """
    title = f"Months that were not fitted; harmonics of the day and of the year: {k}"
    figure = new_figure(12.0, 7.4, title)
    grid = figure.add_gridspec(2, 2)
    for place, (name, first) in enumerate((("January", 10), ("July", 192))):
        axes = figure.add_subplot(grid[0, place])
        week = (series.x >= 24 * first) & (series.x <= 24 * (first + 7))
        days = series.x[week] / 24
        axes.plot(days, series.y[week], "o", color="#333333", markersize=2.6, label="data")
        for i, row in enumerate(rows):
            axes.plot(days, unseen[row.model][week], color=COLORS[i], label=row.model)
        axes.set_xlim(first, first + 7)
        tidy(axes, x=f"day of the year, in {name}", y="temperature (°F)")
        axes.legend(fontsize=8.5, loc="upper right")
        low, high = axes.get_ylim()
        axes.set_ylim(low, high + 0.3 * (high - low))
    axes = figure.add_subplot(grid[1, :])
    width = 0.8 / len(rows)
    for i, row in enumerate(rows):
        at = np.arange(1, 13) + (i - (len(rows) - 1) / 2) * width
        label = f"{row.model}: {row.held_out:.3g} over all months"
        axes.bar(at, row.months, width, color=COLORS[i], label=label)
    axes.set_xticks(range(1, 13))
    axes.set_xlim(0.4, 12.6)
    axes.legend(fontsize=9, loc="upper right", ncols=len(rows))
    axes.set_ylim(0, 1.2 * max(max(row.months) for row in rows))
    tidy(axes, x="month, while it was held out", y="RMSE (°F)")
    save_figure(figure, path)


def compare(options: argparse.Namespace) -> None:
    """Fit all models, print the table, write the JSON and the figure."""
    try:
        import sklearn  # noqa: F401  # pyright: ignore[reportUnusedImport]
        import statsmodels  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise cn.InputError(
            "this comparison needs statsmodels and scikit-learn",
            f"{error.name} missing",
            "Run pip install statsmodels scikit-learn.",
        ) from None
    series = read_series(options.table)
    pairs = [(day, year) for day, year in options.k or [[4, 2], [8, 8]]]
    json_path, png_path = claim(options.out, [f"{NAME}.json", f"{NAME}.png"], options.overwrite)
    torch.set_num_threads(1)  # networks this small lose time in sharing the work out
    rows: list[Row] = []
    predictions: dict[str, np.ndarray] = {}
    for number, k in enumerate(pairs):
        models: dict[str, Model] = {
            LINEAR: by_harmonics(k),
            "statsmodels": by_statsmodels(k),
            "scikit-learn": by_scikit_learn(k),
            NETWORK: by_network(k, 0.0, options),
            DAMPED: by_network(k, 1.0, options),
        }
        linear: np.ndarray | None = None
        for name, model in models.items():
            row, unseen = examine(k, name, model, series, linear)
            linear = unseen if linear is None else linear
            rows.append(row)
            if number == 0:
                predictions[name] = unseen
    lines = [
        [
            f"{row.k[0]}, {row.k[1]}",
            row.model,
            f"{row.held_out:.4f}",
            f"{row.fitted:.4f}",
            f"{max(row.months):.3f}",
            f"{row.difference:.1e}" if row.difference < 1e-3 else f"{row.difference:.2f}",
            f"{row.seconds:.1f}",
        ]
        for row in rows
    ]
    head = ["k", "model", "RMSE held out", "fitted", "worst month", "from linear", "seconds"]
    print_table(head, lines)
    content = {
        "version": cn.__version__,
        "settings": {"steps": options.steps, "seed": options.seed, "k": [list(k) for k in pairs]},
        "rows": [asdict(row) for row in rows],
    }
    write_json(json_path, content)
    drawn = [row for row in rows[:5] if row.model in (LINEAR, NETWORK, DAMPED)]
    draw(png_path, series, drawn, predictions, f"{pairs[0][0]} and {pairs[0][1]}")
    print(f"written: {json_path}, {png_path}")
    others = [row for row in rows if row.model in ("statsmodels", "scikit-learn")]
    worst = max(row.difference for row in others)
    if worst > AGREE:
        raise SystemExit(f"{NAME}: the regressions differ by {worst:.3g}, more than {AGREE:g}")
    print(f"the three regressions agree to {worst:.1e} on the held-out months")


def main() -> None:
    """Read the command line."""
    parser = Parser(NAME, __doc__)
    add = parser.add_argument
    about_k = "harmonics of the day and of the year, several times; default: 4 2 and 8 8"
    add("--k", type=int, nargs=2, action="append", metavar=("DAY", "YEAR"), help=about_k)
    add("--steps", type=int, default=600, help="of each network; default: %(default)s")
    add("--seed", type=int, default=0, help="default: %(default)s")
    add("--table", type=Path, default=DATA, help="hourly values; default: data/temperatures.csv")
    parser.add_output(f"runs/{NAME}")
    run(parser, compare)


if __name__ == "__main__":
    main()
