"""TIFF files that Pillow cannot read whole, read by the optional package tifffile."""

from __future__ import annotations

import importlib
import os
from typing import Any, NamedTuple

import numpy as np

from .checks import check_size, choose_page, refuse_file

__all__ = ["TiffPage", "read_tiff"]


class TiffPage(NamedTuple):
    """One page of a TIFF file, decoded and not yet turned by its orientation.

    Attributes:
        pixels: ``(H, W, C)`` in the file's own dtype.
        bit_depth: bits in a sample.
        orientation: the file's orientation tag, 1 to 8.
        white_is_zero: the samples count from white to black.
        notes: what to print about the page.
    """

    pixels: np.ndarray
    bit_depth: int
    orientation: int
    white_is_zero: bool
    notes: tuple[str, ...]


def read_tiff(
    path: str | os.PathLike[str], page: int | None, max_pixels: int | None, why: str
) -> TiffPage:
    """Read one page with tifffile.

    Args:
        path: the file.
        page: which page, counted from 0; None where the file has only one.
        max_pixels: the size limit, None for none.
        why: what Pillow cannot do with the file, for the message where tifffile is missing.

    Raises:
        InputError: tifffile is not installed, or the page is not a gray or RGB picture.
    """
    try:
        tifffile: Any = importlib.import_module("tifffile")
    except ImportError:
        refuse_file(
            path,
            "this kind of TIFF needs the package tifffile",
            why,
            'Install it with pip install "coordnet[tiff]", or save the picture as a PNG.',
        )
    with tifffile.TiffFile(path) as file:
        index, notes = choose_page(path, len(file.pages), page, animation=False)
        # asking for pages[0] of a long series may give a light TiffFrame; aspage() is the whole.
        chosen = file.pages[index].aspage()
        axes, dtype = str(chosen.axes), chosen.dtype
        sizes = dict(zip(axes, chosen.shape, strict=True))
        samples = sizes.get("S", 1)
        kind = getattr(chosen.photometric, "name", chosen.photometric)
        alpha = [getattr(extra, "name", extra) for extra in chosen.extrasamples]
        channels = {"MINISBLACK": 1, "MINISWHITE": 1, "RGB": 3}.get(str(kind), 0)
        if (
            dtype is None
            or sorted(axes) not in (["X", "Y"], ["S", "X", "Y"])
            or channels == 0
            or samples != channels + len(alpha)
            or alpha not in ([], ["UNASSALPHA"])
        ):
            refuse_file(
                path,
                "a TIFF must hold a gray or RGB picture, with at most an unassociated alpha",
                f"axes {axes}, shape {chosen.shape}, {kind}, extra samples {alpha}, {dtype}",
                "Convert it to such a TIFF or to a PNG.",
            )
        check_size(path, sizes["X"], sizes["Y"], samples * dtype.itemsize, samples, max_pixels)
        pixels = np.asarray(chosen.asarray())
        order = [axes.index(axis) for axis in ("YXS" if "S" in axes else "YX")]
        pixels = pixels.transpose(order).reshape(sizes["Y"], sizes["X"], samples)
        tag = chosen.tags.get("Orientation")
        return TiffPage(
            pixels=pixels,
            bit_depth=int(chosen.bitspersample),
            orientation=1 if tag is None else int(tag.value),
            white_is_zero=kind == "MINISWHITE",
            notes=notes,
        )
