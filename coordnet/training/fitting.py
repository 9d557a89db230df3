"""``fit``: a module, its samples and the settings in; a fitted module out."""

from __future__ import annotations

import time
from collections.abc import Callable

from torch import nn

from ..errors import refuse
from ..field import Field
from ..modes import own_modes, without_inference
from .checkpoint import Checkpoint
from .config import FitConfig
from .minimizing import minimize, require_trainable
from .objective import Regression
from .progress import Notify, Progress
from .result import FitResult
from .runtime import choose_device
from .samples import Samples, TensorSamples, check_samples, check_weights

__all__ = ["fit"]


def fit(
    module: nn.Module,
    x: object,
    y: object = None,
    config: FitConfig | None = None,
    *,
    weights: object = None,
    stop: Callable[[], bool] | None = None,
    checkpoint: Checkpoint | None = None,
    progress: Progress | bool | None = None,
    notify: Notify | None = None,
    **settings: object,
) -> FitResult:
    """Fit ``module`` to samples by least squares, in place.

    Shuffled mini-batches; Muon on the hidden matrices with Adam on the rest, or Adam alone;
    warm-up and cosine decay over the budget; bf16 autocast where the machine is fast at it. A
    `Field` first measures the domain of its coordinates and the scale of its values, where
    they are not set, and the features of an encoding without parameters are computed once.

    A second fit goes on from the first: domain and scale stay as they were set. Where its
    coordinates leave a domain that the encoding depends on, that is a `RuntimeWarning`.

    With ``device="auto"`` the module goes to the chosen device for the fit and comes back to
    where it was; on a device that was named it stays. Its dtype does not change. PyTorch's
    global state (random generators, default dtype and device) is left as it is, and with a budget
    in steps the same seed gives the same losses on one CPU. What a caller has switched on
    (autocast, ``no_grad``, inference mode, a default device) changes nothing: the settings decide.

    Args:
        module: a `Field`, or any module from ``(N, in_dim)`` to ``(N, out_dim)``.
        x: coordinates ``(..., in_dim)``, a tensor, an array or lists of numbers, of any real
            dtype, which they keep. Or `Samples`, such as `PixelSamples`, which hold the values too.
        y: values ``(..., out_dim)``, in the signal's own unit; None with `Samples`.
        config: the settings, or pass them as keywords: ``fit(field, x, y, steps=300)``. The
            defaults take 2000 steps.
        weights: of the squared errors, one a sample, ``(...)`` or ``(..., 1)``, or one a value,
            ``(..., out_dim)``; None with `Samples`. PSNR and RMSE stay unweighted.
        stop: asked before every step; the fit ends where it says True.
        checkpoint: where the state of the fit is saved, and may be gone on from.
        progress: None shows a bar where stderr is a terminal, True everywhere, False nowhere. Or
            a callback in its place, called with each `HistoryPoint` and the objective's status.
        notify: called with each `Notice` on what happens on the way; None gives those that warn,
            of memory that ran out or a checkpoint that could not be written, as a
            `RuntimeWarning`.
        settings: those of `FitConfig`.

    Raises:
        InputError: samples that do not fit the module, or are not finite; nothing to train;
            settings that cannot be; a checkpoint of another fit.
        NonFiniteLossError: the loss became infinite or NaN; the module then holds the last
            good parameters.
        RuntimeError: memory ran out, and smaller chunks did not help.

    Example:
        >>> result = fit(field, x, y, steps=500)
        >>> result.psnr, result.history[-1].loss
    """
    start = time.perf_counter()
    config = FitConfig.of(config, settings)
    inner = getattr(module, "_orig_mod", None)
    if isinstance(inner, Field):
        module = inner  # a compiled field: its parts are fitted, on shared parameters
    require_trainable(module)
    samples = _as_samples(module, x, y, weights)
    device = choose_device(config.device)
    with own_modes(device):
        without_inference(module)
        if isinstance(module, Field):
            samples.prepare(module)
        origin = next(module.parameters()).device
        module.to(device)
        try:
            return minimize(
                Regression(module, samples.to(device), config, device), config,
                start=start, stop=stop, checkpoint=checkpoint, progress=progress, notify=notify,
            )  # fmt: skip
        finally:
            if config.device == "auto":
                module.to(origin)


def _as_samples(module: nn.Module, x: object, y: object, weights: object) -> Samples:
    if isinstance(x, Samples):
        if y is not None or weights is not None:
            got = f"samples and {'values' if weights is None else 'weights'}"
            refuse("samples hold their values and weights", got)
        return x
    x, y, leading = check_samples(module, x, y)
    if weights is not None:
        weights = check_weights(weights, leading, y.shape[1])
    return TensorSamples(x, y, weights)
