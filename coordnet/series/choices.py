"""What a table's fit finds out by itself: the period, and the number of harmonics."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import refuse
from .options import SeriesOptions
from .reading.tables import Table
from .reading.units import in_unit
from .sampling import nyquist_harmonic

if TYPE_CHECKING:
    from .holdout import ChoiceOfK
    from .periods.candidates import PeriodSearch

__all__ = ["Choices", "choose"]


@dataclass
class Choices:
    """The periods and the number of harmonics of a fit.

    Attributes:
        periods: in the unit of the positions.
        k: harmonics of each period; None for the task's default.
        search: how the period was found, where it was sought.
        choice: how k was found, where it was.
        notes: sentences for the console.
    """

    periods: tuple[float, ...]
    k: int | None = None
    search: PeriodSearch | None = None
    choice: ChoiceOfK | None = None
    notes: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return what was found as plain JSON values."""
        found: dict[str, Any] = {}
        if self.search is not None:
            found["candidates"] = [vars(each) for each in self.search.candidates]
        if self.choice is not None:
            names = ("candidates", "error", "standard_error")
            found["k"] = {"chosen": self.choice.k, "best": self.choice.best,
                          **{n: getattr(self.choice, n).tolist() for n in names}}  # fmt: skip
        return found


def choose(table: Table, options: SeriesOptions) -> Choices:
    """Return the periods and k that the options give, or ask to be found.

    Raises:
        InputError: a period "auto" beside others, k "auto" without a period, or samples in which
            nothing can be found.
    """
    trend = int(options.trend)
    if "auto" in options.periods:
        if len(options.periods) > 1:
            shown = " ".join(f"--period {each}" for each in options.periods)
            refuse("--period auto stands alone", shown, "Name the periods, or leave them to it.")
        from .periods.search import find_period

        search = find_period(table.x, table.y, table.weights, trend=trend)
        found = Choices((search.period,), search=search, notes=search.describe())
    else:
        unit = table.time.unit
        found = Choices(tuple(in_unit("period", each, unit) for each in options.periods))
    if options.k == "auto":
        found.k = _chosen_k(table, found, trend)
    elif isinstance(options.k, int):
        found.k = options.k
    return found


def _chosen_k(table: Table, found: Choices, trend: int) -> int:
    if not found.periods:
        refuse("--k auto needs a period", "--k auto alone", "Add --period 24, or --period auto.")
    from .holdout import choose_k

    limits = [nyquist_harmonic(table.x, period) for period in found.periods]
    known = [limit for limit in limits if limit is not None]
    limit = min(known) if known else None
    choice = choose_k(
        table.x, table.y, found.periods, trend=trend, weights=table.weights, limit=limit
    )
    found.choice = choice
    best = "" if choice.best == choice.k else f" (the least error is that of k = {choice.best})"
    found.notes.append(
        f"k = {choice.k}: of 1 … {choice.candidates[-1]}, the smallest whose error on held-out "
        f"blocks, {choice.error[list(choice.candidates).index(choice.k)]:.4g}, is not clearly above"
        f" the least{best}."
    )
    return choice.k
