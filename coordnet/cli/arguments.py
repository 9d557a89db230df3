"""The arguments of every command, without importing torch."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NoReturn

from .. import __version__
from ..encodings import ENCODINGS
from ..networks import NETWORKS

__all__ = ["parser"]

_FIT = """\
The input's ending tells its kind: a picture is fitted over the unit square, a table (CSV) over
its first column. The run folder gets the model, the reconstruction, a picture of target | fit |
error, the curve and report.json."""


class _Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message} ({self.prog} --help)\n")


def _size(text: str) -> tuple[int, int]:
    width, _, height = text.lower().partition("x")
    try:
        size = int(width), int(height or 1)
    except ValueError:
        size = (0, 0)
    if min(size) < 1:
        raise argparse.ArgumentTypeError(f"a size is WIDTHxHEIGHT in pixels, not {text!r}")
    return size


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = _Parser(prog="coordnet", description="Fit coordinate networks to pictures and signals.")
    top.add_argument("--version", action="version", version=f"coordnet {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    _add_fit(commands)
    _add_render(commands)
    _add_evaluate(commands)
    _add_info(commands)
    return top


def _add_fit(commands: argparse._SubParsersAction[_Parser]) -> None:
    fit = commands.add_parser("fit", help="fit a picture or a table", description=_FIT)
    fit.add_argument("input", type=Path, help="a picture (PNG, JPEG, TIFF, …) or a table (CSV)")
    fit.add_argument("--out", type=Path, help="run folder (default: runs/<name of the input>)")
    fit.add_argument("--overwrite", action="store_true", help="replace an earlier run in --out")

    group = fit.add_argument_group("encoding and network")
    group.add_argument(
        "--encoding", choices=list(ENCODINGS), help="default: gaussian, or harmonic with --period"
    )
    group.add_argument("--k", type=int, help="size of the ladder")
    group.add_argument("--C", type=float, help="constant of the geometric ladder (10000)")
    group.add_argument(
        "--sigma",
        type=float,
        help="spread of the Gaussian ladder, in cycles per domain (pictures: 30)",
    )
    group.add_argument(
        "--period",
        type=float,
        action="append",
        default=[],
        dest="periods",
        help="tables: a period in the unit of the first column; again for several",
    )
    group.add_argument("--tile", action="store_true", help="pictures: repeat in both directions")
    group.add_argument(
        "--wrap", choices=["x", "y"], help="pictures: repeat in one direction (panoramas: x)"
    )
    group.add_argument("--network", choices=list(NETWORKS), default="mlp", help="default: mlp")
    group.add_argument(
        "--hidden-dim", type=int, help="width of the network (pictures 256, tables 64)"
    )
    group.add_argument("--layers", type=int, help="hidden layers (pictures 3, tables 2)")

    group = fit.add_argument_group("training")
    group.add_argument("--steps", type=int, help="budget in steps (pictures 1500, tables 2000)")
    group.add_argument("--seconds", type=float, help="budget in seconds")
    group.add_argument("--target-psnr", type=float, help="stop at this PSNR in dB")
    group.add_argument("--batch-size", type=int, help="samples a step (4096, or all)")
    group.add_argument("--learning-rate", type=float, help="largest learning rate (0.004)")
    group.add_argument("--optimizer", choices=["muon", "adam"], help="default: muon")
    group.add_argument("--seed", type=int, default=0, help="default: 0")
    _add_runtime(group)
    group.add_argument(
        "--precision",
        choices=["auto", "float32", "bf16"],
        default="auto",
        help="default: bf16 where it is fast, else float32",
    )

    group = fit.add_argument_group("reading")
    group.add_argument("--page", type=int, help="page or frame of a file with several, from 0")
    group.add_argument("--x", help="tables: the column of positions (default: the first)")
    group.add_argument(
        "--y",
        action="append",
        default=[],
        help="tables: a column of values; again for several (default: all others)",
    )


def _add_runtime(where: argparse._ActionsContainer) -> None:
    where.add_argument(
        "--device", default="auto", help="cpu, cuda, cuda:1, mps (default: the fastest there is)"
    )


def _add_render(commands: argparse._SubParsersAction[_Parser]) -> None:
    render = commands.add_parser(
        "render",
        help="render a run at any size",
        description="Write a run's picture at any size, or a fitted table as CSV.",
    )
    render.add_argument("run", type=Path, help="run folder, or its model.safetensors")
    render.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        help="file to write (.png, .jpg, .tif, …; .csv for a table)",
    )
    render.add_argument(
        "--size",
        type=_size,
        help="WIDTHxHEIGHT in pixels, or a number of positions (default: as fitted)",
    )
    render.add_argument("--overwrite", action="store_true", help="replace an existing file")
    _add_runtime(render)


def _add_evaluate(commands: argparse._SubParsersAction[_Parser]) -> None:
    evaluate = commands.add_parser(
        "evaluate",
        help="measure a run against a file",
        description="Print the error of a run at the samples of a file.",
    )
    evaluate.add_argument("run", type=Path, help="run folder, or its model.safetensors")
    evaluate.add_argument("input", type=Path, help="a file of the kind that was fitted")
    evaluate.add_argument("--page", type=int, help="page or frame of a file with several, from 0")
    evaluate.add_argument("--json", action="store_true", help="print JSON")
    _add_runtime(evaluate)


def _add_info(commands: argparse._SubParsersAction[_Parser]) -> None:
    info = commands.add_parser(
        "info",
        help="what there is: encodings, networks, a run",
        description="Show the encodings, the networks, this machine, or a run.",
    )
    info.add_argument(
        "what",
        nargs="?",
        default="machine",
        help="encodings, networks, machine, or a run folder (default: machine)",
    )
