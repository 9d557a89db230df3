"""Work that is done in blocks, and in smaller ones where memory runs out."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

import torch

from ..memory import return_freed_memory
from .objective import Objective
from .progress import Say, warn

__all__ = ["in_blocks", "ran_out_of_memory"]

T = TypeVar("T")

_LEAST = 32
# what PyTorch's allocators and its libraries say; only CUDA has a class for it
_SAID = re.compile(
    r"out of memory|not enough memory|(can't|can not|cannot|unable to|failed to) allocate"
    r"|bad_alloc|bad allocation|could not create a (memory|primitive)",
    re.IGNORECASE,
)


def ran_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on the device or on the CPU."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    return isinstance(error, RuntimeError) and _SAID.search(str(error)) is not None


def in_blocks(
    objective: Objective,
    rows: int,
    work: Callable[[], T],
    discard: Callable[[], object],
    say: Say | None,
) -> T:
    """Return what ``work`` returns; where memory runs out, halve the block and do it again.

    Args:
        objective: its ``block`` is halved, and stays so.
        rows: most items that one call of ``work`` takes; blocks are no larger.
        work: goes through the items in blocks.
        discard: forgets what a failed call has left, such as half of the gradients.
        say: takes sentences for the user.

    Raises:
        RuntimeError: memory runs out with blocks of 32 items, too.
    """
    while True:
        try:
            return work()
        except (RuntimeError, MemoryError) as error:
            if not ran_out_of_memory(error):
                raise
        # here, not above: with its traceback the error would hold the failed block's tensors
        discard()
        if objective.device.type == "cuda":
            torch.cuda.empty_cache()
        else:
            return_freed_memory()
        block = min(objective.block, rows)
        if block <= _LEAST:
            raise RuntimeError(
                f"not enough memory, not even for {block} samples at once. Choose a smaller "
                "network or encoding, or another device."
            )
        objective.block = max(_LEAST, block // 2)
        warn(say, f"not enough memory for blocks of {block:,}: going on with {objective.block:,}")
