"""The arguments of every command, without importing torch."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from .. import __version__
from ..datasets.units import UNITS, parse_quantity
from ..encodings import ENCODINGS
from ..errors import InputError
from ..networks import NETWORKS
from ..tasks.presets import AUDIO_PRESETS, PRESETS, SCENE_PRESETS
from ..training.interval import interval

__all__ = ["fit_parser", "parser"]

_FIT = """\
The input's ending tells its kind: a picture is fitted over the unit square, a table (CSV) over
its first column. The run folder gets the model, the reconstruction, a picture of target | fit |
error, the curve and report.json."""


class _Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        message = " ".join(message.split())
        self.exit(2, f"{self.prog}: error: {message} ({self.prog} --help)\n")


def _whole(least: int) -> Callable[[str], int]:
    """Return what turns an option's text into a whole number of at least ``least``."""

    def convert(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            rule = f"must be a whole number of at least {least}, not {text!r}"
            raise argparse.ArgumentTypeError(rule)
        if number >= 1 << 63:
            raise argparse.ArgumentTypeError(f"must be below 2^63, not {text!r}")
        return number

    return convert


def _positive(text: str) -> float:
    """Return the finite number above 0 that an option's text stands for."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise argparse.ArgumentTypeError(f"must be a finite number above 0, not {text!r}")
    return number


def _ladder_size(text: str) -> int | str:
    """Return "auto", or a whole number above 0."""
    return text if text == "auto" else _whole(1)(text)


def _period(text: str) -> float | str:
    """Return "auto", a plain number, or the text of a number with a unit."""
    if text == "auto":
        return text
    try:
        number, unit = parse_quantity("period", text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return float(number) if unit is None else text


def _size(text: str) -> int | tuple[int, int]:
    """Return the (width, height) of ``WIDTHxHEIGHT``, or one number of positions."""
    try:
        numbers = [_whole(1)(each) for each in text.lower().split("x")]
    except argparse.ArgumentTypeError:
        numbers = []
    if len(numbers) not in (1, 2):
        rule = f"must be WIDTHxHEIGHT in pixels, or a number of positions, not {text!r}"
        raise argparse.ArgumentTypeError(rule)
    return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


def _interval(text: str) -> str:
    """Return the text of an interval between checkpoints."""
    try:
        interval(text)
    except InputError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = _Parser(prog="coordnet", description="Fit coordinate networks to pictures and signals.")
    top.add_argument("--version", action="version", version=f"coordnet {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)
    _add_fit(commands)
    _add_render(commands)
    _add_predict(commands)
    _add_export(commands)
    _add_evaluate(commands)
    _add_info(commands)
    return top


def fit_parser(prog: str) -> argparse.ArgumentParser:
    """Return the parser of a fit alone, for options that come from elsewhere."""
    return _add_fit(_Parser(prog=prog).add_subparsers(parser_class=_Parser))


def _add_fit(commands: argparse._SubParsersAction[_Parser]) -> _Parser:
    # no defaults here: FitOptions has them, and what was typed can be told from what was not
    fit = commands.add_parser(
        "fit",
        help="fit a picture, a sound, a table or a scene",
        description=_FIT,
        argument_default=argparse.SUPPRESS,
    )
    fit.add_argument(
        "input",
        type=Path,
        nargs="?",
        default=None,
        help="a picture (PNG, JPEG, TIFF, …), a sound (WAV, FLAC, …), a table (CSV), or a folder "
        "of posed pictures",
    )
    fit.add_argument("--out", type=Path, help="run folder (default: runs/<name of the input>)")
    fit.add_argument("--overwrite", action="store_true", help="replace an earlier run in --out")
    fit.add_argument(
        "--checkpoint-every",
        type=_interval,
        metavar="INTERVAL",
        help="keep the state of the fit in the run folder every 30s, 5min, 500 (steps), or never "
        "(default: 30s, and at most 2%% of the time)",
    )
    fit.add_argument(
        "--resume",
        type=Path,
        metavar="RUN",
        help="go on from the checkpoint in a run folder, with its input and its options; the "
        "budget may change: --steps and --seconds count from the start of the fit",
    )
    fit.add_argument(
        "--like",
        type=Path,
        metavar="REPORT",
        help="take the options of an earlier run from its report.json; what is typed goes first",
    )

    group = fit.add_argument_group("encoding and network")
    kinds = {"pictures": PRESETS, "sounds": AUDIO_PRESETS, "scenes": SCENE_PRESETS}
    group.add_argument(
        "--preset",
        choices=list({**PRESETS, **AUDIO_PRESETS, **SCENE_PRESETS}),
        help="; ".join(
            f"{kind}: " + "; ".join(f"{name}, {about}" for name, about in presets.items())
            for kind, presets in kinds.items()
        ),
    )
    group.add_argument(
        "--encoding",
        choices=list(ENCODINGS),
        help="default: hashgrid for pictures, harmonic with --period, else gaussian",
    )
    group.add_argument(
        "--k",
        type=_ladder_size,
        help="size of the ladder (pictures: 64 harmonics, 256 gaussian); tables: auto chooses it "
        "by the error on held-out blocks of time",
    )
    group.add_argument("--C", type=_positive, help="constant of the geometric ladder (10000)")
    group.add_argument(
        "--sigma",
        type=_positive,
        help="spread of the Gaussian ladder, in cycles per domain, or per --period (pictures: 30, "
        "tables: 8)",
    )
    group.add_argument(
        "--period",
        type=_period,
        action="append",
        dest="periods",
        metavar="PERIOD",
        help="tables: a period in the unit of the positions, or with one (24h, 365.25d); again "
        "for several; auto finds it",
    )
    group.add_argument(
        "--trend",
        action="store_true",
        help="tables: let the signal drift beside its periods; beyond the data it then goes on "
        "about straight",
    )
    group.add_argument("--tile", action="store_true", help="pictures: repeat in both directions")
    group.add_argument(
        "--wrap", choices=["x", "y"], help="pictures: repeat in one direction (panoramas: x)"
    )
    group.add_argument(
        "--network",
        choices=[*NETWORKS, "linear"],
        help="default: mlp; tables: linear fits the harmonics exactly, by least squares",
    )
    group.add_argument("--hidden-dim", type=_whole(1), help="width of the network")
    group.add_argument("--layers", type=_whole(0), help="hidden layers")

    group = fit.add_argument_group("training")
    group.add_argument(
        "--steps", type=_whole(1), help="budget in steps (default: by preset, 1000 to 2000)"
    )
    group.add_argument("--seconds", type=_positive, help="budget in seconds")
    group.add_argument("--target-psnr", type=_positive, help="stop at this PSNR in dB")
    group.add_argument("--batch-size", type=_whole(1), help="samples a step (4096, or all)")
    group.add_argument("--learning-rate", type=_positive, help="largest learning rate (0.004)")
    group.add_argument("--optimizer", choices=["muon", "adam"], help="default: muon")
    group.add_argument("--seed", type=_whole(0), help="default: 0")
    _add_runtime(group, default=argparse.SUPPRESS)
    group.add_argument(
        "--precision",
        choices=["auto", "float32", "bf16"],
        help="default: bf16 where it is fast, else float32",
    )

    group.add_argument(
        "--compile",
        action="store_true",
        help="compile the step first, half a minute: for long fits on a GPU",
    )

    group = fit.add_argument_group("reading")
    group.add_argument(
        "--page", type=_whole(0), help="page or frame of a file with several, from 0"
    )
    group.add_argument(
        "--downscale", type=_whole(1), help="scenes: make the pictures this many times smaller"
    )
    group.add_argument(
        "--background",
        choices=["white", "black"],
        help="scenes: what lies behind them in what is written and measured (white)",
    )
    group.add_argument(
        "--x",
        help="tables: the column of positions, numbers or ISO 8601 dates (default: the first)",
    )
    group.add_argument(
        "--y",
        action="append",
        help="tables: a column of values; again for several (default: all others)",
    )
    _add_unit(group, "tables: the unit of the positions, or the one to count dates in")
    weights = group.add_mutually_exclusive_group()
    weights.add_argument("--weights", metavar="COLUMN", help="tables: a column of weights")
    weights.add_argument(
        "--error", metavar="COLUMN", help="tables: a column of standard errors e; weights are 1/e²"
    )
    return fit


def _add_unit(where: argparse._ActionsContainer, about: str) -> None:
    where.add_argument("--unit", help=f"{about} ({', '.join(UNITS)})")


def _add_runtime(where: argparse._ActionsContainer, default: str = "auto") -> None:
    where.add_argument(
        "--device", default=default, help="cpu, cuda, cuda:1, mps (default: the fastest there is)"
    )


def _add_render(commands: argparse._SubParsersAction[_Parser]) -> None:
    render = commands.add_parser(
        "render",
        help="render a run at any size or rate",
        description="Write a run's picture at any size, a fitted sound at any rate, a fitted "
        "table as CSV, or views of a scene.",
    )
    render.add_argument("run", type=Path, help="run folder, or its model.safetensors")
    render.add_argument(
        "-o",
        "--output",
        type=Path,
        required=True,
        help="file to write (.png, .jpg, .tif, …; .wav, .flac or .aiff for a sound; .csv for a "
        "table; for a scene also .mp4, .gif, .npy for depths, or a folder)",
    )
    render.add_argument(
        "--size",
        type=_size,
        help="pictures and scenes: WIDTHxHEIGHT; tables: a number of positions (default: as "
        "fitted)",
    )
    render.add_argument(
        "--rate", type=_whole(1), help="sounds: samples a second (default: as fitted)"
    )
    render.add_argument("--overwrite", action="store_true", help="replace an existing file")
    _add_runtime(render)
    _add_views(render)


def _add_views(render: argparse.ArgumentParser) -> None:
    group = render.add_argument_group("scenes")
    group.add_argument(
        "--path",
        choices=["orbit", "spiral", "train"],
        help="the way of the camera: around the scene, to and fro before it, or the training "
        "cameras (default: what suits these)",
    )
    group.add_argument(
        "--frames",
        type=_whole(1),
        help="views along the path (60); with --path train or --camera, on a way between those",
    )
    group.add_argument(
        "--camera",
        type=Path,
        help="a transforms.json, or any other scene, whose cameras are taken",
    )
    group.add_argument("--view", type=_whole(0), help="one view alone, from 0")
    group.add_argument(
        "--depth",
        action="store_true",
        help="distances along the rays, as colours, or as numbers in an .npy file",
    )
    group.add_argument(
        "--background",
        help="white, black, a colour like #8090a0, or none for alpha (default: the run's)",
    )
    group.add_argument("--fps", type=_positive, help="frames a second of a video (30)")


def _add_export(commands: argparse._SubParsersAction[_Parser]) -> None:
    export = commands.add_parser(
        "export",
        help="write a scene's surface as a mesh",
        description="Write the surface of a fitted scene as a mesh with colours (binary PLY), by "
        "marching cubes.",
    )
    export.add_argument("run", type=Path, help="run folder, or its model.safetensors")
    export.add_argument("output", type=Path, help="file to write (.ply)")
    export.add_argument(
        "--resolution",
        type=_whole(1),
        default=256,
        help="cells along the longest side of the scene's box (default: 256)",
    )
    export.add_argument(
        "--level",
        type=_positive,
        help="the density on the surface, per unit of length (default: at which a cell is half "
        "opaque)",
    )
    export.add_argument("--overwrite", action="store_true", help="replace an existing file")
    _add_runtime(export)


def _add_predict(commands: argparse._SubParsersAction[_Parser]) -> None:
    predict = commands.add_parser(
        "predict",
        help="predict a fitted table at given times",
        description="Add the predictions of a fitted table to the rows of a file of times. All "
        "columns and the order of the rows stay; times are dates or numbers, as those fitted.",
    )
    predict.add_argument("run", type=Path, help="run folder, or its model.safetensors")
    predict.add_argument("times", type=Path, help="a table (CSV) with the column of times")
    predict.add_argument(
        "-o", "--output", type=Path, help="CSV file to write (default: -, standard output)"
    )
    predict.add_argument("--x", help="the column of times (default: named as the fitted one)")
    _add_unit(predict, "the unit of times that are numbers, where it is not the run's")
    predict.add_argument("--overwrite", action="store_true", help="replace an existing file")
    _add_runtime(predict)


def _add_evaluate(commands: argparse._SubParsersAction[_Parser]) -> None:
    evaluate = commands.add_parser(
        "evaluate",
        help="measure a run against a file",
        description="Print the error of a run at the samples of a file.",
    )
    evaluate.add_argument("run", type=Path, help="run folder, or its model.safetensors")
    evaluate.add_argument("input", type=Path, help="a file of the kind that was fitted")
    evaluate.add_argument(
        "--page", type=_whole(0), help="page or frame of a file with several, from 0"
    )
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
