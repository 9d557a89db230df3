"""Encodings lift coordinates into features. Add one: a file here, and its line in ENCODINGS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._lazy import Table, attach

if TYPE_CHECKING:
    from .encoding import Encoding

# name in specs and on the command line → what builds it
ENCODINGS: Table[Any] = Table(
    __name__,
    {
        "harmonic": "fourier:FourierFeatures",
        "octave": "fourier:FourierFeatures.octave",
        "geometric": "fourier:FourierFeatures.geometric",
        "gaussian": "fourier:FourierFeatures.gaussian",
        "lattice": "fourier:FourierFeatures.lattice",
        "hashgrid": "hash_grid:HashGrid",
        "densegrid": "dense_grid:DenseGrid",
        "identity": "combine:Identity",
        "polynomial": "polynomial:Polynomial",
        "spherical": "spherical:SphericalHarmonics",
    },
    group="coordnet.encodings",
)

# encodings made of encodings
COMBINATORS: Table[Any] = Table(
    __name__,
    {"concat": "combine:Concat", "damped": "damped:Damped", "normalized": "combine:Normalized"},
)


def build_encoding(spec: Any) -> Encoding:
    """Build the encoding that a spec describes.

    Args:
        spec: what `Encoding.spec` returned: a dict with ``name`` and the settings.

    Raises:
        InputError: an unknown name, or settings that the encoding does not take.
    """
    from ..specs import build_from

    nested = ("encoding", "encodings")
    return build_from(spec, "encoding", ENCODINGS, COMBINATORS, nested=nested)


__getattr__, __dir__, __all__ = attach(__name__)
