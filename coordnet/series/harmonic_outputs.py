"""What harmonics tell of a fitted table: amplitudes and phases, the folded data."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import numpy as np

from ..errors import refuse
from ..field import Field
from ..files import write_atomic
from ..metrics.psnr_snr import psnr, rmse
from ..training import FitConfig, FitResult
from .choices import Choices
from .folded_figures import save_folded, save_k_curve, save_periodogram
from .functions import evaluate
from .harmonics import HarmonicModel, fit_harmonics
from .options import SeriesOptions
from .reading.tables import Table
from .spectrum import Spectrum, harmonic_spectrum

__all__ = ["fit_exactly", "linear_result", "write_harmonics"]

_SHOWN = 16
_SHIFTS = 32
_MOST_FOLDED = 5000


def fit_exactly(table: Table, choices: Choices, k: int, options: SeriesOptions) -> HarmonicModel:
    """Fit the harmonics of a table in closed form.

    Raises:
        InputError: no period, a ladder that is no harmonics, or coefficients that the rows cannot
            tell apart.
    """
    if not choices.periods:
        refuse("--network linear needs a period", "none", "Add --period 24, or --period auto.")
    if options.encoding not in (None, "harmonic"):
        got = f"--encoding {options.encoding}"
        refuse("--network linear fits harmonics", got, "Leave the encoding away.")
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


def write_harmonics(
    folder: Path,
    field: Field,
    table: Table,
    fitted: np.ndarray,
    choices: Choices,
    linear: HarmonicModel | None,
    trend: bool,
    title: str,
) -> None:
    """Write harmonics.csv, folded.png, and how period and k were found.

    Args:
        folder: the run folder.
        field: the fitted field.
        table: what was fitted.
        fitted: the field's values at the table's positions.
        choices: the periods, and how they were found.
        linear: the closed-form model, where there is one.
        trend: whether the field also drifts.
        title: a line above the figures.
    """
    _write_amplitudes(folder, field, table, choices, linear, trend)
    label = table.time.label(table.x_name)
    if choices.periods:
        mixed = trend or len(choices.periods) > 1
        step = -(-len(table.x) // _MOST_FOLDED) if mixed else 1
        x = table.x[::step]
        save_folded(
            folder / "folded.png",
            x,
            table.y[::step],
            fitted[::step],
            choices.periods,
            levels=[_mean_around(field, x, each) for each in choices.periods] if mixed else None,
            names=(label, *table.y_names),
            title=title,
        )
    if choices.search is not None:
        shown = choices.search.periodogram
        save_periodogram(
            folder / "periodogram.png", shown.frequencies, shown.power,
            [each.period for each in choices.search.candidates],
            unit=table.time.unit or "", title=title,
        )  # fmt: skip
    if choices.choice is not None:
        found = choices.choice
        save_k_curve(
            folder / "k.png", found.candidates, found.error, found.standard_error, found.k,
            title=title,
        )  # fmt: skip


def _mean_around(field: Field, x: np.ndarray, period: float) -> np.ndarray:
    """Return the mean (N, D) of the field over one period around each position (N,)."""
    shifts = ((np.arange(_SHIFTS) + 0.5) / _SHIFTS - 0.5) * period
    total = sum(evaluate(field, x + shift) for shift in shifts.tolist())
    return np.asarray(total) / _SHIFTS


def _write_amplitudes(
    folder: Path,
    field: Field,
    table: Table,
    choices: Choices,
    linear: HarmonicModel | None,
    trend: bool,
) -> None:
    """Write amplitude and phase of each harmonic, where the fit has such."""
    found: list[Spectrum] = []
    if linear is not None:
        found = [linear.spectrum(i) for i in range(len(choices.periods))]
    elif len(choices.periods) == 1 and not trend:
        found = [harmonic_spectrum(field, choices.periods[0], _SHOWN)]
    if not found:
        return
    with_errors = linear is not None
    head = ["column", "period", "harmonic", "amplitude", "phase"]
    lines = [[*head, "amplitude error", "phase error"] if with_errors else head]
    for i, name in enumerate(table.y_names):
        for each in found:
            for j, number in enumerate(each.order):
                values = [each.amplitude[j, i], each.phase[j, i]]
                if each.amplitude_error is not None and each.phase_error is not None:
                    values += [each.amplitude_error[j, i], each.phase_error[j, i]]
                shown = (repr(float(value)) for value in values)
                lines.append([name, repr(each.period), str(number), *shown])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(lines)
    write_atomic(folder / "harmonics.csv", text.getvalue().encode())
