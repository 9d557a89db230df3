"""Regular grids and lists of points, evaluated block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from ..errors import integer_at_least, refuse
from ..grids import Box, pixel_centres
from ..memory import rows_within

__all__ = ["render_image", "render_points"]

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
    """Evaluate ``function`` at the pixel centres of a picture of any size.

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
    height = integer_at_least(1, "height", height, "Pass the size in pixels.")
    width = integer_at_least(1, "width", width, "Pass the size in pixels.")
    rows_at_once = max(1, (1 << 16) // width)

    def blocks() -> Iterator[Tensor]:
        for top in range(0, height, rows_at_once):
            rows = slice(top, min(top + rows_at_once, height))
            yield pixel_centres(height, width, rows, box).reshape(-1, 2)

    values = _evaluate(function, blocks(), height * width, device, convert, progress)
    return values.reshape(height, width, -1)


def render_points(
    function: Function, coordinates: Tensor, *, device: torch.device | str = "cpu"
) -> np.ndarray:
    """Evaluate ``function`` at coordinates ``(N, in_dim)`` in bounded memory.

    Returns:
        ``(N, out_dim)``.
    """
    return _evaluate(function, iter([coordinates]), len(coordinates), device, None, None)


def _evaluate(
    function: Function,
    blocks: Iterator[Tensor],
    number: int,
    device: torch.device | str,
    convert: Callable[[np.ndarray], np.ndarray] | None,
    progress: Callable[[int], object] | None,
) -> np.ndarray:
    encoding = getattr(function, "encoding", None)
    step = rows_within(getattr(encoding, "out_dim", 256))
    out: np.ndarray | None = None
    done = 0
    with torch.no_grad():
        for block in blocks:
            for start in range(0, max(1, len(block)), step):
                part = block[start : start + step].to(device)
                values = function(part).detach().cpu()
                found = values.numpy() if values.dtype != torch.bfloat16 else values.float().numpy()
                if convert is not None:
                    found = convert(found)
                if found.shape[:1] != part.shape[:1]:
                    refuse(
                        "the function must return one row of values per coordinate",
                        f"shape {found.shape} for {len(part)} coordinates",
                        "Map shape (N, 2) to (N, C).",
                    )
                if out is None:
                    out = np.empty((number, *found.shape[1:]), found.dtype)
                out[done : done + len(found)] = found
                done += len(found)
                if progress is not None:
                    progress(len(found))
    assert out is not None
    return out
