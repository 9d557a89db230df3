"""The options of a table, without importing torch."""

from __future__ import annotations

from dataclasses import dataclass

from ..kinds.kind import Kind
from ..kinds.options import EncodingOptions, RenderOptions, option
from ..kinds.parsing import number_or_auto, whole
from ..networks import NETWORKS
from .reading.units import UNITS, parse_quantity

__all__ = ["KIND", "SeriesOptions", "SeriesRender"]


def period(text: str) -> float | str:
    """Read "auto", a plain number, or the text of a number with a unit."""
    if text == "auto":
        return text
    number, unit = parse_quantity("period", text)
    return float(number) if unit is None else text


@dataclass(frozen=True)
class SeriesOptions(EncodingOptions):
    """The options of a fit of a table."""

    network: str = option(
        "mlp",
        "tables: linear fits the harmonics exactly, by least squares",
        choices=lambda: [*NETWORKS, "linear"],
        group="encoding and network",
    )
    k: int | str | None = option(
        None,
        "tables: auto chooses it by the error on held-out blocks of time",
        read=number_or_auto,
        group="encoding and network",
    )
    periods: tuple[float | str, ...] = option(
        (),
        "a period in the unit of the positions, or with one (24h, 365.25d); again for several; "
        "auto finds it",
        read=period,
        flag="--period",
        metavar="PERIOD",
        several=True,
        group="tables",
    )
    trend: bool = option(
        False,
        "let the signal drift beside its periods; beyond the data it then goes on about straight",
        read=None,
        group="tables",
    )
    x: str | None = option(
        None,
        "the column of positions, numbers or ISO 8601 dates (default: the first)",
        group="tables",
    )
    y: tuple[str, ...] = option(
        (),
        "a column of values; again for several (default: all others)",
        several=True,
        group="tables",
    )
    unit: str | None = option(
        None,
        f"the unit of the positions, or the one to count dates in ({', '.join(UNITS)})",
        group="tables",
        reading=True,
    )
    weights: str | None = option(None, "a column of weights", metavar="COLUMN", group="tables")
    error: str | None = option(
        None,
        "a column of standard errors e; weights are 1/e²",
        metavar="COLUMN",
        group="tables",
    )


@dataclass(frozen=True)
class SeriesRender(RenderOptions):
    """The options of a rendering of a table."""

    size: int | None = option(
        None, "tables: number of positions (default: as fitted)", read=whole(1)
    )


KIND = Kind(
    name="table",
    noun="a table",
    nouns="tables",
    files="a table (CSV)",
    suffixes=(".csv", ".tsv", ".txt", ".dat"),
    task="series.task:SeriesTask",
    options=SeriesOptions,
    render=SeriesRender,
    outputs=(
        *("reconstruction.*", "comparison.png", "harmonics.csv", "folded.png"),
        *("periodogram.png", "k.png"),
    ),
)
