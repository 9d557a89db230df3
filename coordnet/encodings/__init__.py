"""Encodings lift coordinates into features. Add one: a file here, and its line in ENCODINGS."""

from __future__ import annotations

from typing import Any

from .._lazy import LazyTable, attach

# name in specs and on the command line → what builds it
ENCODINGS: LazyTable[Any] = LazyTable(
    __name__,
    {
        "harmonic": "fourier:FourierFeatures",
        "octave": "fourier:FourierFeatures.octave",
        "geometric": "fourier:FourierFeatures.geometric",
        "gaussian": "fourier:FourierFeatures.gaussian",
        "lattice": "fourier:FourierFeatures.lattice",
        "hashgrid": "grid:HashGrid",
        "densegrid": "grid:DenseGrid",
        "identity": "combine:Identity",
        "polynomial": "polynomial:Polynomial",
        "spherical": "spherical:SphericalHarmonics",
    },
)

# encodings made of encodings
COMBINATORS: LazyTable[Any] = LazyTable(
    __name__,
    {"concat": "combine:Concat", "damped": "damped:Damped", "normalized": "combine:Normalized"},
)

__getattr__, __dir__, __all__ = attach(__name__)
