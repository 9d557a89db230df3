"""The base of every kind of signal: one input file, from reading it to what is made of its fit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import torch
from torch import nn

from ..encodings import Encoding
from ..errors import refuse
from ..field import Field
from ..files import JsonObject
from ..training import Checkpoint, FitConfig, FitResult, Samples, choose_precision, fit
from ..training.progress import Notify
from .listener import Listener
from .onnx import write_onnx
from .options import EncodingOptions, FitOptions, RenderOptions
from .parts import build_encoding, build_network
from .recipe import Recipe

__all__ = ["About", "AnyTask", "FieldTask", "Task"]

# what a run keeps of its input: plain JSON values, checked where they are used
About = JsonObject

ModelT = TypeVar("ModelT", bound=nn.Module)
OptionsT = TypeVar("OptionsT", bound=FitOptions)


class Task(ABC, Generic[ModelT, OptionsT]):
    """One input file with everything that its kind needs.

    A subclass reads the file in its constructor, ``Subclass(path, options, listener)``.

    Attributes:
        in_dim: coordinates of the field that is fitted; None where it is no `Field`.
        measured: what is to be said of metrics beside PSNR and RMSE.
        exports: endings of the files that a run can be exported to.
        notes: sentences about the input.
        warnings: such sentences where something is likely to be wrong.
        listener: told how reading and rendering go on.
        solved: whether the fit is a closed form, which takes no steps.
    """

    in_dim: ClassVar[int | None] = None
    measured: ClassVar[str] = "PSNR and RMSE weigh all samples alike"
    exports: ClassVar[tuple[str, ...]] = ()

    path: Path
    notes: list[str]
    warnings: list[str]
    listener: Listener
    solved: bool = False

    @abstractmethod
    def __init__(self, path: Path, options: OptionsT, listener: Listener) -> None: ...

    @classmethod
    def reads(cls, path: Path) -> bool:
        """Whether a folder, or a file in it, is of this kind; asked where the kind has folders."""
        return False

    @classmethod
    def for_run(
        cls, path: Path, about: About, options: OptionsT, listener: Listener
    ) -> Task[ModelT, OptionsT]:
        """Read a file as the one that a run was fitted to.

        Args:
            path: the file.
            about: what `describe` returned for the fitted one.
            options: what the user set.
            listener: told how reading and rendering go on.
        """
        return cls(path, options, listener)

    @abstractmethod
    def recipe(self, options: OptionsT) -> Recipe:
        """Return the encoding, network and settings that the options ask for, or the default."""

    def config(self, options: OptionsT, recipe: Recipe) -> FitConfig:
        """Return the settings of the fit."""
        return options.fit_config(recipe.steps, **recipe.config)

    @abstractmethod
    def model(self, options: OptionsT, recipe: Recipe) -> ModelT:
        """Build the model that is fitted."""

    def precision(self, model: ModelT, config: FitConfig, device: torch.device) -> str:
        """Return the precision that the fit will have, as `choose_precision` says it."""
        return choose_precision(config.precision, device, model)

    @abstractmethod
    def fit(
        self,
        model: ModelT,
        config: FitConfig,
        stop: Callable[[], bool] | None = None,
        *,
        checkpoint: Checkpoint | None = None,
        notify: Notify | None = None,
    ) -> FitResult:
        """Fit the model, in place; the rest is as `coordnet.fit` takes it."""

    @abstractmethod
    def describe(self) -> About:
        """Return what rendering and evaluating need to know of the input, as JSON values."""

    @abstractmethod
    def summary(self) -> str:
        """Return the input in a few words."""

    @abstractmethod
    def write_outputs(self, folder: Path, model: ModelT) -> dict[str, float]:
        """Write the reconstruction and the comparison; return the metrics they gave, if any.

        ``psnr`` and ``rmse`` take the place of those of the fit; others, which weigh the samples,
        stand beside them.
        """

    @abstractmethod
    def evaluate(self, model: ModelT, about: About) -> JsonObject:
        """Return the metrics of a run's model at this input."""

    @classmethod
    @abstractmethod
    def render(
        cls, model: ModelT, about: About, output: Path, options: RenderOptions, listener: Listener
    ) -> None:
        """Render a run's model to a file.

        Args:
            model: the fitted model.
            about: what `describe` returned.
            output: the file, which may be replaced.
            options: of the kind's own class of `RenderOptions`.
            listener: told how it goes on.

        Raises:
            InputError: an output or options that do not go together.
            RuntimeError: the output could not be written.
        """

    @classmethod
    def export(
        cls, model: ModelT, about: About, output: Path, options: RenderOptions, listener: Listener
    ) -> None:
        """Export a run's model to a file with one of the endings in `exports`; as `render`."""
        raise NotImplementedError


# a task of any kind, where its model and its options are passed through
AnyTask = Task[Any, Any]


class FieldTask(Task[Field, OptionsT]):
    """A task whose input is samples: coordinates and values, which a `Field` is fitted to."""

    exports: ClassVar[tuple[str, ...]] = (".onnx",)
    # of the coordinates, in a model that is exported
    float64: ClassVar[bool] = False

    @abstractmethod
    def samples(self) -> Samples:
        """Return coordinates and values."""

    def encoding(self, options: OptionsT, recipe: Recipe) -> Encoding:
        """Build the encoding of the recipe."""
        assert isinstance(options, EncodingOptions)
        assert self.in_dim is not None
        return build_encoding(
            recipe.encoding, self.in_dim, options, recipe.settings, options.network
        )

    def model(self, options: OptionsT, recipe: Recipe) -> Field:
        """Build the field, with the domain and the values' scale stated."""
        assert isinstance(options, EncodingOptions)
        encoding = self.encoding(options, recipe)
        samples = self.samples()
        network = build_network(encoding.out_dim, samples.out_dim, options, recipe)
        field = Field(encoding, network)
        samples.prepare(field)
        return field

    def precision(self, model: Field, config: FitConfig, device: torch.device) -> str:
        """Return the precision, which depends on the number of values."""
        samples = self.samples()
        values = len(samples) * samples.out_dim
        return choose_precision(config.precision, device, model, values)

    def fit(
        self,
        model: Field,
        config: FitConfig,
        stop: Callable[[], bool] | None = None,
        *,
        checkpoint: Checkpoint | None = None,
        notify: Notify | None = None,
    ) -> FitResult:
        """Fit the field to the samples."""
        samples = self.samples()
        return fit(model, samples, config=config, stop=stop, checkpoint=checkpoint, notify=notify)

    @classmethod
    def export(
        cls, model: Field, about: About, output: Path, options: RenderOptions, listener: Listener
    ) -> None:
        """Write the field as an ONNX model, from coordinates to values."""
        if given := options.given():
            refuse(
                f"--{next(iter(given))} belongs to meshes",
                f"an {output.suffix} file",
                "Leave it out.",
            )
        listener.wrote(output, write_onnx(model, output, float64=cls.float64))
