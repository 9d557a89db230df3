"""The arguments of `coordnet fit`, without importing torch."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..encodings import ENCODINGS
from ..networks import NETWORKS
from ..tasks.presets import AUDIO_PRESETS, PRESETS, SCENE_PRESETS, SCENE_SPACES
from .options import (
    Parser,
    add_runtime,
    add_unit,
    interval_text,
    ladder_size,
    period,
    positive,
    whole,
)

__all__ = ["add_fit", "fit_parser"]

_FIT = """\
The input's ending tells its kind: a picture is fitted over the unit square, a table (CSV) over
its first column. The run folder gets the model, the reconstruction, a picture of target | fit |
error, the curve and report.json."""


def fit_parser(prog: str) -> argparse.ArgumentParser:
    """Return the parser of a fit alone, for options that come from elsewhere."""
    return add_fit(Parser(prog=prog).add_subparsers(parser_class=Parser))


def add_fit(commands: argparse._SubParsersAction[Parser]) -> Parser:
    """Add the command to the others; return its parser."""
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
        type=interval_text,
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
        help="default: hashgrid for pictures; tables: harmonics that fall like 1/j with --period "
        "(harmonic: all of one size), else gaussian",
    )
    group.add_argument(
        "--k",
        type=ladder_size,
        help="size of the ladder (pictures: 64 harmonics, 256 gaussian); tables: auto chooses it "
        "by the error on held-out blocks of time",
    )
    group.add_argument("--C", type=positive, help="constant of the geometric ladder (10000)")
    group.add_argument(
        "--sigma",
        type=positive,
        help="spread of the Gaussian ladder, in cycles per domain, or per --period (pictures: 30, "
        "tables: 8)",
    )
    group.add_argument(
        "--period",
        type=period,
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
    group.add_argument("--hidden-dim", type=whole(1), help="width of the network")
    group.add_argument("--layers", type=whole(0), help="hidden layers")

    group = fit.add_argument_group("training")
    group.add_argument(
        "--steps", type=whole(1), help="budget in steps (default: by preset, 1000 to 2000)"
    )
    group.add_argument("--seconds", type=positive, help="budget in seconds")
    group.add_argument("--target-psnr", type=positive, help="stop at this PSNR in dB")
    group.add_argument("--batch-size", type=whole(1), help="samples a step (4096, or all)")
    group.add_argument("--learning-rate", type=positive, help="largest learning rate (0.004)")
    group.add_argument("--optimizer", choices=["muon", "adam"], help="default: muon")
    group.add_argument(
        "--ema",
        type=positive,
        metavar="DECAY",
        help="end with a running mean of the parameters, of this decay (0.99, say)",
    )
    group.add_argument("--seed", type=whole(0), help="default: 0")
    add_runtime(group, default=argparse.SUPPRESS)
    group.add_argument(
        "--precision",
        choices=["auto", "float32", "bf16"],
        help="default: bf16 where it is fast and the values are many, else float32",
    )

    group.add_argument(
        "--compile",
        action="store_true",
        help="compile the step first, half a minute: for long fits on a GPU",
    )

    group = fit.add_argument_group("reading")
    group.add_argument("--page", type=whole(0), help="page or frame of a file with several, from 0")
    group.add_argument(
        "--downscale", type=whole(1), help="scenes: make the pictures this many times smaller"
    )
    group.add_argument(
        "--background",
        choices=["white", "black"],
        help="scenes: what lies behind them in what is written and measured (white)",
    )
    group.add_argument(
        "--space",
        choices=list(SCENE_SPACES),
        help="scenes: " + "; ".join(f"{name}, {about}" for name, about in SCENE_SPACES.items()),
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
    add_unit(group, "tables: the unit of the positions, or the one to count dates in")
    weights = group.add_mutually_exclusive_group()
    weights.add_argument("--weights", metavar="COLUMN", help="tables: a column of weights")
    weights.add_argument(
        "--error", metavar="COLUMN", help="tables: a column of standard errors e; weights are 1/e²"
    )
    return fit
