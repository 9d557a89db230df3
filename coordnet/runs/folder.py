"""The folder of a run: its files, made before the fit and filled after it."""

from __future__ import annotations

import contextlib
import fnmatch
import shutil
import tempfile
from pathlib import Path

from filelock import FileLock, Timeout
from torch import nn

from ..errors import refuse
from ..files import JsonObject, leftovers, writing
from ..kinds import KINDS
from ..saving import save
from .run import CHECKPOINT, MODEL, checkpoint_of

__all__ = ["RunFolder", "outputs"]

LOCK = ".coordnet.lock"


class RunFolder:
    """A run folder that can be written to, by this process alone.

    As a context manager it lets go of the folder at the end; where an error leaves it empty it
    goes away again, with the parents made for it.

    Args:
        path: the folder; it is made, with its parents.
        overwrite: whether an earlier run in it may be replaced.
        resume: whether the fit goes on from the checkpoint in it.

    Attributes:
        path: the folder.
        replaces: whether it holds an earlier run.

    Raises:
        InputError: the path is a file, cannot be written to, or holds files already; another
            process fits in it; there is no checkpoint to go on from.
    """

    def __init__(self, path: Path, overwrite: bool = False, resume: bool = False) -> None:
        self.path = path
        self._made: list[Path] = []
        self._lock: FileLock | None = None
        try:
            self._open(resume)
            taken = self._clean()
            if resume:
                checkpoint_of(path)
            elif taken:
                self._require_run(taken[0], overwrite)
        except BaseException:
            self._discard()
            raise
        self.replaces = bool(set(taken) - {CHECKPOINT}) if resume else bool(taken)
        # of an earlier fit, which a new one must not leave beside its own model
        self._stale = None if resume else _identity(self.checkpoint)

    def _open(self, resume: bool) -> None:
        """Make the folder, see that it can be written to, and lock it."""
        path, rule = self.path, "the run folder must be a folder that can be made and written to"
        try:
            if path.exists() and not path.is_dir():
                refuse(rule, f"{str(path)!r}, which is a file", "Pass another --out.")
            if resume and not path.exists():
                checkpoint_of(path)
            self._made = [each for each in (path, *path.parents) if not each.exists()]
            path.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=path):
                pass
            if not set(self._names()) - {LOCK} or self._holds_run():
                self._lock = _locked(path)
        except OSError as error:
            refuse(rule, f"{str(path)!r}: {error.strerror}", "Pass another --out.")

    def _names(self) -> list[str]:
        """Return the names of the files in the folder, but for what a killed process left."""
        half = {file.name for file, name in leftovers(self.path) if _is_own(name)}
        return sorted({file.name for file in self.path.iterdir()} - half)

    def _holds_run(self) -> bool:
        return self.model.exists() or self.checkpoint.exists()

    def _clean(self) -> list[str]:
        """Remove what a killed process left half written; return the names of what is there."""
        if self._lock is not None:
            for file, name in leftovers(self.path):
                if _is_own(name):
                    with contextlib.suppress(OSError):
                        file.unlink()
        return sorted(set(self._names()) - {LOCK})

    def _require_run(self, first: str, overwrite: bool) -> None:
        path, rule = self.path, "the run folder must be empty"
        if not self._holds_run():
            remedy = "Pass another --out."
            if overwrite:
                remedy = "It holds no run that --overwrite could replace: pass another --out."
            refuse(rule, f"{str(path)!r} with {first}", remedy)
        if not overwrite and self.checkpoint.exists():
            remedy = "Pass another --out, --overwrite to begin anew, or go on with --resume."
            refuse(rule, f"{str(path)!r} with an unfinished run", remedy)
        if not overwrite:
            remedy = "Pass another --out, or --overwrite to replace it."
            refuse(rule, f"{str(path)!r} with an earlier run", remedy)

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, kind: type[BaseException] | None, *details: object) -> None:
        self._discard(folders=kind is not None)

    def _discard(self, folders: bool = True) -> None:
        """Let go of the folder; remove the folders that were made, as far as they are empty."""
        if self._lock is not None:
            with contextlib.suppress(OSError):  # while nobody else can hold it
                (self.path / LOCK).unlink()
            self._lock.release()
        with contextlib.suppress(OSError):
            for each in self._made if folders else ():
                each.rmdir()

    def file(self, name: str) -> Path:
        """Return the path of a file in the folder."""
        return self.path / name

    @property
    def model(self) -> Path:
        """The saved model."""
        return self.file(MODEL)

    @property
    def checkpoint(self) -> Path:
        """The state of a fit that has not ended."""
        return self.file(CHECKPOINT)

    def require_space(self, size: int) -> None:
        """Refuse a disk that has no room for a model of ``size`` bytes, where it can tell."""
        disk = shutil.disk_usage(self.path)
        if disk.total > 0 and disk.free < size:
            refuse(
                f"the disk must have room for the model: {size / 1e6:.3g} MB",
                f"{disk.free / 1e6:.3g} MB free in {str(self.path)!r}",
                "Make room, or pass another --out.",
            )

    def save(self, model: nn.Module, settings: JsonObject) -> None:
        """Save the model, then remove what an earlier run has left beside it.

        The folder is made again where it was removed.
        """
        with writing(self.model):
            self.path.mkdir(parents=True, exist_ok=True)
            save(model, self.model, settings)
            for pattern in outputs() if self.replaces else ():
                for path in self.path.glob(pattern):
                    path.unlink()
            if self._stale is not None and not self.can_resume:
                self.checkpoint.unlink(missing_ok=True)

    @property
    def can_resume(self) -> bool:
        """Whether the fit that holds the folder has written a checkpoint, or goes on from one."""
        return self.checkpoint.is_file() and self._stale != _identity(self.checkpoint)

    def finish(self) -> None:
        """Remove the checkpoint of a fit that has ended."""
        with contextlib.suppress(OSError):
            self.checkpoint.unlink()


def outputs() -> tuple[str, ...]:
    """Return patterns of the files that a run may leave besides its model, whatever its kind."""
    own = (pattern for kind in KINDS.values() for pattern in kind.outputs)
    return ("report.json", "curve.png", *dict.fromkeys(own))


def _locked(folder: Path) -> FileLock | None:
    """Return the lock on a folder for this process alone; None where the file system has none.

    The system lets go of it when the process ends, even by SIGKILL; the empty file that is then
    left behind locks nothing.
    """
    path = folder / LOCK
    if path.is_symlink():
        refuse("the lock of a run folder must be a file of its own", f"{str(path)!r}, a link", "")
    lock = FileLock(path)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        got = f"{str(folder)!r}, which another process is fitting in"
        refuse("a run folder is for one fit at a time", got, "Pass another --out, or wait.")
    except NotImplementedError:
        return None
    return lock


def _is_own(name: str) -> bool:
    """Whether a run writes a file of this name."""
    files = (MODEL, CHECKPOINT, *outputs())
    return any(fnmatch.fnmatchcase(name, each.partition("/")[0]) for each in files)


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from one that has replaced it."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
