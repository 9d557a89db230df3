"""Periods and number of harmonics of a table's fit: as set, or chosen from the data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ..errors import refuse
from .options import SeriesOptions
from .reading.tables import Table
from .reading.units import in_unit

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
        search: the search that gave the period, where it was not set.
        choice: the errors that gave k, where it was not set.
        notes: sentences for the console.
    """

    periods: tuple[float, ...]
    k: int | None = None
    search: PeriodSearch | None = None
    choice: ChoiceOfK | None = None
    notes: list[str] = field(default_factory=list)


def choose(table: Table, options: SeriesOptions) -> Choices:
    """Return the periods and k that the options set, or choose them where they say "auto".

    Raises:
        InputError: a period "auto" beside others, k "auto" without a period, or samples in which
            nothing can be found.
    """
    trend = int(options.trend)
    if "auto" in options.periods:
        if len(options.periods) > 1:
            got = " ".join(f"--period {period}" for period in options.periods)
            refuse("--period auto stands alone", got)
        from .periods.search import find_period

        search = find_period(table.x, table.y, table.weights, trend=trend)
        choices = Choices((search.period,), search=search, notes=search.describe())
    else:
        unit = table.time.unit
        choices = Choices(tuple(in_unit("period", period, unit) for period in options.periods))
    if options.k == "auto":
        choices.k = _chosen_k(table, choices, trend)
    elif isinstance(options.k, int):
        choices.k = options.k
    return choices


def _chosen_k(table: Table, choices: Choices, trend: int) -> int:
    if not choices.periods:
        refuse("--k auto needs a period", "--k auto alone", "Add --period 24, or --period auto.")
    from .holdout import choose_k

    choice = choose_k(table.x, table.y, choices.periods, trend=trend, weights=table.weights)
    choices.choice = choice
    best = "" if choice.best == choice.k else f" (the least error is that of k = {choice.best})"
    choices.notes.append(
        f"k = {choice.k}: of 1 … {choice.candidates[-1]}, the smallest whose error on held-out "
        f"blocks, {choice.error[list(choice.candidates).index(choice.k)]:.4g}, is not clearly above"
        f" the least{best}."
    )
    return choice.k
