"""What the scripts here share: one-line errors, output folders, tables on the console."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import coordnet as cn


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and that shows defaults.

    Args:
        name: the script's name, for messages.
        description: what it does, laid out as it stands.
    """

    def __init__(self, name: str, description: str | None) -> None:
        super().__init__(
            prog=name, description=description, formatter_class=argparse.RawDescriptionHelpFormatter
        )

    def error(self, message: str) -> NoReturn:
        """Print one line and exit with 2."""
        self.exit(2, f"{self.prog}: error: {' '.join(message.split())}\n")

    def add_output(self, folder: str) -> None:
        """Add --out and --overwrite.

        Args:
            folder: the default of --out.
        """
        self.add_argument("--out", type=Path, default=Path(folder), help="default: %(default)s")
        self.add_argument("--overwrite", action="store_true", help="replace results in --out")


def run(parser: Parser, main: Callable[[argparse.Namespace], None]) -> None:
    """Parse the arguments and run ``main``; what a user can mend becomes one line."""
    options = parser.parse_args()
    try:
        main(options)
    except (cn.InputError, cn.NonFiniteLossError, OSError) as error:
        parser.error(str(error))
    except KeyboardInterrupt:
        sys.exit(130)


def claim(folder: Path, names: Sequence[str], overwrite: bool) -> list[Path]:
    """Make ``folder`` and return the paths of its files, none of which may exist yet.

    Args:
        folder: the output folder.
        names: of the files to come.
        overwrite: whether they may exist.

    Raises:
        InputError: one exists, or ``folder`` is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise cn.InputError("--out must be a folder", f"the file {folder}", "Name another.")
    paths = [folder / name for name in names]
    found = [path for path in paths if path.exists()]
    if found and not overwrite:
        raise cn.InputError(
            "results are not replaced unasked", f"{found[0]}", "Pass --overwrite or another --out."
        )
    folder.mkdir(parents=True, exist_ok=True)
    return paths


def finite(value: float | None) -> float | None:
    """Return None for what JSON and CSV cannot hold as a number."""
    return value if value is not None and math.isfinite(value) else None


def write_json(path: Path, content: Any) -> None:
    """Write plain values as JSON; the numbers must be finite."""
    text = json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print right-aligned columns, the first one left-aligned, under their names."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, ["-" * width for width in widths], *rows]:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        print("  ".join(cells).rstrip())
