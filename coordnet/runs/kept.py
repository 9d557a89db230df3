"""What a run's checkpoint keeps besides the state: the model's plan, input and options."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import refuse
from ..saving import build, describe
from ..training import FitConfig
from ..training.checkpoint_file import CheckpointFile, damaged, read_checkpoint
from ..kinds.options import FitOptions

__all__ = ["Kept", "about_run", "fingerprint", "model_of_checkpoint", "read_kept"]

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Kept:
    """What a run goes on with.

    Attributes:
        path: the input, where it was.
        options: what the user had set, as plain values that are yet to be checked.
        step: steps taken.
        config: the settings of the fit.
        input: the input's fingerprint.
    """

    path: Path
    options: dict[str, Any]
    step: int
    config: FitConfig
    input: dict[str, Any]

    def require_same(self, path: Path) -> None:
        """Refuse an input that is not the one that was fitted so far.

        Raises:
            InputError: another file, or none.
        """
        remedy = "Bring it back; or say where it is: coordnet fit INPUT --resume RUN; or fit anew."
        rule = "a fit goes on with the input it began with"
        try:
            if path.exists() and not (path.is_file() or path.is_dir()):
                refuse(rule, f"{str(path)!r}, a device or a pipe", remedy)  # may have no end
            same = fingerprint(path, self.input.get("bytes")) == self.input
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "no name of a file"
            refuse(rule, f"{str(path)!r}: {reason}", remedy)
        if not same:
            refuse(rule, f"{str(path)!r}, which has changed", remedy)

    def config_for(self, options: FitOptions) -> FitConfig:
        """Return the settings of the fit, with the budget and the device of ``options``."""
        steps = options.steps
        if steps is None and options.seconds is None:
            steps = self.config.steps
        return replace(
            self.config,
            steps=steps,
            seconds=options.seconds,
            target_psnr=options.target_psnr,
            device=options.device,
        )


def about_run(
    path: Path, model: Any, settings: dict[str, Any], options: FitOptions
) -> dict[str, Any]:
    """Return what a checkpoint of a run keeps, as plain JSON values.

    Args:
        path: the input.
        model: what is fitted.
        settings: what is saved with the model.
        options: what the user set.
    """
    return {
        "path": os.path.abspath(path),
        "input": fingerprint(path),
        "model": describe(model),
        "settings": settings,
        "options": options.given(),
    }


def fingerprint(path: Path, most: Any = None) -> dict[str, Any]:
    """Return the size and the SHA-256 of a file, or of all files in a folder with their names.

    Args:
        path: the file or the folder.
        most: a number of bytes; what is larger is not read.

    Raises:
        OSError: it cannot be read.
    """
    folder, files, size = path.is_dir(), [], 0
    for file in path.rglob("*") if folder else (path,):
        if folder and not file.is_file():
            continue
        files.append(file)
        size += file.stat().st_size
        if isinstance(most, int) and size > most:
            return {"bytes": size, "sha256": None}
    total, size = hashlib.sha256(), 0
    for file in sorted(files):
        if folder:
            total.update(os.fsencode(file.relative_to(path)) + b"\0")
        with open(file, "rb") as content:
            while block := content.read(_BLOCK):
                total.update(block)
                size += len(block)
    return {"bytes": size, "sha256": total.hexdigest()}


def read_kept(checkpoint: Path) -> Kept:
    """Read what a run goes on with.

    Raises:
        InputError: the file is missing or damaged, or no checkpoint of a run.
    """
    with read_checkpoint(checkpoint) as file:
        about = _object(file, file.about, "about")
        path, config = about.get("path"), file.about.get("config")
        options = _object(file, about, "options")
        if not isinstance(path, str) or "\0" in path or not isinstance(config, dict):
            damaged(checkpoint, "no input or no settings")
        config = FitConfig.from_dict(config)
        step, found = file.whole("step"), _object(file, about, "input")
        return Kept(Path(path), options, step, config, found)


def model_of_checkpoint(checkpoint: Path) -> tuple[Any, dict[str, Any]]:
    """Return the model in a checkpoint of a run, on the CPU, and the settings that go with it.

    Raises:
        InputError: the file is missing or damaged, or no checkpoint of a run.
    """
    with read_checkpoint(checkpoint) as file:
        about = _object(file, file.about, "about")
        plan, settings = (_object(file, about, name) for name in ("model", "settings"))
        return build(checkpoint, plan, file.group("module")), settings


def _object(file: CheckpointFile, where: dict[str, Any], name: str) -> dict[str, Any]:
    value = where.get(name)
    if not isinstance(value, dict):
        damaged(file.path, f"no {name} of a run of coordnet fit")
    return value
