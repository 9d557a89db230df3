"""The loss of a scene: the error of rendered rays."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn import functional as F

from ...checks import one_of
from ...metrics.psnr_snr import psnr_from_mse
from ...training import FitConfig, Objective, choose_precision
from ...training.samples import Batch
from ..cameras.ray_table import RayTable
from ..reading.pixels import composite
from .model import REFRESH_EVERY, RadianceModel, RenderOutput

__all__ = ["LOSSES", "RadianceObjective"]

Pixels = Callable[[Tensor], tuple[Tensor, Tensor]]

LOSSES = ("mse", "huber")
_HUBER = 0.1
_MEASURED = 1 << 14
_LEAST_RAYS = 256
_FIRST_PER_RAY = 16.0  # samples of a ray, before any were counted
# room for more samples than are expected: those of thousands of rays vary by 2 % or so
_ROOM = 1.25


class RadianceObjective(Objective):
    """The error of rendered pixels, over all pixels of all pictures.

    Where the pictures have an alpha, every ray of a batch gets a background of its own, drawn
    at random, behind the picture and behind the rendering alike: emptiness and a white (or
    black) thing then no longer look the same, and a mostly white scene does not collapse into
    an empty one (Müller et al., 2022).

    A batch has as many rays as give ``model.samples_per_step`` samples, by what a ray took on
    average in the steps before: rays through empty space cost nothing, and the more of it is
    known, the more rays a step takes. The rest of the batch that the loop drew is left out.

    A GPU is not waited for in a step. There, samples have room for a fixed number, a quarter more
    than are expected by what a ray took in the first step after the model was last refreshed.
    Rays without room count neither in the loss nor in ``rays_taken``.

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
        self.module = self.model = model.to(device)
        self.rays, self.pixels, self.device = rays.to(device), pixels, device
        self.precision = choose_precision(config.precision, device, model)
        self.peak, self.chunk_size = 1.0, model.rays_at_once
        self.loss = one_of("loss", loss, LOSSES)
        self.background = None
        if background is not None:
            self.background = torch.tensor(background, dtype=torch.float32, device=device)
        self.generator = torch.Generator(device).manual_seed(config.seed)
        self.samples_per_ray: float | None = None
        self.fixed_room = device.type != "cpu" and model.samples_per_step is not None
        # what is still on the GPU: samples a ray in the last step, and rays that had no room
        self._per_ray: Tensor | None = None
        self._left_out: Tensor | int = 0
        self.rays_drawn, self.started = 0, time.perf_counter()

    def __len__(self) -> int:
        return len(self.rays)

    @property
    def rays_taken(self) -> int:
        """Rays that the losses so far were made of, which a GPU is waited for."""
        return self.rays_drawn - int(self._left_out)

    def before(self, step: int) -> None:
        """Refresh what the model knows of empty space, or read how many samples that left."""
        if self._per_ray is not None and step % REFRESH_EVERY == 1:
            self.samples_per_ray, self._per_ray = float(self._per_ray), None
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
        room = {"max_samples": self._room(len(which))} if self.fixed_room else {}
        with self.autocast():
            output = self.model.render(origins, directions, generator=self.generator, **room)
        background = self._backgrounds(len(which))
        target = composite(color, alpha, background)
        levels = [composite(v.color, v.opacity[:, None], background) for v in output.levels]
        errors = [_mean(self._errors(pred, target), output.complete) for pred in levels]
        square = _mean((levels[-1].detach() - target).square(), output.complete)
        self._count(output, len(which))
        return share * torch.stack(errors).sum(), share * square

    def _errors(self, pred: Tensor, target: Tensor) -> Tensor:
        if self.loss == "huber":
            return F.huber_loss(pred, target, reduction="none", delta=_HUBER)
        return (pred - target).square()

    def _backgrounds(self, number: int) -> Tensor:
        if self.background is not None:
            return self.background.expand(number, 3)
        return torch.rand(number, 3, generator=self.generator, device=self.device)

    def _affordable(self, number: int) -> int:
        if self.model.samples_per_step is None:
            return number
        most = int(self.model.samples_per_step / max(self._expected(), 1e-3))
        return max(min(_LEAST_RAYS, number), min(number, most))

    def _expected(self) -> float:
        return _FIRST_PER_RAY if self.samples_per_ray is None else self.samples_per_ray

    def _room(self, number: int) -> int:
        """Return how many samples that many rays have room for."""
        return math.ceil(_ROOM * max(self._expected(), 1) * number)

    def _count(self, output: RenderOutput, number: int) -> None:
        self.rays_drawn += number
        per_ray = output.num_samples / number
        if isinstance(per_ray, Tensor):
            self._per_ray = per_ray
        else:
            before = self.samples_per_ray
            self.samples_per_ray = per_ray if before is None else 0.9 * before + 0.1 * per_ray
        if output.complete is not None:
            self._left_out = self._left_out + (~output.complete).sum()

    def evaluate(self) -> tuple[float, float]:
        """Return PSNR and RMSE over a fixed draw of the pixels, 16,384 at most.

        Over the background that was set, white where they were drawn.
        """
        generator = torch.Generator().manual_seed(0)
        number = min(_MEASURED, len(self))
        which = torch.randperm(len(self), generator=generator, device="cpu")[:number]
        white = torch.ones(3, device=self.device)
        background = white if self.background is None else self.background
        total = 0.0
        self.module.eval()
        with torch.no_grad():
            for part in which.to(self.device).split(4096):
                color, alpha = self.pixels(part)
                view = self.model(*self.rays.rays(part))
                pred = composite(view.color, view.opacity[:, None], background)
                error = pred.clamp(0, 1) - color - (1 - alpha) * background
                total += float(error.double().square().sum())
        self.module.train()
        error = total / (3 * number)
        return psnr_from_mse(error, 1.0), math.sqrt(error)

    def status(self) -> str:
        """Return rays a second and how much of space is occupied, in words for a progress bar."""
        rate = self.rays_taken / max(1e-9, time.perf_counter() - self.started)
        fraction = self.model.occupied_fraction()
        occupied = "" if fraction is None else f", {100 * fraction:.2g} % occupied"
        return f"{rate / 1000:.1f}k rays/s{occupied}"

    def state_dict(self) -> dict[str, Tensor]:
        """Return the random generators and the running mean of the samples."""
        state = {"generator": self.generator.get_state()}
        if self.samples_per_ray is not None:
            number = [self.samples_per_ray]
            state["samples_per_ray"] = torch.tensor(number, dtype=torch.float64, device="cpu")
        if self._per_ray is not None:  # not read early: a fit with checkpoints is one without
            state["per_ray"] = self._per_ray
        return state

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Continue from what `state_dict` returned."""
        self.generator.set_state(state["generator"])
        mean = state.get("samples_per_ray")
        self.samples_per_ray = None if mean is None else float(mean)
        per_ray = state.get("per_ray")
        self._per_ray = None if per_ray is None else per_ray.to(self.device)


def _mean(errors: Tensor, complete: Tensor | None) -> Tensor:
    """Return the mean of ``(N, 3)`` errors, over complete rays where some are not."""
    if complete is None:
        return errors.mean()
    return (errors.mean(1) * complete).sum() / complete.sum().clamp(min=1)
