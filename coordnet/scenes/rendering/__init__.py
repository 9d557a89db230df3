"""Rendering along rays.

`volume` and `packed` hold the same functions, for rays of equal and of different numbers of
samples; `sampling` says where to sample.
"""

from __future__ import annotations

from ..._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
