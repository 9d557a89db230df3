"""TIFF files that Pillow cannot read whole, read by the optional package tifffile."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..files import refuse_file
from .checks import about_orientation, check_size, choose_page, oriented
from .image import Image, image_from_samples

__all__ = ["read_tiff"]

_CHANNELS = {"MINISBLACK": 1, "MINISWHITE": 1, "RGB": 3}


def read_tiff(
    path: Path, stream: BinaryIO, page: int | None, max_pixels: int | None, why: str
) -> Image:
    """Read one page with tifffile.

    Args:
        path: the file, for messages.
        stream: the file, open.
        page: which page, counted from 0; None where the file has only one.
        max_pixels: the limit on its size, None for none.
        why: what Pillow cannot do with the file, for the message where tifffile is missing.

    Raises:
        InputError: tifffile is not installed, or the page is not a gray or RGB picture.
    """
    try:
        tifffile: Any = importlib.import_module("tifffile")
    except ImportError:
        rule = "this kind of TIFF needs the package tifffile"
        refuse_file(path, rule, why, 'Install it with pip install "coordnet[tiff]".')
    stream.seek(0)
    with tifffile.TiffFile(stream) as file:
        index, notes = choose_page(path, len(file.pages), page, animation=False)
        # pages[0] of a long series may be a light TiffFrame; aspage() is the whole
        tiff_page = file.pages[index].aspage()
        axes, dtype = str(tiff_page.axes), tiff_page.dtype
        sizes = dict(zip(axes, tiff_page.shape, strict=True))
        samples = sizes.get("S", 1)
        photometric = str(getattr(tiff_page.photometric, "name", tiff_page.photometric))
        alpha = [getattr(extra, "name", extra) for extra in tiff_page.extrasamples]
        channels = _CHANNELS.get(photometric)
        if (
            dtype is None
            or sorted(axes) not in (["X", "Y"], ["S", "X", "Y"])
            or channels is None
            or samples != channels + len(alpha)
            or alpha not in ([], ["UNASSALPHA"])
        ):
            refuse_file(
                path,
                "a TIFF must hold a gray or RGB picture, with at most an unassociated alpha",
                f"axes {axes}, shape {tiff_page.shape}, {photometric}, extra samples {alpha}, "
                f"{dtype}",
            )
        check_size(path, sizes["X"], sizes["Y"], samples, max_pixels)
        pixels = np.asarray(tiff_page.asarray())
        order = [axes.index(axis) for axis in ("YXS" if "S" in axes else "YX")]
        pixels = pixels.transpose(order).reshape(sizes["Y"], sizes["X"], samples)
        tag = tiff_page.tags.get("Orientation")
        orientation = 1 if tag is None else int(tag.value)
        return image_from_samples(
            path,
            oriented(pixels, orientation),
            int(tiff_page.bitspersample),
            white_is_zero=photometric == "MINISWHITE",
            notes=notes + about_orientation(orientation),
        )
