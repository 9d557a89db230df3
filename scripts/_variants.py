"""Settings of coordnet's own fits that were tried beside its presets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from coordnet.kinds import Recipe

__all__ = ["PRESETS", "VARIANTS", "Variant"]

PRESETS = ("fast", "quality", "small")  # coordnet's, the default first


@dataclass(frozen=True)
class Variant:
    """A fit of a picture with other settings than a preset's.

    Attributes:
        about: what is different, in words.
        options: what `coordnet fit` is told.
        change: what is done to the recipe that comes of them.
    """

    about: str
    options: dict[str, Any] = field(default_factory=dict)
    change: Callable[[Recipe], Recipe] = lambda recipe: recipe


def _sixteen_levels(recipe: Recipe) -> Recipe:
    """Instant-NGP's shape of a grid for pictures: many hashed levels, a small table."""
    finest = recipe.settings["max_resolution"]
    settings = {
        **recipe.settings,
        "num_levels": 16,
        "log2_hashmap_size": 15,
        "base_resolution": 16,
        "max_resolution": max(finest),
    }
    return replace(recipe, settings=settings, config={**recipe.config, "batch_size": 16_384})


def _plain_adam(recipe: Recipe) -> Recipe:
    config = {**recipe.config, "optimizer": "adam", "learning_rate": 2e-3, "batch_size": 4096}
    return replace(recipe, config=config)


VARIANTS: dict[str, Variant] = {
    **{name: Variant(f"preset {name}", {"preset": name}) for name in PRESETS},
    "same-fourier": Variant(
        "plain-fourier's features and network",
        {"encoding": "gaussian", "k": 256, "sigma": 10.0, "hidden_dim": 256, "layers": 4},
    ),
    "fast-adam": Variant("fast, Adam alone", {"preset": "fast", "optimizer": "adam"}),
    "fast-16-levels": Variant(
        "fast, 16 levels hashed into 2^15 rows, batches of 16384",
        {"preset": "fast"},
        _sixteen_levels,
    ),
    "quality-adam": Variant("quality, Adam 2e-3 alone", {"preset": "quality"}, _plain_adam),
    "quality-float32": Variant(
        "quality without bf16", {"preset": "quality", "precision": "float32"}
    ),
    "harmonic": Variant("64 harmonics an axis, 3 × 256", {"encoding": "harmonic"}),
}
