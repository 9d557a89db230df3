"""Encodings lift coordinates into features. Add one: a file here, and its line in ENCODINGS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._lazy import LazyTable, attributes, listing

if TYPE_CHECKING:
    from .combine import Concat, Identity, Normalized, build_encoding
    from .damped import Damped
    from .encoding import Encoding
    from .fourier import FourierFeatures
    from .grid import DenseGrid, HashGrid
    from .polynomial import Polynomial
    from .positional import SinusoidalPositionalEncoding
    from .spherical import SphericalHarmonics

__all__ = [
    "COMBINATORS",
    "ENCODINGS",
    "Concat",
    "Damped",
    "DenseGrid",
    "Encoding",
    "FourierFeatures",
    "HashGrid",
    "Identity",
    "Normalized",
    "Polynomial",
    "SinusoidalPositionalEncoding",
    "SphericalHarmonics",
    "build_encoding",
]

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

__getattr__ = attributes(
    __name__,
    {
        "Concat": "combine",
        "Identity": "combine",
        "Normalized": "combine",
        "build_encoding": "combine",
        "Damped": "damped",
        "Encoding": "encoding",
        "DenseGrid": "grid",
        "FourierFeatures": "fourier",
        "HashGrid": "grid",
        "Polynomial": "polynomial",
        "SinusoidalPositionalEncoding": "positional",
        "SphericalHarmonics": "spherical",
    },
)
__dir__ = listing(__name__, __all__)
