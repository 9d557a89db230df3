"""Atomic file writes, and what names of files are refused for."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import secrets
import stat
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from .errors import InputError, refuse

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

__all__ = [
    "JsonObject",
    "atomic",
    "atomic_path",
    "check_writable",
    "ending_of",
    "json_values",
    "leftovers",
    "refuse_file",
    "remove_stale",
    "write_atomic",
    "write_json",
    "writing",
]

# plain JSON values by name: what files and reports hold, checked where it is used
JsonObject = dict[str, Any]

_LEFTOVER = re.compile(r"\.(.+)\.[0-9a-f]{8}\.tmp")
_STEM = 200  # characters of a file's name that go into that of its temporary file


def refuse_file(path: str | os.PathLike[str], rule: str, got: object, remedy: str = "") -> NoReturn:
    """Raise an `InputError` about a file, on one line: names and messages may run over several."""
    rule, got, remedy = (
        " ".join(str(part).split()) for part in (rule, f"{os.fspath(path)}: {got}", remedy)
    )
    refuse(rule, got, remedy)


def ending_of(path: str | os.PathLike[str], noun: str, endings: Collection[str]) -> str:
    """Return the ending of a file's name in lower case, one of ``endings``.

    Raises:
        InputError: another ending; ``noun`` says what the file is to hold: "a picture".
    """
    ending = Path(path).suffix
    if ending.lower() not in endings:
        rule = f"the name of {noun} must end in one of {', '.join(endings)}"
        refuse_file(path, rule, f"the ending {ending!r}")
    return ending.lower()


def check_writable(path: str | os.PathLike[str], noun: str) -> None:
    """Refuse the name of a folder or a device, and one in a folder that takes no files.

    An existing file is not refused: whether to replace it is the caller's decision.
    """
    path, fault = Path(path), None
    try:
        if path.exists() and not path.is_file():
            fault = "a folder or device of that name"
        elif not path.parent.is_dir():
            fault = f"no folder {path.parent}"
        elif not os.access(path.parent, os.W_OK | os.X_OK):
            fault = f"{path.parent} is read-only"
    except (OSError, ValueError) as error:
        fault = getattr(error, "strerror", None) or str(error)
    if fault is not None:
        rule = f"{noun} must be written to a file in an existing, writable folder"
        refuse_file(path, rule, fault)


@contextlib.contextmanager
def atomic(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file to write to, which takes the name ``path`` at the end; see `atomic_path`."""
    with atomic_path(path) as beside, open(beside, "wb") as file:
        yield file


@contextlib.contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give the path of a temporary file; at the end flush it to disk and rename it to ``path``.

    A reader, or a crash at any moment, meets the old file or the new one, never a part; once the
    block has ended, a loss of power does, too. A device or a pipe (/dev/null, /dev/stdout) cannot
    be replaced by a file: its own path is given. A process that is killed while it writes leaves
    the temporary file, hidden; the next call for ``path`` removes it.

    Yields:
        The path of an empty file in the same folder, for whatever writes to paths.

    Raises:
        OSError: the folder cannot be written to, or the disk is full; nothing is left behind.
    """
    path = Path(path)
    if path.exists() and not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
        yield path
        return
    target = Path(os.path.realpath(path))  # through a link to the file it names
    remove_stale(target)
    beside = target.with_name(f".{target.name[:_STEM]}.{secrets.token_hex(4)}.tmp")
    try:
        with _created(beside) as file:
            yield beside
            os.fsync(file.fileno())
            if fcntl is not None:  # while the lock lasts: unlocked it would count as stale
                os.replace(beside, target)
        if fcntl is None:  # Windows renames no file that is open
            os.replace(beside, target)
        _flush_folder(target.parent)
    except BaseException as error:
        if isinstance(error, OSError) and error.filename == str(beside):
            error.filename = str(path)  # what was asked for
            del error.filename2
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def _created(path: Path) -> BinaryIO:
    """Create a file and lock it."""
    while True:
        # exclusive creation by open() gives the permissions that the umask asks for
        file = open(path, "xb")  # noqa: SIM115
        _lock(file, wait=True)
        if path.exists():
            return file
        file.close()  # another process took it for stale before it was locked


def remove_stale(path: str | os.PathLike[str]) -> None:
    """Remove what killed processes left of writing ``path`` by `atomic`.

    A writer holds a lock on its file for as long as it lives; the system lets go of it however
    the process ends. A file without one is stale. Where the system knows no such locks (Windows,
    some network file systems) nothing is removed.
    """
    path = Path(path)
    with contextlib.suppress(OSError):
        for beside, name in leftovers(path.parent):
            if name == path.name[:_STEM]:
                with contextlib.suppress(OSError), open(beside, "r+b") as file:
                    if _lock(file):
                        beside.unlink()


def _lock(file: BinaryIO, wait: bool = False) -> bool:
    """Lock a file for this process as long as it is open; return whether that was possible."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:  # another process holds it, or the file system has no locks
        return False
    return True


def _flush_folder(folder: Path) -> None:
    """Flush the names in a folder to disk, where the system can: the file is whole already."""
    with contextlib.suppress(OSError):
        entry = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(entry)
        finally:
            os.close(entry)


def leftovers(folder: str | os.PathLike[str]) -> Iterator[tuple[Path, str]]:
    """Yield the files that `atomic` did not come to rename, with the names they were to get.

    Raises:
        OSError: the folder cannot be read.
    """
    for path in Path(folder).iterdir():
        match = _LEFTOVER.fullmatch(path.name)
        if match is not None and path.is_file() and not path.is_symlink():
            yield path, match[1]


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Write ``data`` to ``path`` through `atomic`."""
    with atomic(path) as file:
        file.write(data)


def json_values(value: Any) -> Any:
    """Return ``value`` with every number that JSON lacks (infinity, NaN) as None."""
    if isinstance(value, dict):
        return {str(key): json_values(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_values(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write ``value`` as JSON text; what JSON cannot hold as a number becomes null."""
    text = json.dumps(json_values(value), indent=2, allow_nan=False, ensure_ascii=False)
    write_atomic(path, (text + "\n").encode())


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn errors of writing ``path`` into a failed run, no longer a fault of the input.

    Raises:
        RuntimeError: where an `OSError` or an `InputError` is raised inside.
    """
    try:
        yield
    except OSError as error:
        raise RuntimeError(f"{path} could not be written: {error.strerror or error}") from error
    except InputError as error:
        raise RuntimeError(f"{path} could not be written: {error}") from error
