"""The options of a fit from a file; None leaves the choice to the task."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ..training import FitConfig
from .sentences import readable

__all__ = ["FitOptions"]


@dataclass(frozen=True)
class FitOptions:
    """What the user may set for a fit from a file.

    Attributes:
        preset: a name in PRESETS; chooses the encoding and all else that is not set.
        encoding: a name in ENCODINGS.
        k: size of the ladder; "auto" to choose it for a table, by blocked hold-out.
        C: constant of the geometric ladder.
        sigma: spread of the Gaussian ladder, in cycles per domain, or per period where one is set.
        periods: numbers in the coordinate's own unit, or text with a unit of time ("24h",
            "365.25d"), or "auto" alone, to find it; none for a signal that does not repeat.
        trend: put the coordinate itself beside the periods, for a signal that also drifts.
        tile: a picture repeats in both directions.
        wrap: "x" or "y": a picture repeats in that direction.
        network: a name in NETWORKS.
        hidden_dim: width of the network.
        layers: number of its hidden layers.
        steps: budget in steps.
        seconds: budget in seconds.
        target_psnr: stop at this PSNR.
        batch_size: samples a step.
        learning_rate: the largest learning rate.
        optimizer: "muon" or "adam".
        ema: decay of a running mean of the parameters, which the fit ends with.
        seed: seed of the start values, of random frequencies and of the shuffling.
        device: "auto" or a torch device.
        precision: "auto", "float32" or "bf16".
        compile: compile the step with `torch.compile`.
        out: the run folder; None takes runs/<name of the input>.
        overwrite: replace an earlier run in that folder.
        checkpoint_every: how often the state of the fit is kept in the run folder, as
            `Checkpoint` takes it; "never" for no checkpoints.
        downscale: how many times smaller a scene's pictures are made.
        background: "white" or "black": what lies behind a scene's pictures where they have alpha,
            for what is written and measured.
        space: "box" or "unbounded": which part of space a scene fills.
        page: the page of a picture file with several.
        x: column of positions of a table, by name.
        y: columns of values of a table, by name.
        unit: the unit of a table's positions, or the one in which to count its dates.
        weights: column of weights of a table, by name.
        error: column of standard errors of a table, by name; the weights are 1/error².
    """

    preset: str | None = None
    encoding: str | None = None
    k: int | str | None = None
    C: float | None = None
    sigma: float | None = None
    periods: tuple[float | str, ...] = ()
    trend: bool = False
    tile: bool = False
    wrap: str | None = None
    network: str = "mlp"
    hidden_dim: int | None = None
    layers: int | None = None
    steps: int | None = None
    seconds: float | None = None
    target_psnr: float | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    optimizer: str | None = None
    ema: float | None = None
    seed: int = 0
    device: str = "auto"
    precision: str = "auto"
    compile: bool = False
    out: Path | None = None
    overwrite: bool = False
    checkpoint_every: str = "auto"
    downscale: int | None = None
    background: str | None = None
    space: str | None = None
    page: int | None = None
    x: str | None = None
    y: tuple[str, ...] = ()
    unit: str | None = None
    weights: str | None = None
    error: str | None = None

    def given(self) -> dict[str, Any]:
        """Return the options that differ from their defaults, as plain JSON values."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        plain = {name: readable(v) if isinstance(v, Path) else v for name, v in found.items()}
        defaults = {f.name: f.default for f in fields(self)}
        return {name: value for name, value in plain.items() if value != defaults[name]}

    def fit_config(self, default_steps: int, **settings: Any) -> FitConfig:
        """Return the settings of the fit.

        Args:
            default_steps: the budget where neither steps nor seconds are set.
            settings: what the task adds, such as the peak of the PSNR.
        """
        steps = self.steps
        if steps is None and self.seconds is None:
            steps = default_steps
        for name in ("batch_size", "learning_rate", "optimizer", "ema"):
            if getattr(self, name) is not None:
                settings[name] = getattr(self, name)
        return FitConfig(
            steps=steps,
            seconds=self.seconds,
            target_psnr=self.target_psnr,
            seed=self.seed,
            device=self.device,
            precision=self.precision,
            compile=self.compile,
            **settings,
        )
