"""Random batches of sample numbers, epoch after epoch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

__all__ = ["Shuffler"]

_LARGEST_SHUFFLED = 1 << 25


class Shuffler(Iterator[Tensor | None]):
    """Endless batches of sample numbers: every sample once an epoch, in a fresh order.

    The end of an epoch is filled up from the next, so that all batches are of one size. None
    stands for all samples in their order. Above 2^25 samples, whose order alone would take
    256 MB and which no fit sees twice, numbers are drawn with replacement.

    Args:
        number: samples.
        size: samples a batch.
        seed: of the order.
    """

    def __init__(self, number: int, size: int, seed: int) -> None:
        self.number, self.size = number, size
        self.generator = torch.Generator().manual_seed(seed)
        # an epoch's order follows from the generator's state before it and what was left over
        self._state = self.generator.get_state()
        self._rest = self._order = torch.empty(0, dtype=torch.int64, device="cpu")
        self._next = 0

    def __next__(self) -> Tensor | None:
        """Return the next batch, int64 on the CPU."""
        if self.size >= self.number:
            return None
        if self.number > _LARGEST_SHUFFLED:
            return torch.randint(self.number, (self.size,), generator=self.generator, device="cpu")
        if self._next + self.size > len(self._order):
            self._rest = self._order[self._next :].clone()
            self._shuffle()
        first, self._next = self._next, self._next + self.size
        return self._order[first : self._next]

    def _shuffle(self) -> None:
        self._state = self.generator.get_state()
        order = torch.randperm(self.number, generator=self.generator, device="cpu")
        self._order, self._next = torch.cat([self._rest, order]), 0

    def state_dict(self) -> dict[str, Tensor]:
        """Return what the next batches follow from: a few kilobytes, however many samples."""
        drawn = self.number > _LARGEST_SHUFFLED
        return {
            "generator": self.generator.get_state() if drawn else self._state,
            "rest": self._rest,
            "position": torch.tensor(self._next, device="cpu"),
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Go on where another shuffler of as many samples and as large batches was.

        Raises:
            ValueError: no state of such a shuffler.
        """
        rest, position = state["rest"], int(state["position"])
        sound = rest.dtype == torch.int64 and rest.ndim == 1 and len(rest) < self.size
        if not sound or bool(((rest < 0) | (rest >= self.number)).any()):
            raise ValueError("the samples left over are none of these samples")
        if not 0 <= position <= self.number + len(rest) or position % self.size:
            raise ValueError(f"no batch begins at sample {position} of an epoch")
        self.generator.set_state(state["generator"])
        self._state, self._rest, self._order, self._next = state["generator"], rest, rest[:0], 0
        if position:
            self._shuffle()
            self._next = position
