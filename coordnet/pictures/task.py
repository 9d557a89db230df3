"""Pictures: pixels over the unit square."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from .. import checks
from ..encodings import Encoding
from ..errors import InputError, refuse
from ..field import Field
from ..files import JsonObject, writing
from ..image_files.image import Image
from ..image_files.reading import read_image
from ..image_files.writing import check_output, is_lossy, write_image
from ..kinds.listener import Listener
from ..kinds.options import RenderOptions
from ..kinds.parts import require_period
from ..kinds.recipe import Recipe
from ..kinds.task import About, FieldTask
from ..rendering.grids import render_image
from ..text import plural, readable
from ..training import FitConfig
from .figures import save_comparison
from .options import PictureOptions, PictureRender
from .presets import recipe
from .rendering import measure, quantize
from .samples import PixelSamples

__all__ = ["PictureTask"]


class PictureTask(FieldTask[PictureOptions]):
    """A picture: coordinates (x, y) of pixel centers in the unit square, values in [0, 1]."""

    in_dim: ClassVar[int | None] = 2

    def __init__(self, path: Path, options: PictureOptions, listener: Listener) -> None:
        if options.tile and options.wrap is not None:
            got = "--tile and --wrap"
            refuse("a picture repeats in both directions or in one", got, "Pass one of them.")
        self.path, self.listener = path, listener
        self.options = options
        self.image: Image = read_image(path, page=options.page)
        self.notes = list(self.image.notes)
        self.warnings = []

    @functools.cached_property
    def _pixels(self) -> PixelSamples:
        options, image = self.options, self.image
        return PixelSamples(
            image.pixels,
            image.peak,
            between=self.recipe(options).between,
            periodic=_repeats(options),
            seed=options.seed,
        )

    def samples(self) -> PixelSamples:
        """Return the pixels, which stay in the file's own dtype."""
        return self._pixels

    def recipe(self, options: PictureOptions) -> Recipe:
        """Return the recipe: the grid, unless the options name an encoding or a preset.

        A size or a spread of frequencies without a name means Gaussian features.
        """
        image = self.image
        size = (image.height, image.width, image.channels)
        encoding = options.encoding
        ladder = options.k is not None or options.sigma is not None
        if encoding is None and options.preset is None and ladder:
            encoding = "gaussian"
        repeats, seconds = _repeats(options), options.seconds
        return recipe(options.preset, encoding, size, repeats, seconds, options.device)

    def encoding(self, options: PictureOptions, recipe: Recipe) -> Encoding:
        """Build the encoding of the recipe; it must repeat where the picture is to."""
        encoding = super().encoding(options, recipe)
        periods = [1.0 if repeats else None for repeats in _repeats(options)]
        flag = "--tile" if options.tile else "--wrap"
        require_period(encoding, periods, flag, recipe.encoding)
        return encoding

    def config(self, options: PictureOptions, recipe: Recipe) -> FitConfig:
        """Return the settings; the errors are measured while the reconstruction is rendered."""
        fixed = {"peak": 1.0, "clamp": True, "evaluate": False}
        return options.fit_config(recipe.steps, **recipe.config, **fixed)

    def describe(self) -> About:
        """Return the picture's size, channels and depth."""
        image = self.image
        return {
            "height": image.height,
            "width": image.width,
            "channels": image.channels,
            "mode": image.mode,
            "bit_depth": image.bit_depth,
        }

    def summary(self) -> str:
        """Return the size and the kind of pixels."""
        image = self.image
        kind = f"{image.mode}, {plural(image.bit_depth, 'bit')}"
        number = plural(image.width * image.height, "pixel")
        return f"{image.width} x {image.height} {kind} ({number})"

    def write_outputs(self, folder: Path, model: Field) -> dict[str, float]:
        """Write reconstruction.png and comparison.png; return PSNR and RMSE of the model."""
        image = self.image
        size = (image.height, image.width, image.channels)
        pixels = np.empty(size, _dtype(image.bit_depth))
        errors = self._measure(model, pixels)
        write_image(folder / "reconstruction.png", pixels)
        target, peak = image.pixels, image.peak
        if peak != np.iinfo(pixels.dtype).max:
            target, pixels, peak = image.values(), pixels / np.iinfo(pixels.dtype).max, 1.0
        save_comparison(
            folder / "comparison.png",
            target,
            pixels,
            title=readable(self.path.name),
            peak=peak,
            psnr=errors["psnr"],
        )
        return errors

    def _measure(self, model: Field, out: np.ndarray | None = None) -> dict[str, float]:
        samples = self.samples()
        return measure(
            model,
            samples,
            out=out,
            progress=lambda done: self.listener.progress("render", done, len(samples)),
        )

    @classmethod
    def render(
        cls, model: Field, about: About, output: Path, options: RenderOptions, listener: Listener
    ) -> None:
        """Render the picture at any size into a file, whose ending chooses the format."""
        assert isinstance(options, PictureRender)
        fitted, channels, depth = _checked(model, about)
        width, height = options.size or fitted
        dtype = _dtype(_bits_for(output, channels, depth, height, width))
        pixels = render_image(
            model,
            height,
            width,
            device=next(model.parameters()).device,
            convert=lambda values: quantize(values, dtype),
            progress=lambda done: listener.progress("render", done, width * height),
        )
        with writing(output):
            write_image(output, pixels)
        listener.wrote(output, f"{width} x {height}, {8 * dtype.itemsize} bits")
        if is_lossy(output):
            listener.notice(
                "JPEG changes the values: PSNRs are those of the model, not of this file."
            )

    def evaluate(self, model: Field, about: About) -> JsonObject:
        """Return the metrics of the field at this picture's pixel centers."""
        image = self.image
        (width, height), channels, _ = _checked(model, about)
        if image.channels != channels:
            refuse(
                f"the picture must have {channels} channels, as the run has",
                f"{image.channels} ({image.mode})",
                "Pass a picture of the same kind.",
            )
        metrics: JsonObject = {
            **self._measure(model),
            "peak": 1.0,
            "samples": image.height * image.width,
        }
        if (image.height, image.width) != (height, width):
            metrics["fitted_size"] = f"{width} x {height}"
        return metrics


def _repeats(options: PictureOptions) -> tuple[bool, bool]:
    """Whether the picture is to repeat along x and along y."""
    return options.tile or options.wrap == "x", options.tile or options.wrap == "y"


def _checked(field: Field, about: About) -> tuple[tuple[int, int], int, int]:
    """Return (width, height), channels and depth, of a model that may be hostile."""
    remedy = "Fit the picture again."
    try:
        width, height, channels, depth = (
            checks.integer(name, about.get(name), least=1, remedy=remedy)
            for name in ("width", "height", "channels", "bit_depth")
        )
    except InputError as error:
        refuse("a run of a picture must hold its size, channels and depth", error.got, remedy)
    if channels != field.out_dim:
        got = f"{channels} channels for {field.out_dim} values"
        refuse("a run of a picture must give a value for each channel", got, remedy)
    return (width, height), channels, depth


def _bits_for(output: Path, channels: int, bit_depth: int, height: int, width: int) -> int:
    """The fitted depth where the format can hold it, else 8 bits."""
    bits = 8 * _dtype(bit_depth).itemsize
    if bits > 8:
        try:
            check_output(output, channels, bits, height=height, width=width)
        except InputError:
            bits = 8
    check_output(output, channels, bits, height=height, width=width)
    return bits


def _dtype(bit_depth: int) -> np.dtype[Any]:
    """The dtype of the pixels that are written for a depth."""
    return np.dtype(np.uint8 if bit_depth <= 8 else np.uint16)
