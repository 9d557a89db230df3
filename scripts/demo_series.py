"""Three real series that repeat, each with one figure: what coordnet makes of them.

temperatures  a day and a year: their harmonics added up beside a small network on the same
              harmonics, compared on weeks that neither has seen
co2           a yearly cycle on a rising curve, fitted by least squares up to 1995 and
                carried on
sunspots      a period that is found, with its error, its runners-up, and how far it carries
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import _demo_co2
import _demo_sunspots
import _demo_temperatures
from _common import Parser, claim, print_table, run, write_json

import coordnet as cn

NAME = "demo_series"
DATA = Path(__file__).resolve().parent.parent / "data"
SHOWS = {
    "temperatures": _demo_temperatures.show,
    "co2": _demo_co2.show,
    "sunspots": _demo_sunspots.show,
}


def print_numbers(name: str, result: dict[str, Any]) -> None:
    """Print the numbers of one series as a table."""
    print(f"\n{name}")
    rows = result["rows"]
    if isinstance(rows[0], dict):
        head = ["model", "numbers", "RMSE fitted", "RMSE held out"]
        lines = [
            [row["model"], str(row["numbers"]), f"{row['rmse_fitted']:.3f}",
             f"{row['rmse_held_out']:.3f}"]
            for row in rows
        ]  # fmt: skip
        print_table(head, lines)
    else:
        print_table(["", ""], [list(row) for row in rows])


def demo(options: argparse.Namespace) -> None:
    """Show the series that were asked for."""
    for name in options.series:
        if name not in SHOWS:
            rule = f"a series must be one of {', '.join(SHOWS)}"
            raise cn.InputError(rule, repr(name), "Name one of them, or none for all.")
    if options.steps < 1:
        raise cn.InputError("--steps must be at least 1", str(options.steps), "Pass more.")
    chosen = list(dict.fromkeys(options.series)) or list(SHOWS)
    names = [f"{NAME}.json", *(f"{name}.png" for name in chosen)]
    json_path, *figures = claim(options.out, names, options.overwrite)
    content: dict[str, Any] = {"version": cn.__version__}
    for name, path in zip(chosen, figures, strict=True):
        content[name] = SHOWS[name](DATA / f"{name}.csv", path, options)
        print_numbers(name, content[name])
    write_json(json_path, content)
    print(f"\nwritten: {', '.join(str(path) for path in [json_path, *figures])}")


def main() -> None:
    """Read the command line."""
    parser = Parser(NAME, __doc__)
    add = parser.add_argument
    add("series", nargs="*", help=f"{', '.join(SHOWS)}; default: all three")
    add("--steps", type=int, default=1500, help="of the network; default: %(default)s")
    add("--seed", type=int, default=0, help="of the network; default: %(default)s")
    parser.add_output(f"runs/{NAME}")
    run(parser, demo)


if __name__ == "__main__":
    main()
