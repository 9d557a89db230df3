"""The settings of a fit."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from .. import checks
from ..errors import refuse

__all__ = ["DECAYS", "LEARNING_RATE", "OPTIMIZERS", "PRECISIONS", "FitConfig"]

DECAYS = ("cosine", "exponential")
OPTIMIZERS = ("muon", "adam")
PRECISIONS = ("auto", "float32", "bf16")
# where neither the user nor the network sets one
LEARNING_RATE = 4e-3

# settings of version 0.1.0 that are none any more
_FORMER = ("keep_memory", "progress")


@dataclass(frozen=True)
class FitConfig:
    """Settings of `fit`. They never change; `dataclasses.replace` makes variants.

    Attributes:
        steps: largest number of steps; None without a limit. With neither ``steps`` nor
            ``seconds`` a fit takes 2000 steps. The learning rate falls to the end of the nearer
            of the two.
        seconds: largest number of seconds, counted from the call of `fit`.
        target_psnr: stop once the PSNR over all samples is at least this many dB.
        peak: the peak of the PSNR in the values' unit; None takes the range of the values.
        clamp: clamp predictions to [0, peak] in the PSNR over all samples, as a written picture
            is; the peak must then be stated.
        batch_size: samples a step, drawn without replacement and reshuffled every epoch; None
            takes all up to 4096. Batches as large as the data are not shuffled.
        block_size: largest number of samples that go through the network at once; larger batches
            add up their gradients chunk by chunk, in memory that stays in the cache.
        learning_rate: the largest learning rate; None takes the network's own where it has one,
            else 4e-3.
        warmup_steps: steps over which the learning rate rises from near 0.
        final_fraction: the learning rate at the end, as a fraction of the largest.
        decay: how it falls there: "cosine", or "exponential", which needs an end above 0.
        optimizer: "muon" (Muon on the hidden matrices, Adam on everything else) or "adam"; None
            takes muon, on those matrices that the network leaves to it.
        betas: Adam's two decay rates.
        eps: Adam's epsilon.
        ema: decay of an exponential moving average of the parameters, which the fit ends with,
            0.99 say; 0 for none. It pays where the learning rate does not fall to 0.
        seed: seed of the shuffling, below 2^64.
        device: "auto" (CUDA, else MPS, else the CPU; the module comes back to where it was), or a
            torch device, on which the module then stays.
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
    """

    steps: int | None = None
    seconds: float | None = None
    target_psnr: float | None = None
    peak: float | None = None
    clamp: bool = False
    batch_size: int | None = None
    block_size: int = 16_384
    learning_rate: float | None = None
    warmup_steps: int = 20
    final_fraction: float = 0.0
    decay: str = "cosine"
    optimizer: str | None = None
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

    def __post_init__(self) -> None:
        least = {"steps": 1, "batch_size": 1, "block_size": 1, "log_every": 1, "warmup_steps": 0,
                 "cache_bytes": 0}  # fmt: skip
        for name, minimum in least.items():
            value = getattr(self, name)
            if value is not None or name not in ("steps", "batch_size"):
                checks.integer(name, value, least=minimum)
        for name in ("seconds", "target_psnr", "peak", "learning_rate", "eps"):
            if getattr(self, name) is not None or name == "eps":
                checks.positive(name, getattr(self, name))
        checks.seed(self.seed)
        checks.number("final_fraction", self.final_fraction, least=0, most=1)
        checks.number("ema", self.ema, least=0, below=1)
        if not isinstance(self.betas, (tuple, list)) or len(self.betas) != 2:
            refuse("betas must be two numbers", f"betas={self.betas!r}")
        for beta in self.betas:
            checks.number("each of betas", beta, least=0, below=1)
        checks.one_of("decay", self.decay, DECAYS)
        checks.one_of("precision", self.precision, PRECISIONS)
        if self.optimizer is not None:
            checks.one_of("optimizer", self.optimizer, OPTIMIZERS)
        if self.clamp and self.peak is None:
            refuse("clamp needs a peak to clamp to", "peak=None", "Pass peak=1.0 for pictures.")
        if self.decay == "exponential" and not self.final_fraction:
            refuse("an exponential decay must end above 0", "final_fraction=0")

    @property
    def max_steps(self) -> int | None:
        """The budget in steps, None where only the clock ends the fit."""
        return 2000 if self.steps is None and self.seconds is None else self.steps

    @classmethod
    def of(cls, config: FitConfig | None, settings: Mapping[str, object]) -> FitConfig:
        """Return the settings that a call was given: a config, or keywords.

        Raises:
            InputError: both, a keyword that is no setting, or a setting that cannot be.
        """
        if config is not None and settings:
            rule = "settings are given by a FitConfig or by keywords, not by both"
            refuse(rule, f"a FitConfig and {', '.join(settings)}", "See dataclasses.replace.")
        if config is not None and not isinstance(config, cls):
            refuse("config must be a FitConfig", type(config).__name__)
        known = [setting.name for setting in fields(cls)]
        for name in settings:
            if name not in known:
                nearest = difflib.get_close_matches(name, known, 1, cutoff=0)[0]
                refuse("a keyword of fit must be a setting", name, f"Do you mean {nearest}?")
        return config or replace(cls(), **settings)

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
