"""Make data/wave.csv: one period of a band-limited wave, sampled without its end point.

The wave is the trigonometric polynomial of degree 8

    y(x) = MEAN + sum over (k, a, b) in HARMONICS of a cos(kx) + b sin(kx),    x = 2 pi i / N.

Degree 8 means that a harmonic encoding with k >= 8 can represent it exactly, and that one with a
smaller k misses a known part: leaving out harmonic k alone costs an RMSE of sqrt((a^2 + b^2) / 2).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

MEAN = 0.25
HARMONICS = (  # k, a, b
    (1, 0.5, 1.0),
    (2, -0.375, 0.25),
    (3, 0.0, -0.5),
    (4, 0.125, 0.125),
    (5, -0.25, 0.0),
    (6, 0.0625, -0.125),
    (7, 0.0, 0.1875),
    (8, 0.125, -0.0625),
)
DECIMALS = 10  # the last bits of sin and cos differ between machines; the file must not


def wave(x: np.ndarray) -> np.ndarray:
    """Evaluate the wave.

    Args:
        x: (N,) positions in radians.

    Returns:
        (N,) float64 values.
    """
    y = np.full(np.shape(x), MEAN)
    for k, a, b in HARMONICS:
        y += a * np.cos(k * x) + b * np.sin(k * x)
    return y


def main() -> None:
    """Write the wave as CSV with the columns x and y."""
    parser = argparse.ArgumentParser(
        description="Write one period of a band-limited wave (degree 8) as CSV with columns x, y."
    )
    default = Path(__file__).resolve().parent.parent / "data" / "wave.csv"
    parser.add_argument("-o", "--output", type=Path, default=default, help="default: data/wave.csv")
    parser.add_argument("-n", "--samples", type=int, default=400, help="default: %(default)s")
    options = parser.parse_args()
    if options.samples < 1:
        parser.error(f"--samples must be at least 1; got {options.samples}")
    x = 2.0 * np.pi * np.arange(options.samples) / options.samples
    # Adding 0.0 turns a rounded -0.0 into 0.0.
    y = np.round(wave(x), DECIMALS) + 0.0
    rows = [f"{a!r},{b!r}\n" for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    options.output.write_text("x,y\n" + "".join(rows), encoding="ascii", newline="\n")
    print(f"{options.output}: {len(rows)} samples of one period")


if __name__ == "__main__":
    main()
