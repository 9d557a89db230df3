"""The settings of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from ..errors import integer_at_least, positive_number, refuse

__all__ = ["DECAYS", "OPTIMIZERS", "PRECISIONS", "FitConfig"]

DECAYS = ("cosine", "exponential")
OPTIMIZERS = ("muon", "adam")
PRECISIONS = ("auto", "float32", "bf16")
# settings of version 0.1.0 that are none any more
_FORMER = {"keep_memory"}


@dataclass(frozen=True)
class FitConfig:
    """Settings of `fit`. They never change; `dataclasses.replace` makes variants.

    Attributes:
        steps: most steps; None without a limit. With neither ``steps`` nor ``seconds`` a fit
            takes 2000 steps. The learning rate falls to the end of the nearer of the two.
        seconds: most seconds, counted from the call of `fit`.
        target_psnr: stop once the PSNR over all samples is at least this many dB.
        peak: the peak of the PSNR in the values' unit; None takes the range of the values.
        clamp: clamp predictions to [0, peak] in the PSNR over all samples, as a written picture
            is; the peak must then be stated.
        batch_size: samples a step, drawn without replacement and reshuffled every epoch; None
            takes all up to 4096. Batches as large as the data are not shuffled.
        block_size: most samples that go through the network at once; larger batches add up
            their gradients block by block, in memory that stays in the cache.
        learning_rate: the largest learning rate.
        warmup_steps: steps over which the learning rate rises from near 0.
        final_fraction: the learning rate at the end, as a fraction of the largest.
        decay: how it falls there: "cosine", or "exponential", which needs an end above 0.
        optimizer: "muon" (Muon on the hidden matrices, Adam on everything else) or "adam".
        betas: Adam's two decay rates.
        eps: Adam's epsilon.
        ema: decay of a running mean of the parameters, which the fit ends with, 0.99 say; 0 for
            none. It pays where the learning rate does not fall to 0.
        seed: seed of the shuffling, below 2^64.
        device: "auto" (CUDA, else MPS, else the CPU), or a torch device.
        precision: "auto", "float32" (the module's own dtype) or "bf16" (autocast). Auto takes
            bf16 where the machine is fast at it, the network wide enough to gain, and its
            parameters are at most twice as many as the values: bf16 ends at some 60 dB, which a
            network with more could exceed.
        cache_bytes: most memory for the features of an encoding without parameters, which are
            then computed once; 0 for none.
        compile: compile the forward and backward pass with `torch.compile`, which takes 10 to 40
            seconds once and needs a C++ compiler (on a GPU, Triton; there the step becomes one
            CUDA graph). On a CPU it never paid: measured on two cores, a step of a Gaussian
            network took 34 ms against 32, one of a grid 10.4 against 10.3.
        evaluate: measure PSNR and RMSE over all samples at the end; without, they are NaN.
        log_every: steps between two points of the history.
        progress: show a bar; None shows it where stderr is a terminal.
    """

    steps: int | None = None
    seconds: float | None = None
    target_psnr: float | None = None
    peak: float | None = None
    clamp: bool = False
    batch_size: int | None = None
    block_size: int = 16_384
    learning_rate: float = 4e-3
    warmup_steps: int = 20
    final_fraction: float = 0.0
    decay: str = "cosine"
    optimizer: str = "muon"
    betas: tuple[float, float] = (0.9, 0.99)
    eps: float = 1e-8
    ema: float = 0.0
    seed: int = 0
    device: str = "auto"
    precision: str = "auto"
    cache_bytes: int = 1 << 30
    compile: bool = False
    evaluate: bool = True
    log_every: int = 20
    progress: bool | None = None

    def __post_init__(self) -> None:
        for name in ("steps", "batch_size"):
            if getattr(self, name) is not None:
                integer_at_least(1, name, getattr(self, name), "Pass 1 or more, or None.")
        for name in ("block_size", "log_every"):
            integer_at_least(1, name, getattr(self, name), "Pass 1 or more.")
        for name in ("warmup_steps", "seed", "cache_bytes"):
            integer_at_least(0, name, getattr(self, name), "Pass 0 or more.")
        for name in ("seconds", "target_psnr", "peak"):
            if getattr(self, name) is not None:
                positive_number(name, getattr(self, name), "Pass a number, or None.")
        for name in ("learning_rate", "eps"):
            positive_number(name, getattr(self, name), "The default suits most fits.")
        if self.seed >= 1 << 64:
            refuse("seed must be below 2^64", f"seed={self.seed}", "Pass seed=0, say.")
        if self.clamp and self.peak is None:
            refuse("clamp needs a peak to clamp to", "peak=None", "Pass peak=1.0 for pictures.")
        if not (_is_real(self.final_fraction) and 0 <= self.final_fraction <= 1):
            got = f"final_fraction={self.final_fraction!r}"
            refuse("final_fraction must be from 0 to 1", got, "Pass 0.0 to decay fully.")
        if not (_is_real(self.ema) and 0 <= self.ema < 1):
            refuse("ema must be from 0 to below 1", f"ema={self.ema!r}", "Pass 0.99, or 0.")
        pair = self.betas if isinstance(self.betas, (tuple, list)) else ()
        if len(pair) != 2 or not all(_is_real(beta) and 0 <= beta < 1 for beta in pair):
            got = f"betas={self.betas!r}"
            refuse("betas must be two numbers from 0 to below 1", got, "Pass (0.9, 0.99).")
        choices = {"decay": DECAYS, "optimizer": OPTIMIZERS, "precision": PRECISIONS}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                got = f"{name}={getattr(self, name)!r}"
                refuse(f"{name} must be one of {', '.join(known)}", got, "Choose one of them.")
        if self.decay == "exponential" and not self.final_fraction:
            got = "final_fraction=0"
            refuse("an exponential decay must end above 0", got, "Pass final_fraction=0.1.")

    @property
    def most_steps(self) -> int | None:
        """The budget in steps, None where only the clock ends the fit."""
        return 2000 if self.steps is None and self.seconds is None else self.steps

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON values."""
        return {**asdict(self), "betas": list(self.betas), "device": str(self.device)}

    @classmethod
    def from_dict(cls, settings: Mapping[str, Any]) -> FitConfig:
        """Build settings from what `to_dict` returned, also in version 0.1.0.

        Raises:
            InputError: a setting that cannot be.
            TypeError: a name that is no setting.
        """
        known = {name: value for name, value in settings.items() if name not in _FORMER}
        return cls(**{**known, "betas": tuple(known["betas"])})


def _is_real(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
