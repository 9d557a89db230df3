"""Pictures and lists of points of any function, evaluated in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from .. import checks
from ..errors import refuse
from ..grids import Box, pixel_centers
from ..memory import rows_within

__all__ = ["image_blocks", "render_image", "render_points"]

Function = Callable[[Tensor], Tensor]


def render_image(
    function: Function,
    height: int,
    width: int,
    *,
    box: Box = ((0.0, 0.0), (1.0, 1.0)),
    device: torch.device | str = "cpu",
    convert: Callable[[np.ndarray], np.ndarray] | None = None,
    progress: Callable[[int], object] | None = None,
) -> np.ndarray:
    """Evaluate ``function`` at the pixel centers of a picture of any size.

    Memory is the returned array and a working set that does not grow with the picture.

    Args:
        function: from coordinates (x, y) of shape ``(N, 2)`` to values ``(N, C)``; a `Field`,
            or any callable.
        height: number of rows.
        width: number of columns.
        box: (x, y) of the upper left and of the lower right corner.
        device: where the function takes its coordinates.
        convert: applied to every block of values (float, ``(N, C)``) before it is stored: to
            bytes, say, so that the whole picture is never held as floats.
        progress: called with the number of pixels done since the last call.

    Returns:
        ``(height, width, C)``, in the dtype of the values, or of what ``convert`` returns.

    Raises:
        InputError: a height or width below 1, or a function that returns too few or many rows.
    """
    blocks = image_blocks(function, height, width, box=box, device=device)
    values = _collect(blocks, height * width, convert, progress)
    return values.reshape(height, width, -1)


def image_blocks(
    function: Function,
    height: int,
    width: int,
    *,
    box: Box = ((0.0, 0.0), (1.0, 1.0)),
    device: torch.device | str = "cpu",
) -> Iterator[np.ndarray]:
    """Evaluate ``function`` at the pixel centers of a picture, and yield the values.

    Memory is one block, whatever the size; see `render_image` for the arguments.

    Yields:
        Blocks ``(n, C)`` of successive pixels, row by row from the top.

    Raises:
        InputError: a height or width below 1, or a function that returns too few or many rows.
    """
    height = checks.integer("height", height, least=1)
    width = checks.integer("width", width, least=1)
    return _image_blocks(function, height, width, box, device)


def _image_blocks(
    function: Function, height: int, width: int, box: Box, device: torch.device | str
) -> Iterator[np.ndarray]:
    hidden = getattr(getattr(function, "network", None), "hidden_dim", 64)
    rows_at_once = max(1, rows_within(hidden, 1 << 16) // width)
    for top in range(0, height, rows_at_once):
        rows = slice(top, min(top + rows_at_once, height))
        points = pixel_centers(height, width, rows, box).reshape(-1, 2)
        yield from _at_points(function, points, device)


def render_points(
    function: Function, coordinates: Tensor, *, device: torch.device | str = "cpu"
) -> np.ndarray:
    """Evaluate ``function`` at coordinates ``(N, in_dim)`` in bounded memory.

    Returns:
        ``(N, out_dim)``.
    """
    blocks = _at_points(function, coordinates, device)
    return _collect(blocks, len(coordinates), None, None)


def _at_points(
    function: Function, points: Tensor, device: torch.device | str
) -> Iterator[np.ndarray]:
    """Yield the values at points, in blocks that fit the cache."""
    encoding = getattr(function, "encoding", None)
    step = rows_within(getattr(encoding, "out_dim", 256))
    for start in range(0, max(1, len(points)), step):
        part = points[start : start + step].to(device)
        with torch.no_grad():  # not around the yield: the caller's code runs there
            values = function(part)
        yield _as_array(values, len(part))


def _as_array(values: Tensor, number: int) -> np.ndarray:
    """Return values as a NumPy array; refuse another number of rows."""
    if values.shape[:1] != (number,):
        refuse(
            "the function must return one row of values per coordinate",
            f"shape {tuple(values.shape)} for {number} coordinates",
        )
    values = values.detach().cpu()
    return values.numpy() if values.dtype != torch.bfloat16 else values.float().numpy()


def _collect(
    blocks: Iterator[np.ndarray],
    number: int,
    convert: Callable[[np.ndarray], np.ndarray] | None,
    progress: Callable[[int], object] | None,
) -> np.ndarray:
    """Put the values of all blocks into one array."""
    out: np.ndarray | None = None
    done = 0
    for block in blocks:
        values = block if convert is None else convert(block)
        if out is None:
            out = np.empty((number, *values.shape[1:]), values.dtype)
        out[done : done + len(block)] = values
        done += len(block)
        if progress is not None:
            progress(len(block))
    assert out is not None
    return out
