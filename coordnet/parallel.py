"""Small pieces of work on several CPU threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import torch

__all__ = ["SERIAL", "run_all"]

# PyTorch runs an operation on fewer than 32,768 elements in one piece, on the calling thread
SERIAL = 32_767

_pools: dict[tuple[int, int], ThreadPoolExecutor] = {}


def run_all(tasks: Sequence[Callable[[], object]]) -> None:
    """Run independent tasks, dealt out among as many threads as PyTorch may use.

    PyTorch lets go of the interpreter during an operation, so that operations too small for it
    to split (below `SERIAL` elements) run side by side. No gradients are recorded. Which thread
    runs a task does not change its result.
    """
    threads = min(len(tasks), torch.get_num_threads())
    inference = torch.is_inference_mode_enabled()

    def share(first: int) -> None:
        with torch.inference_mode(inference), torch.no_grad():
            for task in tasks[first::threads]:
                task()

    if threads <= 1:
        share(0) if tasks else None
        return
    # by process: a fork leaves the pool behind without its threads
    key = (os.getpid(), threads)
    if key not in _pools:
        _pools[key] = ThreadPoolExecutor(threads - 1, "coordnet")
    others = [_pools[key].submit(share, i) for i in range(1, threads)]
    share(0)
    for other in others:
        other.result()
