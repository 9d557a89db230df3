"""Scenes: posed pictures fitted as a radiance field."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import torch

from ..errors import refuse
from ..files import JsonObject, write_json, writing
from ..image_files.writing import write_image
from ..kinds.listener import Listener
from ..kinds.options import RenderOptions
from ..kinds.recipe import Recipe
from ..kinds.task import About, Task
from ..metrics.psnr_snr import psnr, psnr_from_mse
from ..metrics.ssim_index import ssim
from ..text import plural, readable
from ..training import Checkpoint, FitConfig, FitResult, choose_device, minimize
from ..training.progress import Notify
from .cameras.bounds import near_far_from_poses
from .cameras.ray_table import RayTable
from .figures import colored_depth, save_contact_sheet
from .options import PRESETS, SceneExport, SceneOptions, SceneRender
from .presets import build_fast, build_nerf
from .radiance.hull import visual_hull
from .radiance.mesh import extract_mesh, half_opaque
from .radiance.model import RadianceModel
from .radiance.objective import RadianceObjective
from .radiance.ply import write_ply
from .radiance.view import View, render_view
from .reading.formats import is_scene, scene_splits
from .reading.scene import Scene, read_scene
from .render import BACKGROUNDS, render_scene
from .space import choose_space

__all__ = ["SceneTask"]

_HULL = 128


class SceneTask(Task[RadianceModel, SceneOptions]):
    """A folder of posed pictures, or the file that names them, fitted as a radiance field."""

    exports: ClassVar[tuple[str, ...]] = (".ply",)
    measured: ClassVar[str] = "means over the views; psnr_of_mean is the PSNR of the mean error"

    def __init__(self, path: Path, options: SceneOptions, listener: Listener) -> None:
        self.path, self.listener = path, listener
        self.downscale = options.downscale or 1
        self.background = BACKGROUNDS[options.background or "white"]

        def read(done: int, total: int | None = None) -> None:
            listener.progress("read", done, total)

        self.train = read_scene(path, "train", downscale=self.downscale, progress=read)
        self.test = self._test_views(read)
        read(0, len(self.train) + (0 if self.test is None else len(self.test)))
        self.seed = options.seed
        self.notes = list(self.train.notes)
        self.warnings = list(self.train.warnings)
        self.space = choose_space(self.train, options.space)
        self.notes.append(self.space.note)
        if self.test is None:
            self.notes.append("There are no test views: errors are those of training views.")

    @classmethod
    def for_run(
        cls, path: Path, about: About, options: SceneOptions, listener: Listener
    ) -> SceneTask:
        """Read a scene at the size that a run was fitted at."""
        space = "box" if about.get("bounded", True) else "unbounded"
        as_fitted = replace(options, downscale=about.get("downscale", 1), space=space)
        return cls(path, as_fitted, listener)

    @classmethod
    def reads(cls, path: Path) -> bool:
        """Whether a path is a posed scene."""
        return is_scene(path)

    def _test_views(self, progress: Callable[[int], object]) -> Scene | None:
        """Return the views that are not trained on, as far as their pictures are there."""
        named = scene_splits(self.path)
        if named and "test" not in named:
            return None
        return read_scene(
            self.path, "test", downscale=self.downscale, skip_missing=True, progress=progress
        )

    def recipe(self, options: SceneOptions) -> Recipe:
        """Return the settings of a preset."""
        name = options.preset or "fast"
        note = f"preset {name}: {PRESETS[name]}."
        if name == "nerf":
            config = {"optimizer": "adam", "learning_rate": 5e-4, "batch_size": 1024,
                      "decay": "exponential", "final_fraction": 0.1, "warmup_steps": 0,
                      "betas": (0.9, 0.999), "eps": 1e-7}  # fmt: skip
            return Recipe(name, {}, steps=20_000, config=config, note=note)
        config = {"learning_rate": 1e-2, "eps": 1e-15, "batch_size": 8192}
        return Recipe(name, {}, steps=2000, config=config, note=note)

    def config(self, options: SceneOptions, recipe: Recipe) -> FitConfig:
        """Return the settings of the fit; errors are measured on the test views instead."""
        settings = {"peak": 1.0, "evaluate": False, "log_every": 10, **recipe.config}
        return options.fit_config(recipe.steps, **settings)

    def model(self, options: SceneOptions, recipe: Recipe) -> RadianceModel:
        """Build the model for the scene's space, and carve a box by the silhouettes."""
        lower, upper = self.space.lower, self.space.upper
        if recipe.encoding == "nerf":
            near, far = self._near_far()
            return build_nerf(lower, upper, near, far, options.seed)
        hull = None
        if self.train.has_alpha and self.space.bounded:
            device = choose_device(options.device)
            images = self.train.images
            if not any(bool(images.image(i)[..., 3].any()) for i in range(len(self.train))):
                refuse(
                    "some pixel must not be transparent",
                    f"{plural(len(self.train), 'picture')} of nothing in {readable(self.path)}",
                    "Look at the alpha of the pictures.",
                )
            hull = visual_hull(
                self.train.cameras.to(device),
                lambda i: images.image(i)[..., 3],
                lower,
                upper,
                _HULL,
            ).cpu()
            if not bool(hull.any()):
                refuse(
                    "some part of the box must be seen in every picture that shows it",
                    f"the silhouettes in {readable(self.path)} leave nothing",
                    "Look at the pictures and their poses: they do not belong together, or are"
                    " all transparent.",
                )
            self.notes.append(
                f"Silhouettes leave {100 * float(hull.float().mean()):.3g} % of the box."
            )
        return build_fast(self.space, hull, options.seed, options.hidden_dim, options.layers)

    def _near_far(self) -> tuple[float, float]:
        if self.train.near_far is not None:
            near, far = self.train.near_far.T
            return float(near.min()), float(far.max())
        return near_far_from_poses(self.train.cameras)

    def objective(
        self, model: RadianceModel, config: FitConfig, device: torch.device
    ) -> RadianceObjective:
        """Return what a fit lowers."""
        images = self.train.images.to(device)
        table = RayTable(self.train.cameras.to(device))
        # without bounds every ray meets something: what shines through must not fit by chance
        drawn = self.train.has_alpha or not self.space.bounded
        fixed = None if drawn else self.background
        return RadianceObjective(model, table, images.pixels, config, device, fixed)

    def fit(
        self,
        model: RadianceModel,
        config: FitConfig,
        stop: Callable[[], bool] | None = None,
        *,
        checkpoint: Checkpoint | None = None,
        notify: Notify | None = None,
    ) -> FitResult:
        """Fit the model to the pixels of all training views."""
        start = time.perf_counter()
        objective = self.objective(model, config, choose_device(config.device))
        return minimize(
            objective, config, start=start, stop=stop, checkpoint=checkpoint, notify=notify
        )

    def describe(self) -> About:
        """Return the lens and the poses of the training cameras, the box and the background."""
        cameras = self.train.cameras
        distortion = cameras.distortion
        return {
            "views": len(cameras),
            "lens": {
                "width": int(cameras.sizes[0, 0]),
                "height": int(cameras.sizes[0, 1]),
                "focal": cameras.focal[0].tolist(),
                "principal_point": cameras.principal_point[0].tolist(),
                "distortion": None if distortion is None else distortion[0].tolist(),
            },
            "box": [self.space.lower, self.space.upper],
            "bounded": self.space.bounded,
            "focus": self.space.focus,
            "background": list(self.background),
            "downscale": self.downscale,
            "poses": [[round(v, 9) for v in pose] for pose in cameras.poses.flatten(1).tolist()],
        }

    def summary(self) -> str:
        """Return the number of views and their size."""
        width, height = self.train.cameras.sizes[0].tolist()
        alpha = ", with alpha" if self.train.has_alpha else ""
        held = "" if self.test is None else f" and {plural(len(self.test), 'test view')}"
        shown = f"{plural(len(self.train), 'training view')}{held}"
        return f"{shown} of {width} x {height} pixels{alpha} ({self.train.format})"

    def write_outputs(self, folder: Path, model: RadianceModel) -> dict[str, float]:
        """Render the held-out views; write them, their depths and a contact sheet."""
        scene = self.train if self.test is None else self.test
        views = folder / "views"
        views.mkdir(exist_ok=True)
        measured, targets, renderings, depths = [], [], [], []
        for i, view, target in self._render_all(model, scene, self.background):
            pred = np.clip(view.composite(self.background), 0, 1)
            write_image(views / f"{i:03d}.png", pred)
            write_image(views / f"{i:03d}_depth.png", colored_depth(view.depth))
            measured.append({"name": scene.names[i], **errors_of(pred, target)})
            targets.append(target)
            renderings.append(pred)
            depths.append(view.depth)
        save_contact_sheet(
            folder / "comparison.png", scene.names, targets, renderings, depths=depths,
            title=readable(self.path.name),
        )  # fmt: skip
        write_json(folder / "views.json", {"background": self.background, "views": measured})
        return means_of(measured)

    @classmethod
    def render(
        cls,
        model: RadianceModel,
        about: About,
        output: Path,
        options: RenderOptions,
        listener: Listener,
    ) -> None:
        """Render views; see `render_scene`."""
        assert isinstance(options, SceneRender)
        render_scene(model, about, output, options, listener)

    @classmethod
    def export(
        cls,
        model: RadianceModel,
        about: About,
        output: Path,
        options: RenderOptions,
        listener: Listener,
    ) -> None:
        """Write the surface at a level of density as a mesh with colors, by marching cubes."""
        assert isinstance(options, SceneExport)
        cells = 256 if options.resolution is None else options.resolution

        def progress(done: int, total: int) -> None:
            listener.progress("export", done, total)

        mesh = extract_mesh(model, resolution=cells, level=options.level, progress=progress)
        with writing(output):
            write_ply(output, mesh)
        density = half_opaque(model, cells) if options.level is None else options.level
        number, faces = len(mesh.vertices), plural(len(mesh.faces), "face")
        listener.wrote(output, f"{number:,} vertices, {faces}, at density {density:.4g}")

    def evaluate(self, model: RadianceModel, about: About) -> JsonObject:
        """Return the metrics of the model at this scene's test views."""
        scene = self.train if self.test is None else self.test
        background = tuple(about["background"])
        measured = [
            errors_of(np.clip(view.composite(background), 0, 1), target)
            for _, view, target in self._render_all(model, scene, background)
        ]
        return {**means_of(measured), "peak": 1.0, "samples": scene.images.number_of_pixels}

    def _render_all(
        self, model: RadianceModel, scene: Scene, background: tuple[float, ...]
    ) -> Iterator[tuple[int, View, np.ndarray]]:
        """Yield the number, the rendering and the target of every view."""
        total = scene.images.number_of_pixels
        color = torch.tensor(background, device="cpu")

        def rendered(number: int) -> None:
            self.listener.progress("render", number, total)

        for i in range(len(scene)):
            view = render_view(model, scene.cameras, i, progress=rendered)
            yield i, view, scene.images.composited(i, color).numpy()


def errors_of(pred: np.ndarray, target: np.ndarray) -> dict[str, float]:
    """Return PSNR and SSIM of a view; SSIM only where the view is as large as its window."""
    errors = {"psnr": psnr(pred, target, peak=1.0)}
    if min(pred.shape[:2]) >= 11:
        errors["ssim"] = ssim(pred, target, peak=1.0)
    return errors


def means_of(measured: list[JsonObject]) -> dict[str, float]:
    """Return the means over views, and the RMSE of all their pixels."""
    squares = [10 ** (-view["psnr"] / 10) for view in measured]
    mean = float(np.mean([view["psnr"] for view in measured]))
    means = {
        "psnr": mean,
        "rmse": math.sqrt(float(np.mean(squares))),
        "psnr_of_mean": psnr_from_mse(float(np.mean(squares)), 1.0),
    }
    similar = [view["ssim"] for view in measured if "ssim" in view]
    if similar:
        means["ssim"] = float(np.mean(similar))
    return means
