"""What a fit is asked to do: the options typed, and those of the run that it goes on from."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import refuse
from .fit_arguments import fit_parser

if TYPE_CHECKING:
    from ..kinds.options import FitOptions

__all__ = ["asked_for"]

_BUDGET = ("steps", "seconds")
_WITH_RESUME = (*_BUDGET, "target_psnr", "checkpoint_every", "device")
# an option that is typed displaces what would contradict it
_RIVALS = (("preset", "encoding"), ("tile", "wrap"), _BUDGET)


def asked_for(typed: dict[str, Any]) -> tuple[Path, FitOptions, bool, list[str]]:
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
    from ..kinds.options import FitOptions

    said: list[str] = []
    if run is not None:
        from ..runs.folder import checkpoint_of
        from ..runs.kept import read_kept

        wrong = [name for name in typed if name not in _WITH_RESUME]
        if wrong:
            got = " ".join(as_typed({name: typed[name] for name in wrong}))
            able = ", ".join("--" + name.replace("_", "-") for name in _WITH_RESUME)
            refuse("--resume takes the options of its run", got, f"Only {able} may change.")
        kept = read_kept(checkpoint_of(run))
        path = kept.path if path is None else path
        typed = {**_checked(kept.options, run, typed), **typed, "out": run}
    elif report is not None:
        from ..runs.like import like

        taken, notes = like(report, budget=not any(name in typed for name in _BUDGET))
        taken = _checked(taken, report, typed)
        shown = " ".join(as_typed(taken)) or "no options"
        said = [f"like {report}: {shown}", *(f"  note: {note}" for note in notes)]
        typed = {**taken, **typed}
    assert path is not None
    given: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in typed.items()}
    return path, FitOptions(**given), run is not None, said


def _checked(options: dict[str, Any], source: Path, typed: dict[str, Any]) -> dict[str, Any]:
    """Return options from a file, checked as if they were typed, where nothing typed rules."""
    displaced = {name for rivals in _RIVALS if set(rivals) & typed.keys() for name in rivals}
    displaced |= {"out", "overwrite", *typed}
    left = {name: value for name, value in options.items() if name not in displaced}
    return fit_options(left, source)


def fit_options(plain: dict[str, Any], source: Path) -> dict[str, Any]:
    """Return what the parser makes of plain values, or end with its one line of complaint."""
    found = vars(fit_parser(f"coordnet ({source})").parse_args(as_typed(plain)))
    return {name: value for name, value in found.items() if name != "input"}


def as_typed(options: Mapping[str, Any]) -> list[str]:
    """Return options of a fit, by their names in `FitOptions`, as they are typed.

    Raises:
        InputError: a name that is no option, or a value that cannot be typed.
    """
    known = {each.dest: each for each in fit_parser("coordnet")._actions if each.option_strings}
    typed: list[str] = []
    for name, value in options.items():
        if name not in known or name in ("help", "resume", "like"):
            remedy = "Another version may know it: leave it out."
            refuse("options must be those of coordnet fit", repr(name)[:80], remedy)
        flag, action = known[name].option_strings[0], known[name]
        if action.nargs == 0 and isinstance(value, bool):
            typed += [flag] if value else []
            continue
        several = isinstance(action, argparse._AppendAction) and isinstance(value, (list, tuple))
        for each in value if several else [value]:
            if isinstance(each, bool) or not isinstance(each, (str, int, float, Path)):
                got = repr(each)[:80]
                refuse(f"{flag} must be a word or a number", got, "Leave it out, and type it.")
            typed.append(f"{flag}={each}")
    return typed
