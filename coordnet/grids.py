"""Regular grids of coordinates."""

from __future__ import annotations

import torch
from torch import Tensor

from . import checks

__all__ = ["cell_centers", "pixel_centers"]

Box = tuple[tuple[float, float], tuple[float, float]]


def pixel_centers(
    height: int,
    width: int,
    rows: slice | None = None,
    box: Box = ((0.0, 0.0), (1.0, 1.0)),
) -> Tensor:
    """Return the coordinates (x, y) of pixel centers, row 0 on top.

    x = (column + ½) / width and y = (row + ½) / height in the unit square, both scaled to
    ``box``. They are evaluated in float64 and rounded to float32 once.

    Args:
        height: number of rows of the whole picture.
        width: number of columns.
        rows: the rows to return, all where None.
        box: (x, y) of the upper left corner and of the lower right corner.

    Returns:
        Shape ``(number of rows, width, 2)``, float32.

    Raises:
        InputError: a height or width below 1.
    """
    height = checks.integer("height", height, least=1)
    width = checks.integer("width", width, least=1)
    (left, top), (right, bottom) = box
    start, end, _ = (rows or slice(None)).indices(height)
    column, row = cell_centers(width, left, right), cell_centers(height, top, bottom)[start:end]
    x = column.expand(len(row), width)
    y = row[:, None].expand(len(row), width)
    return torch.stack([x, y], -1)


def cell_centers(number: int, low: float = 0.0, high: float = 1.0) -> Tensor:
    """Return low + (high - low) · (i + ½) / number for i = 0 … number-1, shape ``(number,)``.

    Evaluated in float64 and rounded to float32 once.
    """
    centers = (torch.arange(number, dtype=torch.float64, device="cpu") + 0.5) / number
    return (low + (high - low) * centers).float()
