"""Draw what encodings look like: three figures.

positions.png   sin(pos / C^(2(i-1)/512)) for i = 1, 10, 50, 100 over the position
heat_map.png    pe(1), pe(2), …, pe(100) as columns for d = 128, index 1 at the bottom
harmonics.png   sin kx and cos kx for k = 1 … 4 over two periods
"""

from __future__ import annotations

import argparse
import math

import numpy as np
import torch
from _common import Parser, claim, run

import coordnet as cn
from coordnet.plotting import COLORS, new_figure, save_figure, tidy

NAME = "plot_encodings"
INDICES = (1, 10, 50, 100)
LARGE_D, SMALL_D = 512, 128
COLUMNS = 100
HARMONICS = 4


def position_waves(C: float, positions: np.ndarray) -> np.ndarray:
    """Return sin(pos / C^(2(i-1)/512)) for the four i.

    Args:
        C: the constant.
        positions: ``(N,)``.

    Returns:
        ``(4, N)`` float64.
    """
    pe = cn.SinusoidalPositionalEncoding(LARGE_D, C)
    features = pe.encode(torch.from_numpy(np.asarray(positions, dtype=np.float64)))
    return np.stack([features[:, 2 * (i - 1)].numpy() for i in INDICES])


def heat_map(C: float) -> np.ndarray:
    """Return pe(1) … pe(100) as columns, ``(128, 100)``, row 0 holding index 1."""
    return cn.SinusoidalPositionalEncoding(SMALL_D, C).table(COLUMNS, start=1).T.numpy()


def harmonic_waves(x: np.ndarray) -> np.ndarray:
    """Return sin kx and cos kx for k = 1 … 4, ``(N, 4, 2)``."""
    features = cn.FourierFeatures(in_dim=1, k=HARMONICS)(torch.from_numpy(x)[:, None])
    return features.unflatten(1, (HARMONICS, 2)).numpy()


def draw(options: argparse.Namespace) -> None:
    """Draw the three figures."""
    names = ["positions.png", "heat_map.png", "harmonics.png"]
    first, second, third = claim(options.out, names, options.overwrite)
    C = options.C

    fine, whole = np.linspace(0.0, 200.0, 4001), np.arange(201.0)
    curves, dots = position_waves(C, fine), position_waves(C, whole)
    figure = new_figure(9.0, 6.6, f"sin(pos / C^(2(i-1)/d)), d = {LARGE_D}, C = {C:g}")
    panels = figure.subplots(len(INDICES), 1, sharex=True, sharey=True)
    for row, axes in enumerate(panels):
        i, color = INDICES[row], COLORS[row]
        axes.plot(fine, curves[row], color=color, linewidth=1.1)
        axes.plot(whole, dots[row], ".", color=color, markersize=3.5)
        length = 2 * math.pi * C ** (2 * (i - 1) / LARGE_D)
        tidy(axes, title=f"i = {i}, wavelength {length:.4g}")
        axes.set_yticks([-1, 0, 1])
        axes.set_xlim(0, 200)
    panels[-1].set_xlabel("position (dots: whole positions)")
    save_figure(figure, first)

    figure = new_figure(9.0, 6.2, f"pe(pos), d = {SMALL_D}, C = {C:g}")
    axes = figure.subplots()
    shown = axes.imshow(
        heat_map(C),
        origin="lower",
        cmap="RdBu_r",
        vmin=-1.0,
        vmax=1.0,
        aspect="auto",
        interpolation="nearest",
        extent=(0.5, COLUMNS + 0.5, 0.5, SMALL_D + 0.5),
    )
    axes.set_xlabel("position")
    axes.set_ylabel("index (odd: sine, even: cosine)")
    axes.set_xticks([1, *range(10, COLUMNS + 1, 10)])
    axes.set_yticks([1, *range(16, SMALL_D + 1, 16)])
    figure.colorbar(shown, ax=axes, fraction=0.04, pad=0.02, ticks=[-1, -0.5, 0, 0.5, 1])
    save_figure(figure, second)

    x = np.linspace(0.0, 4 * math.pi, 1601)
    waves = harmonic_waves(x)
    figure = new_figure(9.0, 6.2, "the harmonic map over two periods")
    panels = figure.subplots(HARMONICS, 1, sharex=True, sharey=True)
    for row, axes in enumerate(panels):
        factor = "" if row == 0 else f"{row + 1}"
        for column, name in enumerate(("sin", "cos")):
            color = COLORS[column]
            axes.plot(x, waves[:, row, column], color=color, label=f"{name} {factor}x")
        tidy(axes, title=f"k = {row + 1}")
        axes.axvline(2 * math.pi, color="#999999", linewidth=0.9, linestyle=":")
        axes.set_yticks([-1, 0, 1])
        axes.set_xlim(0.0, 4 * math.pi)
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize=9)
    ticks = [j * math.pi / 2 for j in range(9)]
    panels[-1].set_xlabel("x")
    panels[-1].set_xticks(ticks, ["0", "π/2", "π", "3π/2", "2π", "5π/2", "3π", "7π/2", "4π"])
    save_figure(figure, third)
    print(f"written: {first}, {second}, {third}")


def main() -> None:
    """Read the command line."""
    parser = Parser(NAME, __doc__)
    parser.add_argument("--C", type=float, default=10_000.0, help="default: %(default)s")
    parser.add_output(f"runs/{NAME}")
    run(parser, draw)


if __name__ == "__main__":
    main()
