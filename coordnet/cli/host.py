"""What the command line sets for its whole process, which a library call never does."""

from __future__ import annotations

import contextlib
import logging
import sys
import warnings
from collections.abc import Iterator
from typing import Any

__all__ = ["own_process"]


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
