"""The arguments of every command, from the options that the kinds declare; without torch."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import NoReturn

from ..kinds import KINDS, Kind
from ..kinds.options import Option, Options, options_of
from ..version import __version__

__all__ = ["fit_flags", "parser"]

_FIT = """\
The input's ending tells its kind: a picture is fitted over the unit square, a table (CSV) over
its first column. The run folder gets the model, the reconstruction, a picture of target | fit |
error, the curve and report.json."""

Commands = argparse._SubParsersAction


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with 2."""
        message = " ".join(message.split())
        self.exit(2, f"{self.prog}: error: {message} ({self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = Parser(prog="coordnet", description="Fit coordinate networks to pictures and signals.")
    top.add_argument("--version", action="version", version=f"coordnet {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    _add_fit(commands)
    _add_render(commands)
    _add_predict(commands)
    _add_export(commands)
    _add_evaluate(commands)
    _add_info(commands)
    return top


def fit_flags() -> dict[str, str]:
    """Return the name of every option of a fit, with its flag."""
    return {
        name: shown[0].flag
        for name, shown in _declared(kind.options for kind in KINDS.values()).items()
    }


def _declared(classes: Iterable[type[Options]]) -> dict[str, list[Option]]:
    """Return the options that some classes declare, by name; several may declare one."""
    declared: dict[str, list[Option]] = {}
    for options in classes:
        for name, shown in options_of(options):
            known = declared.setdefault(name, [])
            if shown not in known:
                known.append(shown)
    return declared


def _add_options(
    command: argparse.ArgumentParser,
    declared: Mapping[str, list[Option]],
    helps: Mapping[str, str] | None = None,
) -> None:
    """Add options to a command, those of a group together; what is not typed is not there."""
    groups: dict[str, argparse._ArgumentGroup] = {}
    for name, several in declared.items():
        shown = several[0]
        where: argparse._ActionsContainer = command
        if shown.group:
            where = groups.setdefault(shown.group, command.add_argument_group(shown.group))
        text = (helps or {}).get(name) or "; ".join(
            dict.fromkeys(s.help for s in several if s.help)
        )
        if shown.read is None:
            where.add_argument(
                shown.flag, dest=name, action="store_true", default=argparse.SUPPRESS, help=text
            )
            continue
        sets = [set(s.choices()) if s.choices else None for s in several]
        order = dict.fromkeys(c for s in several if s.choices for c in s.choices())
        where.add_argument(
            shown.flag,
            dest=name,
            action="append" if shown.several else "store",
            default=argparse.SUPPRESS,
            type=_checked(several),
            choices=None if None in sets else list(order),
            metavar=shown.metavar if shown.metavar or None not in sets else name.upper(),
            help=text,
        )


def _checked(several: list[Option]) -> Callable[[str], str]:
    """Return what lets a text through that one of the options takes, as it is."""

    def check(text: str) -> str:
        messages = []
        for shown in several:
            try:
                assert shown.read is not None
                shown.read(text)
            except ValueError as error:
                messages.append(str(error))
            else:
                return text
        raise argparse.ArgumentTypeError("; or ".join(dict.fromkeys(messages)))

    return check


def _add_fit(commands: Commands[Parser]) -> None:
    fit = commands.add_parser(
        "fit", help="fit a picture, a sound, a table or a scene", description=_FIT
    )
    kinds = list(KINDS.values())
    files = ", ".join(kind.files for kind in kinds[:-1])
    fit.add_argument(
        "input",
        type=Path,
        nargs="?",
        default=None,
        help=f"{files}, or {kinds[-1].files}",
    )
    fit.add_argument(
        "--resume",
        type=Path,
        metavar="RUN",
        default=argparse.SUPPRESS,
        help="go on from the checkpoint in a run folder, with its input and its options; the "
        "budget may change: --steps and --seconds count from the start of the fit",
    )
    fit.add_argument(
        "--like",
        type=Path,
        metavar="REPORT",
        default=argparse.SUPPRESS,
        help="take the options of an earlier run from its report.json; what is typed goes first",
    )
    presets = "; ".join(_presets(kind) for kind in kinds if kind.presets)
    encoding = (
        "default: hashgrid for pictures; tables: harmonics that fall like 1/j with --period "
        "(harmonic: all of one size), else gaussian"
    )
    declared = _declared(kind.options for kind in kinds)
    _add_options(fit, declared, {"preset": presets, "encoding": encoding})


def _presets(kind: Kind) -> str:
    return f"{kind.nouns}: " + "; ".join(f"{name}, {about}" for name, about in kind.presets.items())


def _add_render(commands: Commands[Parser]) -> None:
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
    render.add_argument("--overwrite", action="store_true", help="replace an existing file")
    _add_device(render)
    _add_options(render, _declared(kind.render for kind in KINDS.values()))


def _add_export(commands: Commands[Parser]) -> None:
    export = commands.add_parser(
        "export",
        help="write a scene's surface as a mesh, or a field as an ONNX model",
        description="Write the surface of a fitted scene as a mesh with colors (binary PLY), by "
        "marching cubes; or the fitted field of a picture, a table or a sound as an ONNX model.",
    )
    export.add_argument("run", type=Path, help="run folder, or its model.safetensors")
    export.add_argument("output", type=Path, help="file to write (.ply or .onnx)")
    export.add_argument("--overwrite", action="store_true", help="replace an existing file")
    _add_device(export)
    _add_options(export, _declared(kind.export for kind in KINDS.values()))


def _add_predict(commands: Commands[Parser]) -> None:
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
    predict.add_argument("--unit", help="the unit of times that are numbers (default: the run's)")
    predict.add_argument(
        "--derivative", action="store_true", help="add the slopes too, per unit of time"
    )
    predict.add_argument("--overwrite", action="store_true", help="replace an existing file")
    _add_device(predict)


def _add_evaluate(commands: Commands[Parser]) -> None:
    evaluate = commands.add_parser(
        "evaluate",
        help="measure a run against a file",
        description="Print the error of a run at the samples of a file.",
    )
    evaluate.add_argument("run", type=Path, help="run folder, or its model.safetensors")
    evaluate.add_argument("input", type=Path, help="a file of the kind that was fitted")
    evaluate.add_argument("--json", action="store_true", help="print JSON")
    _add_device(evaluate)
    declared = _declared(kind.options for kind in KINDS.values())
    _add_options(evaluate, {n: s for n, s in declared.items() if s[0].reading})


def _add_info(commands: Commands[Parser]) -> None:
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


def _add_device(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--device", default="auto", help="cpu, cuda, cuda:1, mps (default: the fastest there is)"
    )
