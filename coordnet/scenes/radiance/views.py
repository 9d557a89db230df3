"""Whole views of a scene, in bounded memory."""

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
        color: ``(H, W, 3)`` float32, multiplied by opacity: over nothing.
        opacity: ``(H, W)`` float32, from 0 to 1.
        depth: ``(H, W)`` float32, the expected distance along the ray; 0 where nothing is met.
    """

    color: np.ndarray
    opacity: np.ndarray
    depth: np.ndarray

    def over(self, background: tuple[float, float, float]) -> np.ndarray:
        """Return the view over a background, ``(H, W, 3)`` float32."""
        behind = np.asarray(background, np.float32)
        return self.color + (1 - self.opacity[..., None]) * behind


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
    color = np.empty((height * width, 3), np.float32)
    opacity, depth = np.empty(height * width, np.float32), np.empty(height * width, np.float32)
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
                    seen = model(*cameras.rays(0, torch.stack([pixel - row * width, row], -1)))
                except torch.OutOfMemoryError:
                    if rays <= 64:
                        raise
                    rays //= 2
                    continue
                part = slice(done, done + number)
                color[part] = seen.color.cpu().numpy()
                opacity[part] = seen.opacity.cpu().numpy()
                depth[part] = seen.depth.cpu().numpy()
                done += number
                if progress is not None:
                    progress(number)
    finally:
        model.train(mode)
    shape = (height, width)
    return View(color.reshape(*shape, 3), opacity.reshape(shape), depth.reshape(shape))
