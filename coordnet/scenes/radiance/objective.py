"""What the fit of a scene lowers: the error of rendered rays."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn import functional as F

from ...errors import refuse
from ...metrics.psnr_snr import psnr_from_mse
from ...training import FitConfig, Objective, choose_precision
from ...training.samples import Batch
from ..cameras.ray_table import RayTable
from .model import RadianceModel

__all__ = ["LOSSES", "RadianceObjective"]

Pixels = Callable[[Tensor], tuple[Tensor, Tensor]]

LOSSES = ("mse", "huber")
_HUBER = 0.1
_MEASURED = 1 << 14
_LEAST_RAYS = 256


class RadianceObjective(Objective):
    """The error of rendered pixels, over all pixels of all pictures.

    Where the pictures have an alpha, every ray of a batch gets a background of its own, drawn
    at random, behind the picture and behind the rendering alike: emptiness and a white (or
    black) thing then no longer look the same, and a mostly white scene does not collapse into
    an empty one (Müller et al., 2022).

    A batch has as many rays as give ``model.samples_per_step`` samples, by what a ray took on
    average in the steps before: rays through empty space cost nothing, and the more of it is
    known, the more rays a step takes. The rest of the batch that the loop drew is left out.

    Args:
        model: what is fitted; it is moved to the device.
        rays: the rays of all pixels.
        pixels: from numbers of pixels to their colors ``(N, 3)``, multiplied by alpha, and
            alphas ``(N, 1)``.
        config: the settings of the fit; its seed drives backgrounds and sample positions.
        device: where it runs.
        background: a color behind everything, or None for random ones.
        loss: "mse", or "huber" with its corner at 0.1.
    """

    def __init__(
        self,
        model: RadianceModel,
        rays: RayTable,
        pixels: Pixels,
        config: FitConfig,
        device: torch.device,
        background: tuple[float, float, float] | None = None,
        loss: str = "mse",
    ) -> None:
        if loss not in LOSSES:
            refuse(f"loss must be one of {', '.join(LOSSES)}", f"loss={loss!r}", "Choose one.")
        self.module = self.model = model.to(device)
        self.rays, self.pixels, self.device = rays.to(device), pixels, device
        self.precision = choose_precision(config.precision, device, model)
        self.peak, self.chunk_size = 1.0, model.rays_at_once
        self.loss = loss
        self.background = None
        if background is not None:
            self.background = torch.tensor(background, dtype=torch.float32, device=device)
        self.generator = torch.Generator(device).manual_seed(config.seed)
        self.samples_per_ray: float | None = None
        self.rays_taken, self.started = 0, time.perf_counter()

    def __len__(self) -> int:
        return len(self.rays)

    def before(self, step: int) -> None:
        """Refresh what the model knows of empty space."""
        with self.autocast():
            self.model.refresh(step, self.generator)

    def losses(self, which: Batch, rows: int) -> tuple[Tensor, Tensor]:
        """Return the loss and the mean square error of some rays, over drawn backgrounds."""
        if isinstance(which, slice):
            which = torch.arange(*which.indices(len(self)), device=self.device)
        share = len(which) / rows
        which = which[: self._affordable(len(which))]
        color, alpha = self.pixels(which)
        origins, directions = self.rays.rays(which)
        with self.autocast():
            seen = self.model.render(origins, directions, generator=self.generator)
        behind = self._backgrounds(len(which))
        truth = color + (1 - alpha) * behind
        made = [each.color + (1 - each.opacity[:, None]) * behind for each in seen.passes]
        loss = torch.stack([self._error(each, truth) for each in made]).sum()
        square = (made[-1].detach() - truth).square().mean()
        self.rays_taken += len(which)
        self._note(seen.samples, len(which))
        return share * loss, share * square

    def _error(self, made: Tensor, truth: Tensor) -> Tensor:
        if self.loss == "huber":
            return F.huber_loss(made, truth, delta=_HUBER)
        return (made - truth).square().mean()

    def _backgrounds(self, number: int) -> Tensor:
        if self.background is not None:
            return self.background.expand(number, 3)
        return torch.rand(number, 3, generator=self.generator, device=self.device)

    def _affordable(self, number: int) -> int:
        if self.samples_per_ray is None or self.model.samples_per_step is None:
            first = self.model.samples_per_step
            return number if first is None else min(number, max(_LEAST_RAYS, first // 16))
        most = int(self.model.samples_per_step / max(self.samples_per_ray, 1e-3))
        return max(min(_LEAST_RAYS, number), min(number, most))

    def _note(self, samples: int, number: int) -> None:
        per_ray = samples / number
        before = self.samples_per_ray
        self.samples_per_ray = per_ray if before is None else 0.9 * before + 0.1 * per_ray

    def evaluate(self) -> tuple[float, float]:
        """Return PSNR and RMSE over a fixed draw of the pixels, 16,384 at most.

        Over the background that was set, white where they were drawn.
        """
        drawn = torch.Generator().manual_seed(0)
        number = min(_MEASURED, len(self))
        which = torch.randperm(len(self), generator=drawn, device="cpu")[:number].to(self.device)
        behind = torch.ones(3, device=self.device) if self.background is None else self.background
        total = 0.0
        self.module.eval()
        with torch.no_grad():
            for part in which.split(4096):
                color, alpha = self.pixels(part)
                seen = self.model.render(*self.rays.rays(part)).passes[-1]
                made = seen.color + (1 - seen.opacity[:, None]) * behind
                error = made.clamp(0, 1) - color - (1 - alpha) * behind
                total += float(error.double().square().sum())
        self.module.train()
        error = total / (3 * number)
        return psnr_from_mse(error, 1.0), math.sqrt(error)

    def status(self) -> str:
        """Return rays a second and what is known of empty space."""
        rate = self.rays_taken / max(1e-9, time.perf_counter() - self.started)
        return f"{rate / 1000:.1f}k rays/s{self.model.status()}"

    def state_dict(self) -> dict[str, Tensor]:
        """Return the random generators and the running mean of the samples."""
        found = {"generator": self.generator.get_state()}
        if self.samples_per_ray is not None:
            number = [self.samples_per_ray]
            found["samples_per_ray"] = torch.tensor(number, dtype=torch.float64, device="cpu")
        return found

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Go on from what `state_dict` returned."""
        self.generator.set_state(state["generator"])
        kept = state.get("samples_per_ray")
        self.samples_per_ray = None if kept is None else float(kept)
