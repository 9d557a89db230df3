"""Fourier features: sines and cosines on a ladder of frequencies."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import boolean, integer_at_least, positive_number, refuse
from . import frequencies as ladders
from .defaults import SignalShape, ladder_settings
from .degenerate import warn_of_constants, warn_of_repeats
from .encoding import Encoding
from .multiples import steps_up_to
from .phase import encode

__all__ = ["FourierFeatures"]

Period = float | Sequence[float]
_MOST = 1 << 20  # frequencies on all axes together, wave vectors of a lattice


class FourierFeatures(Encoding):
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

    cycles: Tensor
    period: Tensor | None
    _steps: Tensor | None  # of the harmonic ladder, on the device of the cycles

    def __init__(
        self, in_dim: int = 1, k: int = 16, period: Period = math.tau, include_input: bool = False
    ) -> None:
        super().__init__(in_dim)
        k = _check_k(k, "harmonics", self.in_dim)
        each = _per_axis("period", period, self.in_dim)
        cycles = ladders.harmonic(k).expand(self.in_dim, k)
        self._set("harmonic", cycles, each, include_input, k=k, period=_plain(each))
        self._steps = steps_up_to(k, self.cycles.device)

    @classmethod
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
        k = _check_k(k, "octaves", self.in_dim)
        if k > 1000:
            refuse("k must be at most 1000 octaves", f"k={k}", "2^1000 is near float64's end.")
        each = _per_axis("period", period, self.in_dim)
        cycles = ladders.octave(k).expand(self.in_dim, k)
        self._set("octave", cycles, each, include_input, k=k, period=_plain(each))
        return self

    @classmethod
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
        k = _check_k(k, "frequencies", self.in_dim)
        C = positive_number("C", C, "The Transformer's value is 10000.0.")
        each = _per_axis("scale", scale, self.in_dim)
        cycles = ladders.geometric(k, C) * _constant(each)[:, None]
        self._set("geometric", cycles, None, include_input, k=k, C=C, scale=_plain(each))
        return self

    @classmethod
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
            seed: seed of the draw, a whole number of at least 0.
            period: the period in x's unit, one number or one per axis, or None.
            include_input: put x before the features.
        """
        self = cls._new(in_dim)
        k = _check_k(k, "frequencies", self.in_dim)
        spread = _per_axis("sigma", sigma, self.in_dim)
        seed = integer_at_least(0, "seed", seed, "Pass seed=0, say.")
        if seed >= 1 << 64:
            refuse("seed must be below 2^64", f"seed={seed}", "Pass seed=0, say.")
        if period is None:
            each, cycles = None, ladders.gaussian(self.in_dim, k, _constant(spread), seed)
        else:
            each = _per_axis("period", period, self.in_dim)
            whole = _constant(spread) * _constant(each)
            cycles = ladders.integer_gaussian(self.in_dim, k, whole, seed)
        settings = {
            "k": k,
            "sigma": _plain(spread),
            "seed": seed,
            "period": None if each is None else _plain(each),
        }
        self._set("gaussian", cycles[None], each, include_input, **settings)
        if each is not None:
            warn_of_repeats(cycles)
        return self

    @classmethod
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
        k = _check_k(k, "degrees", self.in_dim)
        digits = self.in_dim * math.log10(2 * k + 1)
        number = ((2 * k + 1) ** self.in_dim - 1) // 2 if digits < 18 else None
        if number is None or number > _MOST:
            many = f"about 1e{digits:.0f}" if number is None else f"{number}"
            refuse(
                f"a lattice may have at most {_MOST:,} wave vectors",
                f"k={k} in {self.in_dim} dimensions, which has {many}",
                "Pass a smaller k, or use .gaussian with a period.",
            )
        each = _per_axis("period", period, self.in_dim)
        cycles = ladders.lattice(self.in_dim, k)[None]
        self._set("lattice", cycles, each, include_input, k=k, period=_plain(each))
        return self

    @classmethod
    def for_signal(cls, name: str, signal: SignalShape) -> dict[str, Any]:
        """Return the settings of a ladder that suit a signal."""
        return ladder_settings(name, signal) or super().for_signal(name, signal)

    @classmethod
    def _new(cls, in_dim: int) -> FourierFeatures:
        self = cls.__new__(cls)
        Encoding.__init__(self, in_dim)
        return self

    def _set(
        self,
        ladder: str,
        cycles: Tensor,
        each: tuple[float, ...] | None,
        include_input: bool,
        **settings: Any,
    ) -> None:
        if not cycles.is_meta and not bool(cycles.isfinite().all()):
            named = {**settings, "period": each} if each else settings
            refuse(
                f"the frequencies of {ladder!r} must be finite in float64",
                ", ".join(f"{key}={value!r}" for key, value in named.items()),
                "Pass settings of a moderate size.",
            )
        self.ladder = ladder
        self.include_input = boolean("include_input", include_input)
        self._settings = settings
        self._steps = None
        self.register_constant("cycles", cycles.contiguous())
        if each is None:
            self.period = None
        else:
            self.register_constant("period", _constant(each))
            if not self.include_input:
                self.periods = each

    @property
    def axis_aligned(self) -> bool:
        """Whether every feature depends on one axis alone."""
        return self.cycles.ndim == 2

    @property
    def num_frequencies(self) -> int:
        """Number of (sin, cos) pairs."""
        return self.cycles.numel() if self.axis_aligned else self.cycles.shape[1]

    @property
    def out_dim(self) -> int:
        """Number of features: two per frequency, and in_dim more with ``include_input``."""
        return 2 * self.num_frequencies + (self.in_dim if self.include_input else 0)

    @property
    def frequencies(self) -> Tensor:
        """Angular wave vectors ω of the pairs sin ω·x, cos ω·x: radians per unit of x.

        Shape ``(num_frequencies, in_dim)``, float64, in the order of the features.
        """
        if self.axis_aligned:
            vectors = torch.block_diag(*(axis[:, None] for axis in self.cycles))
        else:
            vectors = self.cycles[0]
        vectors = vectors if self.period is None else vectors / self.period
        return vectors * math.tau

    def spec(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        return {
            "name": self.ladder,
            "in_dim": self.in_dim,
            **self._settings,
            "include_input": self.include_input,
        }

    def on_domain(self, lower: Tensor, upper: Tensor) -> Encoding:
        """Put a `Normalized` before what is measured in domain lengths.

        That is a Gaussian ladder without a period (its sigma is in cycles per domain), and the
        raw input of ``include_input``.
        """
        with self.cycles.device:  # not on the default device
            return self._on_domain(lower, upper)

    def _on_domain(self, lower: Tensor, upper: Tensor) -> Encoding:
        from .combine import Concat, Identity, Normalized

        if self.ladder == "geometric":
            warn_of_constants(self.cycles, upper - lower)
        own_unit = self.ladder != "gaussian" or self.period is not None
        if not own_unit:
            return Normalized(self, lower, upper)
        if self.include_input:
            bare = _without_input(self)
            return Concat([Normalized(Identity(self.in_dim), lower, upper), bare])
        return self

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        super()._apply(fn, recurse)
        if self._steps is not None:
            self._steps = steps_up_to(self.cycles.shape[1], self.cycles.device)
        return self

    def features(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Return the features of checked coordinates in ``dtype``."""
        constants = self._buffers  # attributes of a module are looked up slowly
        cycles: Any = constants["cycles"]
        steps = self._steps
        if steps is not None and steps.device != cycles.device:  # of buffers that were swapped
            steps = steps_up_to(cycles.shape[1], cycles.device)
        features = encode(x, cycles, constants.get("period"), dtype, steps)
        if self.include_input:
            features = torch.cat([x.to(features.dtype), features], -1)
        return features


def _without_input(encoding: FourierFeatures) -> FourierFeatures:
    bare = FourierFeatures._new(encoding.in_dim)
    period = None if encoding.period is None else tuple(encoding.period.tolist())
    bare._set(encoding.ladder, encoding.cycles, period, False, **encoding._settings)
    bare._steps = encoding._steps
    return bare


def _constant(values: Sequence[float]) -> Tensor:
    """Return float64 numbers on the CPU, whatever the default device is."""
    return torch.tensor(values, dtype=torch.float64, device="cpu")


def _check_k(k: int, what: str, in_dim: int) -> int:
    k = integer_at_least(1, "k", k, f"Pass k=1 or more {what}; raw x is `Identity`.")
    if k * in_dim > _MOST:
        got = f"k={k:,}" if k < 10**18 else "a k above 10^18"
        refuse(
            f"k * in_dim must be at most {_MOST:,}",
            f"{got} on {in_dim:,} axes",
            f"Pass fewer {what}: 16 to 1024 are usual.",
        )
    return k


def _per_axis(name: str, value: Period, in_dim: int) -> tuple[float, ...]:
    """Return ``value`` as one float per axis."""
    if isinstance(value, (Tensor, np.ndarray)):
        value = value.tolist()
    remedy = f"Pass one number, or {in_dim} of them."
    if isinstance(value, Sequence) and not isinstance(value, str):
        if len(value) != in_dim:
            refuse(f"{name} must be one number or one per axis", f"{name}={value!r}", remedy)
        return tuple(positive_number(name, each, remedy) for each in value)
    return (positive_number(name, value, remedy),) * in_dim


def _plain(each: tuple[float, ...]) -> float | list[float]:
    """One number where all axes agree: the spec reads as the call did."""
    return each[0] if len(set(each)) == 1 else list(each)
