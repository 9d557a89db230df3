"""Recipes for pictures: what an aim costs, in parameters and seconds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import refuse

__all__ = ["AUDIO_PRESETS", "PRESETS", "SCENE_PRESETS", "SCENE_SPACES", "Recipe", "recipe"]

# name → what it is for, as the command line says it
PRESETS = {
    "fast": "the most dB a second: a grid with about a vertex for each pixel",
    "quality": "smooth between the pixels, for enlarging: Gaussian features and a wide network",
    "small": "a few per cent of the parameters: Gaussian features and a narrow network",
}

# … and of sounds, in audio_presets.py
AUDIO_PRESETS = {
    "fast": "the most dB a second: a grid with a vertex for each sample",
    "small": "a quarter of the parameters: a grid with a vertex for every fourth sample",
}

# … and of scenes, in scene_presets.py
SCENE_PRESETS = {
    "fast": "a hash grid, small networks and an occupancy grid",
    "nerf": "the original NeRF: two networks of eight layers, 192 samples a ray",
}

# where what a scene shows may lie, in scene_space.py
SCENE_SPACES = {
    "box": "around what the cameras look at (the default where pictures have alpha)",
    "unbounded": "all of space, what is far drawn together (the default where they have none)",
}

_MOST_VERTICES = 1 << 21
_LARGE = 1 << 23
# seconds in which a CPU of two cores takes some 300 steps with Muon, in bf16 and in float32
_SHORT_BF16, _SHORT = 10.0, 20.0
_BRIEF = 2.0
_NETWORK_CONFIG = {"learning_rate": 6e-3, "warmup_steps": 5}
_GRID_CONFIG = {"learning_rate": 1e-2, "batch_size": 8192, "eps": 1e-15}


@dataclass(frozen=True)
class Recipe:
    """An encoding, the size of the network and the settings of the fit.

    Attributes:
        encoding: a name in ENCODINGS.
        settings: the encoding's settings.
        hidden_dim: width of the network.
        layers: its hidden layers.
        steps: budget where the user sets none.
        config: settings of the fit that differ from `FitConfig`'s.
        note: a sentence for the console, or nothing.
    """

    encoding: str
    settings: dict[str, Any]
    hidden_dim: int = 256
    layers: int = 3
    steps: int = 1500
    config: dict[str, Any] = field(default_factory=dict)
    note: str = ""


def recipe(
    preset: str | None,
    encoding: str | None,
    size: tuple[int, int, int],
    repeats: tuple[bool, bool],
    seconds: float | None = None,
) -> Recipe:
    """Return the recipe of a preset, or the one for an encoding.

    Args:
        preset: a name in PRESETS; None takes "fast" unless an encoding is named.
        encoding: a name in ENCODINGS, or None.
        size: height, width and channels of the picture.
        repeats: whether the picture repeats along x and along y.
        seconds: the budget in seconds, or None.
    """
    if preset is not None and encoding is not None:
        refuse(
            "a preset chooses its encoding",
            f"--preset {preset} and --encoding {encoding}",
            "Pass one of them.",
        )
    if encoding is not None:
        return _of_encoding(encoding, size, repeats, seconds)
    name = preset or "fast"
    if name not in PRESETS:
        known = ", ".join(PRESETS)
        refuse(f"a picture takes --preset {known}", f"--preset {name}", "Choose one of them.")
    found = _of_preset(name, size, repeats, seconds)
    return replace(found, note=f"preset {name}: {PRESETS[name]}. {found.note}".rstrip())


def _of_encoding(
    encoding: str, size: tuple[int, int, int], repeats: tuple[bool, bool], seconds: float | None
) -> Recipe:
    if encoding == "hashgrid":
        return _grid(size, repeats, seconds)
    if encoding == "densegrid":
        return Recipe(encoding, _ladder(encoding, size, repeats), 64, 2, 1000, _GRID_CONFIG)
    return Recipe(encoding, _ladder(encoding, size, repeats), config=_network_config(seconds))


def _of_preset(
    preset: str, size: tuple[int, int, int], repeats: tuple[bool, bool], seconds: float | None
) -> Recipe:
    if preset == "fast":
        return _grid(size, repeats, seconds)
    # a tenth of what the pixels can tell apart: frequencies that fit them and are smooth between
    sigma = round(0.04 * math.sqrt(size[0] * size[1]), 2)
    settings = {**_ladder("gaussian", size, repeats), "sigma": max(1.0, sigma)}
    if preset == "small":
        # narrow matrices make Muon's steps cheap, and bear a high rate
        config = {**_NETWORK_CONFIG, "learning_rate": 2e-2, "batch_size": 2048}
        return Recipe("gaussian", {**settings, "k": 128}, 96, 3, 2500, config)
    return Recipe("gaussian", settings, 256, 4, config=_network_config(seconds))


def _network_config(seconds: float | None) -> dict[str, Any]:
    """Settings for a wide network: Muon pays once there is time for its costlier steps.

    (Measured on the astronaut in float32, Adam against Muon at equal cost: 24.4 and 21.8 dB in
    the time of 87 of Muon's steps, 31.5 and 30.5 dB of 290.)
    """
    from ..training.runtime import choose_device, fast_bf16

    device = choose_device()
    short = _SHORT_BF16 if fast_bf16(device) else _SHORT
    if seconds is not None and seconds <= short and device.type == "cpu":
        return {**_NETWORK_CONFIG, "optimizer": "adam", "batch_size": 1024}
    return {**_NETWORK_CONFIG, "batch_size": 4096}


def _ladder(
    encoding: str, size: tuple[int, int, int], repeats: tuple[bool, bool]
) -> dict[str, Any]:
    """Settings of an encoding for pictures."""
    height, width, _ = size
    # a plain photo must not wrap: what repeats only after two domain lengths cannot
    period = [1.0 if wraps else 2.0 for wraps in repeats]
    known: dict[str, dict[str, Any]] = {
        "gaussian": {"k": 256, "sigma": 30.0, "period": period if any(repeats) else None},
        "harmonic": {"k": 64, "period": period},
        "octave": {"k": max(1, max(height, width).bit_length() - 1), "period": period},
        "lattice": {"k": 12, "period": period},
        "geometric": {"k": 64, "C": 10_000.0, "scale": [float(width), float(height)]},
        "densegrid": {
            "resolution": [max(1, round(0.5 * width)), max(1, round(0.5 * height))],
            "features_per_level": 4,
            "periodic": list(repeats),
        },
    }
    return known.get(encoding, {})


def _grid(size: tuple[int, int, int], repeats: tuple[bool, bool], seconds: float | None) -> Recipe:
    """A grid of four levels, as fine as the picture, with no more numbers than it has."""
    height, width, channels = size
    values = height * width * channels
    large = height * width > _LARGE
    sides = (width, height)
    longest = max(sides)
    settings: dict[str, Any] = {
        "num_levels": 8 if large else 4,
        "features_per_level": 2,
        "log2_hashmap_size": 19 if large else 24,
        "base_resolution": [max(1, min(side, round(32 * side / longest))) for side in sides],
        "periodic": list(repeats),
    }
    network = 64 * (2 * settings["num_levels"] + 64 + channels) + 128 + channels
    fineness = 1.0
    while True:
        settings["max_resolution"] = [
            float(max(base, fineness * side))
            for base, side in zip(settings["base_resolution"], sides, strict=True)
        ]
        if large or fineness < 0.25:
            break
        rows = _rows(settings["base_resolution"], settings["max_resolution"], 4, repeats)
        if 2 * rows + network <= values and rows <= 4 * _MOST_VERTICES:
            break
        fineness *= 0.98
    config = {**_GRID_CONFIG, "batch_size": 65_536 if large else 8192}
    if seconds is not None and seconds <= _BRIEF:
        config["learning_rate"] *= 2
    return Recipe(
        "hashgrid",
        settings,
        hidden_dim=64,
        layers=2,
        steps=2000 if large else 1000,
        config=config,
        note="A grid is for the pixels it was given: to enlarge, take --preset quality.",
    )


def _rows(base: list[int], finest: list[float], levels: int, repeats: tuple[bool, bool]) -> int:
    """Rows of a dense grid, at most; `HashGrid` lays it out."""
    total = 0
    for i in range(levels):
        rows = 1
        for low, high, wraps in zip(base, finest, repeats, strict=True):
            cells = low * (high / low) ** (i / max(1, levels - 1))
            rows *= int(cells + 1) + (0 if wraps else 1)
        total += rows
    return total
