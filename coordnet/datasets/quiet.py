"""Libraries that are kept from writing to standard error what a refusal or a note says."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Iterator

__all__ = ["handle_logs", "without_messages"]


def handle_logs(*names: str) -> None:
    """Let loggers write only where the application has asked for logs.

    Python's logging prints warnings of loggers without any handler to standard error.
    """
    for name in names:
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())


@contextlib.contextmanager
def without_messages() -> Iterator[None]:
    """Drop what is written to the process's standard error, by any thread, while this lasts.

    Some C libraries (libtiff) print their complaints there and leave no other choice.
    """
    try:
        kept = os.dup(2)
    except OSError:  # closed already
        yield
        return
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
