"""Number of harmonics by blocked cross-validation: errors on stretches of time not fitted."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..checks import integer
from ..encodings import FourierFeatures
from ..errors import refuse
from .arrays import Series
from .sampling import nyquist_harmonic

__all__ = ["ChoiceOfK", "choose_k"]

_MAX_K = 64
_BLOCKS = 10
_FOLDS = 5


@dataclass(frozen=True)
class ChoiceOfK:
    """The hold-out error of each k, and the k that was chosen.

    Attributes:
        k: the smallest k whose error is within one standard error of the least.
        best: the k of the least error.
        candidates: ``(K,)``, every k that was tried.
        error: ``(K,)``, root mean square errors on held-out blocks, in the values' unit (in
            standard deviations, where there are several columns).
        standard_error: ``(K,)``, of the errors' differences to the least one, from their scatter
            over the folds; folds differ in their noise, which cancels in the differences.
        limit: the largest k that samples on a grid can tell apart (`nyquist_harmonic`), or None.
    """

    k: int
    best: int
    candidates: np.ndarray
    error: np.ndarray
    standard_error: np.ndarray
    limit: int | None


def choose_k(
    x: Any,
    y: Any,
    periods: float | Sequence[float],
    *,
    candidates: Sequence[int] | None = None,
    trend: int = 0,
    weights: Any = None,
    folds: int = _FOLDS,
) -> ChoiceOfK:
    """Choose the number of harmonics by blocked cross-validation (Roberts et al., 2017).

    The span is cut into blocks of equal length in time, dealt to the folds in turn; each fold is
    predicted by the least-squares fit to the others. Single points drawn at random would not do:
    their neighbors, fitted, give away their values. Where there are two periods or more, a
    block is a run of whole shortest periods.

    Args:
        x: positions ``(N,)``.
        y: values ``(N,)`` or ``(N, D)``.
        periods: one or several; every one gets the same k.
        candidates: the k to try; None tries 1 … 64, up to what the samples can tell apart
            (`nyquist_harmonic`, where they lie on a grid).
        trend: degree of the trend beside the harmonics.
        weights: of the squared errors.
        folds: into how many parts the blocks are dealt, at least 2.

    Raises:
        InputError: too few samples to hold any out; candidates above what they can tell apart.
    """
    lengths = [periods] if isinstance(periods, (int, float)) else list(periods)
    number = integer("folds", folds, least=2)
    series = Series(x, y, weights, 0)
    fold = _folds(series, min(lengths), number)
    limits = [nyquist_harmonic(series.times, period) for period in lengths]
    limit = min((limit for limit in limits if limit is not None), default=None)
    fitted = min(int((fold != f).sum()) for f in range(number))
    room = (fitted - 2 - trend) // (2 * len(lengths))
    most = min(_MAX_K, room, limit if limit is not None else _MAX_K)
    if candidates is None:
        if most < 1:
            refuse(
                "choosing k needs samples enough to hold some out",
                f"{len(series)} samples in {number} folds",
                "Set k yourself.",
            )
        candidates = range(1, most + 1)
    tried = sorted({integer("k", k, least=1) for k in candidates})
    if not tried or tried[-1] > most:
        got = f"{tried[-1] if tried else 'none'}"
        refuse(f"k must be from 1 to {most} with these samples", got)
    spread = series.values.std(0)
    values = series.values / np.where(spread > 0, spread, 1.0)
    scale = float(spread[0]) if values.shape[1] == 1 and spread[0] > 0 else 1.0
    design, columns = _nested_design(series, lengths, tried[-1], trend)
    errors = np.empty((number, len(tried)))
    sizes = np.empty(number)
    for f in range(number):
        held = fold == f
        q, r = np.linalg.qr(design[~held])
        right = q.T @ values[~held]
        sizes[f] = (series.root[held] ** 2).sum()
        for i, k in enumerate(tried):
            m = columns(k)
            try:
                solution = np.linalg.solve(r[:m, :m], right[:m])
            except np.linalg.LinAlgError:
                errors[f, i:] = math.inf
                break
            square = np.square(design[held][:, :m] @ solution - values[held])
            errors[f, i] = square.mean(1).sum()
    share = errors / sizes[:, None]
    mean = errors.sum(0) / sizes.sum()
    best = int(np.argmin(mean))
    with np.errstate(invalid="ignore"):
        excess = share - share[:, best : best + 1]
        scatter = excess.std(0, ddof=1) / math.sqrt(number)
        close = excess.mean(0)[: best + 1] <= scatter[: best + 1]
    chosen = int(np.argmax(close))  # the smallest k that is not clearly worse; the best is not
    error = np.sqrt(mean)
    with np.errstate(invalid="ignore", divide="ignore"):
        error_scatter = np.where(error > 0, 0.5 * scatter / error, 0.0)
    return ChoiceOfK(
        k=tried[chosen],
        best=tried[best],
        candidates=np.array(tried),
        error=scale * error,
        standard_error=scale * error_scatter,
        limit=limit,
    )


def _folds(series: Series, period: float, number: int) -> np.ndarray:
    """Return the fold of every sample: blocks of equal length in time, dealt in turn."""
    blocks = _BLOCKS if number <= _BLOCKS // 2 else 2 * number
    length = series.span / blocks
    if length > period:  # whole periods, so that every fold keeps all phases
        length = math.ceil(length / period - 1e-9) * period
    place = np.floor((series.times + 0.5 * series.span) / (length or 1.0)).astype(int)
    fold = np.clip(place, 0, None) % number
    if len(np.unique(fold)) < number:
        # fewer stretches of time than folds: runs of samples instead
        fold = np.arange(len(series)) * 2 * number // len(series) % number
    if len(np.unique(fold)) < number:
        got = f"{len(series)} samples in {number} folds"
        refuse("every fold must have samples", got)
    return fold


def _nested_design(
    series: Series, periods: Sequence[float], k: int, trend: int
) -> tuple[np.ndarray, Callable[[int], int]]:
    """Return columns in the order in which k adds them, and how many there are for a k."""
    x = torch.from_numpy(series.times + series.middle)[:, None]
    with torch.device("cpu"):
        encodings = [FourierFeatures(1, k=k, period=period) for period in periods]
    features = np.stack([encoding(x).numpy() for encoding in encodings], 1).reshape(
        len(series), len(periods), k, 2
    )
    nested = features.transpose(0, 2, 1, 3).reshape(len(series), -1)
    design = series.root[:, None] * np.concatenate([series.polynomials(trend), nested], 1)
    return design, lambda number: trend + 1 + 2 * len(periods) * number
