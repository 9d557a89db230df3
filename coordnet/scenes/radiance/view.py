"""Whole views of a scene, rendered in bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import torch

from ..cameras.cameras import Cameras
from .model import RadianceModel

__all__ = ["View", "render_view"]

_RAYS = 4096


class View(NamedTuple):
    """A rendered view.

    Attributes:
        color: ``(H, W, 3)`` float32, multiplied by opacity.
        opacity: ``(H, W)`` float32, from 0 to 1.
        depth: ``(H, W)`` float32, the expected distance along the ray; 0 where nothing is met.
    """

    color: np.ndarray
    opacity: np.ndarray
    depth: np.ndarray

    def composite(self, background: tuple[float, ...]) -> np.ndarray:
        """Return the view over a background, ``(H, W, 3)`` float32."""
        return self.color + (1 - self.opacity[..., None]) * np.asarray(background, np.float32)


def render_view(
    model: RadianceModel,
    cameras: Cameras,
    i: int,
    *,
    rays: int = _RAYS,
    progress: Callable[[int], object] | None = None,
) -> View:
    """Render what a camera sees.

    Memory is that of the picture and of a block of rays: where one does not fit, blocks of half
    as many are tried.

    Args:
        model: the scene.
        cameras: cameras, on any device.
        i: which one.
        rays: most rays at once.
        progress: called with the number of pixels done since the last call.
    """
    device = next(model.parameters()).device
    width, height = (int(side) for side in cameras.sizes[i])
    cameras = cameras[i].to(device)
    arrays = [np.empty((height * width, *tail), np.float32) for tail in ((3,), (), ())]
    mode = model.training
    model.eval()
    try:
        with torch.no_grad():
            done = 0
            while done < height * width:
                number = min(rays, height * width - done)
                pixel = torch.arange(done, done + number, device=device)
                row = torch.div(pixel, width, rounding_mode="floor")
                try:
                    part = model(*cameras.rays(0, torch.stack([pixel - row * width, row], -1)))
                except torch.OutOfMemoryError:
                    if rays <= 64:
                        raise
                    rays //= 2
                    continue
                for array, values in zip(arrays, part[:3], strict=True):
                    array[done : done + number] = values.cpu().numpy()
                done += number
                if progress is not None:
                    progress(number)
    finally:
        model.train(mode)
    color, opacity, depth = (v.reshape(height, width, *v.shape[1:]) for v in arrays)
    return View(color, opacity, depth)
