"""Make data/co2.csv and data/sunspots.csv from the data sets of the package statsmodels.

Both are written as statsmodels holds them: every number with the digits that it has there, every
week in its place, and a week without a mean as an empty cell. Needs `pip install statsmodels`.
"""

from __future__ import annotations

import argparse
import importlib
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from _common import Parser, claim, run

import coordnet as cn

NAME = "make_series"
DATA = Path(__file__).resolve().parent.parent / "data"


def co2_rows(rows: Iterable[tuple[str, float]]) -> list[str]:
    """Return lines ``date,co2``; NaN becomes an empty cell.

    Args:
        rows: ISO dates and parts per million by volume.
    """
    return [f"{date},{'' if math.isnan(value) else repr(value)}" for date, value in rows]


def sunspot_rows(rows: Iterable[tuple[float, float]]) -> list[str]:
    """Return lines ``year,sunspots``."""
    return [f"{int(year)},{value!r}" for year, value in rows]


def write_csv(path: Path, header: str, rows: Sequence[str]) -> None:
    """Write a header and lines, with the same bytes on every system."""
    path.write_text("\n".join([header, *rows]) + "\n", encoding="ascii", newline="\n")
    print(f"{path}: {len(rows)} rows")


def make(options: argparse.Namespace) -> None:
    """Read the two data sets and write them."""
    try:
        datasets: Any = importlib.import_module("statsmodels.datasets")
    except ImportError as error:
        raise cn.InputError(
            "the package statsmodels must be installed", "none", "Run pip install statsmodels."
        ) from error
    paths = claim(options.out, ["co2.csv", "sunspots.csv"], options.overwrite)
    weekly = datasets.co2.load_pandas().data["co2"]
    dates = weekly.index.strftime("%Y-%m-%d")
    write_csv(paths[0], "date,co2", co2_rows(zip(dates, weekly.tolist(), strict=True)))
    yearly = datasets.sunspots.load_pandas().data
    pairs = zip(yearly["YEAR"].tolist(), yearly["SUNACTIVITY"].tolist(), strict=True)
    write_csv(paths[1], "year,sunspots", sunspot_rows(pairs))


def main() -> None:
    """Read the command line."""
    parser = Parser(NAME, __doc__)
    parser.add_argument("--out", type=Path, default=DATA, help="folder; default: data/")
    parser.add_argument("--overwrite", action="store_true", help="replace the files in --out")
    run(parser, make)


if __name__ == "__main__":
    main()
