"""Radial and tangential lens distortion, and its inverse.

The model is Brown and Conrady's with two radial and two tangential coefficients, in the order and
with the signs of OpenCV, COLMAP's OPENCV camera, nerfstudio and instant-ngp.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["distort", "undistort"]

_ITERATIONS = 20


def distort(points: Tensor, coefficients: Tensor) -> Tensor:
    """Return where an ideal lens's image points fall behind a real lens.

    With r² = x² + y², for x to the right and y downwards on the plane at distance 1:

        x' = x (1 + k1 r² + k2 r⁴) + 2 p1 x y + p2 (r² + 2 x²)
        y' = y (1 + k1 r² + k2 r⁴) + p1 (r² + 2 y²) + 2 p2 x y

    Args:
        points: ``(..., 2)``, x and y in focal lengths from the principal point.
        coefficients: ``(..., 4)``, k1, k2, p1, p2; its leading axes broadcast with the points'.

    Returns:
        ``(..., 2)``, x' and y'.
    """
    return torch.stack(_distorted(points, coefficients)[:2], -1)


def undistort(points: Tensor, coefficients: Tensor) -> Tensor:
    """Return the ideal image points that `distort` maps to ``points``.

    Newton's method from the distorted points, until no point moves by more than a few units of
    rounding. The model folds over beyond some radius (where 1 + 3 k1 r² + 5 k2 r⁴ reaches 0 for a
    radial lens): points that lie there have no inverse, and what is returned for them is not one.

    Args:
        points: ``(..., 2)``, distorted x' and y' in focal lengths.
        coefficients: ``(..., 4)``, k1, k2, p1, p2; its leading axes broadcast with the points'.

    Returns:
        ``(..., 2)``, x and y, in the dtype of the points.
    """
    ideal = points
    enough = 8 * torch.finfo(points.dtype).eps
    for _ in range(_ITERATIONS):
        at_x, at_y, (xx, xy, yy) = _distorted(ideal, coefficients)
        off_x, off_y = at_x - points[..., 0], at_y - points[..., 1]
        step = torch.stack([yy * off_x - xy * off_y, xx * off_y - xy * off_x], -1)
        step = step / (xx * yy - xy * xy)[..., None]
        ideal = ideal - step
        # elsewhere the test would wait for the device
        on_cpu = points.device.type == "cpu"
        if on_cpu and not bool((step.abs() > enough * (1 + ideal.abs())).any()):
            break
    return ideal


def fold_radius_squared(coefficients: Tensor) -> Tensor:
    """Return r² where a lens folds over: the least positive root of 1 + 3 k1 r² + 5 k2 r⁴.

    Ideal points beyond it are distorted back toward the middle, onto points that others have
    already. The tangential part, which is small, is left out.

    Args:
        coefficients: ``(..., 4)``, k1, k2, p1, p2.

    Returns:
        ``(...)``, infinite for a lens that never folds.
    """
    a, b = 5 * coefficients[..., 1], 3 * coefficients[..., 0]
    under = b * b - 4 * a
    # 2 / (−b + √…) is the least positive root for either sign of a, and for a = 0
    below = -b + torch.sqrt(under.clamp(min=0))
    never = (under < 0) | (below <= 0)
    return torch.where(never, torch.inf, 2 / torch.where(never, 1, below))


def can_undistort(points: Tensor, coefficients: Tensor) -> Tensor:
    """Return where `undistort` finds an inverse: ``(...)`` booleans for points ``(..., 2)``."""
    ideal = undistort(points, coefficients)
    at_x, at_y, (xx, xy, yy) = _distorted(ideal, coefficients)
    miss = (torch.stack([at_x, at_y], -1) - points).abs().amax(-1)
    upright = (xx > 0) & (yy > 0) & (xx * yy > xy * xy)
    near = ideal.square().sum(-1) < fold_radius_squared(coefficients)
    return (miss < torch.finfo(points.dtype).eps ** 0.5) & upright & near


def _distorted(
    points: Tensor, coefficients: Tensor
) -> tuple[Tensor, Tensor, tuple[Tensor, Tensor, Tensor]]:
    """Return x', y' and the derivatives (∂x'/∂x, ∂x'/∂y = ∂y'/∂x, ∂y'/∂y)."""
    x, y = points.unbind(-1)
    k1, k2, p1, p2 = coefficients.unbind(-1)
    r2 = x * x + y * y
    radial = 1 + r2 * (k1 + r2 * k2)
    slope = 2 * k1 + 4 * k2 * r2  # of `radial`, along x divided by x
    out_x = x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x)
    out_y = y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y
    xx = radial + x * x * slope + 2 * p1 * y + 6 * p2 * x
    xy = x * y * slope + 2 * p1 * x + 2 * p2 * y
    yy = radial + y * y * slope + 6 * p1 * y + 2 * p2 * x
    return out_x, out_y, (xx, xy, yy)
