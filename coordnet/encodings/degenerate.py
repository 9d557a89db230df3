"""Warnings of encodings most of whose features are constant or repeat others."""

from __future__ import annotations

import math
import warnings

from torch import Tensor

__all__ = ["warn_of_constants", "warn_of_repeats"]

_CONSTANT = 1e-3
_FEW = 16


def warn_of_constants(cycles: Tensor, extent: Tensor) -> None:
    """Warn where over a domain two fifths of an axis's features change by less than 1e-3.

    Args:
        cycles: cycles per unit of each axis, ``(d, k)``.
        extent: the domain's length along each axis, ``(d,)``.
    """
    for frequencies, length in zip(cycles.cpu(), extent.tolist(), strict=True):
        # sin changes by about the angle, cos by half its square
        angle = frequencies * math.tau * length
        constant = int((angle < _CONSTANT).sum() + (angle.square() / 2 < _CONSTANT).sum())
        if length > 0 and 5 * constant > 4 * len(frequencies):
            warnings.warn(
                f"{constant} of {2 * len(frequencies)} geometric features are constant over an "
                f"extent of {length:g}: pass scale=, the positions per unit of x",
                UserWarning,
                stacklevel=2,
            )


def warn_of_repeats(cycles: Tensor) -> None:
    """Warn where fewer than an eighth of many wave vectors differ by more than their sign.

    Args:
        cycles: whole cycles per period, ``(k, d)``.
    """
    first = cycles.gather(1, (cycles != 0).int().argmax(1, keepdim=True))
    different = len((cycles * first.sign()).unique(dim=0))
    if len(cycles) >= _FEW and 8 * different < len(cycles):
        warnings.warn(
            f"{different} of {len(cycles)} Gaussian frequencies differ once they are rounded to "
            "whole numbers of cycles a period: pass a larger sigma, or use harmonics",
            UserWarning,
            stacklevel=3,
        )
