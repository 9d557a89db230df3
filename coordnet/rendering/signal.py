"""Signals over time at regular instants, evaluated in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from .. import checks
from ..constants import supports_float64
from ..errors import refuse
from ..memory import rows_within

__all__ = ["render_signal"]


def render_signal(
    function: Callable[[Tensor], Tensor],
    number: int,
    rate: float,
    *,
    device: torch.device | str = "cpu",
) -> Iterator[np.ndarray]:
    """Evaluate ``function`` at the times n / rate, n = 0 … number-1, and yield the values.

    The times are float64; memory is one block, whatever the number.

    Args:
        function: from times ``(n, 1)`` in seconds to values ``(n, C)``; a `Field`, or any
            callable.
        number: number of samples.
        rate: samples a second.
        device: where the function takes its times; a device without float64 gets them on the CPU.

    Yields:
        Blocks ``(n, C)``, at most 16,384 rows each, in the dtype of the values.

    Raises:
        InputError: a number below 1, a rate that is not above 0, or a function that returns too
            few or many rows.

    Example:
        >>> samples = np.concatenate(list(render_signal(field, number=96_000, rate=48_000)))
    """
    number = checks.integer("number", number, least=1)
    rate = checks.positive("rate", rate)
    device = torch.device(device)
    device = device if supports_float64(device) else torch.device("cpu")
    step = rows_within(getattr(getattr(function, "encoding", None), "out_dim", 256))
    for start in range(0, number, step):
        index = torch.arange(start, min(start + step, number), dtype=torch.float64, device="cpu")
        with torch.no_grad():  # not around the yield: the caller's code runs there
            values = function((index / rate)[:, None].to(device)).detach().cpu()
        if values.ndim != 2 or len(values) != len(index):
            refuse(
                "the function must return one row of values per time",
                f"shape {tuple(values.shape)} for {len(index)} times",
            )
        yield (values if values.dtype == torch.float64 else values.float()).numpy()
