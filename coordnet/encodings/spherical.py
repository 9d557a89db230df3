"""Real spherical harmonics of directions, as polynomials in (x, y, z)."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from .. import checks
from ..constants import supports_float64
from ..errors import refuse
from ..modes import is_traced
from .encoding import Encoding

__all__ = ["SphericalHarmonics"]

_MAX_DEGREE = 16
_CPU_ROWS = 8192


class SphericalHarmonics(Encoding):
    """Real spherical harmonics of directions in space, all those below a degree.

    The features of a unit vector are Y_lm for l = 0 … degree-1 and m = -l … l, feature l² + l + m:
    ``degree²`` of them, as tiny-cuda-nn counts (degree 4 is 16 features, up to cubic terms).
    They are orthonormal over the sphere, ∫ Y_i Y_j dΩ = δ_ij, so the first is 1/√(4π). Signs
    are tiny-cuda-nn's, with the Condon–Shortley phase: with the complex harmonics Y_l^m of
    quantum mechanics (scipy.special.sph_harm_y), Y_lm = √2 Re Y_l^m and Y_l,-m = √2 Im Y_l^m
    for m > 0; the linear ones are -c·y, c·z, -c·x with c = √(3/4π).

    Directions are meant to have length 1, in world axes, not in [0, 1]. Nothing is normalized:
    any other vector v gives the solid harmonics |v|^l Y_lm(v/|v|), the polynomials that agree
    with Y_lm on the sphere, homogeneous of degree l. So gradients exist at 0 too, of any order.

    P̄_l^m, the polynomial part in z and r², comes from the recurrence

        P̄_l^m = a (z P̄_{l-1}^m - b r² P̄_{l-2}^m),   a² = (4l² - 1) / (l² - m²),
        b² = ((l-1)² - m²) / (4(l-1)² - 1),

    stable upwards in l (Holmes and Featherstone 2002, section 2); the part in x and y is the
    real and the imaginary part of (x + iy)^m. All is evaluated in float64 and rounded once.

    Args:
        in_dim: must be 3.
        degree: number of bands l, from 1 to 16.

    Shape:
        ``(..., 3)`` to ``(..., degree²)``.

    Raises:
        InputError: an ``in_dim`` other than 3, or a degree out of range.

    Example:
        >>> encoding = SphericalHarmonics(degree=4)
        >>> encoding(torch.tensor([0.0, 0.0, 1.0])).shape
        torch.Size([16])
    """

    def __init__(self, in_dim: int = 3, degree: int = 4) -> None:
        super().__init__(in_dim)
        if self.in_dim != 3:
            refuse("spherical harmonics take directions in space, in_dim=3", f"in_dim={in_dim}")
        self.degree = checks.integer("degree", degree, least=1, most=_MAX_DEGREE)

    @property
    def out_dim(self) -> int:
        """Number of features, degree²."""
        return self.degree**2

    def spec(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        return {"name": "spherical", "in_dim": self.in_dim, "degree": self.degree}

    def features(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Return the harmonics of ``x``, shape ``(..., 3)`` to ``(..., degree²)``."""
        device = x.device if supports_float64(x.device) else torch.device("cpu")
        flat = x.reshape(-1, 3).to(device)
        # in blocks that the cache holds until their features are side by side
        at_once = is_traced() or device.type != "cpu"
        blocks = [
            torch.stack(_harmonics(block.to(torch.float64), self.degree), -1).to(dtype)
            for block in ([flat] if at_once else flat.split(_CPU_ROWS))
        ]
        features = blocks[0] if len(blocks) == 1 else torch.cat(blocks)
        return features.to(x.device).reshape(*x.shape[:-1], self.out_dim)


def _harmonics(directions: Tensor, degree: int) -> list[Tensor]:
    """Return the degree² features of float64 directions ``(N, 3)``, each of shape ``(N,)``."""
    x, y, z = directions.unbind(-1)
    squared = x * x + y * y + z * z
    harmonics: dict[tuple[int, int], Tensor] = {}
    real, imaginary = None, None  # of (x + iy)^m; 1 and 0 at first
    sectoral = math.sqrt(1 / (4 * math.pi))
    for m in range(degree):
        if m:
            if real is None or imaginary is None:
                real, imaginary = x, y
            else:
                real, imaginary = x * real - y * imaginary, x * imaginary + y * real
            sectoral *= -math.sqrt((2 * m + 1) / (2 * m) * (2 if m == 1 else 1))
        before, last = None, x * 0 + sectoral  # a constant that still belongs to x's graph
        for l in range(m, degree):  # noqa: E741
            if l > m:
                a = math.sqrt((4 * l * l - 1) / (l * l - m * m))
                product = z * last
                if before is not None:
                    b = math.sqrt(((l - 1) ** 2 - m * m) / (4 * (l - 1) ** 2 - 1))
                    product = product - b * (squared * before)
                before, last = last, a * product
            if real is None or imaginary is None:
                harmonics[l, 0] = last
            else:
                harmonics[l, m], harmonics[l, -m] = last * real, last * imaginary
    return [harmonics[l, m] for l in range(degree) for m in range(-l, l + 1)]  # noqa: E741
