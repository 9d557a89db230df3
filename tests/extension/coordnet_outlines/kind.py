"""Outlines: closed curves in the plane, over the way around."""

from dataclasses import dataclass

from coordnet.kinds import EncodingOptions, Kind, RenderOptions, option


@dataclass(frozen=True)
class OutlineOptions(EncodingOptions):
    """The options of a fit of an outline."""

    reverse: bool = option(False, "go around the other way", read=None, group="outlines")


@dataclass(frozen=True)
class OutlineRender(RenderOptions):
    """The options of a rendering of an outline."""

    corners: int | None = option(None, "outlines: number of corners", read=int)


KIND = Kind(
    name="outline",
    noun="an outline",
    nouns="outlines",
    files="an outline (.outline)",
    suffixes=(".outline",),
    task="task:OutlineTask",
    options=OutlineOptions,
    render=OutlineRender,
    outputs=("reconstruction.outline",),
    package="coordnet_outlines",
)
