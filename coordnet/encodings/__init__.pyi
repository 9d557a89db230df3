from collections.abc import Mapping
from typing import Any

from .combine import Concat as Concat, Identity as Identity, Normalized as Normalized
from .damped import Damped as Damped
from .dense_grid import DenseGrid as DenseGrid
from .encoding import Encoding as Encoding
from .fourier import FourierFeatures as FourierFeatures
from .hash_grid import HashGrid as HashGrid
from .polynomial import Polynomial as Polynomial
from .positional import SinusoidalPositionalEncoding as SinusoidalPositionalEncoding
from .signal import SignalShape as SignalShape, settings_for as settings_for
from .spherical import SphericalHarmonics as SphericalHarmonics

ENCODINGS: Mapping[str, Any]
COMBINATORS: Mapping[str, Any]

def build_encoding(spec: Any) -> Encoding: ...
