"""What the command line sets for its whole process, and draws: a library call does neither."""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from collections.abc import Iterator
from typing import Any

__all__ = ["Bars", "own_process"]


@contextlib.contextmanager
def own_process() -> Iterator[None]:
    """Lift Pillow's limit of pixels, and print warnings as sentences, while this lasts.

    The limit that remains is `coordnet.read_image`'s own. Loggers of libraries write
    nowhere: what they say of damaged files a refusal says in one line.
    """
    from PIL import Image

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"warning: {' '.join(str(message).split())}", file=sys.stderr)

    silent = logging.NullHandler()
    loggers = [logging.getLogger(name) for name in ("PIL", "tifffile")]
    exporter = logging.getLogger("torch.onnx")  # it misses packages that nobody needs
    level = exporter.level
    exporter.setLevel(logging.ERROR)
    limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
    for logger in loggers:
        logger.addHandler(silent)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show
            # of libraries, to their programmers
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        Image.MAX_IMAGE_PIXELS = limit
        exporter.setLevel(level)
        for logger in loggers:
            logger.removeHandler(silent)


class Bars:
    """A progress bar for what is under way, one at a time; none where stderr is no terminal.

    Called as `coordnet.kinds.Progress` is.
    """

    def __init__(self) -> None:
        self._bar: Any = None
        self._what = ""

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(self, what: str, done: int, total: int | None) -> None:
        """Move the bar on, and take it away at its end."""
        from tqdm.auto import tqdm

        if what != self._what:
            self.close()
        if self._bar is None:
            self._what = what
            self._bar = tqdm(unit="", unit_scale=True, desc=what, disable=None, leave=False)
        self._bar.total = total
        self._bar.update(done)
        if total is not None and self._bar.n >= total:
            self.close()

    @staticmethod
    def write(text: str) -> None:
        """Print a line above the bar."""
        from tqdm.auto import tqdm

        tqdm.write(text)

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None
