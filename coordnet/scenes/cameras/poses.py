"""Pose matrices: checks, axes, looking at a point, averages, similarities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ...errors import refuse

__all__ = ["average_pose", "from_opencv", "inverse", "look_at", "rigid_pose"]

_LARGEST = 1e30  # rays are float32
_TOLERANCE = 1e-3  # what text with few digits and single precision leave of a rotation


def rigid_pose(matrix: object, who: str) -> tuple[np.ndarray, float]:
    """Check a camera→world matrix as a file holds it, and return the rigid motion that it is.

    A uniform scale of the camera's own axes changes none of its pictures: it is taken out. What
    the rounding of a text leaves of a rotation is replaced by the rotation nearest to it. Uneven
    scales, shears and mirrors are refused.

    Args:
        matrix: 3 x 4, or 4 x 4 with the last row 0, 0, 0, 1; nested lists or an array.
        who: names the frame, for messages.

    Returns:
        The pose, ``(3, 4)`` float64, and the scale that was taken out: 1.0 where there was none.

    Raises:
        InputError: another shape, an entry that is no finite number, another last row, a mirrored,
            sheared, unevenly scaled or singular matrix.
    """
    rule = f"the pose of {who} must be a matrix [R t] of 3 x 4 or 4 x 4 finite float32 numbers"
    try:
        values = np.asarray(matrix, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        refuse(rule, "rows of unequal lengths, text, or a number beyond float64")
    if values.shape not in ((3, 4), (4, 4)):
        refuse(rule, f"shape {values.shape}")
    bad = ~(np.abs(values) < _LARGEST)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        refuse(rule, f"{values[row, column]} at row {row}, column {column}")
    if len(values) == 4 and not np.allclose(values[3], (0, 0, 0, 1), rtol=0, atol=1e-6):
        remedy = "Transpose the matrix if it is stored column by column."
        got = ", ".join(f"{value:g}" for value in values[3])
        refuse(f"the last row of the pose of {who} must be 0, 0, 0, 1", got, remedy)
    axes = values[:3, :3]
    with np.errstate(all="ignore"):  # of numbers close to 0
        determinant = float(np.linalg.det(axes))
    rule = f"the pose of {who} must turn the camera without mirroring or shearing it"
    if determinant < 0:
        remedy = "Flip one of the first three columns: x is right, y up, and z points backwards."
        refuse(rule, f"a mirrored matrix (determinant {determinant:.4g})", remedy)
    scale = determinant ** (1 / 3)
    square = axes.T @ axes / max(scale, 1e-15) ** 2
    if not scale > 1e-15 or not np.allclose(square, np.eye(3), atol=2 * _TOLERANCE):
        lengths = ", ".join(f"{length:.4g}" for length in np.linalg.norm(axes, axis=0))
        got = f"axes of length {lengths}, determinant {determinant:.4g}"
        refuse(rule, got)
    left, _, right = np.linalg.svd(axes)
    rigid = np.concatenate([left @ right, values[:3, 3:]], 1)
    return rigid, 1.0 if abs(scale - 1) <= _TOLERANCE else scale


def wide(values: Tensor | Sequence[float]) -> Tensor:
    """Return numbers as float64 on the CPU, with all the digits that they have."""
    if isinstance(values, Tensor):
        return values.cpu().to(torch.float64)
    return torch.as_tensor(values, dtype=torch.float64, device="cpu")


def from_opencv(poses: np.ndarray) -> np.ndarray:
    """Turn camera→world poses ``(..., 3, 4)`` with y down and z forward into OpenGL's axes."""
    return poses * np.array([1.0, -1.0, -1.0, 1.0])


def inverse(matrix: Tensor) -> Tensor:
    """Return the inverse of rigid motions ``(..., 3, 4)``: [Rᵀ, −Rᵀ t]."""
    turn = matrix[..., :3].mT
    return torch.cat([turn, -(turn @ matrix[..., 3:])], -1)


def look_at(
    eye: Tensor | Sequence[float],
    target: Tensor | Sequence[float],
    up: Tensor | Sequence[float] = (0.0, 0.0, 1.0),
) -> Tensor:
    """Return the poses of cameras at ``eye`` that look at ``target``, level with ``up``.

    Args:
        eye: ``(..., 3)``, world coordinates; broadcasts with the others.
        target: ``(..., 3)``; shown in the middle of the picture.
        up: ``(..., 3)``, the direction that is upright in the picture; any length.

    Returns:
        ``(..., 3, 4)`` float64, camera→world, OpenGL axes.

    Raises:
        InputError: an eye in its target, or a camera that looks along ``up``.
    """
    at, point, upright = torch.broadcast_tensors(wide(eye), wide(target), wide(up))
    back = at - point
    right = torch.linalg.cross(upright, back)
    size = torch.linalg.vector_norm(right, dim=-1)
    lengths = [torch.linalg.vector_norm(vector, dim=-1) for vector in (upright, back)]
    least = 1e-9 * lengths[0] * lengths[1]
    if not bool((size > least).all()):
        rule = "a camera must look at a point away from it, and not along the direction that is up"
        refuse(rule, "an eye in its target, or straight above or below it")
    right = right / size[..., None]
    back = back / torch.linalg.vector_norm(back, dim=-1, keepdim=True)
    return torch.stack([right, torch.linalg.cross(back, right), back, at], -1)


def average_pose(poses: Tensor) -> Tensor:
    """Return a pose amid others: the mean position, looking along the mean direction.

    Upright is the mean of the cameras' own up.

    Args:
        poses: ``(n, 3, 4)``, n at least 1.

    Returns:
        ``(3, 4)`` float64.

    Raises:
        InputError: the cameras look in directions that cancel, or along their mean up.
    """
    poses = wide(poses)
    eye, up, back = poses[..., 3].mean(0), poses[..., 1].mean(0), poses[..., 2].mean(0)
    if float(torch.linalg.vector_norm(back)) < 1e-3:
        rule = "an average of poses needs cameras that look roughly the same way"
        refuse(rule, "directions that cancel each other")
    return look_at(eye, eye - back, up)
