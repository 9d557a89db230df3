"""The Transformer's sinusoidal positional encoding."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from .. import checks
from ..errors import refuse
from .fourier import FourierFeatures

__all__ = ["SinusoidalPositionalEncoding"]


class SinusoidalPositionalEncoding(nn.Module):
    """Adds pe(pos) to tokens: sines and cosines on d/2 geometric wavelengths.

    For i = 1 … d/2 (Vaswani et al., 2017, section 3.5)

        pe(pos)_{2i-1} = sin(pos / C^{2(i-1)/d}),   pe(pos)_{2i} = cos(pos / C^{2(i-1)/d})

    so that d = 8 with C = 10^4 has the frequencies 1, 0.1, 0.01, 0.001. (tensor2tensor divides
    by d/2 - 1 instead and puts all sines before all cosines.) There is no table of a fixed
    length and so no longest sequence; positions may be real numbers, and negative.

    Args:
        d: size of a token, an even number of at least 2.
        C: the constant, above 0.

    Raises:
        InputError: odd d, d below 2, or C not above 0.

    Example:
        >>> pe = SinusoidalPositionalEncoding(d=4, C=10_000.0)
        >>> pe.table(1)
        tensor([[0., 1., 0., 1.]])
    """

    def __init__(self, d: int, C: float = 10_000.0) -> None:
        super().__init__()
        self.d = checks.integer("d", d, least=2)
        if self.d % 2:
            refuse("d must be even: every sine has its cosine", f"d={d}")
        self.features = FourierFeatures.geometric(1, self.d // 2, C)
        self.C = float(C)

    def encode(self, positions: Tensor) -> Tensor:
        """Return pe of any positions.

        Args:
            positions: any shape, integer or real.

        Returns:
            Shape ``(*positions.shape, d)``; float64 for float64 positions, else float32.
        """
        _check_tensor(positions)
        # whatever the module was cast to: the sum with the tokens is rounded once, not twice
        return self.features.encode(positions[..., None])

    def table(self, n: int, start: int = 0) -> Tensor:
        """Return pe(start), pe(start + 1), …, pe(start + n - 1), shape ``(n, d)``, float32.

        Args:
            n: number of positions, at least 0.
            start: the first position.
        """
        n = checks.integer("n", n, least=0)
        return self.encode(self._count(n, start))

    def forward(self, tokens: Tensor, positions: Tensor | None = None, start: int = 0) -> Tensor:
        """Return tokens + pe, in the tokens' dtype.

        The sum is taken in float32 (float64 for float64 tokens) and rounded once.

        Args:
            tokens: shape ``(..., n, d)``, floating point.
            positions: the tokens' positions, a shape that broadcasts to ``(..., n)``; counted
                from ``start`` where None.
            start: position of the first token (for decoding piece by piece).

        Raises:
            InputError: tokens or positions of another shape, or both positions and a start.
        """
        self._check_tokens(tokens)
        if positions is not None:
            self._check_positions(positions, tokens.shape[:-1], start)
        wide = torch.float64 if tokens.dtype == torch.float64 else torch.float32
        if positions is None:
            positions = self._count(tokens.shape[-2], start)
        if wide == torch.float64:
            positions = positions.to(torch.float64)
        pe = self.encode(positions).to(tokens.device)
        return (tokens.to(wide) + pe).to(tokens.dtype)

    def _check_tokens(self, tokens: Tensor) -> None:
        if not isinstance(tokens, Tensor):
            got = type(tokens).__name__
        elif tokens.ndim < 2 or tokens.shape[-1] != self.d or not tokens.is_floating_point():
            got = f"shape {tuple(tokens.shape)}, dtype {tokens.dtype}"
        else:
            return
        refuse(f"tokens must be a floating point tensor of shape (..., n, d={self.d})", got)

    @staticmethod
    def _check_positions(positions: Tensor, rows: torch.Size, start: int) -> None:
        if start != 0:
            refuse("give positions or a start, not both", f"start={start!r}")
        _check_tensor(positions)
        shape = tuple(positions.shape)
        sizes = zip(reversed(shape), reversed(rows), strict=False)
        if len(shape) > len(rows) or any(a not in (1, b) for a, b in sizes):
            refuse(f"positions must broadcast to the tokens' {tuple(rows)}", f"shape {shape}")

    def _count(self, n: int, start: int) -> Tensor:
        remedy = "Real positions go through positions= or encode()."
        start = checks.integer("start", start, remedy=remedy)
        return torch.arange(start, start + n, device=self.features.cycles.device)

    def extra_repr(self) -> str:
        """Show the settings in ``print(module)``."""
        return f"d={self.d}, C={self.C}"


def _check_tensor(positions: Tensor) -> None:
    if not isinstance(positions, Tensor):
        refuse("positions must be a torch tensor", type(positions).__name__)
