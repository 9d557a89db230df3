"""A picture in memory: its own samples, and the value that means white."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from ..files import refuse_file
from .checks import first_not_finite

__all__ = ["Image", "image_from_samples"]

_MODE_NAMES = {1: "gray", 2: "gray+alpha", 3: "RGB", 4: "RGBA"}


@dataclass(frozen=True, eq=False)
class Image:
    """A picture as its file has it.

    Attributes:
        pixels: ``(H, W, C)``, row 0 on top; uint8, uint16 or float32; C is 1 (gray), 2 (gray and
            alpha), 3 (RGB) or 4 (RGBA). Contiguous, in native byte order.
        peak: the pixel value that means 1.0: 255 for uint8, ``2**bit_depth - 1`` for uint16
            (65535, or 4095 for a 12-bit TIFF), 1.0 for floats.
        bit_depth: bits in a sample as the file declares them. Gray of 1, 2 or 4 bits is read as
            uint8 from 0 to 255 and still has depth 1, 2 or 4; a palette has the depth of its
            colors, 8.
        notes: sentences to print: an orientation applied, which frame was read, and so on.
    """

    pixels: np.ndarray
    peak: float
    bit_depth: int
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return (
            f"Image({self.width} x {self.height} {self.mode}, {self.pixels.dtype}, "
            f"bit_depth={self.bit_depth}, peak={self.peak:g})"
        )

    @property
    def height(self) -> int:
        """Rows."""
        return self.pixels.shape[0]

    @property
    def width(self) -> int:
        """Pixels in a row."""
        return self.pixels.shape[1]

    @property
    def channels(self) -> int:
        """Values in a pixel, alpha included."""
        return self.pixels.shape[2]

    @property
    def mode(self) -> str:
        """One of ``gray``, ``gray+alpha``, ``RGB``, ``RGBA``."""
        return _MODE_NAMES[self.channels]

    def values(self, rows: slice | None = None) -> np.ndarray:
        """Return pixels / peak of some rows: in [0, 1] except for float files that go beyond it.

        Args:
            rows: all of them by default.

        Returns:
            A new float32 array ``(rows, W, C)``.
        """
        pixels = self.pixels if rows is None else self.pixels[rows]
        return np.divide(pixels, np.float32(self.peak), dtype=np.float32)


def image_from_samples(
    path: str | os.PathLike[str],
    pixels: np.ndarray,
    bit_depth: int,
    *,
    white: int | None = None,
    white_is_zero: bool = False,
    notes: tuple[str, ...] = (),
) -> Image:
    """Bring decoded samples to uint8, uint16 or float32, and check them.

    Args:
        path: the file that they come from, for messages.
        pixels: ``(H, W, C)``, any byte order: uint8, uint16, floats, or wider or signed integers
            that lie in 0 ... 65535.
        bit_depth: as the file declares it.
        white: the uint16 sample that means white; ``2**bit_depth - 1`` by default.
        white_is_zero: the samples count from white to black.
        notes: sentences to print.

    Raises:
        InputError: integers out of range, or floats that are not finite.
    """
    kind, size, peak = pixels.dtype.kind, pixels.dtype.itemsize, 1.0
    if kind == "f":
        with np.errstate(over="ignore"):
            pixels = pixels.astype(np.float32)
        bad = first_not_finite(pixels)
        if bad is not None:
            refuse_file(path, "every value of a float picture must be a finite float32", bad)
        low, high = float(pixels.min()), float(pixels.max())
        if low < 0 or high > 1:
            notes += (f"Values run from {low:.6g} to {high:.6g}, beyond [0, 1]; kept as they are.",)
    elif kind == "u" and size <= 2:
        pixels = pixels.astype(pixels.dtype.newbyteorder("="), copy=False)
        peak = 255.0 if size == 1 else float(2**bit_depth - 1 if white is None else white)
    elif kind in "iu":
        low, high = int(pixels.min()), int(pixels.max())
        if low < 0 or high > 65535:
            refuse_file(
                path,
                "integers of 32 bits, or with a sign, must lie in 0 ... 65535",
                f"values from {low} to {high}",
                "Scale them to 16 bits, or save floats in [0, 1].",
            )
        notes += (f"Samples of dtype {pixels.dtype} were read as 16-bit: 65535 is white.",)
        pixels, peak = pixels.astype(np.uint16), 65535.0
    else:
        refuse_file(path, "samples must be integers or floats", f"dtype {pixels.dtype}")
    if white_is_zero:
        pixels = np.subtract(pixels.dtype.type(peak), pixels)
    if not pixels.flags.c_contiguous or not pixels.flags.writeable:
        pixels = pixels.copy(order="C")
    return Image(pixels, peak, bit_depth, notes)
