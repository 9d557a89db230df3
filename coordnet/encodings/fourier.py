"""Fourier features: sines and cosines on a ladder of frequencies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from .. import checks
from ..errors import refuse
from . import frequencies as ladders
from .degenerate import warn_of_repeats
from .signal import SignalShape, suited_by
from .sinusoids import Sinusoids, constant

__all__ = ["FourierFeatures"]

Period = float | Sequence[float]
_MAX_FREQUENCIES = 1 << 20  # on all axes together; wave vectors of a lattice


class FourierFeatures(Sinusoids):
    """Sines and cosines of a coordinate on a ladder of frequencies.

    The constructor makes the harmonic map: for each axis

        x ↦ (sin ωx, cos ωx, sin 2ωx, cos 2ωx, …, sin kωx, cos kωx),   ω = 2π / period,

    every component of which has the period ``period`` (2π by default), and so has any network
    behind it: ``f(x + m * period)`` equals ``f(x)`` bit for bit wherever ``x + m * period`` is
    exact in the input's dtype. The other ladders:

    ==============  ===============================================  ==========================
    constructor     features (sin and cos of)                         repeats with
    ==============  ===============================================  ==========================
    harmonic        2π j x / period, j = 1 … k, each axis             ``period``
    ``octave``      2π 2^j x / period, j = 0 … k-1, each axis         ``period``
    ``geometric``   x / C^(i/k), i = 0 … k-1, each axis               never
    ``gaussian``    2π b·x, b ~ N(0, sigma² I), k of them             never, or ``period``
    ``lattice``     2π n·(x / period), all integers abs(n_i) <= k     ``period``
    ==============  ===============================================  ==========================

    Order of the features: axis by axis, then frequency by frequency, (sin, cos) side by side;
    with ``include_input`` x itself comes first. There is no constant feature: a network's bias
    plays that part. x = 0 gives exactly 0, 1, 0, 1, ….

    Any real x is taken, negative ones too; nothing is clamped. The features are within 1e-6 of
    the exact sines (float32) for harmonics up to 1024 and octaves up to 2^16 over 10^4 periods.

    Args:
        in_dim: number of input axes d.
        k: number of harmonics per axis.
        period: period in x's own unit (24.0 for hours), one number or one per axis.
        include_input: put x itself before the features. The map then no longer repeats.

    Shape:
        ``(..., d)`` to ``(..., 2 d k)``, or ``(..., d + 2 d k)`` with ``include_input``.

    Raises:
        InputError: a size below 1, or a period, C or sigma that is not finite and above 0.

    Example:
        >>> encoding = FourierFeatures(in_dim=1, k=2)
        >>> encoding(torch.zeros(1, 1))
        tensor([[0., 1., 0., 1.]])
    """

    def __init__(
        self, in_dim: int = 1, k: int = 16, period: Period = math.tau, include_input: bool = False
    ) -> None:
        super().__init__(in_dim)
        k = _check_k(k, self.in_dim)
        periods = checks.per_axis("period", period, self.in_dim, checks.positive)
        cycles = ladders.harmonic(k).expand(self.in_dim, k)
        self._set("harmonic", cycles, periods, include_input, k=k, period=checks.plain(periods))

    @classmethod
    @suited_by(ladders.octave_settings)
    def octave(
        cls, in_dim: int, k: int, period: Period = math.tau, include_input: bool = False
    ) -> FourierFeatures:
        """Build octaves: sin and cos of 2π 2^j x / period for j = 0 … k-1 on each axis.

        With the default period 2π these are NeRF's sin(2^j x) as its code has them; its paper,
        tiny-cuda-nn, SIREN's encoder and BARF use π 2^j x, which is ``period=2.0``; 2π 2^j x is
        ``period=1.0``.

        Args:
            in_dim: number of input axes.
            k: number of octaves per axis.
            period: wavelength of the lowest octave, in x's unit, one number or one per axis.
            include_input: put x before the features (NeRF does).
        """
        self = cls._new(in_dim)
        k = checks.integer("k", _check_k(k, self.in_dim), most=1000)  # 2^1000: near float64's end
        periods = checks.per_axis("period", period, self.in_dim, checks.positive)
        cycles = ladders.octave(k).expand(self.in_dim, k)
        self._set("octave", cycles, periods, include_input, k=k, period=checks.plain(periods))
        return self

    @classmethod
    @suited_by(ladders.geometric_settings)
    def geometric(
        cls,
        in_dim: int,
        k: int,
        C: float = 10_000.0,
        scale: Period = 1.0,
        include_input: bool = False,
    ) -> FourierFeatures:
        """Build the Transformer's ladder for real x: sin and cos of pos / C^(2i/d), d = 2k.

        Wavelengths grow geometrically from 2π to 2π C^((d-2)/d) positions, where pos = scale·x:
        over coordinates in [0, 1] with scale 1 nearly half of the features are constant. In a
        `Field` a `UserWarning` says so.

        Args:
            in_dim: number of input axes.
            k: number of frequencies per axis, d/2 in the Transformer's notation.
            C: the constant, above 0.
            scale: positions per unit of x, one number or one per axis: 1 where x counts
                positions already, the number of pixels where x runs over the unit interval.
            include_input: put x before the features.
        """
        self = cls._new(in_dim)
        k, C = _check_k(k, self.in_dim), checks.positive("C", C)
        scales = checks.per_axis("scale", scale, self.in_dim, checks.positive)
        cycles = ladders.geometric(k, C) * constant(scales)[:, None]
        self._set("geometric", cycles, None, include_input, k=k, C=C, scale=checks.plain(scales))
        return self

    @classmethod
    @suited_by(ladders.gaussian_settings)
    def gaussian(
        cls,
        in_dim: int,
        k: int,
        sigma: Period = 10.0,
        seed: int = 0,
        period: Period | None = None,
        include_input: bool = False,
    ) -> FourierFeatures:
        """Build random features: sin and cos of 2π b·x with b drawn from N(0, diag(sigma²)).

        The frequencies are constants: drawn once from the seed (PyTorch's global generator is
        not touched), kept in float64, saved with the model, never trained. (Tancik et al.,
        2020, order cos before sin.)

        With ``period`` the products b·period are rounded to whole numbers (a vector that
        rounds to 0 is drawn again): the features stay isotropic *and* repeat exactly. Where
        sigma·period is small few vectors differ, and a `UserWarning` says so.

        Without a period, in seven dimensions or more, a matrix product projects x; the last bit
        of a feature may then depend on the batch.

        Args:
            in_dim: number of input axes.
            k: number of frequency vectors; 2k features in all.
            sigma: standard deviation in cycles per unit of x, one number or one per axis. In a
                `Field` the unit of an axis without a period is the whole domain.
            seed: seed of the draw, an integer of at least 0.
            period: the period in x's unit, one number or one per axis, or None.
            include_input: put x before the features.
        """
        self = cls._new(in_dim)
        k, seed = _check_k(k, self.in_dim), checks.seed(seed)
        sigmas = checks.per_axis("sigma", sigma, self.in_dim, checks.positive)
        settings = {"k": k, "sigma": checks.plain(sigmas), "seed": seed, "period": None}
        if period is None:
            cycles = ladders.gaussian(self.in_dim, k, constant(sigmas), seed)
            self._set("gaussian", cycles[None], None, include_input, **settings)
            return self
        periods = checks.per_axis("period", period, self.in_dim, checks.positive)
        per_period = constant(sigmas) * constant(periods)
        cycles = ladders.integer_gaussian(self.in_dim, k, per_period, seed)
        settings["period"] = checks.plain(periods)
        self._set("gaussian", cycles[None], periods, include_input, **settings)
        warn_of_repeats(cycles)
        return self

    @classmethod
    @suited_by(ladders.lattice_settings)
    def lattice(
        cls, in_dim: int, k: int, period: Period = math.tau, include_input: bool = False
    ) -> FourierFeatures:
        """Build every integer wave vector n with abs(n_i) <= k: a periodic basis in d dimensions.

        Of each pair ±n one is kept (their sines and cosines span the same space), and n = 0 is
        left out. Together with a constant the features span all trigonometric polynomials of
        degree k in every axis. In one dimension this is the harmonic ladder.

        Args:
            in_dim: number of input axes d.
            k: largest degree per axis; (2k+1)^d - 1 features in all.
            period: the period in x's unit, one number or one per axis.
            include_input: put x before the features.
        """
        self = cls._new(in_dim)
        k = _check_k(k, self.in_dim)
        digits = self.in_dim * math.log10(2 * k + 1)
        number = ladders.lattice_size(self.in_dim, k) if digits < 18 else math.inf
        if number > _MAX_FREQUENCIES:
            many = f"about 1e{digits:.0f}" if number == math.inf else f"{number}"
            refuse(
                f"a lattice may have at most {_MAX_FREQUENCIES:,} wave vectors",
                f"k={k} in {self.in_dim} dimensions, which has {many}",
                "A Gaussian ladder with a period has as many as you ask for.",
            )
        periods = checks.per_axis("period", period, self.in_dim, checks.positive)
        cycles = ladders.lattice(self.in_dim, k)[None]
        self._set("lattice", cycles, periods, include_input, k=k, period=checks.plain(periods))
        return self

    @classmethod
    def for_signal(cls, signal: SignalShape) -> dict[str, Any]:
        """Return the settings of the harmonic ladder that suit a signal."""
        return {"k": signal.harmonics, "period": signal.wavelengths}


def _check_k(k: int, in_dim: int) -> int:
    k = checks.integer("k", k, least=1)
    if k * in_dim > _MAX_FREQUENCIES:
        got = f"k={k:,}" if k < 10**18 else "a k above 10^18"
        refuse(f"k * in_dim must be at most {_MAX_FREQUENCIES:,}", f"{got} on {in_dim:,} axes")
    return k
