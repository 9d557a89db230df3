"""What a fit returns."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from .config import FitConfig

__all__ = ["FitResult", "HistoryPoint", "NonFiniteLossError"]


@dataclass(frozen=True)
class HistoryPoint:
    """One point of the history.

    Attributes:
        step: steps taken.
        seconds: since the call of `fit`.
        loss: mean loss of the batches since the point before, in standardized values.
        psnr: PSNR of those same batches in dB.
    """

    step: int
    seconds: float
    loss: float
    psnr: float


@dataclass(frozen=True)
class FitResult:
    """The outcome of a fit; the module itself was fitted in place.

    Attributes:
        steps: steps taken.
        seconds: seconds taken, the final evaluation included.
        psnr: PSNR over all samples in dB, in float32 or better; infinity for an exact fit.
        rmse: root mean square error over all samples, in the values' unit.
        peak: the peak that the PSNR refers to.
        stop_reason: "steps", "seconds", "target" or "stopped" (from outside).
        device: the device it ran on.
        precision: "bf16", or the dtype of the parameters.
        samples: number of samples.
        parameters: number of trained numbers.
        config: the settings.
        losses: the loss of every step.
        history: points of the curve.
    """

    steps: int
    seconds: float
    psnr: float
    rmse: float
    peak: float
    stop_reason: str
    device: str
    precision: str
    samples: int
    parameters: int
    config: FitConfig
    losses: list[float] = field(repr=False)
    history: list[HistoryPoint] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the losses as plain values."""
        plain = {k: v for k, v in vars(self).items() if k not in ("losses", "history", "config")}
        history = [asdict(point) for point in self.history]
        return {**plain, "config": self.config.to_dict(), "history": history}


class NonFiniteLossError(RuntimeError):
    """The loss became infinite or NaN; the module holds the last good parameters.

    Attributes:
        step: the step whose loss was not finite, from 1.
        good_step: the number of steps behind the parameters that the module holds.
    """

    def __init__(self, step: int, good_step: int, learning_rate: float) -> None:
        self.step, self.good_step, self.learning_rate = step, good_step, learning_rate
        super().__init__(
            f"the loss must stay finite; it was not at step {step}. Lower the learning rate "
            f"(now {learning_rate:g}); the model keeps its parameters from step {good_step}."
        )

    def __reduce__(self) -> tuple[type[NonFiniteLossError], tuple[int, int, float]]:
        """Let the error travel between processes."""
        return type(self), (self.step, self.good_step, self.learning_rate)
