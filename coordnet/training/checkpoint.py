"""Checkpoints: the whole state of a fit in a file, from which it goes on as if never stopped."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from ..errors import refuse
from ..files import remove_stale
from ..version import __version__
from .checkpoint_file import CheckpointFile, damaged, read_checkpoint, write_checkpoint
from .interval import Interval, interval
from .progress import Say, warn
from .result import HistoryPoint

if TYPE_CHECKING:
    from .config import FitConfig
    from .loop import Loop

__all__ = ["Checkpoint", "Keeper", "load_module", "module_tensors"]

# settings that a fit may go on with changed: where it ends, what it runs on, what it shows
_FREE = {
    *("steps", "seconds", "target_psnr", "device", "cache_bytes", "compile", "evaluate"),
    *("log_every", "progress"),
}


class Checkpoint:
    """Where a fit keeps its state, and how often.

    The state is everything that later steps follow from: the module, the moments of the
    optimizer, the place in the schedule and in the shuffled epoch, the losses so far, and the
    last good parameters. On one device and number of threads a fit that goes on from it gives
    the losses, bit for bit, of one that was never stopped, where its budget is in steps. (A
    module that draws from PyTorch's global random generator, as dropout does, is the exception:
    that generator is left alone.)

    The file is replaced whole or not at all. A save that fails, on a full disk say, is a
    warning: the fit goes on, and the last checkpoint stays. A fit that is stopped writes one
    more; so does one that ends after its first, and to go on from that ends at once, or takes
    more steps if there are more to take. Remove the file when the module is saved.

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
        >>> keep = Checkpoint("fit.checkpoint", every="30s", resume=True)
        >>> fit(field, x, y, FitConfig(steps=100_000), checkpoint=keep)
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
        self.interval = interval(every)
        self.resume, self.overwrite, self.about = resume, overwrite, dict(about or {})
        if not self.path.parent.is_dir():
            folder = str(self.path.parent)
            refuse("the folder of a checkpoint must exist", f"{folder!r}", "Make it first.")
        if self.path.is_dir():
            got = f"{str(self.path)!r}, a folder"
            refuse("a checkpoint must be a file", got, "Name a file in it.")
        if self.path.exists() and not (resume or overwrite):
            refuse(
                "a checkpoint must not exist yet",
                f"{str(self.path)!r}",
                "Pass resume=True to go on from it, or overwrite=True to begin anew.",
            )

    @property
    def found(self) -> bool:
        """Whether there is a file to go on from."""
        return self.resume and self.path.exists()


class Keeper:
    """Writes the checkpoints of one fit.

    Args:
        checkpoint: where and how often.
        say: takes sentences for the user.
    """

    def __init__(self, checkpoint: Checkpoint, say: Say | None) -> None:
        self.checkpoint, self.say = checkpoint, say
        self.written = False
        self._failing = False
        self._cost = 0.0
        self._step, self._seconds = 0, 0.0
        remove_stale(checkpoint.path)

    def begin(self, loop: Loop) -> None:
        """Bring the loop to where the checkpoint was written, if it is to go on from one."""
        if self.checkpoint.found:
            with read_checkpoint(self.checkpoint.path) as file:
                _restore(loop, file)
                changed = _other_machine(loop, file)
            self.written = True
            if self.say is not None:
                self.say(f"goes on from step {loop.taken:,}, {loop.seconds():.1f} s into the fit")
                if changed:
                    self.say(f"{changed}: the last digits of the losses may differ")
        self._step, self._seconds = loop.taken, loop.seconds()

    def due(self, loop: Loop) -> bool:
        """Whether an interval is over."""
        seconds = loop.seconds() - self._seconds
        return self.checkpoint.interval.over(seconds, loop.taken - self._step, self._cost)

    def save(self, loop: Loop) -> None:
        """Write a checkpoint; where that fails, warn and let the fit go on."""
        before = time.perf_counter()
        path = self.checkpoint.path
        self._step = loop.taken
        try:
            tensors, about = _state(loop)
            size = write_checkpoint(path, tensors, {**about, "about": self.checkpoint.about})
        except OSError as error:
            if not self._failing:
                kept = "the last one is whole" if self.written else "there is none yet"
                what = f"{path} could not be written: {error.strerror or error}"
                warn(self.say, f"{what}. The fit goes on; {kept}.")
            self._failing = True
        else:
            if not self.written and self.say is not None:
                took = f"{size / 1e6:.3g} MB in {time.perf_counter() - before:.2g} s"
                every = f"one every {self.checkpoint.interval} from here on"
                self.say(f"checkpoint at step {loop.taken:,} ({took}); {every}")
            self.written, self._failing = True, False
        self._cost = time.perf_counter() - before
        self._seconds = loop.seconds()

    def end(self, loop: Loop, stopped: bool) -> None:
        """Write the last checkpoint of a fit that was stopped, or that has written others."""
        behind = loop.taken > self._step or self._failing or not self.written
        wanted = self.checkpoint.interval != Interval() and (stopped or self.written)
        if loop.taken and behind and wanted:
            self.save(loop)


def module_tensors(module: nn.Module) -> dict[str, Tensor]:
    """Return every tensor that training may change, by name: parameters and saved buffers."""
    saved = module.state_dict(keep_vars=True).keys()
    buffers = [(name, buffer) for name, buffer in module.named_buffers() if name in saved]
    named = [*module.named_parameters(), *buffers]
    return {name.replace("_orig_mod.", ""): tensor for name, tensor in named}


def load_module(module: nn.Module, file: CheckpointFile, group: str = "module") -> None:
    """Copy the tensors of a checkpoint into a module.

    Raises:
        InputError: tensors of another module.
    """
    known, prefix = module_tensors(module), f"{group}."
    odd = {name for name in file.names if name.startswith(prefix)} ^ {prefix + n for n in known}
    if odd:
        damaged(file.path, f"tensors {', '.join(sorted(odd)[:3])} missing or left over")
    with torch.no_grad():
        for name, tensor in known.items():
            found = file.tensor(prefix + name)
            if found.shape != tensor.shape or found.dtype != tensor.dtype:
                kinds = [f"{t.dtype} of shape {tuple(t.shape)}" for t in (found, tensor)]
                damaged(file.path, f"{name} is {kinds[0]}, not {kinds[1]}")
            tensor.copy_(found)


def _state(loop: Loop) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Return the tensors and the plain values that the rest of a fit follows from."""
    good_step, good = loop.good
    names = module_tensors(loop.module)
    points = [(p.step, p.seconds, p.loss, p.psnr) for p in loop.history]
    groups: dict[str, Mapping[str, Tensor]] = {
        "module": names,
        "good": dict(zip(names, good, strict=True)),
        "optimizer": loop.optimizer.state_dict(),
        "average": {} if loop.average is None else loop.average.state_dict(),
        "shuffler": loop.shuffler.state_dict(),
        "objective": loop.objective.state_dict(),
        "fit": {
            "losses": torch.tensor(loop.losses, dtype=torch.float64, device="cpu"),
            "history": _rows(points, 4),
            "window": _rows(loop.window, 2),
        },
    }
    tensors = {f"{group}.{name}": t for group, them in groups.items() for name, t in them.items()}
    return tensors, {
        "version": __version__,
        "step": loop.taken,
        "good_step": good_step,
        "seconds": loop.seconds(),
        "samples": len(loop.objective),
        "batch_size": loop.batch_size,
        "block": loop.objective.block,
        "config": loop.config.to_dict(),
        "device": str(loop.device),
        "precision": loop.objective.precision,
        "threads": torch.get_num_threads(),
    }


def _restore(loop: Loop, file: CheckpointFile) -> None:
    """Set a loop that has taken no step to the state in a checkpoint."""
    _check_settings(loop.config, file)
    for name, here in (("samples", len(loop.objective)), ("batch_size", loop.batch_size)):
        if file.whole(name) != here:
            damaged(file.path, f"{name}={file.about[name]}, not {here}")
    load_module(loop.module, file, "good")
    loop.good = loop.fresh = loop.snapshot(file.whole("good_step"))
    load_module(loop.module, file)
    loop.optimizer.load_state_dict(file.group("optimizer"))
    if loop.average is not None:
        loop.average.load_state_dict(file.group("average"))
    loop.shuffler.load_state_dict(file.group("shuffler"))
    loop.objective.load_state_dict(file.group("objective"))
    loop.objective.block = min(loop.objective.block, file.whole("block", least=1))
    loop.taken = file.whole("step")
    most = loop.config.most_steps
    if most is not None and most < loop.taken:
        got = f"steps={most} after {loop.taken} steps"
        refuse("the budget must not be spent before the fit goes on", got, "Pass more steps.")
    _restore_curve(loop, file)
    loop.start = time.perf_counter() - file.number("seconds")


def _restore_curve(loop: Loop, file: CheckpointFile) -> None:
    """Set the losses and the history of a loop."""
    losses, history, window = (
        file.tensor(f"fit.{name}").to(torch.float64) for name in ("losses", "history", "window")
    )
    last = int(history[-1, 0]) if len(history) else 0
    sizes = (losses.shape, history.shape[1:], window.shape)
    if sizes != ((loop.taken,), (4,), (loop.taken - last, 2)):
        damaged(file.path, f"a curve that does not end at step {loop.taken}")
    if not bool(torch.cat([losses, history[:, :3].flatten(), window[:, 0]]).isfinite().all()):
        damaged(file.path, "a curve that is not finite")
    loop.losses = losses.tolist()
    loop.history = [HistoryPoint(int(step), *rest) for step, *rest in history.tolist()]
    loop.window = [(loss, error) for loss, error in window.tolist()]


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


def _other_machine(loop: Loop, file: CheckpointFile) -> str:
    """Return in what the machine differs from the one that wrote the checkpoint, or nothing."""
    here = {
        "device": str(loop.device),
        "precision": loop.objective.precision,
        "threads": torch.get_num_threads(),
    }
    if loop.device.type != "cpu":
        del here["threads"]
    odd = [
        f"{n} was {file.about.get(n)}, is {v}" for n, v in here.items() if file.about.get(n) != v
    ]
    return "; ".join(odd)


def _rows(rows: list[tuple[float, ...]] | list[tuple[float, float]], width: int) -> Tensor:
    return torch.tensor(rows, dtype=torch.float64, device="cpu").reshape(-1, width)
