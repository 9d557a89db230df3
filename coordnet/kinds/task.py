"""The base of every task."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ..encodings import ENCODINGS, Encoding
from ..errors import refuse
from ..field import Field
from ..networks import NETWORKS
from ..specs import names_with
from ..training import Checkpoint, FitConfig, FitResult, Samples, fit
from .options import FitOptions
from .recipe import Recipe
from .sentences import describe_training

__all__ = [
    "Progress",
    "SampledTask",
    "Say",
    "Task",
    "build_ladder",
    "refuse_unused",
    "require_period",
]

Say = Callable[[str], object]
Progress = Callable[[str, int, "int | None"], object]
"""Called with what is under way ("read", "render"), how much of it was done since the last call,
and how much it is in all, None where that is not known yet."""


class Task(ABC):
    """One input file with everything that its kind needs.

    A subclass reads the file in its constructor, ``Subclass(path, options, progress)``.

    Attributes:
        kind: its name in KINDS.
        suffixes: endings of the files it reads.
        in_dim: coordinates of the field that is fitted; None where it is no `Field`.
        measured: what is to be said of metrics beside PSNR and RMSE.
        notes: sentences about the input for the console.
        warnings: such sentences where something is likely to be wrong.
        progress: told how reading and rendering go on, or None.
    """

    kind: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    in_dim: ClassVar[int | None] = None
    measured: ClassVar[str] = "PSNR and RMSE weigh all samples alike"

    path: Path
    notes: list[str]
    warnings: list[str]
    progress: Progress | None

    @abstractmethod
    def __init__(
        self, path: Path, options: FitOptions, progress: Progress | None = None
    ) -> None: ...

    def advance(self, what: str, done: int, total: int | None = None) -> None:
        """Tell `progress`, if there is one."""
        if self.progress is not None:
            self.progress(what, done, total)

    @classmethod
    def reads(cls, path: Path) -> bool:
        """Whether a path is of this kind, by its name."""
        return path.is_file() and path.suffix.lower() in cls.suffixes

    @classmethod
    def for_run(
        cls,
        path: Path,
        settings: dict[str, Any],
        options: FitOptions,
        progress: Progress | None = None,
    ) -> Task:
        """Read a file as the one that a run was fitted to.

        Args:
            path: the file.
            settings: what `describe` returned for the fitted one.
            options: what the user set.
            progress: told how reading and rendering go on.
        """
        return cls(path, options, progress)

    @abstractmethod
    def recipe(self, options: FitOptions) -> Recipe:
        """Return the encoding, network and settings that the options ask for, or the default."""

    def config(self, options: FitOptions, recipe: Recipe) -> FitConfig:
        """Return the settings of the fit."""
        return options.fit_config(recipe.steps, **recipe.config)

    def training(self, config: FitConfig) -> str:
        """Return how the model is fitted, in words."""
        return describe_training(config)

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return what rendering and evaluating need to know of the input, as JSON values."""

    @abstractmethod
    def summary(self) -> str:
        """Return the input in a few words."""

    @abstractmethod
    def write_outputs(self, folder: Path, field: Any) -> dict[str, float]:
        """Write the reconstruction and the comparison; return the metrics they gave, if any.

        ``psnr`` and ``rmse`` take the place of those of the fit; others, which weigh the samples,
        stand beside them.
        """

    @abstractmethod
    def field(self, options: FitOptions, recipe: Recipe) -> Any:
        """Build the model that is fitted."""

    @abstractmethod
    def fit(
        self,
        field: Any,
        config: FitConfig,
        stop: Callable[[], bool] | None = None,
        *,
        checkpoint: Checkpoint | None = None,
        say: Say | None = None,
    ) -> FitResult:
        """Fit the model, in place; the rest is as `coordnet.fit` takes it."""


class SampledTask(Task):
    """A task whose input is samples: coordinates and values, which a field is fitted to."""

    @abstractmethod
    def samples(self) -> Samples:
        """Return coordinates and values."""

    def encoding(self, options: FitOptions, recipe: Recipe) -> Encoding:
        """Build the encoding of the recipe."""
        return build_ladder(recipe.encoding, 2, options, recipe.settings)

    def field(self, options: FitOptions, recipe: Recipe) -> Field:
        """Build the field, with the domain and the values' scale stated."""
        encoding = self.encoding(options, recipe)
        samples = self.samples()
        network = NETWORKS[options.network](
            encoding.out_dim,
            samples.out_dim,
            hidden_dim=recipe.hidden_dim if options.hidden_dim is None else options.hidden_dim,
            num_hidden_layers=recipe.layers if options.layers is None else options.layers,
            seed=options.seed,
        )
        field = Field(encoding, network)
        samples.prepare(field)
        return field

    def fit(
        self,
        field: Field,
        config: FitConfig,
        stop: Callable[[], bool] | None = None,
        *,
        checkpoint: Checkpoint | None = None,
        say: Say | None = None,
    ) -> FitResult:
        """Fit the field to the samples."""
        samples = self.samples()
        return fit(field, samples, config=config, stop=stop, checkpoint=checkpoint, say=say)


def build_ladder(name: str, in_dim: int, options: FitOptions, defaults: dict[str, Any]) -> Encoding:
    """Build an encoding of ENCODINGS by name.

    Args:
        name: its name.
        in_dim: number of coordinates.
        options: what the user set: k, C, sigma and the seed go to encodings that have them.
        defaults: the task's settings for this encoding; only those it takes.

    Raises:
        InputError: an option that this encoding has no use for.
    """
    settings = dict(defaults)
    for option in ("k", "C", "sigma"):
        value = getattr(options, option)
        if value is not None:
            able = names_with(ENCODINGS, option)
            if name not in able:
                refuse(
                    f"--{option} belongs to --encoding {' or '.join(able)}",
                    f"--{option} {value} with {name}",
                    "Leave it away, or choose another encoding.",
                )
            settings[option] = value
    if name in names_with(ENCODINGS, "seed"):
        settings["seed"] = options.seed
    return ENCODINGS[name](in_dim, **settings)


def require_period(
    encoding: Encoding, periods: Sequence[float | None], flag: str, name: str
) -> None:
    """Raise `InputError` unless an encoding repeats as a signal does.

    Args:
        encoding: the encoding.
        periods: for each axis the period of the signal, None where it has none.
        flag: the option that asks for the period.
        name: the encoding's name in ENCODINGS.
    """
    for wanted, period in zip(periods, encoding.periods, strict=True):
        if wanted is not None and not (period and math.isclose(period, wanted)):
            # a grid that wraps around does so after one unit
            able = names_with(ENCODINGS, "period", *(["periodic"] if wanted == 1.0 else []))
            refuse(
                f"{flag} needs an encoding that repeats",
                f"--encoding {name}",
                f"Choose --encoding {' or '.join(able)}, or leave {flag} away.",
            )


def refuse_unused(options: FitOptions, kind: str, *names: str) -> None:
    """Raise `InputError` where an option is set that means nothing for this kind of input."""
    given = options.given()
    for name in names:
        if name in given:
            flag = {"periods": "period"}.get(name, name)
            refuse(
                f"--{flag} means nothing for {kind}",
                f"--{flag} {_as_typed(given[name])}".strip(),
                "Leave it away; coordnet fit --help says what belongs to what.",
            )


def _as_typed(value: Any) -> str:
    if value is True:
        return ""
    return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
