"""Timed fits of one picture, coordnet's and the plain recipes'.

The clock starts when training starts, with the picture read and the start values drawn; features
that are computed once count. It stands still while a model is scored.
"""

from __future__ import annotations

import contextlib
import gc
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import torch
from _common import finite
from _measure import synchronize
from _pictures import Picture, Score
from _recipes import RECIPES, build_recipe
from _variants import PRESETS, VARIANTS, Variant
from torch import nn

import coordnet as cn
from coordnet.kinds import Listener
from coordnet.pictures import PictureOptions, PictureTask
from coordnet.training import Samples

TARGETS = (25.0, 27.5, 30.0, 35.0, 40.0)  # dB
TINY = {"width": 16, "frequencies": 16, "batch": 256}  # of recipes in a quick run
CURVE_START, CURVE_FACTOR = 0.25, 1.25  # seconds between two scores grow with the time
RESERVED = 0.25  # most time for scores on the way, as a part of the budget


@dataclass
class Run:
    """One fit.

    Attributes:
        budget: seconds it was given.
        seconds: seconds of training, scoring left out.
        steps: steps taken.
        psnr: at the end, in dB.
        curve: (seconds, PSNR) on the way, the end included.
    """

    budget: float
    seconds: float
    steps: int
    psnr: float
    curve: list[tuple[float, float]]


def methods() -> tuple[str, ...]:
    """Return the methods that are compared by default: coordnet's presets, then the plain ones."""
    return (*PRESETS, "same-fourier", *RECIPES)


def task_fit(
    variant: str | None, seconds: float, picture: Picture, seed: int, device: torch.device
) -> tuple[cn.Field, Samples, cn.FitConfig]:
    """Return what `coordnet fit` would fit to a picture, as it would; None: its default."""
    chosen = VARIANTS[variant] if variant else Variant("default")
    options = PictureOptions(seconds=seconds, seed=seed, device=str(device), **chosen.options)
    task = PictureTask(picture.path, options, Listener())
    recipe = chosen.change(task.recipe(options))
    config = replace(task.config(options, recipe), progress=False, evaluate=False)
    return task.model(options, recipe), task.samples(), config


class Clock:
    """Seconds of training."""

    def __init__(self, device: torch.device) -> None:
        self.device, self.start, self.spent = device, time.perf_counter(), 0.0

    def seconds(self) -> float:
        """Return the seconds that ran."""
        return time.perf_counter() - self.start - self.spent

    @contextlib.contextmanager
    def paused(self) -> Iterator[float]:
        """Stand still, once the device has finished; yields the seconds until then."""
        synchronize(self.device)
        before = self.seconds()
        yield before
        synchronize(self.device)
        self.spent += self.seconds() - before


def times(budgets: Sequence[float]) -> list[float]:
    """Return when to score: geometrically spaced up to the longest budget, and at each."""
    longest = max(budgets)
    number = max(0, math.ceil(math.log(longest / CURVE_START, CURVE_FACTOR)))
    spaced = {CURVE_START * CURVE_FACTOR**i for i in range(number)}
    return sorted(spaced | set(budgets))


def fit_coordnet(
    variant: str | None,
    budget: float,
    picture: Picture,
    score: Score,
    seed: int,
    device: torch.device,
    curve: bool = False,
) -> tuple[Run, cn.Field]:
    """Fit with coordnet within a budget in seconds.

    `coordnet.fit` ties its learning rate to the budget on its own clock, which runs on while a
    model is scored on the way (``curve``). The budget is then raised by what scoring will take,
    measured before, and the seconds of training that came of it are returned.
    """
    field, samples, config = task_fit(variant, budget, picture, seed, device)
    # modules and kernels are loaded at their first use
    cn.fit(field, samples, config=replace(config, seconds=None, steps=5))
    field, _, _ = task_fit(variant, budget, picture, seed, device)
    field.to(device)
    due, cost = (times([budget])[:-1] if curve else []), 0.0
    if due:
        score(field)
        start = time.perf_counter()
        score(field)
        cost = time.perf_counter() - start
        thinner = math.ceil(len(due) * cost / (RESERVED * budget))
        due = due[::-thinner][::-1]
        config = replace(config, seconds=budget + len(due) * cost)
    points: list[tuple[float, float]] = []
    clock = Clock(device)

    def stop() -> bool:
        if due and clock.seconds() >= due[0]:
            with clock.paused() as seconds:
                points.append((seconds, score(field)))
            while due and due[0] <= seconds:
                del due[0]
        return False

    result = cn.fit(field, samples, config=config, stop=stop)
    seconds = (result.history[-1].seconds if result.history else result.seconds) - clock.spent
    psnr = score(field)
    return Run(budget, seconds, result.steps, psnr, [*points, (seconds, psnr)]), field


def fit_recipe(
    name: str,
    picture: Picture,
    budgets: Sequence[float],
    score: Score,
    seed: int,
    device: torch.device,
    sizes: Mapping[str, Any],
) -> tuple[list[Run], nn.Module]:
    """Train a plain recipe up to the longest budget; a run for each.

    Its learning rate is constant, so that shorter runs are the beginnings of the longest: each
    ends with the last step that was over in time.
    """
    pixels = torch.from_numpy(picture.values).to(device)
    # modules and kernels are loaded at their first use; those of a GPU depend on sizes
    recipe = build_recipe(name, pixels.shape[2], sizes, seed, device)
    recipe.start(pixels if device.type == "cuda" else pixels[:32, :32])
    recipe.step()
    recipe = build_recipe(name, pixels.shape[2], sizes, seed, device)
    every = 1 if device.type == "cpu" else 10  # steps between two looks at the clock
    due = times(budgets)
    points: list[tuple[int, float, float]] = []
    clock = Clock(device)
    recipe.start(pixels)
    steps, before, pace = 0, 0.0, 0.0
    while True:
        synchronize(device)
        now = clock.seconds()
        pace, before = now - before, now
        if not points or now + pace > due[0]:
            pace = pace if points else 0.0  # the first is that of the preparation
            with clock.paused() as seconds:
                points.append((steps, seconds, score(recipe)))
            before = clock.seconds()
            while due and due[0] <= before + pace:
                del due[0]
        if not due:
            break
        losses = [recipe.step() for _ in range(every)]
        steps += every
        if not math.isfinite(float(losses[-1])):
            raise cn.NonFiniteLossError(steps, 0, recipe.optimizer.param_groups[0]["lr"])
    runs = []
    for budget in budgets:
        part = [each for each in points if each[1] <= budget] or points[:1]
        steps, seconds, psnr = part[-1]
        runs.append(Run(budget, seconds, steps, psnr, [each[1:] for each in part]))
    return runs, recipe


def seconds_to(runs: Sequence[Run], target: float) -> float | None:
    """Return the least seconds at which a score of any run is at least ``target``."""
    reached = [t for run in runs for t, psnr in run.curve if psnr >= target]
    return min(reached, default=None)


def hash_sizes(picture: Picture) -> dict[str, Any]:
    """Return the sizes of coordnet's own hash grid for a picture, for the plain one."""
    field, _, _ = task_fit(None, 1.0, picture, 0, torch.device("cpu"))
    spec = field.spec()["encoding"]
    keys = ("num_levels", "features_per_level", "log2_hashmap_size", "base_resolution",
            "max_resolution")  # fmt: skip
    waiting = [spec]
    while waiting:
        each = waiting.pop()
        if each["name"] == "hashgrid":
            return {key: each[key] for key in keys}
        waiting += [each["encoding"]] if "encoding" in each else each.get("encodings", [])
    return {}


@dataclass
class Outcome:
    """All runs of one method."""

    method: str
    about: str
    parameters: int
    runs: list[Run]

    @property
    def plain(self) -> bool:
        """Whether it is a recipe written plainly."""
        return self.method in RECIPES


def fit_all(
    names: Sequence[str],
    picture: Picture,
    score: Score,
    device: torch.device,
    budgets: Sequence[float],
    seed: int,
    quick: bool,
) -> list[Outcome]:
    """Return the runs of every method, the plain recipes' taken first."""
    found = {}
    for name in sorted(names, key=lambda name: name not in RECIPES):
        print(f"{name} …", flush=True)
        if name in RECIPES:
            sizes = dict(hash_sizes(picture)) if name == "plain-hashgrid" else {}
            sizes |= TINY if quick else {}
            runs, model = fit_recipe(name, picture, budgets, score, seed, device, sizes)
            about = RECIPES[name].about
        else:
            runs, model = [], None
            for budget in budgets:
                last = budget == max(budgets)
                one, model = fit_coordnet(name, budget, picture, score, seed, device, last)
                runs.append(one)
            assert isinstance(model, cn.Field)
            about = described(model)
        assert isinstance(model, nn.Module)
        found[name] = Outcome(name, about, parameters_of(model), runs)
        del model
        gc.collect()
    return [found[name] for name in names]


def parameters_of(model: nn.Module) -> int:
    """Return how many numbers are trained."""
    return sum(each.numel() for each in model.parameters() if each.requires_grad)


def described(field: cn.Field) -> str:
    """Return the encoding's and the network's settings in words."""
    encoding, network = field.spec()["encoding"], field.spec()["network"]
    while encoding["name"] == "normalized":
        encoding = encoding["encoding"]
    parts = []
    for spec in (encoding, network):
        settings = (f"{key}={value}" for key, value in spec.items() if key != "name")
        parts.append(f"{spec['name']}({', '.join(settings)})")
    return " → ".join(parts)


def ratios(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Return seconds to each target, coordnet's over the plain one's.

    Where the plain recipe never got there, its longest time stands for it, and the ratio is
    "at most"; where coordnet did not, "at least"; where neither did, there is none.
    """
    rows = []
    for own in (each for each in outcomes if not each.plain):
        for other in (each for each in outcomes if each.plain):
            for target in TARGETS:
                ours, theirs = seconds_to(own.runs, target), seconds_to(other.runs, target)
                if ours is None and theirs is None:
                    continue
                bound = "at least" if ours is None else "at most" if theirs is None else "equal"
                ours = ours if ours is not None else longest(own.runs)
                theirs = theirs if theirs is not None else longest(other.runs)
                if theirs > 0:
                    rows.append({"target": target, "method": own.method, "plain": other.method,
                                 "ratio": ours / theirs, "bound": bound})  # fmt: skip
    return rows


def longest(runs: Sequence[Run]) -> float:
    """Return the time of the last score of any run."""
    return max(each.seconds for each in runs)


def plain_json(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Return the runs as JSON values; an exact fit has a PSNR of None."""
    found = []
    for each in outcomes:
        content = asdict(each)
        for one in content["runs"]:
            one["psnr"] = finite(one["psnr"])
            one["curve"] = [[t, finite(psnr)] for t, psnr in one["curve"]]
        content["plain"] = each.plain
        content["seconds_to"] = {f"{t:g}": seconds_to(each.runs, t) for t in TARGETS}
        found.append(content)
    return found
