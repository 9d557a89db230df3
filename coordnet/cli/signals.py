"""What ends a fit from outside: Ctrl-C, SIGTERM, and SIGHUP, of a terminal that goes away."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from types import FrameType, TracebackType
from typing import Any, TextIO

__all__ = ["Interrupted", "Signals", "describe", "write_nowhere"]

_WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "the terminal is gone"}


def describe(number: int) -> str:
    """Return a signal in words."""
    return _WORDS.get(signal.Signals(number).name, f"ended by signal {number}")


def write_nowhere(stream: TextIO) -> None:
    """Let what is written to a stream go nowhere: its reader is gone, or its disk is full."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


class Interrupted(KeyboardInterrupt):
    """Raised by a signal that ends the fit at once.

    Attributes:
        number: the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(describe(number))
        self.number = number


class Signals:
    """Answers signals while it is entered.

    While a fit asks before every step whether to end (an instance is the ``stop`` of `fit`),
    the first signal is noted and answered there, so that the fit is saved; a second ends it at
    once. Before the first question, when there is nothing to save, and after `at_once`, when
    all is saved, the first one does. Signals that are switched off, in a job in the background
    or by nohup, stay so.

    Attributes:
        number: the signal that came, or None.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._asking = False
        self._previous: dict[int, Any] = {}
        self._terminals: list[TextIO] = []

    def __enter__(self) -> Signals:
        self._terminals = [each for each in (sys.stdout, sys.stderr) if each.isatty()]
        if threading.current_thread() is threading.main_thread():
            for name in _WORDS:
                number = getattr(signal, name, None)  # Windows has no SIGHUP
                if number is not None and signal.getsignal(number) != signal.SIG_IGN:
                    self._previous[number] = signal.signal(number, self._answer)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, previous in self._previous.items():
            signal.signal(number, previous)
        self._previous.clear()

    def __call__(self) -> bool:
        """Whether the fit is to end."""
        self._asking = True
        return self.number is not None

    def at_once(self) -> None:
        """Let the next signal end what is under way."""
        self._asking = False

    def _answer(self, number: int, frame: FrameType | None) -> None:
        if signal.Signals(number).name == "SIGHUP":
            for stream in self._terminals:
                write_nowhere(stream)
        first, self.number = self.number is None, number
        if not (first and self._asking):
            raise Interrupted(number)
