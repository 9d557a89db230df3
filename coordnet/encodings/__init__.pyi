from collections.abc import Mapping
from typing import Any

from .combine import (
    Concat as Concat,
    Identity as Identity,
    Normalized as Normalized,
    build_encoding as build_encoding,
)
from .damped import Damped as Damped
from .encoding import Encoding as Encoding
from .fourier import FourierFeatures as FourierFeatures
from .grid import DenseGrid as DenseGrid, HashGrid as HashGrid
from .polynomial import Polynomial as Polynomial
from .positional import SinusoidalPositionalEncoding as SinusoidalPositionalEncoding
from .spherical import SphericalHarmonics as SphericalHarmonics

ENCODINGS: Mapping[str, Any]
COMBINATORS: Mapping[str, Any]
