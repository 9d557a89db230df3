"""Closed-form fit of a table: ``--network linear``."""

from __future__ import annotations

import numpy as np

from ..errors import refuse
from ..metrics.psnr_snr import psnr, rmse
from ..training import FitConfig, FitResult
from .choices import Choices
from .harmonics import HarmonicModel, fit_harmonics
from .options import SeriesOptions
from .reading.tables import Table

__all__ = ["fit_exactly", "linear_result"]


def fit_exactly(table: Table, choices: Choices, k: int, options: SeriesOptions) -> HarmonicModel:
    """Fit the harmonics of a table by least squares.

    Raises:
        InputError: no period, an encoding that is no harmonics, or coefficients that the rows
            cannot tell apart.
    """
    if not choices.periods:
        refuse("--network linear needs a period", "none", "Add --period 24, or --period auto.")
    if options.encoding not in (None, "harmonic"):
        refuse("--network linear fits harmonics", f"--encoding {options.encoding}")
    if options.settings:
        got = f"--set {options.settings[0]}"
        refuse("--network linear has no setting but --k", got, "Leave it out.")
    return fit_harmonics(
        table.x, table.y, choices.periods, k, trend=int(options.trend), weights=table.weights
    )


def linear_result(
    model: HarmonicModel, table: Table, config: FitConfig, seconds: float
) -> FitResult:
    """Return the outcome of a closed-form fit, which took ``seconds`` and no steps."""
    values = model.predict(table.x)
    peak = config.peak if config.peak is not None else float(np.ptp(table.y)) or 1.0
    return FitResult(
        steps=0,
        seconds=seconds,
        psnr=psnr(values, table.y, peak=peak),
        rmse=rmse(values, table.y),
        peak=peak,
        stop_reason="solved",
        device="cpu",
        precision="float64",
        samples=len(table.x),
        parameters=model.coefficients.size,
        config=config,
        losses=[],
        history=[],
    )
