"""The arguments of every command, without importing torch."""

from __future__ import annotations

import argparse
from pathlib import Path

from ..version import __version__
from .fit_arguments import add_fit
from .options import Parser, add_runtime, add_unit, positive, size, whole

__all__ = ["parser"]


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = Parser(prog="coordnet", description="Fit coordinate networks to pictures and signals.")
    top.add_argument("--version", action="version", version=f"coordnet {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", parser_class=Parser)
    add_fit(commands)
    _add_render(commands)
    _add_predict(commands)
    _add_export(commands)
    _add_evaluate(commands)
    _add_info(commands)
    return top


def _add_render(commands: argparse._SubParsersAction[Parser]) -> None:
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
        type=size,
        help="pictures and scenes: WIDTHxHEIGHT; tables: a number of positions (default: as "
        "fitted)",
    )
    render.add_argument(
        "--rate", type=whole(1), help="sounds: samples a second (default: as fitted)"
    )
    render.add_argument("--overwrite", action="store_true", help="replace an existing file")
    add_runtime(render)
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
        type=whole(1),
        help="views along the path (60); with --path train or --camera, on a way between those",
    )
    group.add_argument(
        "--camera",
        type=Path,
        help="a transforms.json, or any other scene, whose cameras are taken",
    )
    group.add_argument("--view", type=whole(0), help="one view alone, from 0")
    group.add_argument(
        "--depth",
        action="store_true",
        help="distances along the rays, as colors, or as numbers in an .npy file",
    )
    group.add_argument(
        "--background",
        help="white, black, a color like #8090a0, or none for alpha (default: the run's)",
    )
    group.add_argument("--fps", type=positive, help="frames a second of a video (30)")


def _add_export(commands: argparse._SubParsersAction[Parser]) -> None:
    export = commands.add_parser(
        "export",
        help="write a scene's surface as a mesh, or a field as an ONNX model",
        description="Write the surface of a fitted scene as a mesh with colors (binary PLY), by "
        "marching cubes; or the fitted field of a picture, a table or a sound as an ONNX model.",
    )
    export.add_argument("run", type=Path, help="run folder, or its model.safetensors")
    export.add_argument("output", type=Path, help="file to write (.ply or .onnx)")
    export.add_argument(
        "--resolution",
        type=whole(1),
        help="cells along the longest side of the scene's box (default: 256)",
    )
    export.add_argument(
        "--level",
        type=positive,
        help="the density on the surface, per unit of length (default: at which a cell is half "
        "opaque)",
    )
    export.add_argument("--overwrite", action="store_true", help="replace an existing file")
    add_runtime(export)


def _add_predict(commands: argparse._SubParsersAction[Parser]) -> None:
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
    add_unit(predict, "the unit of times that are numbers, where it is not the run's")
    predict.add_argument(
        "--derivative", action="store_true", help="add the slopes too, per unit of time"
    )
    predict.add_argument("--overwrite", action="store_true", help="replace an existing file")
    add_runtime(predict)


def _add_evaluate(commands: argparse._SubParsersAction[Parser]) -> None:
    evaluate = commands.add_parser(
        "evaluate",
        help="measure a run against a file",
        description="Print the error of a run at the samples of a file.",
    )
    evaluate.add_argument("run", type=Path, help="run folder, or its model.safetensors")
    evaluate.add_argument("input", type=Path, help="a file of the kind that was fitted")
    evaluate.add_argument(
        "--page", type=whole(0), help="page or frame of a file with several, from 0"
    )
    add_unit(evaluate, "tables: the unit of positions that are numbers, where it is not the run's")
    evaluate.add_argument("--json", action="store_true", help="print JSON")
    add_runtime(evaluate)


def _add_info(commands: argparse._SubParsersAction[Parser]) -> None:
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
