"""A fit from a file to a run folder."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from torch import nn

from ..errors import refuse
from ..files import write_json, writing
from ..kinds import KINDS, AnyTask, FitOptions, Kind, Listener, Start
from ..plotting import save_curve
from ..text import readable
from ..training import (
    Checkpoint,
    FitConfig,
    FitResult,
    NonFiniteLossError,
    Notice,
    choose_device,
)
from ..training.optimizers import resolved
from .folder import RunFolder
from .record import Record, model_of_checkpoint, report_of

__all__ = ["fit_file", "kind_of"]


def kind_of(path: Path) -> Kind:
    """Return the kind of signal that a path names.

    Raises:
        InputError: no such file, or one whose ending no kind knows.
    """
    rule = "the input must be a file that can be read"
    if not path.exists():
        refuse(rule, f"{str(path)!r}, which does not exist", "Check the path.")
    for kind in KINDS.values():
        if kind.reads(path):
            return kind
    if path.is_dir():
        refuse(rule, f"{str(path)!r}, a folder without a scene", "Pass a picture or a table in it.")
    if not path.is_file():
        refuse(rule, f"{str(path)!r}, which is no regular file", "Save it to a file first.")
    known = ", ".join(suffix for kind in KINDS.values() for suffix in kind.suffixes)
    got = f"{str(path)!r}, which ends in {path.suffix!r}" if path.suffix else f"{str(path)!r}"
    return refuse("the input's ending tells its kind", got, f"Known: {known}.")


@dataclass(frozen=True)
class _Plan:
    """What is fitted, and how."""

    kind: Kind
    options: FitOptions
    task: AnyTask
    model: nn.Module
    config: FitConfig
    note: str


def fit_file(
    path: str | Path,
    options: FitOptions | Mapping[str, object] | None = None,
    *,
    listener: Listener | None = None,
    stop: Callable[[], bool] | None = None,
    resume: bool = False,
) -> FitResult:
    """Fit a file and fill the run folder.

    The folder gets model.safetensors, the reconstruction, comparison.png, curve.png and
    report.json; until the fit has ended, also checkpoint.safetensors. Whatever can be known to
    fail is refused before the fit starts, and then no folder is left behind.

    Args:
        path: a picture, a sound, a table or a scene.
        options: the kind's own, such as `coordnet.pictures.PictureOptions`, or a mapping of them.
        listener: told how the fit goes on.
        stop: asked before every step; the fit ends where it says True, and is saved.
        resume: go on from the checkpoint in the run folder: the model and its settings come
            from there, all but the budget and the device.

    Raises:
        InputError: a bad input, option or folder; nothing to go on from.
        NonFiniteLossError: the loss became infinite or NaN; the last good model is saved, unless
            it is the untrained one and would replace an earlier run.
        RuntimeError: the run could not be written, or memory ran out.
    """
    path, listener = Path(path), listener or Listener()
    given = options.given() if isinstance(options, FitOptions) else dict(options or {})
    device = choose_device(str(given.get("device", "auto")))
    plan = None if resume else _new_plan(path, given, listener)
    out = Path(str(given.get("out") or Path("runs") / path.stem))
    with RunFolder(out, bool(given.get("overwrite")), resume) as folder:
        plan = plan or _resumed_plan(path, given, folder, listener)
        config = replace(resolved(plan.config, plan.model), device=str(device))
        plan = replace(plan, config=config)
        folder.require_space(_size(plan.model))
        precision = plan.task.precision(plan.model, plan.config, device)
        listener.begins(
            Start(
                path=path,
                summary=plan.task.summary(),
                notes=plan.task.notes,
                warnings=plan.task.warnings,
                solved=plan.task.solved,
                model=plan.model,
                config=plan.config,
                device=device,
                precision=precision,
                note=plan.note,
            )
        )
        record = Record.of(path, plan.kind, plan.task, plan.options, plan.config)
        checkpoint = Checkpoint(
            folder.checkpoint,
            plan.options.checkpoint_every,
            resume=resume,
            overwrite=plan.options.overwrite,
            about=record.in_checkpoint(plan.model),
        )
        notify = functools.partial(_pass_on, plan.task, listener)
        with _saved(plan, record, folder, listener):
            result = plan.task.fit(
                plan.model, plan.config, stop, checkpoint=checkpoint, notify=notify
            )
        before = len(plan.task.warnings)
        result, metrics = _write_outputs(path, plan, record, folder, result)
        for warning in plan.task.warnings[before:]:
            listener.warning(warning)
        if result.stop_reason == "stopped" and folder.can_resume:
            listener.can_resume(folder.path)
        else:
            folder.finish()
        listener.measured(result, metrics, plan.task.measured)
        listener.wrote(folder.path)
    return result


def _new_plan(path: Path, given: Mapping[str, object], listener: Listener) -> _Plan:
    """Return the plan that the options ask for."""
    kind = kind_of(path)
    options = kind.read(kind.options, given)
    task = kind.load()(path, options, listener)
    recipe = task.recipe(options)
    config = task.config(options, recipe)
    return _Plan(kind, options, task, task.model(options, recipe), config, recipe.note)


def _resumed_plan(
    path: Path, given: Mapping[str, object], folder: RunFolder, listener: Listener
) -> _Plan:
    """Return the plan of the fit in a folder's checkpoint."""
    record = Record.from_checkpoint(folder.checkpoint)
    record.require_input(path)
    kind = KINDS[record.kind]
    options = kind.read(kind.options, given)
    model, _ = model_of_checkpoint(folder.checkpoint)
    task = kind.load()(path, options, listener)
    return _Plan(kind, options, task, model, record.config_for(options), "")


@contextlib.contextmanager
def _saved(plan: _Plan, record: Record, folder: RunFolder, listener: Listener) -> Iterator[None]:
    """Save the model that is fitted inside; say how to go on where that ends early."""
    try:
        try:
            yield
        except NonFiniteLossError as error:
            _save_last_good(folder, plan.model, record, error, listener)
            raise
        if not folder.path.is_dir():
            gone = f"{readable(folder.path)} was removed during the fit"
            _pass_on(plan.task, listener, Notice(f"{gone}; it is made again", warning=True))
        folder.save(plan.model, record.settings)
        listener.saved()
    except (KeyboardInterrupt, MemoryError, OSError, RuntimeError):
        if folder.can_resume:
            listener.can_resume(folder.path)
        raise


def _pass_on(task: AnyTask, listener: Listener, notice: Notice) -> None:
    """Tell the listener what a fit says on the way; warnings belong into the report, too."""
    if notice.warning:
        task.warnings.append(notice.text)
        listener.warning(notice.text)
    else:
        listener.notice(notice.text)


def _save_last_good(
    folder: RunFolder,
    model: nn.Module,
    record: Record,
    error: NonFiniteLossError,
    listener: Listener,
) -> None:
    """Save the last good model, unless it is the untrained one and would replace a run."""
    if folder.replaces and error.good_step == 0:
        listener.notice(f"the earlier run in {readable(folder.path)} is left as it was")
        return
    folder.save(model, record.settings)
    folder.finish()  # to go on from it would end in the same way
    where = readable(folder.model)
    listener.notice(f"the last good model, of step {error.good_step}, is in {where}")


def _size(model: nn.Module) -> int:
    """Return the bytes of a model's tensors."""
    return sum(tensor.numel() * tensor.element_size() for tensor in model.state_dict().values())


def _write_outputs(
    path: Path, plan: _Plan, record: Record, folder: RunFolder, result: FitResult
) -> tuple[FitResult, dict[str, float]]:
    """Write pictures, report and curve; return the result as measured, and other metrics."""
    task, model = plan.task, plan.model
    report = folder.path / "report.json"
    with writing(folder.path):
        try:
            metrics = task.write_outputs(folder.path, model)
        except KeyboardInterrupt:
            # the model is saved; what is known of the fit belongs beside it
            write_json(report, report_of(record, path, model, task, result, {}))
            raise
        measured = {name: metrics.pop(name) for name in ("psnr", "rmse") if name in metrics}
        result = replace(result, **measured)
        write_json(report, report_of(record, path, model, task, result, metrics))
        if result.history:
            save_curve(folder.path / "curve.png", result.history, title=readable(path.name))
    return result, metrics
