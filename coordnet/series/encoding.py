"""Encoding of a table's positions: one encoding for each period, and the trend beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..encodings import Concat, Damped, Encoding, FourierFeatures, Identity
from ..encodings.signal import SignalShape, settings_for
from ..files import JsonObject
from ..kinds import parts
from .options import SeriesOptions
from .sampling import nyquist_harmonic

__all__ = ["build_encoding", "default_harmonics"]

_DEFAULT_HARMONICS = 8


def build_encoding(
    name: str, x: np.ndarray, periods: Sequence[float], options: SeriesOptions
) -> Encoding:
    """Build an encoding for each period, or one over the domain where there is none.

    Unless the harmonics were asked for by name, they are damped: where the data have a hole, a
    network on harmonics of one size fills it with all of them alike.

    A trend is the position itself beside them, normalized over the data: behind a network
    of ReLUs it bends wherever that fits and goes on straight beyond the data, with the change of
    the periodic shape. Low frequencies in its place fit closer and go astray beyond the data.

    Args:
        name: of the encoding, in ENCODINGS.
        x: (N,) positions in ascending order.
        periods: in the unit of ``x``.
        options: what the user set.

    Raises:
        InputError: an encoding that does not repeat, for a period; an option that it has no use
            for.
    """
    if periods:
        encodings = [_periodic(name, x, period, options) for period in periods]
        if options.trend:
            encodings.append(Identity(1))
        return encodings[0] if len(encodings) == 1 else Concat(encodings)
    defaults = _defaults(name, x, None, _DEFAULT_HARMONICS)
    return parts.build_encoding(name, 1, options, defaults, options.network)


def default_harmonics(x: np.ndarray, period: float) -> int:
    """Return eight harmonics, or as many as samples on a grid can tell apart."""
    limit = nyquist_harmonic(x, period)
    return _DEFAULT_HARMONICS if limit is None else max(1, min(_DEFAULT_HARMONICS, limit))


def _periodic(name: str, x: np.ndarray, period: float, options: SeriesOptions) -> Encoding:
    """Build the encoding of one period."""
    if options.sigma is not None:
        options = replace(options, sigma=options.sigma / period)
    defaults = _defaults(name, x, period, default_harmonics(x, period))
    encoding = parts.build_encoding(name, 1, options, defaults, options.network)
    parts.require_period(encoding, [period], "--period", name)
    if options.encoding is None and isinstance(encoding, FourierFeatures):
        return Damped(encoding)
    return encoding


def _defaults(name: str, x: np.ndarray, period: float | None, harmonics: int) -> JsonObject:
    """Settings of an encoding over one period, or over the domain."""
    span = float(x[-1] - x[0]) or 1.0
    table = SignalShape(
        (len(x),),
        (span,),
        (len(x) / span,),
        (period,),
        harmonics,
        bandwidth=min(len(x) / 8, 512.0),
        spread=8.0,
        frequencies=64,
    )
    return settings_for(name, table)
