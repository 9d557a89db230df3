"""Recipes for pictures: what an aim costs, in parameters and seconds."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from ..encodings.signal import SignalShape, settings_for
from ..errors import refuse
from ..files import JsonObject
from ..kinds.recipe import Recipe
from .options import PRESETS

__all__ = ["recipe"]

# pixels above which a grid has no vertex for each
_LARGE = 1 << 23
# a picture of fewer numbers may have a grid and a network of more
_FEW = 3072
# part of a batch that is moved between the pixels. Means of seven pictures, every second pixel
# fitted in 800 steps: 50.5 dB at the pixels and 24.79 between; of a quarter 49.4 and 24.80
_BETWEEN = 0.125
# seconds in which a CPU of two cores takes some 300 steps with Muon, in bf16 and in float32
_SHORT_BF16, _SHORT = 10.0, 20.0
_BRIEF = 2.0
_NETWORK_CONFIG = {"learning_rate": 6e-3, "warmup_steps": 5}
_GRID_CONFIG = {"learning_rate": 1e-2, "batch_size": 8192, "eps": 1e-15}


def recipe(
    preset: str | None,
    encoding: str | None,
    size: tuple[int, int, int],
    repeats: tuple[bool, bool],
    seconds: float | None = None,
    device: str = "auto",
) -> Recipe:
    """Return the recipe of a preset, or the one for an encoding.

    Args:
        preset: a name in PRESETS; None takes "fast" unless an encoding is named.
        encoding: a name in ENCODINGS, or None.
        size: height, width and channels of the picture.
        repeats: whether the picture repeats along x and along y.
        seconds: the budget in seconds, or None.
        device: where the fit runs, as `choose_device` takes it.
    """
    if preset is not None and encoding is not None:
        refuse(
            "a preset chooses its encoding",
            f"--preset {preset} and --encoding {encoding}",
            "Pass one of them.",
        )
    if encoding is not None:
        return _of_encoding(encoding, size, repeats, seconds, device)
    name = preset or "fast"
    if name not in PRESETS:
        known = ", ".join(PRESETS)
        refuse(f"a picture takes --preset {known}", f"--preset {name}", "Choose one of them.")
    found = _of_preset(name, size, repeats, seconds, device)
    return replace(found, note=f"preset {name}: {PRESETS[name]}. {found.note}".rstrip())


def _of_encoding(
    encoding: str,
    size: tuple[int, int, int],
    repeats: tuple[bool, bool],
    seconds: float | None,
    device: str,
) -> Recipe:
    if encoding == "hashgrid":
        return _grid(size, repeats, seconds)
    if encoding == "densegrid":
        settings = {**_ladder(encoding, size, repeats), "features": min(2, size[2])}
        return Recipe(encoding, settings, 64, 2, 1000, _GRID_CONFIG, between=_BETWEEN)
    config = _network_config(seconds, device)
    return Recipe(encoding, _ladder(encoding, size, repeats), config=config)


def _of_preset(
    preset: str,
    size: tuple[int, int, int],
    repeats: tuple[bool, bool],
    seconds: float | None,
    device: str,
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
    return Recipe("gaussian", settings, 256, 4, config=_network_config(seconds, device))


def _network_config(seconds: float | None, name: str) -> JsonObject:
    """Settings for a wide network: Muon pays once there is time for its costlier steps.

    (Measured on the astronaut in float32, Adam against Muon at equal cost: 24.4 and 21.8 dB in
    the time of 87 of Muon's steps, 31.5 and 30.5 dB of 290.)
    """
    from ..training.runtime import choose_device, fast_bf16

    device = choose_device(name)
    short = _SHORT_BF16 if fast_bf16(device) else _SHORT
    if seconds is not None and seconds <= short and device.type == "cpu":
        return {**_NETWORK_CONFIG, "optimizer": "adam", "batch_size": 1024}
    return {**_NETWORK_CONFIG, "batch_size": 4096}


def _ladder(encoding: str, size: tuple[int, int, int], repeats: tuple[bool, bool]) -> JsonObject:
    """Settings of an encoding for pictures over the unit square."""
    height, width, _ = size
    periods = tuple(1.0 if wraps else None for wraps in repeats)
    density = (float(width), float(height))
    picture = SignalShape(
        (width, height),
        (1.0, 1.0),
        density,
        periods,
        harmonics=64,
        spread=30.0,
        regular=True,
    )
    return settings_for(encoding, picture)


def _grid(size: tuple[int, int, int], repeats: tuple[bool, bool], seconds: float | None) -> Recipe:
    """A grid of four levels, its finest vertices on the pixels, with no more numbers than they."""
    height, width, channels = size
    values = height * width * channels
    large = height * width > _LARGE
    hidden_dim = 64 if values < _FEW else min(64, 8 * (values // _FEW))
    if large:
        settings = _levels(size, repeats, max(height, width) / 32)
        settings |= {"num_levels": 8, "log2_hashmap_size": 19}
    else:
        # with one channel or two there is no room for a vertex on each pixel
        coarser = ((8, 0.98**i) for i in itertools.count(1))
        tries = itertools.chain(((8, 1.0), (27, 1.0), (64, 1.0)), coarser)
        settings = next(
            grid
            for grid in (_levels(size, repeats, *each) for each in tries)
            if values < _FEW or _numbers(grid, channels, hidden_dim) <= values
        )
    config = {**_GRID_CONFIG, "batch_size": 65_536 if large else 8192}
    if seconds is not None and seconds <= _BRIEF:
        config["learning_rate"] *= 2
    return Recipe(
        "hashgrid",
        settings,
        hidden_dim=hidden_dim,
        layers=2,
        steps=2000 if large else 1000,
        config=config,
        note="Enlarged, it looks like bicubic interpolation." if not large else "",
        between=_BETWEEN,
    )


def _levels(
    size: tuple[int, int, int],
    repeats: tuple[bool, bool],
    ratio: float = 8,
    fineness: float = 1.0,
) -> JsonObject:
    """Settings of a grid with ``fineness`` cells a pixel, in the coarsest level ``ratio`` fewer.

    The center (i + ½) / n of a pixel lies on a vertex where an axis has n + 1 cells, or n where
    it wraps. Where there is but one pixel, one vertex is enough: that axis wraps, too.
    """
    sides = (size[1], size[0])
    wraps = [each or side == 1 for each, side in zip(repeats, sides, strict=True)]
    ends = [0 if each else 1 for each in wraps]
    cells = [max(1.0, fineness * side) for side in sides]
    return {
        "num_levels": 4,
        "features_per_level": 2,
        "log2_hashmap_size": 24,
        "base_resolution": [
            max(1, math.floor(each / ratio)) + end for each, end in zip(cells, ends, strict=True)
        ],
        "max_resolution": [each + end for each, end in zip(cells, ends, strict=True)],
        "periodic": wraps,
    }


def _numbers(settings: JsonObject, channels: int, hidden_dim: int) -> int:
    """Parameters of a grid and its network, which are laid out without memory."""
    import torch

    from ..encodings import HashGrid
    from ..networks import MLP

    with torch.device("meta"):
        grid = HashGrid(2, **settings)
        network = MLP(grid.out_dim, channels, hidden_dim, 2)
    return sum(p.numel() for part in (grid, network) for p in part.parameters())
