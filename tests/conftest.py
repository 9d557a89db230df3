"""What all tests share: workers that run side by side take one thread each; which warnings fail."""

import os
import sys
import warnings
from pathlib import Path

import pytest

DEPRECATIONS = ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning")

if os.environ.get("PYTEST_XDIST_WORKER"):
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import torch

    torch.set_num_threads(1)

# the same in child processes, as far as Python's filters can say it
os.environ["PYTHONWARNINGS"] = ",".join(
    [
        "error",
        *(f"ignore::{name}" for name in DEPRECATIONS),
        *(f"error::{name}:__main__" for name in DEPRECATIONS),
    ]
)

ROOT = Path(__file__).parents[1]
OURS = tuple(str(ROOT / folder) + os.sep for folder in ("coordnet", "scripts", "tests"))


@pytest.fixture(autouse=True)
def _our_own_deprecated_calls_are_errors(monkeypatch):
    """Fail on what coordnet or a test calls; a dependency's own deprecations are only shown.

    The module that a warning is attributed to does not tell them apart: `torch.jit.script`
    attributes its deprecation to itself, whoever calls it. So the caller is looked at.
    """
    show = warnings.showwarning

    def raise_ours(message, category, filename, *rest):
        frame = sys._getframe(1)
        while frame.f_globals.get("__name__") in ("warnings", "_py_warnings"):
            frame = frame.f_back
        caller = frame.f_back or frame
        if any(path.startswith(OURS) for path in (filename, caller.f_code.co_filename)):
            raise message
        show(message, category, filename, *rest)

    monkeypatch.setattr(warnings, "showwarning", raise_ours)


@pytest.fixture(scope="session", autouse=True)
def _own_cache_of_compiled_kernels(tmp_path_factory):
    """PyTorch's cache of a machine mixes kernels of instruction sets: they corrupt memory."""
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path_factory.mktemp("inductor"))
