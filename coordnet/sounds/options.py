"""The options of a sound, without importing torch."""

from __future__ import annotations

from dataclasses import dataclass

from ..kinds.kind import Kind
from ..kinds.options import EncodingOptions, RenderOptions, option
from ..kinds.parsing import whole

__all__ = ["KIND", "PRESETS", "SoundOptions", "SoundRender"]

# name → what it is for, as the command line says it
PRESETS = {
    "fast": "the most dB a second: a grid with a vertex for each sample",
    "small": "a quarter of the parameters: a grid with a vertex for every fourth sample",
}


@dataclass(frozen=True)
class SoundOptions(EncodingOptions):
    """The options of a fit of a sound."""

    preset: str | None = option(
        None, "", choices=lambda: list(PRESETS), group="encoding and network"
    )


@dataclass(frozen=True)
class SoundRender(RenderOptions):
    """The options of a rendering of a sound."""

    rate: int | None = option(None, "sounds: samples a second (default: as fitted)", read=whole(1))


KIND = Kind(
    name="audio",
    noun="a sound",
    nouns="sounds",
    files="a sound (WAV, FLAC, …)",
    suffixes=(
        *(".wav", ".wave", ".flac", ".aif", ".aiff", ".aifc"),
        *(".ogg", ".oga", ".opus"),
    ),
    task="sounds.task:SoundTask",
    presets=PRESETS,
    options=SoundOptions,
    render=SoundRender,
    outputs=("reconstruction.*", "comparison.png"),
)
