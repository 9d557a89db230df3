"""The base of every task."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor

from ..encodings import ENCODINGS, Encoding
from ..errors import refuse
from ..field import Field
from ..networks import NETWORKS
from ..training import FitConfig, FitResult
from .options import FitOptions
from .run_folder import RunFolder

__all__ = ["Say", "Task", "build_ladder", "refuse_unused"]

Say = Callable[[str], object]


class Task(ABC):
    """One input file with everything that its kind needs.

    A subclass reads the file in its constructor, ``Subclass(path, options)``.

    Attributes:
        kind: its name in TASKS.
        suffixes: endings of the files it reads.
        notes: sentences about the input for the console.
        warnings: such sentences where something is likely to be wrong.
    """

    kind: ClassVar[str]
    suffixes: ClassVar[tuple[str, ...]]
    hidden_dim: ClassVar[int] = 256
    layers: ClassVar[int] = 3

    path: Path
    notes: list[str]
    warnings: list[str]

    @abstractmethod
    def __init__(self, path: Path, options: FitOptions) -> None: ...

    @abstractmethod
    def samples(self) -> tuple[Tensor, Tensor]:
        """Return coordinates ``(N, in_dim)`` and values ``(N, out_dim)``."""

    @abstractmethod
    def encoding(self, options: FitOptions) -> Encoding:
        """Build the encoding that the options ask for, or the task's default."""

    @abstractmethod
    def prepare(self, field: Field) -> None:
        """State the field's domain and the scale of its values."""

    @abstractmethod
    def config(self, options: FitOptions) -> FitConfig:
        """Return the settings of the fit."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return what rendering and evaluating need to know of the input, as JSON values."""

    @abstractmethod
    def summary(self) -> str:
        """Return the input in a few words."""

    @abstractmethod
    def write_outputs(self, folder: RunFolder, field: Field, result: FitResult | None) -> None:
        """Write the reconstruction and the comparison into the run folder."""

    def field(self, options: FitOptions) -> Field:
        """Build the field, with the domain and the values' scale stated."""
        encoding = self.encoding(options)
        network = NETWORKS[options.network](
            encoding.out_dim,
            self.samples()[1].shape[-1],
            hidden_dim=self.hidden_dim if options.hidden_dim is None else options.hidden_dim,
            num_hidden_layers=self.layers if options.layers is None else options.layers,
            seed=options.seed,
        )
        field = Field(encoding, network)
        self.prepare(field)
        return field


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
            if option not in settings:
                able = [each for each in ENCODINGS if _takes(ENCODINGS[each], option)]
                refuse(
                    f"--{option} belongs to --encoding {' or '.join(able)}",
                    f"--{option} {value} with {name}",
                    "Leave it away, or choose another encoding.",
                )
            settings[option] = value
    if name == "gaussian":
        settings["seed"] = options.seed
    return ENCODINGS[name](in_dim, **settings)


def _takes(build: Callable[..., Encoding], option: str) -> bool:
    return option in inspect.signature(build).parameters


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
