"""``fit``: a module, its samples and the settings in; a fitted module out."""

from __future__ import annotations

import time
from collections.abc import Callable

from torch import Tensor, nn

from ..errors import refuse
from ..field import Field
from ..modes import own_modes, without_inference
from .checkpoint import Checkpoint, Keeper, load_module
from .checkpoint_file import read_checkpoint
from .config import FitConfig
from .loop import Loop
from .objective import Objective, Regression
from .progress import Say
from .result import FitResult
from .runtime import choose_device
from .samples import Samples, TensorSamples, check_samples, check_weights

__all__ = ["fit", "minimize"]


def fit(
    module: nn.Module,
    coordinates: Tensor | Samples,
    values: Tensor | None = None,
    config: FitConfig | None = None,
    *,
    weights: Tensor | None = None,
    stop: Callable[[], bool] | None = None,
    checkpoint: Checkpoint | None = None,
    say: Say | None = None,
) -> FitResult:
    """Fit ``module`` to samples by least squares, in place.

    Shuffled mini-batches; Muon on the hidden matrices with Adam on the rest, or Adam alone;
    warm-up and cosine decay over the budget; bf16 autocast where the machine is fast at it. A
    `Field` first measures the domain of its coordinates and the scale of its values, where
    they are not set, and the features of an encoding without parameters are computed once.

    The module is moved to the chosen device. PyTorch's global state (random generators,
    default dtype and device) is left as it is, and with a budget in steps the same seed gives
    the same losses on one CPU. What a caller has switched on (autocast, ``no_grad``, inference
    mode, a default device) changes nothing: the settings decide.

    Args:
        module: a `Field`, or any module from ``(N, in_dim)`` to ``(N, out_dim)``.
        coordinates: shape ``(..., in_dim)``, any real dtype; kept in that dtype. Or `Samples`,
            such as `PixelSamples`, which hold the values too.
        values: shape ``(..., out_dim)``, in the signal's own unit; None with `Samples`.
        config: the settings; the defaults take 2000 steps.
        weights: of the squared errors, one a sample, ``(...)`` or ``(..., 1)``, or one a value,
            ``(..., out_dim)``; None with `Samples`. PSNR and RMSE stay unweighted.
        stop: asked before every step; the fit ends where it says True.
        checkpoint: where the state of the fit is kept, and may be gone on from.
        say: takes sentences on what happens on the way; None gives those that warn, of memory
            that ran out or a checkpoint that could not be written, as a `RuntimeWarning`.

    Raises:
        InputError: samples that do not fit the module, or are not finite; nothing to train; a
            checkpoint of another fit.
        NonFiniteLossError: the loss became infinite or NaN; the module then holds the last
            good parameters.
        RuntimeError: memory ran out, and smaller blocks did not help.

    Example:
        >>> result = fit(field, x, y, FitConfig(steps=500))
        >>> result.psnr, result.history[-1].loss
    """
    start = time.perf_counter()
    config = config or FitConfig()
    inner = getattr(module, "_orig_mod", None)
    if isinstance(inner, Field):
        module = inner  # a compiled field: its parts are fitted, on shared parameters
    require_trainable(module)
    samples = _as_samples(module, coordinates, values, weights)
    device = choose_device(config.device)
    with own_modes(device):
        without_inference(module)
        if isinstance(module, Field):
            samples.prepare(module)
        module.to(device)
        if checkpoint is not None and checkpoint.found:
            # before the features of an encoding are worked out once
            with read_checkpoint(checkpoint.path) as file:
                load_module(module, file)
        objective = Regression(module, samples.to(device), config, device)
        return minimize(objective, config, start, stop, checkpoint=checkpoint, say=say)


def minimize(
    objective: Objective,
    config: FitConfig,
    start: float | None = None,
    stop: Callable[[], bool] | None = None,
    checkpoint: Checkpoint | None = None,
    say: Say | None = None,
) -> FitResult:
    """Lower an objective of your own as `fit` lowers the error at samples.

    Args:
        objective: what is lowered; its module is on its device.
        config: the settings.
        start: `time.perf_counter` where the seconds of the budget begin; None for now.
        stop: asked before every step; the fit ends where it says True.
        checkpoint: where the state of the fit is kept, and may be gone on from.
        say: takes sentences on what happens on the way, as in `fit`.

    Raises:
        InputError: nothing to train; a checkpoint of another fit.
        NonFiniteLossError: the loss became infinite or NaN; the module then holds the last
            good parameters.
        RuntimeError: memory ran out, and smaller blocks did not help.
    """
    module = objective.module
    require_trainable(module)
    start = time.perf_counter() if start is None else start
    keeper = None if checkpoint is None else Keeper(checkpoint, say)
    modes = [(part, part.training) for part in module.modules()]
    with own_modes(objective.device):
        without_inference(module)
        loop = Loop(objective, config, start, keeper, say)
        module.train()
        try:
            return loop.result(loop.run(stop))
        finally:
            for part, mode in modes:
                part.training = mode


def require_trainable(module: nn.Module) -> None:
    """Refuse a module without a parameter to train."""
    if not any(p.requires_grad for p in module.parameters()):
        refuse(
            "the module must have a parameter to train",
            f"none in {type(module).__name__}",
            "Call module.requires_grad_().",
        )


def _as_samples(
    module: nn.Module, coordinates: Tensor | Samples, values: Tensor | None, weights: Tensor | None
) -> Samples:
    if isinstance(coordinates, Samples):
        if values is not None or weights is not None:
            got = "samples and values" if weights is None else "samples and weights"
            refuse("samples hold their values and weights", got, "Pass the samples alone.")
        return coordinates
    x, y = check_samples(module, coordinates, values)
    if weights is not None:
        weights = check_weights(weights, coordinates.shape[:-1], y.shape[1])
    return TensorSamples(x, y, weights)
