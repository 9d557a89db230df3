"""The base class of encodings: sizes, the check of inputs, the spec."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import torch
from torch import Tensor

from .. import checks
from ..constants import ExactConstants, cast_of
from ..errors import refuse
from ..specs import settings_text
from .signal import SignalShape, matching_settings

__all__ = ["Encoding"]


class Encoding(ExactConstants):
    """Lifts coordinates of shape ``(..., in_dim)`` into features of shape ``(..., out_dim)``.

    Any number of leading axes is accepted, empty ones too. Floating-point and integer inputs
    are taken exactly as they are, whether or not autocast is on. The dtype of the features is
    the one that the module was last cast to, by ``.half()``, ``.bfloat16()``, ``.double()``,
    ``.to(dtype)`` or through a parent module, so that the next layer of a `torch.nn.Sequential`
    fits. Of a module that was never cast they are float64 for float64 inputs and float32
    otherwise.

    Attributes:
        in_dim: number of input axes.
        periods: for each input axis the period (in the input's own unit) with which every
            feature repeats along it, or None where the features do not repeat.
    """

    in_dim: int
    periods: tuple[float | None, ...]
    _cast: torch.dtype | None = None

    def __init__(self, in_dim: int) -> None:
        super().__init__()
        self.in_dim = checks.integer("in_dim", in_dim, least=1)
        self.periods = (None,) * self.in_dim

    @property
    def out_dim(self) -> int:
        """Number of features."""
        raise NotImplementedError

    def spec(self) -> dict[str, Any]:
        """Return the settings as plain JSON values; `build_encoding` makes an equal encoding."""
        raise NotImplementedError

    @classmethod
    def for_signal(cls, signal: SignalShape) -> dict[str, Any]:
        """Return the constructor's settings that suit a signal, where the user sets none.

        Here they follow from the names of its parameters, see `matching_settings`: ``period``,
        ``periodic`` and ``k``. Override it for others that should depend on the signal.

        Args:
            signal: size, periods and frequencies of what is to be fitted.
        """
        return matching_settings(cls, signal)

    def on_domain(self, lower: Tensor, upper: Tensor) -> Encoding:
        """Return an encoding for coordinates that lie in the box from ``lower`` to ``upper``.

        Encodings that expect coordinates in the unit cube come back behind a `Normalized`;
        those that take the coordinate in its own unit (periods, positions) come back as they
        are.
        """
        return self

    def forward(self, x: Tensor) -> Tensor:
        """Return the features of ``x``, shape ``(..., in_dim)`` to ``(..., out_dim)``."""
        return self.encode(x, self._cast)

    def encode(self, x: Tensor, dtype: torch.dtype | None = None) -> Tensor:
        """Return the features of ``x`` in a dtype, whatever the module was cast to.

        They are computed in float64 where ``x`` or ``dtype`` is float64, otherwise in float32,
        and rounded once.

        Args:
            x: shape ``(..., in_dim)``.
            dtype: of the features; None for float64 where ``x`` is float64, and float32 elsewhere.

        Returns:
            Shape ``(..., out_dim)``.

        Raises:
            InputError: ``x`` is no real tensor, or its last axis is not ``in_dim``.
        """
        self.check_input(x)
        wide = torch.float64 if torch.float64 in (x.dtype, dtype) else torch.float32
        features = self.features(x, wide)
        return features if dtype is None else features.to(dtype)

    def features(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Return the features of checked coordinates, in the ``dtype`` asked for.

        ``x`` may be wider than the features: its digits count.
        """
        raise NotImplementedError

    def check_input(self, x: Tensor) -> None:
        """Raise `InputError` unless ``x`` is a real tensor whose last axis is ``in_dim``."""
        name = type(self).__name__
        if not isinstance(x, Tensor):
            refuse(f"{name} takes a torch tensor of coordinates", type(x).__name__)
        if x.dtype == torch.bool or x.is_complex():
            refuse(f"{name} takes real numbers", f"dtype {x.dtype}")
        if x.ndim == 0 or x.shape[-1] != self.in_dim:
            refuse(
                f"the last axis of the input of {name} must be in_dim={self.in_dim}",
                f"{x.shape[-1] if x.ndim else 'no axes'} in shape {tuple(x.shape)}",
                "x[..., None] adds the axis." if self.in_dim == 1 else "",
            )

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        cast = cast_of(fn)
        super()._apply(fn, recurse)
        self._cast = self._cast if cast is None else cast
        return self

    def __prepare_scriptable__(self) -> NoReturn:
        """Refuse torch.jit.script, which asks every module for this."""
        refuse(
            "an encoding cannot be compiled by torch.jit.script",
            type(self).__name__,
            "Use torch.export, torch.compile or torch.jit.trace.",
        )

    def extra_repr(self) -> str:
        """Show the settings in ``print(module)``."""
        return f"{settings_text(self.spec())} → out_dim={self.out_dim}"
