"""Figures of a scene: target, rendering and error of views; depth maps in colors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import refuse
from ..plotting.figures import PathLike, check_ending, decibels, new_figure, save_figure

__all__ = ["colored_depth", "save_contact_sheet"]

_SIDE = 400
_MAX_ROWS = 8


def save_contact_sheet(
    path: PathLike,
    names: Sequence[str],
    targets: Sequence[np.ndarray],
    renderings: Sequence[np.ndarray],
    *,
    depths: Sequence[np.ndarray] | None = None,
    title: str = "",
) -> None:
    """Write a figure with a row for each view: target | rendering | error | depth.

    The error is the mean absolute one over the channels, on one scale for all views. At most
    eight views are shown, evenly spread.

    Args:
        path: the file to write: PNG, PDF or SVG.
        names: of the views.
        targets: ``(H, W, 3)`` in [0, 1] each.
        renderings: the same shapes.
        depths: ``(H, W)`` each, 0 where nothing is met; None leaves the column out.
        title: a line above.
    """
    check_ending(path)
    if not names or not len(names) == len(targets) == len(renderings):
        got = f"{len(names)} names, {len(targets)} targets, {len(renderings)} renderings"
        refuse("a contact sheet needs views, each with its target and rendering", got)
    number = min(len(names), _MAX_ROWS)
    chosen = np.unique(np.linspace(0, len(names) - 1, number).round().astype(int))
    errors = {
        i: np.abs(np.clip(renderings[i], 0, 1) - targets[i]).mean(-1, dtype=np.float64)
        for i in chosen
    }
    limit = max(1 / 255, *(float(np.quantile(error, 0.998)) for error in errors.values()))
    columns = 3 if depths is None else 4
    height, width = targets[0].shape[:2]
    side = 2.4
    figure = new_figure(columns * side, len(chosen) * (side * height / width + 0.25) + 0.3, title)
    grid = figure.subplots(len(chosen), columns, squeeze=False)
    for axes, i in zip(grid, chosen, strict=True):
        target, pred = targets[i], np.clip(renderings[i], 0, 1)
        square = float(np.square(pred.astype(np.float64) - target).mean())
        pictures = [
            (_thin(target), names[i], {}),
            (_thin(pred), f"{decibels(square, 1.0):.2f} dB", {}),
            (_thin(errors[i]), "error", {"cmap": "magma", "vmin": 0.0, "vmax": limit}),
        ]
        if depths is not None:
            pictures.append((_thin(colored_depth(depths[i])), "depth", {}))
        for cell, (picture, caption, settings) in zip(axes, pictures, strict=True):
            cell.imshow(picture, **settings)
            cell.set_title(caption, fontsize=8, parse_math=False)
            cell.set_xticks([])
            cell.set_yticks([])
            cell.spines[:].set_color("#bbbbbb")
    save_figure(figure, path)


def colored_depth(
    depth: np.ndarray, near: float | None = None, far: float | None = None
) -> np.ndarray:
    """Return a depth map as colors, near ones bright; white where nothing is met.

    Where the darkest color is more than ten times as far as the brightest, as where a sky is
    seen, colors are even in inverse distance.

    Args:
        depth: ``(H, W)``, 0 where nothing is met.
        near: the distance of the brightest color; the least depth where None.
        far: of the darkest; the largest depth where None.

    Returns:
        ``(H, W, 3)`` float32 in [0, 1].
    """
    import matplotlib

    met = depth > 0
    low = near if near is not None else float(depth[met].min()) if met.any() else 0.0
    high = far if far is not None else float(depth[met].max()) if met.any() else 1.0
    if high > 10 * low > 0:
        inverse = 1 / np.where(met, depth, high)
        share = np.clip((1 / low - inverse) / (1 / low - 1 / high), 0, 1)
    else:
        share = np.clip((depth - low) / max(high - low, 1e-12), 0, 1)
    colors = matplotlib.colormaps["viridis"](1 - share)[..., :3].astype(np.float32)
    colors[~met] = 1.0
    return colors


def _thin(picture: np.ndarray) -> np.ndarray:
    """Return a picture of at most some 400 pixels a side, by leaving rows and columns out."""
    step = max(1, -(-max(picture.shape[:2]) // _SIDE))
    return picture[::step, ::step]
