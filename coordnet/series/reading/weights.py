"""Columns of weights, or of errors that give them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...errors import refuse
from .header import find_column

__all__ = ["WeightReader"]

_MOST = 1e100


class WeightReader:
    """Takes weights from a column, or 1/error² from one of standard errors.

    Args:
        path: the file, for messages.
        names: all columns, in order.
        weights: name or place of a column of weights, or None.
        error: name or place of a column of errors, or None.

    Attributes:
        places: the place of the column, or none.
        name: its name, or None.

    Raises:
        InputError: an unknown column, or both.
    """

    def __init__(
        self,
        path: Path,
        names: Sequence[str],
        weights: str | int | None,
        error: str | int | None,
    ) -> None:
        if weights is not None and error is not None:
            refuse(
                "rows are weighted by a column of weights or one of errors",
                f"weights={weights!r} and error={error!r}",
                "Pass one of them.",
            )
        self._path, self._inverse = path, error is not None
        self.places: list[int] = []
        self.name: str | None = None
        wanted, role = (error, "error") if self._inverse else (weights, "weights")
        if wanted is not None:
            self.places = [find_column(path, names, wanted, role)]
            self.name = names[self.places[0]]

    def check(self, numbers: np.ndarray, lines: Sequence[int]) -> None:
        """Refuse the first number that gives no weight; missing ones are passed over.

        Args:
            numbers: (n, 0 or 1), NaN where missing.
            lines: n line numbers.
        """
        if not self.places:
            return
        found = numbers[:, 0]
        weights = self.weights(numbers)
        assert weights is not None
        # so far from 1 that sums and squares stay far from the ends of float64
        good = (found > 0) & (weights < _MOST) & (weights > 1.0 / _MOST)
        bad = np.flatnonzero(~(good | np.isnan(found)))
        if bad.size:
            what = "error must be above 0, 1/error²" if self._inverse else "weight must be above 0,"
            refuse(
                f"every {what} between {1 / _MOST:g} and {_MOST:g}: {str(self._path)!r}",
                f"line {lines[bad[0]]}, column {self.name!r}: {float(found[bad[0]])!r}",
                "Correct the cell, or leave it empty to drop the row.",
            )

    def weights(self, numbers: np.ndarray) -> np.ndarray | None:
        """Return the weights (n,), or None where there is no such column.

        Args:
            numbers: (n, 0 or 1).
        """
        if not self.places:
            return None
        found = np.ascontiguousarray(numbers[:, 0])
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            return 1.0 / np.square(found) if self._inverse else found
