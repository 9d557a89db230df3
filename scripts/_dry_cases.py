"""What gpu_dry_run.py runs on a GPU that is not there: modules, steps of fits, rays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from _fake_gpu import backward, pretended
from _watch import Totals, Watch
from torch import Tensor, nn

import coordnet as cn
from coordnet.encodings import COMBINATORS, ENCODINGS, SinusoidalPositionalEncoding
from coordnet.kinds import KINDS, Listener
from coordnet.networks import NETWORKS
from coordnet.rendering import render_signal
from coordnet.scenes import RayTable, ray_sampling, render_view, visual_hull, volume
from coordnet.training import minimize

__all__ = ["STRICT", "Step", "all_cases"]

DATA = Path(__file__).resolve().parent.parent / "data"
STRICT = ("step", "forward", "backward", "rays")  # phases in which the host may not wait
STEPS = 3
POINTS = 4096
YEAR = 365.2425

Case = Callable[[Watch], "Step | None"]


@dataclass
class Step:
    """One step of a fit.

    Attributes:
        precision: of the matrix products.
        batch: samples, or rays.
        totals: what its operations amount to.
    """

    precision: str
    batch: int
    totals: Totals


def all_cases(folder: Path) -> dict[str, Case]:
    """Return every case by its name.

    Args:
        folder: an empty one, for files that are made.
    """
    cases: dict[str, Case] = {}
    for name, build in _modules().items():
        cases[name] = functools.partial(_run_module, build=build)
    photo, co2, sound = DATA / "astronaut.png", DATA / "co2.csv", folder / "sound.wav"
    cn.sounds.write_audio(sound, np.sin(np.arange(88_200, dtype=np.float32) / 32)[:, None], 44_100)
    fits: list[tuple[str, str, Path, dict[str, Any]]] = [
        ("picture, fast", "image", photo, {"preset": "fast"}),
        ("picture, quality", "image", photo, {"preset": "quality"}),
        ("picture, small", "image", photo, {"preset": "small"}),
        ("picture, Adam and EMA", "image", photo, {"optimizer": "adam", "ema": 0.99}),
        ("picture, tiled", "image", photo, {"tile": True}),
        ("table, network", "table", co2, {}),
        ("table, damped harmonics", "table", co2, {"periods": (YEAR,)}),
        ("table, period and trend", "table", co2, {"periods": (YEAR,), "trend": True}),
        ("sound, fast", "audio", sound, {"preset": "fast"}),
        ("sound, small", "audio", sound, {"preset": "small"}),
        ("scene, fast", "scene", DATA / "scene", {"preset": "fast"}),
        ("scene, unbounded", "scene", DATA / "scene", {"space": "unbounded"}),
        ("scene, nerf", "scene", DATA / "scene", {"preset": "nerf"}),
    ]
    for name, kind, path, options in fits:
        cases[name] = functools.partial(_run_fit, kind=kind, path=path, settings=options)
    cases["weighted samples"] = _run_weighted
    cases["silhouettes"] = _run_silhouettes
    cases["rays, as many samples each"] = _run_even_rays
    cases["rays, packed"] = _run_packed_rays
    return cases


def _modules() -> dict[str, Callable[[], nn.Module]]:
    """Return what builds each module, by its name; what takes no period takes numbers in [0, 1]."""
    features = cn.FourierFeatures
    settings: dict[str, dict[str, Any]] = {
        "harmonic": {"in_dim": 2, "k": 16, "period": 1.0},
        "octave": {"in_dim": 2, "k": 10, "include_input": True},
        "geometric": {"in_dim": 2, "k": 16},
        "gaussian": {"in_dim": 2, "k": 64},
        "lattice": {"in_dim": 2, "k": 4, "period": 1.0},
        "hashgrid": {"in_dim": 3, "num_levels": 8, "log2_hashmap_size": 12},
        "densegrid": {"in_dim": 2, "periodic": True, "interpolation": "smoothstep"},
        "identity": {"in_dim": 2},
        "polynomial": {"in_dim": 2, "degree": 3},
        "spherical": {},
        "concat": {"encodings": [features(2, k=4), cn.DenseGrid(2, 8)]},
        "damped": {"encoding": features(2, k=4)},
        "normalized": {"encoding": features(2, k=4), "lower": [0.0, 0.0], "upper": [2.0, 1.0]},
    }  # fmt: skip
    builders: dict[str, Callable[[], nn.Module]] = {}

    def encoding(table: Any, name: str) -> nn.Module:
        _require(name in settings, f"settings of {name!r} in _dry_cases.py")
        return table[name](**settings[name])

    for table in (ENCODINGS, COMBINATORS):
        for name in table:
            builders[f"encoding {name}"] = functools.partial(encoding, table, name)
    builders["positional encoding"] = lambda: SinusoidalPositionalEncoding(d=64)
    for name in NETWORKS:
        for activation in ("relu", "gelu", "silu", "tanh"):
            builders[f"network {name}, {activation}"] = functools.partial(
                NETWORKS[name], 64, 3, 64, 3, activation=activation, skip=2
            )

    def field(encoding: cn.Encoding) -> cn.Field:
        network = cn.MLP(encoding.out_dim, 3, hidden_dim=64)
        return cn.Field(encoding, network, domain=([0.0, 0.0], [2.0, 1.0]))

    builders["field of harmonics"] = lambda: field(features(2, k=8, period=2.0))
    builders["field of a grid"] = lambda: field(cn.HashGrid(2, num_levels=4))
    return builders


def _run_module(watch: Watch, build: Callable[[], nn.Module]) -> None:
    """Run a module forward, and backward to its input and its parameters."""
    module = build()
    positional = isinstance(module, SinusoidalPositionalEncoding)
    size: int = module.d if positional else module.in_dim  # type: ignore[assignment]
    with pretended(), watch:
        module.to("cuda")
        for dtype in (torch.float32, torch.float64):
            network = isinstance(module, cn.Network)
            if network and dtype == torch.float64:
                continue
            x = torch.rand(POINTS, size, dtype=dtype, device="cuda")
            for leaf in (x, x.detach().requires_grad_()):
                with watch.during("forward"):
                    out = module(leaf)
                _require(out.device.type == "cuda" and len(out) == POINTS, "a row for each point")
                if not out.requires_grad:
                    continue
                with watch.during("backward"):
                    backward(out.float().square().mean())
                leaves = [leaf, *module.parameters()]
                for trained in (leaf for leaf in leaves if leaf.requires_grad):
                    _require(trained.grad is not None, "a gradient")
                    _require(trained.grad.device == trained.device, "a gradient on the GPU")
                    trained.grad = None


def _require(good: bool, what: str) -> None:
    if not good:
        raise AssertionError(f"{what} is missing")


class _Steps:
    """Tells a watch where steps begin: a fit asks it, before each, whether to stop."""

    def __init__(self, watch: Watch) -> None:
        self.watch, self.taken = watch, 0
        self.totals = Totals()

    def __call__(self) -> bool:
        """Begin a step, or stop."""
        watch = self.watch
        self.totals = watch.restart()
        over = self.taken == STEPS
        watch.phase = "end" if over else "step" if self.taken else "first step"
        self.taken += 1
        return over


def _run_fit(watch: Watch, kind: str, path: Path, settings: dict[str, Any]) -> Step:
    """Take steps of the fit that the command line would make of a file; render what came of it."""
    options = KINDS[kind].options.read({"steps": 100, **settings}, kind)
    task: Any = KINDS[kind].load()(path, options, Listener())
    recipe = task.recipe(options)
    config = replace(task.config(options, recipe), device="cuda")
    model = task.model(options, recipe)
    stop = _Steps(watch)
    with pretended(), watch:
        if kind == "scene":
            return _fit_scene(watch, task, model, config, stop)
        result = cn.fit(model, task.samples(), config=config, stop=stop, progress=False)
        watch.phase = "rendering"
        if kind == "image":
            cn.render_image(model, 256, 256, device="cuda")
        if kind == "audio":
            list(render_signal(model, 20_000, 44_100.0, device="cuda"))
    return Step(result.precision, min(config.batch_size or 4096, result.samples), stop.totals)


def _fit_scene(watch: Watch, task: Any, model: Any, config: cn.FitConfig, stop: _Steps) -> Step:
    objective = task.objective(model, config, torch.device("cuda"))
    # how many rays there are is read from the device, where nobody knows it
    objective.rays = RayTable(task.train.cameras).to("cuda")
    before, drawn = objective.before, [0]

    def refresh(step: int) -> None:
        drawn.append(objective.rays_drawn)
        with watch.during("refresh of the occupancy"):
            before(step)

    objective.before = refresh
    # samples of a ray, which has 80 steps of a twentieth of the radius and longer beyond two
    watch.number = 80.0 * watch.share
    result = minimize(objective, config, stop=stop, progress=False)
    rays = objective.rays_drawn - drawn[-1]
    for step in (16, 80, 96):  # all cells, some cells, some of the occupied
        refresh(step)
    watch.phase = "rendering"
    render_view(model, task.train.cameras, 0)
    return Step(result.precision, rays, stop.totals)


def _run_weighted(watch: Watch) -> Step:
    """Fit any module, to weighted samples."""
    generator = torch.Generator().manual_seed(0)
    x, weights = torch.rand(20_000, 2, generator=generator), torch.rand(20_000, generator=generator)
    module = nn.Sequential(nn.Linear(2, 128), nn.SiLU(), nn.Linear(128, 1))
    config = cn.FitConfig(steps=100, device="cuda")
    stop = _Steps(watch)
    with pretended(), watch:
        result = cn.fit(module, x, x[:, :1], config, weights=weights, stop=stop, progress=False)
    return Step(result.precision, 4096, stop.totals)


def _run_silhouettes(watch: Watch) -> None:
    """Carve a box by the masks of a scene's pictures."""
    scene = cn.scenes.read_scene(DATA / "scene", downscale=4)
    with pretended(), watch, watch.during("carving"):
        cameras = scene.cameras.to("cuda")
        visual_hull(cameras, lambda i: scene.images.image(i)[..., 3], [-1.5] * 3, [1.5] * 3, 64)


def _glow(positions: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
    """A soft ball, brighter from above."""
    densities = torch.relu(1 - positions.square().sum(-1))
    return densities, torch.sigmoid(positions + directions)


def _rays() -> tuple[Tensor, Tensor]:
    origins = torch.zeros(POINTS, 3, device="cuda")
    directions = torch.nn.functional.normalize(torch.rand(POINTS, 3, device="cuda"), dim=-1)
    return origins, directions


def _run_even_rays(watch: Watch) -> None:
    """Sample coarsely, then where something is, and render both."""
    with pretended(), watch:
        (origins, directions), drawn = _rays(), torch.Generator("cuda")
        scale = torch.ones((), device="cuda", requires_grad=True)

        def field(positions: Tensor, directions: Tensor) -> tuple[Tensor, Tensor]:
            densities, colors = _glow(positions, directions)
            return densities * scale, colors

        with watch.during("rays"):
            edges = ray_sampling.ray_edges(torch.full((POINTS,), 0.1, device="cuda"), 4.0, 32)
            coarse = volume.render_rays(
                field, origins, directions, edges,
                distances=ray_sampling.stratified(edges, drawn),
            )  # fmt: skip
            more = ray_sampling.sample_pdf(edges, coarse.weights, 32, drawn)
            edges = ray_sampling.merge(edges, more)
            seen = volume.render_rays(field, origins, directions, edges, background=[0.0, 0.5, 1.0])
            volume.median_depth(seen.weights, edges)
            loss = seen.color.mean() + volume.distortion_loss(seen.weights, edges).mean()
            backward(loss)
        _require(scale.grad is not None, "a gradient")


def _run_packed_rays(watch: Watch) -> None:
    """March with a capacity, which is promised not to wait, and render."""
    grid = cn.scenes.OccupancyGrid([-1, -1, -1], [1, 1, 1], resolution=32)
    with pretended(), watch:
        grid.to("cuda")
        (origins, directions), drawn = _rays(), torch.Generator("cuda")
        scale = torch.ones((), device="cuda", requires_grad=True)
        with watch.during("updates of an occupancy grid"):
            for step in (0, 1000):
                grid.update(lambda x: _glow(x, x)[0], step, drawn)
        with watch.during("rays"):
            samples = grid.march(origins, directions, generator=drawn, max_samples=8 * POINTS)
            positions = samples.positions(origins, directions)
            densities, colors = _glow(positions, directions[samples.ray_indices])
            samples.counts()
            samples.keep(volume.visible(densities, samples), 4 * POINTS)
            seen = volume.composite(densities * scale, colors * scale, samples, background=1.0)
            volume.median_depth(seen.weights, samples)
            depth = volume.expected_depth(seen.weights, samples)
            loss = volume.distortion_loss(seen.weights, samples).mean() + depth.mean()
            backward(loss + seen.color.mean() + seen.opacity.mean())
        _require(scale.grad is not None, "a gradient")
