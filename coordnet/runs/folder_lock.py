"""A lock on a folder, which one process holds and which goes with it, however it ends."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from ..errors import refuse

try:
    import fcntl
except ImportError:  # Windows has no such locks: there nothing is locked
    fcntl = None

__all__ = ["LOCK", "FolderLock"]

LOCK = ".coordnet.lock"


class FolderLock:
    """Holds a folder for this process alone, from its construction to `release`.

    The system lets go of the lock when the process ends, even by SIGKILL; the empty file that
    is then left behind locks nothing. Where the file system knows no locks there is none.

    Args:
        folder: an existing folder.

    Raises:
        InputError: another process holds it.
        OSError: the folder cannot be written to.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / LOCK
        self._file: int | None = None
        while fcntl is not None and self._file is None:
            # never through a link, to a file that is not ours
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            file = os.open(self._path, flags, 0o666)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.read(file, 20).decode("ascii", "replace").strip()
                os.close(file)
                by = f"process {holder}" if holder.isdigit() else "another process"
                got = f"{str(folder)!r}, which {by} is fitting in"
                refuse("a run folder is for one fit at a time", got, "Pass another --out, or wait.")
            except OSError:
                os.close(file)
                self._remove()
                return
            if self._is_at_its_path(file):
                self._file = file
                with contextlib.suppress(OSError):  # a full disk: the lock holds without a name
                    os.ftruncate(file, 0)
                    os.write(file, f"{os.getpid()}\n".encode())
            else:
                os.close(file)  # the one who held it has removed the file in between

    def _is_at_its_path(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), os.stat(self._path, follow_symlinks=False))
        except FileNotFoundError:
            return False

    def _remove(self) -> None:
        with contextlib.suppress(OSError):
            self._path.unlink()

    def release(self) -> None:
        """Let go of the folder; the file goes first, while nobody else can hold it."""
        if self._file is not None:
            if self._is_at_its_path(self._file):
                self._remove()
            os.close(self._file)
            self._file = None
