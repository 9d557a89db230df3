"""Columns of weights, or of errors that give them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import refuse
from .header import find_column

__all__ = ["WeightReader"]


class WeightReader:
    """Takes weights from a column, or 1/error² from one of standard errors.

    Args:
        path: the file, for messages.
        names: all columns, in order.
        weights: name or place of a column of weights, or None.
        error: name or place of a column of errors, or None.

    Attributes:
        places: the place of the column, or none.
        name: what the weights are: the column's name, ``"1/name²"``, or None without.

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
        self._path, self._inverse = path, error is not None
        if weights is not None and error is not None:
            refuse(
                "rows are weighted by a column of weights or one of errors",
                f"weights={weights!r} and error={error!r}",
                "Pass one of them.",
            )
        self.places: list[int] = []
        self.name: str | None = None
        self._role = "error" if self._inverse else "weights"
        wanted = error if self._inverse else weights
        if wanted is not None:
            self.places = [find_column(path, names, wanted, self._role)]
            self._column = names[self.places[0]]
            self.name = f"1/{self._column}²" if self._inverse else self._column

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
        good = (found > 0) & np.isfinite(weights) & (weights > 0)
        bad = np.flatnonzero(~(good | np.isnan(found)))
        if bad.size:
            what = "1/error² must be finite and" if self._inverse else "every weight must be"
            refuse(
                f"{what} above 0: {str(self._path)!r}",
                f"line {lines[bad[0]]}, column {self._column!r}: {float(found[bad[0]])!r}",
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
