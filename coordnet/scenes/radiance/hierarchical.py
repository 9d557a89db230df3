"""The original NeRF: a coarse field that says where to sample a fine one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ...checks import boolean, box, integer, number, positive, seed as checked_seed
from ...encodings import FourierFeatures
from ...errors import InputError, refuse
from ...networks import MLP
from ..cameras.bounds import near_far_box
from ..rendering.ray_sampling import merge, ray_edges, sample_pdf, stratified
from ..rendering.volume import Rendering, composite, midpoints
from .field import RadianceField, require_keys
from .model import RadianceModel, RenderOutput

__all__ = ["HierarchicalModel", "original_nerf"]

_MAX_SAMPLES = 4096
_PADDING = 1e-5  # of the weights that are sampled, as in the original code
_POINTS = 1 << 16


class HierarchicalModel(RadianceModel):
    """Two radiance fields, of which the coarse one says where the fine one is sampled.

    Mildenhall et al. (2020), section 5.2, as the authors' code has it. A ray has ``coarse_samples``
    samples, one at random in each of as many equal parts of [near, far]. The weights of all but
    the first and the last of them, over the intervals between their midpoints, are a density from
    which ``fine_samples`` more are drawn; the fine field is evaluated at all of them. A sample
    stands for the interval up to the next one, and the last for that up to the end of the ray.

    In the authors' code the last interval has no end (``endless``): what is not empty there is
    opaque. That suits pictures with a fixed background, which the far end of rays then learns.
    Behind random backgrounds it is a trap, since an opaque end has no gradient to become empty
    by: some seeds never leave it.

    Both renderings are trained, and no gradient passes through the positions of samples. Near and
    far are distances along the ray. (The authors count them along the camera's axis: 20° off it
    that is 6 % more.)

    Args:
        coarse: the field that is sampled evenly.
        fine: the field that is shown.
        near: where rays begin, in the scene's unit, 0 or more.
        far: where they end.
        lower: lower corner of the box that the scene lies in.
        upper: upper corner.
        coarse_samples: samples of the coarse field on a ray, 3 to 4096.
        fine_samples: samples that the fine field has besides, 1 to 4096.
        cut: sample rays only where they are inside the box; they see nothing outside of it.
        endless: let the last interval have no end; not with ``cut``.

    Attributes:
        samples_per_ray: at which a field is evaluated, the coarse and the fine one together.

    Raises:
        InputError: far not above near, corners that make no box, a number of samples out of
            range, both of ``cut`` and ``endless``.
    """

    def __init__(
        self,
        coarse: RadianceField,
        fine: RadianceField,
        near: float,
        far: float,
        lower: Sequence[float],
        upper: Sequence[float],
        coarse_samples: int = 64,
        fine_samples: int = 128,
        cut: bool = False,
        endless: bool = False,
    ) -> None:
        super().__init__()
        self.coarse, self.fine = coarse, fine
        self.near = number("near", near, least=0)
        self.far = positive("far", far)
        if not self.near < self.far:
            refuse("far must be above near", f"near={near!r}, far={far!r}")
        self._box = box(lower, upper, 3)
        self.coarse_samples = integer("coarse_samples", coarse_samples, least=3, most=_MAX_SAMPLES)
        self.fine_samples = integer("fine_samples", fine_samples, least=1, most=_MAX_SAMPLES)
        self.cut, self.endless = boolean("cut", cut), boolean("endless", endless)
        if cut and endless:
            refuse("rays that the box cuts have an end", "cut=True and endless=True")
        self.samples_per_ray = 2 * self.coarse_samples + self.fine_samples
        self.rays_at_once = max(1, _POINTS // self.samples_per_ray)

    @property
    def box(self) -> tuple[list[float], list[float]]:
        """The lower and the upper corner of what the scene lies in."""
        return self._box

    def density(self, positions: Tensor) -> Tensor:
        """Return densities ``(N,)`` of the fine field."""
        return self.fine.density(positions)

    def color(self, positions: Tensor, directions: Tensor) -> Tensor:
        """Return colors ``(N, 3)`` of the fine field."""
        return self.fine(positions, directions)[1]

    def render(
        self, origins: Tensor, directions: Tensor, generator: torch.Generator | None = None
    ) -> RenderOutput:
        """Render rays; see `RadianceModel.render`. The levels are the coarse and the fine one.

        Without gradients rays are rendered in blocks that bound the memory.
        """
        block = max(1, len(origins)) if torch.is_grad_enabled() else self.rays_at_once
        pairs = zip(origins.split(block), directions.split(block), strict=True)
        parts = [self._render(*pair, generator) for pair in pairs]
        levels = parts[0] if len(parts) == 1 else tuple(map(_joined, zip(*parts, strict=True)))
        return RenderOutput(levels, self.samples_per_ray * len(origins))

    def _render(
        self, origins: Tensor, directions: Tensor, generator: torch.Generator | None
    ) -> tuple[Rendering, Rendering]:
        near, far = (torch.full_like(origins[:, 0], end) for end in (self.near, self.far))
        if self.cut:
            enter, leave = near_far_box(origins, directions, *self._box)
            near = torch.maximum(near, enter)
            # a ray that misses the box has an interval without length
            far = torch.maximum(torch.minimum(far, leave), near)
        end = torch.full_like(far, torch.inf) if self.endless else far
        at = stratified(ray_edges(near, far, self.coarse_samples), generator)
        coarse = _render_level(self.coarse, origins, directions, at, end)
        more = sample_pdf(
            midpoints(at),
            coarse.weights.detach()[:, 1:-1],
            self.fine_samples,
            generator,
            independent=generator is not None,
            padding=_PADDING,
        )
        return coarse, _render_level(self.fine, origins, directions, merge(at, more), end)

    def spec(self) -> dict[str, Any]:
        """Return everything but the tensors, as plain JSON values."""
        lower, upper = self._box
        return {
            "coarse": self.coarse.spec(),
            "fine": self.fine.spec(),
            "near": self.near,
            "far": self.far,
            "lower": lower,
            "upper": upper,
            "coarse_samples": self.coarse_samples,
            "fine_samples": self.fine_samples,
            "cut": self.cut,
            "endless": self.endless,
        }

    @classmethod
    def from_spec(cls, spec: object) -> HierarchicalModel:
        """Build a model with fresh weights from what `spec` returned.

        Raises:
            InputError: where it is no such thing.
        """
        noun = "a hierarchical model"
        settings = dict(require_keys(noun, spec, ("coarse", "fine")))
        try:
            coarse, fine = (RadianceField.from_spec(settings.pop(k)) for k in ("coarse", "fine"))
            return cls(coarse, fine, **settings)
        except InputError:
            raise
        except (AttributeError, OverflowError, TypeError, ValueError) as error:
            rule = f"the spec of {noun} must have coarse, fine and the settings of its samples"
            return refuse(rule, " ".join(str(error).split())[:120])


def original_nerf(
    near: float,
    far: float,
    lower: Sequence[float],
    upper: Sequence[float],
    seed: int = 0,
    *,
    hidden_dim: int = 256,
    coarse_samples: int = 64,
    fine_samples: int = 128,
    cut: bool = False,
    endless: bool = False,
) -> HierarchicalModel:
    """Build the networks of Mildenhall et al. (2020) with fresh weights.

    Each of the two fields: x and the sines and cosines of 2^j x, j = 0 … 9, of positions as they
    are; eight layers of 256 with ReLU, the features again behind the fifth; from them the density,
    max(0, σ), and 256 features more, which with the direction and its octaves j = 0 … 3 go through
    one layer of 128 with ReLU to the color. The lowest octave repeats after 2π units: scenes are
    to be a few units across, as those of NeRF-synthetic (within 1.5 of the origin, near 2, far 6).

    The authors train it with Adam (ε = 1e-7) on batches of 4096 rays (1024 in the configurations
    of their code), at learning rates that fall exponentially from 5e-4 to 5e-5.

    Args:
        near: where rays begin; see `HierarchicalModel`.
        far: where they end.
        lower: lower corner of the box that the scene lies in.
        upper: upper corner.
        seed: of the start values.
        hidden_dim: width of the layers; the color's last one has half of it.
        coarse_samples: samples of the coarse field on a ray.
        fine_samples: samples that the fine field has besides.
        cut: sample rays only inside the box.
        endless: let the last interval of a ray have no end, as the authors' code does.

    Raises:
        InputError: as `HierarchicalModel`; a seed that is no seed.

    Example:
        >>> model = original_nerf(2.0, 6.0, [-1.5] * 3, [1.5] * 3)
        >>> fit = FitConfig(seconds=3600, optimizer="adam", learning_rate=5e-4, betas=(0.9, 0.999),
        ...                 eps=1e-7, batch_size=1024, warmup_steps=0, decay="exponential",
        ...                 final_fraction=0.1)
        >>> minimize(RadianceObjective(model, rays, pixels, fit, device), fit)
    """
    hidden_dim = integer("hidden_dim", hidden_dim, least=2)
    generator = torch.Generator().manual_seed(checked_seed(seed))
    seeds = torch.randint(1 << 62, (2, 2), generator=generator, device="cpu").tolist()
    coarse, fine = (_original_field(hidden_dim, *pair) for pair in seeds)
    return HierarchicalModel(
        coarse, fine, near, far, lower, upper, coarse_samples, fine_samples, cut, endless
    )


def _original_field(hidden_dim: int, first: int, second: int) -> RadianceField:
    encoding = FourierFeatures.octave(3, k=10, include_input=True)
    directions = FourierFeatures.octave(3, k=4, include_input=True)
    return RadianceField(
        encoding,
        directions,
        MLP(encoding.out_dim, 1 + hidden_dim, hidden_dim, 8, skip=5, seed=first),
        MLP(hidden_dim + directions.out_dim, 3, hidden_dim // 2, 1, seed=second),
        density="relu",
    )


def _render_level(
    field: RadianceField, origins: Tensor, directions: Tensor, at: Tensor, end: Tensor
) -> Rendering:
    """Render a field from samples at distances ``at (N, S)``, each up to the next one.

    Args:
        field: density and color.
        origins: ``(N, 3)``.
        directions: ``(N, 3)``.
        at: increasing.
        end: where the last interval ends, ``(N,)``.
    """
    rays, samples = at.shape
    positions = origins[:, None] + at[..., None] * directions[:, None]
    densities, features = field.geometry(positions.flatten(0, 1))
    # a direction is encoded once for all samples of its ray
    encoded = field.directions(directions)[:, None].expand(rays, samples, -1)
    colors = field.color(features, encoded.flatten(0, 1))
    return composite(
        densities.reshape(rays, samples),
        colors.reshape(rays, samples, 3),
        torch.cat([at, end[:, None]], -1),
        distances=at,
    )


def _joined(parts: Sequence[Rendering]) -> Rendering:
    """Concatenate the renderings of blocks of rays."""
    return Rendering(*(torch.cat(column) for column in zip(*parts, strict=True)))
