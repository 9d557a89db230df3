"""Recipes for sounds: grids over time, which give the most dB for their parameters and seconds."""

from __future__ import annotations

import math
from dataclasses import replace

from ..encodings.signal import SignalShape, settings_for
from ..errors import refuse
from ..files import JsonObject
from ..kinds.recipe import Recipe
from .options import PRESETS

__all__ = ["audio_recipe"]

_SAMPLES_PER_VERTEX = {"fast": 1, "small": 4}
# every sample is seen 37 times in 1000 steps, up to the largest batch
_STEPS, _EPOCHS = 1000, 37
_LEAST_BATCH, _LARGEST_BATCH = 4096, 1 << 17
_NOTES = {
    "fast": "The grid holds as many numbers as the sound; --preset small takes a quarter.",
    "small": "The grid keeps what lies below an eighth of the sample rate.",
}


def audio_recipe(
    preset: str | None, encoding: str | None, frames: int, channels: int, rate: float
) -> Recipe:
    """Return the recipe of a preset, or the one for an encoding.

    The grids are linear: one feature for each channel at every vertex, mixed by one linear layer.
    With as many cells as samples and the domain of `coordnet.training.AudioSamples` the vertices
    lie on the samples.

    Args:
        preset: a name in PRESETS; None takes "fast" unless an encoding is named.
        encoding: a name in ENCODINGS, or None.
        frames: samples of each channel.
        channels: number of channels.
        rate: samples a second.

    Raises:
        InputError: another preset, or a preset and an encoding.
    """
    if preset is not None and encoding is not None:
        refuse(
            "a preset chooses its encoding",
            f"--preset {preset} and --encoding {encoding}",
            "Pass one of them.",
        )
    if preset is not None and preset not in PRESETS:
        remedy = "Leave it away, or choose one of them."
        refuse(f"a sound's presets are {', '.join(PRESETS)}", f"--preset {preset}", remedy)
    if encoding not in (None, "densegrid", "hashgrid"):
        config: JsonObject = {"learning_rate": 6e-3, "batch_size": 4096, "warmup_steps": 5}
        ladder = _ladder(encoding, frames, rate)
        return Recipe(encoding, ladder, steps=2000, config=config)
    if encoding == "hashgrid":
        found = _grid(frames)
        settings = {
            "num_levels": 4,
            "features_per_level": 2,
            "log2_hashmap_size": 24,
            "base_resolution": max(1, frames // 64),
            "max_resolution": float(max(1, frames // 4)),
        }
        config = {**found.config, "learning_rate": 1e-2, "betas": (0.9, 0.99)}
        return replace(found, encoding=encoding, settings=settings, layers=2, config=config)
    name = preset or "fast"
    found = _grid(frames)
    cells = frames + 1 if name == "fast" else max(1, frames // _SAMPLES_PER_VERTEX[name])
    settings = {"resolution": cells, "features": channels}
    found = replace(found, settings=settings)
    if encoding is None:
        note = f"preset {name}: {PRESETS[name]}. {_NOTES[name]}"
        found = replace(found, note=note)
    return found


def _grid(frames: int) -> Recipe:
    """Settings of the fit of a grid."""
    batch = max(_LEAST_BATCH, min(_LARGEST_BATCH, math.ceil(frames * _EPOCHS / _STEPS)))
    return Recipe(
        "densegrid",
        {},
        hidden_dim=64,
        layers=0,
        steps=max(_STEPS, math.ceil(frames * _EPOCHS / batch)),
        config={
            "learning_rate": 0.1,
            "batch_size": batch,
            # a vertex is met once in 27 steps: momentum would carry it on in between
            "betas": (0.5, 0.99),
            "eps": 1e-15,
            "warmup_steps": 5,
            "optimizer": "adam",
        },
    )


def _ladder(encoding: str, frames: int, rate: float) -> JsonObject:
    """Settings of an encoding for sounds, over time in seconds."""
    sound = SignalShape(
        (frames,),
        (frames / rate,),
        (float(rate),),
        (None,),
        harmonics=256,
        bandwidth=float(frames),
        # the spread that fitted best, of music and speech: about 600 Hz at 44.1 kHz
        spread=max(1.0, round(frames / 75, 2)),
        regular=True,
    )
    return settings_for(encoding, sound)
