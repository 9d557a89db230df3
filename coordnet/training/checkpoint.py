"""Checkpoints: the whole state of a fit in a file, from which it goes on as if never stopped."""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch

from ..errors import refuse
from ..files import remove_stale
from ..version import __version__
from .checkpoint_file import CheckpointFile, damaged, read_checkpoint, write_checkpoint
from .config import FitConfig
from .progress import Notify, tell
from .state import TrainState, exact

__all__ = ["Checkpoint", "CheckpointWriter", "Interval"]

# settings that a fit may go on with changed: where it ends, what it runs on, what it measures
_FREE = {
    *("steps", "seconds", "target_psnr", "device", "cache_bytes", "compile", "evaluate"),
    "log_every",
}
# numbers of the state that the file holds as JSON, beside its seconds
_COUNTERS = ("step", "good_step", "block")
_AMOUNT = re.compile(r"(\d+(?:\.\d*)?)\s*(s|min|h|steps?)?", re.ASCII)
_SECONDS = {"s": 1, "min": 60, "h": 3600}


class Interval(NamedTuple):
    """What must have passed since the last checkpoint.

    Attributes:
        seconds: so many seconds.
        steps: or so many steps.
        patience: and so many times as long as that checkpoint took.
    """

    seconds: float = math.inf
    steps: float = math.inf
    patience: float = 0.0

    @classmethod
    def read(cls, every: str | int) -> Interval:
        """Return the interval that `Checkpoint`'s ``every`` means.

        Raises:
            InputError: no such interval.
        """
        text = str(every).strip()
        if text == "auto":
            return cls(seconds=30.0, patience=50.0)
        if text == "never":
            return cls()
        match = None if isinstance(every, bool) else _AMOUNT.fullmatch(text)
        if match is not None:
            amount, seconds = float(match[1]), _SECONDS.get(match[2])
            if seconds is not None and 0 < amount < 1e9:
                return cls(seconds=amount * seconds)
            if seconds is None and amount.is_integer() and 1 <= amount < 1e15:
                return cls(steps=amount)
        return refuse(
            "checkpoints are written after a time (30s, 5min, 1h), after a number of steps (500), "
            "when it is cheap (auto), or never",
            repr(every)[:80],
        )

    def over(self, seconds: float, steps: int, cost: float) -> bool:
        """Whether the interval is over, ``seconds`` and ``steps`` after a save of ``cost`` s."""
        enough = seconds >= self.seconds or steps >= self.steps
        return enough and seconds >= self.patience * cost

    def __str__(self) -> str:
        """Return the interval in words."""
        if self.steps < math.inf:
            return "step" if self.steps == 1 else f"{self.steps:,.0f} steps"
        return f"{self.seconds:g} s"


class Checkpoint:
    """A file that holds the state of a fit, and how often it is written.

    The state is everything that later steps follow from: the module, the moments of the
    optimizer, the place in the schedule and in the shuffled epoch, the losses so far, and the
    last good parameters. On one device and number of threads a fit that goes on from it gives
    the losses, bit for bit, of one that was never stopped, where its budget is in steps. (A
    module that draws from PyTorch's global random generator, as dropout does, is the exception:
    that generator is left alone.)

    The file is replaced atomically. A save that fails, on a full disk say, is a warning: the fit
    goes on, and the last checkpoint stays. A fit that is stopped writes one more; so does one
    that ends after its first, and to go on from that ends at once, or takes more steps if there
    are more to take. Remove the file when the module is saved.

    Args:
        path: the file, a few times as large as the module (safetensors: nothing in it is code).
        every: a number of steps (``500``), a time (``"30s"``, ``"5min"``), ``"auto"``: every 30
            seconds, but at most a fiftieth of the time; or ``"never"``.
        resume: go on from the file where it exists; the module, the samples and the settings
            must be those of the first fit, but for the budget.
        overwrite: begin anew although the file exists; it is replaced at the first save.
        about: plain JSON values to keep with the state.

    Raises:
        InputError: no interval; a folder that does not exist; a file that exists where neither
            ``resume`` nor ``overwrite`` is set.

    Example:
        >>> checkpoint = Checkpoint("fit.checkpoint", every="30s", resume=True)
        >>> fit(field, x, y, steps=100_000, checkpoint=checkpoint)
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        every: str | int = "auto",
        *,
        resume: bool = False,
        overwrite: bool = False,
        about: Mapping[str, Any] | None = None,
    ) -> None:
        self.path = Path(path)
        self.interval = Interval.read(every)
        self.resume, self.overwrite, self.about = resume, overwrite, dict(about or {})
        if not self.path.parent.is_dir():
            refuse("the folder of a checkpoint must exist", f"{str(self.path.parent)!r}")
        if self.path.is_dir():
            refuse("a checkpoint must be a file", f"{str(self.path)!r}, a folder")
        if self.path.exists() and not (resume or overwrite):
            refuse(
                "a checkpoint must not exist yet",
                f"{str(self.path)!r}",
                "Pass resume=True to go on from it, or overwrite=True to begin anew.",
            )

    @property
    def resumable(self) -> bool:
        """Whether there is a file, and a fit is to go on from it."""
        return self.resume and self.path.exists()

    def save(self, state: TrainState) -> int:
        """Write the state of a fit between two steps; return the bytes of the file.

        Raises:
            OSError: the file cannot be written.
        """
        tensors = state.state_dict()
        about = {
            "version": __version__,
            **{name: int(tensors.pop(f"fit.{name}")) for name in _COUNTERS},
            "seconds": float(tensors.pop("fit.seconds")),
            "samples": len(state.objective),
            "batch_size": state.batch_size,
            "config": state.config.to_dict(),
            **_machine(state),
            "about": self.about,
        }
        return write_checkpoint(self.path, tensors, about)

    def load(self, state: TrainState) -> str:
        """Bring a fit that has taken no step to where it was saved.

        Returns:
            What differs between this machine and the one that wrote the file, in words.

        Raises:
            InputError: no checkpoint, a damaged one, or one of another fit; a budget of steps
                that are taken already.
        """
        with read_checkpoint(self.path) as file:
            _check_settings(state.config, file)
            sizes = {"samples": len(state.objective), "batch_size": state.batch_size}
            for name, size in sizes.items():
                if file.integer(name) != size:
                    damaged(file.path, f"{name}={file.about[name]}, not {size}")
            step, budget = file.integer("step"), state.config.max_steps
            if budget is not None and budget < step:
                got = f"steps={budget} after {step} steps"
                refuse("the budget must not be spent before the fit goes on", got)
            numbers = {name: float(file.integer(name)) for name in _COUNTERS}
            numbers["seconds"] = file.number("seconds")
            counters = {f"fit.{name}": exact(number) for name, number in numbers.items()}
            state.load_state_dict({**file, **counters})
            machine = _machine(state)
            if state.objective.device.type != "cpu":
                del machine["threads"]
            was = {name: file.about.get(name) for name in machine}
        changed = [f"{n} was {was[n]}, is {now}" for n, now in machine.items() if was[n] != now]
        return "; ".join(changed)


class CheckpointWriter:
    """Writes the checkpoints of a fit when they are due, and says so; a failure ends no fit.

    Args:
        checkpoint: where and how often; None for never.
        notify: takes notices for the user.
    """

    def __init__(self, checkpoint: Checkpoint | None, notify: Notify | None) -> None:
        self.checkpoint, self.notify = checkpoint, notify
        self._written = self._failed = False
        # of the last save: its step, the seconds of the fit, what it took
        self._step, self._seconds, self._cost = 0, 0.0, 0.0

    def begin(self, state: TrainState) -> None:
        """Bring the state to where the checkpoint was written, if the fit is to go on from one."""
        if self.checkpoint is None:
            return
        remove_stale(self.checkpoint.path)
        if self.checkpoint.resumable:
            changed = self.checkpoint.load(state)
            self._written = True
            where = f"step {state.step:,}, {state.seconds():.1f} s into the fit"
            tell(self.notify, f"goes on from {where}")
            if changed:
                tell(self.notify, f"{changed}: the last digits of the losses may differ")
        self._step, self._seconds = state.step, state.seconds()

    def save_if_due(self, state: TrainState) -> None:
        """Write a checkpoint after a step, if the interval is over."""
        if self.checkpoint is not None:
            seconds = state.seconds() - self._seconds
            if self.checkpoint.interval.over(seconds, state.step - self._step, self._cost):
                self._save(self.checkpoint, state)

    def end(self, state: TrainState, *, stopped: bool) -> None:
        """Write the last checkpoint of a fit that was stopped, or that has written others."""
        if self.checkpoint is None or self.checkpoint.interval == Interval():
            return
        behind = state.step > self._step or self._failed or not self._written
        if state.step and behind and (stopped or self._written):
            self._save(self.checkpoint, state)

    def _save(self, checkpoint: Checkpoint, state: TrainState) -> None:
        before = time.perf_counter()
        state.read_losses()
        self._step = state.step
        try:
            size = checkpoint.save(state)
        except OSError as error:
            if not self._failed:
                last = "the last one is whole" if self._written else "there is none yet"
                what = f"{checkpoint.path} could not be written: {error.strerror or error}"
                tell(self.notify, f"{what}. The fit goes on; {last}.", warning=True)
            self._failed = True
        else:
            if not self._written:
                cost = f"{size / 1e6:.3g} MB in {time.perf_counter() - before:.2g} s"
                every = f"one every {checkpoint.interval} from here on"
                tell(self.notify, f"checkpoint at step {state.step:,} ({cost}); {every}")
            self._written, self._failed = True, False
        self._cost = time.perf_counter() - before
        self._seconds = state.seconds()


def _check_settings(config: FitConfig, file: CheckpointFile) -> None:
    """Refuse settings that the fit in the checkpoint did not have."""
    saved = file.about.get("config")
    if not isinstance(saved, dict):
        damaged(file.path, "no settings")
    for name, value in config.to_dict().items():
        if name not in _FREE and name in saved and saved[name] != value:
            refuse(
                f"a fit goes on with the settings of its checkpoint: {str(file.path)!r}",
                f"{name}={value!r}, not {saved[name]!r}"[:120],
                "Budgets may change, nothing else; or begin anew.",
            )


def _machine(state: TrainState) -> dict[str, object]:
    """Return what the last digits of the losses depend on."""
    return {
        "device": str(state.objective.device),
        "precision": state.objective.precision,
        "threads": torch.get_num_threads(),
    }
