"""What a fit is asked to do: the options typed, and those of the run that it goes on from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import refuse
from ..files import JsonObject
from .arguments import fit_flags

__all__ = ["asked_for"]

_BUDGET = ("steps", "seconds")
_WITH_RESUME = (*_BUDGET, "target_psnr", "checkpoint_every", "device")
# an option that is typed displaces what would contradict it
_RIVALS = (("preset", "encoding"), ("tile", "wrap"), _BUDGET)


def asked_for(typed: JsonObject) -> tuple[Path, JsonObject, bool, list[str]]:
    """Return the input, the options, whether to go on from a checkpoint, and what to say of it.

    Args:
        typed: what the command line holds, nothing else.

    Raises:
        InputError: no input; options that ``--resume`` cannot take; a run or a report that is
            not there or damaged.
    """
    typed = dict(typed)
    path, run, report = (typed.pop(name, None) for name in ("input", "resume", "like"))
    if run is not None and report is not None:
        refuse("a fit goes on from a run or is like one", "--resume and --like", "Pass one.")
    if path is None and run is None:
        rule = "fit needs an input, a picture or a table"
        refuse(rule, "none", "See coordnet fit --help.")
    if run is not None:
        from ..runs.record import Record
        from ..runs.run import checkpoint_of

        wrong = {name: value for name, value in typed.items() if name not in _WITH_RESUME}
        if wrong:
            able = ", ".join("--" + name.replace("_", "-") for name in _WITH_RESUME)
            rule, remedy = "--resume takes the options of its run", f"Only {able} may change."
            refuse(rule, as_typed(wrong, run), remedy)
        record = Record.from_checkpoint(checkpoint_of(run))
        path = record.path if path is None else path
        return path, {**_left(record.options, run, typed), **typed, "out": run}, True, []
    if report is not None:
        from ..runs.record import options_like

        options, notes = options_like(report, budget=not any(name in typed for name in _BUDGET))
        options = _left(options, report, typed)
        said = [f"like {report}: {as_typed(options, report) or 'no options'}"]
        assert path is not None
        return path, {**options, **typed}, False, [*said, *(f"  note: {note}" for note in notes)]
    assert path is not None
    return path, typed, False, []


def _left(options: Mapping[str, Any], source: Path, typed: JsonObject) -> JsonObject:
    """Return the options from a file that nothing typed displaces."""
    displaced = {name for rivals in _RIVALS if set(rivals) & typed.keys() for name in rivals}
    displaced |= {"out", "overwrite", *typed}
    left = {name: value for name, value in options.items() if name not in displaced}
    as_typed(left, source)
    return left


def as_typed(options: Mapping[str, Any], source: Path) -> str:
    """Return options of a fit as they are typed.

    Raises:
        InputError: a name that is no option.
    """
    known, words = fit_flags(), []
    for name, value in options.items():
        if name not in known:
            rule = f"options must be those of coordnet fit: {str(source)!r}"
            refuse(rule, repr(name)[:80], "Another version may know it: leave it out.")
        flag = known[name]
        values = value if isinstance(value, (list, tuple)) else [value]
        words += [
            flag if each is True else f"{flag}={each}" for each in values if each is not False
        ]
    return " ".join(words)
