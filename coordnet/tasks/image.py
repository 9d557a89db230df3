"""Pictures: pixels over the unit square."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ..datasets import Image, check_output, read_image, write_image
from ..datasets.images import is_lossy
from ..encodings import Encoding
from ..errors import InputError, refuse
from ..field import Field
from ..grids import pixel_centres
from ..plotting import save_comparison
from ..rendering import render_image
from ..training import FitConfig, FitResult
from .options import FitOptions
from .run_folder import RunFolder, writing
from .sentences import plural, readable
from .task import Say, Task, build_ladder, refuse_unused

__all__ = ["ImageTask"]

_REPEATING = ("harmonic", "octave", "lattice", "gaussian")


class ImageTask(Task):
    """A picture: coordinates (x, y) of pixel centres in the unit square, values in [0, 1]."""

    kind: ClassVar[str] = "image"
    suffixes: ClassVar[tuple[str, ...]] = (
        *(".png", ".jpg", ".jpeg", ".tif", ".tiff", ".gif", ".webp", ".bmp"),
        *(".ppm", ".pgm", ".pbm", ".pnm", ".tga", ".qoi"),
    )

    def __init__(self, path: Path, options: FitOptions) -> None:
        refuse_unused(options, "a picture", "periods", "x", "y")
        self.path = path
        self.image: Image = read_image(path, page=options.page)
        self.notes = list(self.image.notes)
        self.warnings = []

    @functools.cached_property
    def _samples(self) -> tuple[Tensor, Tensor]:
        image = self.image
        values = torch.from_numpy(image.values()).reshape(-1, image.channels)
        return pixel_centres(image.height, image.width).reshape(-1, 2), values

    def samples(self) -> tuple[Tensor, Tensor]:
        """Return pixel centres ``(H W, 2)`` and values ``(H W, C)``."""
        return self._samples

    def encoding(self, options: FitOptions) -> Encoding:
        """Build the encoding: Gaussian features unless the options name another."""
        name = options.encoding or "gaussian"
        height, width = self.image.height, self.image.width
        repeats = options.tile or options.wrap is not None
        if repeats and name not in _REPEATING:
            flag = "--tile" if options.tile else "--wrap"
            remedy = f"Choose --encoding {' or '.join(_REPEATING)}."
            refuse(f"{flag} needs an encoding that repeats", f"--encoding {name}", remedy)
        if options.tile and options.wrap is not None:
            got = "--tile and --wrap"
            refuse("a picture repeats in both directions or in one", got, "Pass one of them.")
        # a plain photo must not wrap: what repeats only after two domain lengths cannot
        period = [1.0 if options.tile or options.wrap == axis else 2.0 for axis in "xy"]
        octaves = max(1, round(math.log2(max(height, width))))
        defaults: dict[str, dict[str, Any]] = {
            "gaussian": {"k": 256, "sigma": 30.0, "period": period if repeats else None},
            "harmonic": {"k": 64, "period": period},
            "octave": {"k": octaves, "period": period},
            "lattice": {"k": 12, "period": period},
            "geometric": {"k": 64, "C": 10_000.0, "scale": [float(width), float(height)]},
        }
        return build_ladder(name, 2, options, defaults.get(name, {}))

    def prepare(self, field: Field) -> None:
        """Take the unit square as the domain, and one scale for all channels."""
        _, values = self.samples()
        field.set_domain([0.0, 0.0], [1.0, 1.0])
        mean = values.mean(0, dtype=torch.float64)
        field.set_values(mean, (values - mean.float()).square().mean(dtype=torch.float64).sqrt())

    def config(self, options: FitOptions) -> FitConfig:
        """Return the settings: 1500 steps without a budget, PSNR at peak 1 after clamping."""
        return options.fit_config(default_steps=1500, peak=1.0, clamp=True)

    def describe(self) -> dict[str, Any]:
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

    def write_outputs(self, folder: RunFolder, field: Field, result: FitResult | None) -> None:
        """Write reconstruction.png and comparison.png."""
        image = self.image
        device = next(field.parameters()).device
        values = render_image(field, image.height, image.width, device=device)
        write_image(folder.file("reconstruction.png"), values, bit_depth=_png_bits(image.bit_depth))
        save_comparison(
            folder.file("comparison.png"),
            image.values(),
            np.clip(values, 0, 1),
            title=readable(self.path.name),
        )

    @staticmethod
    def render(
        field: Field, settings: dict[str, Any], output: Path, options: dict[str, Any], say: Say
    ) -> None:
        """Render the picture at any size into a file.

        Args:
            field: the fitted field.
            settings: what `describe` returned.
            output: the picture's file; its ending chooses the format.
            options: ``size`` as (width, height) or None, and ``progress``, which is called with the
                numbers of pixels done since the last call and in all.
            say: takes sentences for the console.
        """
        size = options["size"] or (settings["width"], settings["height"])
        if isinstance(size, int):
            rule = "the size of a picture is WIDTHxHEIGHT"
            refuse(rule, f"--size {size}", f"Pass --size {size}x{size}, say.")
        width, height = size
        bits = _bits_for(output, settings["channels"], settings["bit_depth"])
        dtype = np.uint8 if bits == 8 else np.uint16
        peak = np.iinfo(dtype).max
        report = options.get("progress")

        def to_bytes(values: np.ndarray) -> np.ndarray:
            return np.rint(np.clip(values, 0, 1) * peak).astype(dtype)

        pixels = render_image(
            field,
            height,
            width,
            device=next(field.parameters()).device,
            convert=to_bytes,
            progress=None if report is None else lambda done: report(done, width * height),
        )
        with writing(output):
            write_image(output, pixels)
        say(f"wrote {readable(output)}: {width} x {height}, {bits} bits")
        if is_lossy(output):
            say("JPEG changes the values: PSNRs are those of the model, not of this file.")

    def evaluate(self, field: Field, settings: dict[str, Any]) -> dict[str, Any]:
        """Return the metrics of the field at this picture's pixel centres."""
        image = self.image
        if image.channels != settings["channels"]:
            refuse(
                f"the picture must have {settings['channels']} channels, as the run has",
                f"{image.channels} ({image.mode})",
                "Pass a picture of the same kind.",
            )
        from ..metrics import psnr, rmse

        device = next(field.parameters()).device
        values = render_image(field, image.height, image.width, device=device)
        target = image.values()
        found: dict[str, Any] = {
            "psnr": psnr(values, target, peak=1.0, clamp=True),
            "rmse": rmse(np.clip(values, 0, 1), target),
            "peak": 1.0,
            "samples": image.height * image.width,
        }
        if (image.height, image.width) != (settings["height"], settings["width"]):
            found["fitted_size"] = f"{settings['width']} x {settings['height']}"
        return found


def _bits_for(output: Path, channels: int, bit_depth: int) -> int:
    """The fitted depth where the format can hold it, else 8 bits."""
    bits = _png_bits(bit_depth)
    if bits > 8:
        try:
            check_output(output, channels, bits)
        except InputError:
            bits = 8
    check_output(output, channels, bits)
    return bits


def _png_bits(bit_depth: int) -> int:
    return 8 if bit_depth <= 8 else 16
