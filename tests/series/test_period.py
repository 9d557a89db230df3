from pathlib import Path

import numpy as np
import pytest
import torch

import coordnet as cn
from coordnet.series import find_period
from coordnet.series.arrays import Series
from coordnet.series.periods.candidates import relation, with_error
from coordnet.series.periods.likelihood import HarmonicLikelihood
from coordnet.series.periods.noise import Whitening, noise_time

DATA = Path(__file__).parents[2] / "data"
SHAPES = {
    "sine": lambda u: np.sin(2 * np.pi * u),
    "pulse": lambda u: np.exp(-0.5 * ((u - 0.5) / 0.02) ** 2),
    # two minima of unlike depth: a sine fits half the period better
    "eclipses": lambda u: (
        -np.exp(-0.5 * ((u - 0.25) / 0.04) ** 2) - 0.6 * np.exp(-0.5 * ((u - 0.75) / 0.04) ** 2)
    ),
    "sawtooth": lambda u: u,
}


def red(times, tau, generator):
    """Noise of variance 1 that remembers for a time tau."""
    noise = generator.normal(size=len(times))
    rho = np.exp(-np.diff(times) / tau)
    for i, r in enumerate(rho, start=1):
        noise[i] = r * noise[i - 1] + np.sqrt(1 - r * r) * noise[i]
    return noise


def nights(number, generator):
    """Eight samples in each of some nights of a year, as Julian dates."""
    days = np.sort(generator.choice(300, number // 8, replace=False))
    hours = np.sort(generator.uniform(0, 0.25, (len(days), 8)), axis=1)
    return (2_460_000.5 + days[:, None] + 0.4 + hours).ravel()


def test_the_day_in_hourly_temperatures():
    table = cn.series.read_table(DATA / "temperatures.csv")
    found = find_period(table.x, table.y)
    assert found.period == pytest.approx(24.0, abs=0.001)
    assert found.error < 0.001
    assert found.k >= 2
    assert found.noise_time > 10  # what is left is the year
    assert found.candidates[1].behind > 10
    assert "The period is 23.999" in found.describe()[0]


def test_the_cycle_of_the_sunspots():
    table = cn.series.read_table(DATA / "sunspots.csv")
    found = find_period(table.x, table.y)
    assert found.period == pytest.approx(11.0, abs=0.1)
    assert 0.005 < found.error < 0.1
    assert found.k == 1
    # twice the period is no better, in noise that remembers
    double = next(each for each in found.candidates if each.relation == "2 ×")
    assert double.behind > 5


@pytest.mark.parametrize("trend", [0, 1, 2])
def test_the_year_in_rising_carbon_dioxide(trend):
    lines = (DATA / "co2.csv").read_text().splitlines()[1:]
    rows = [line.split(",") for line in lines if not line.endswith(",")]
    days = np.array([row[0] for row in rows], "M8[D]").astype(np.int64)
    found = find_period(days, np.array([float(row[1]) for row in rows]), trend=trend)
    assert abs(found.period - 365.2425) < 4 * found.error
    assert found.error < 0.2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sampling", ["uniform", "irregular", "nights"])
def test_shapes_and_samplings(shape, sampling):
    """Neither half the period nor twice, on grids, at random times and in Julian nights."""
    generator = np.random.default_rng(1)
    period, settings = 13.37, {}
    if sampling == "uniform":
        t = np.arange(400.0)
    elif sampling == "irregular":
        t = np.sort(generator.uniform(0, 400, 400))
    else:
        t, period, settings = nights(400, generator), 0.7321, {"min_period": 0.2}
    y = SHAPES[shape](np.mod(t / period, 1.0))
    y = (y - y.mean()) / y.std() + 0.4 * generator.normal(size=len(t))
    found = find_period(t, y, **settings)
    assert found.period == pytest.approx(period, rel=2e-3)
    assert abs(found.period - period) < 5 * found.error
    assert found.candidates[0].false_alarm < 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_noise_that_remembers_makes_no_longer_period(seed):
    """Low frequencies of such noise look like harmonics of a long period to plain least squares."""
    generator = np.random.default_rng(seed)
    t = np.arange(400.0)
    y = np.sin(2 * np.pi * t / 11.3) + red(t, 4.0, generator)
    found = find_period(t, y)
    assert found.period == pytest.approx(11.3, rel=0.01)
    assert 1.5 < found.noise_time < 10
    white = HarmonicLikelihood(Series(t, y, trend=1))
    best, _ = white.best_k(1 / 11.3, 8)
    assert min(white.best_k(m / (16 * 400.0), 8)[0] for m in range(32, 300)) < best


def test_errors_are_the_scatter_of_repeated_experiments():
    scores = []
    for seed in range(40):
        generator = np.random.default_rng(seed)
        t = np.sort(generator.uniform(0, 100, 120))
        y = 1.5 * np.sin(2 * np.pi * t / 7.3 + seed) + 0.4 * np.sin(4 * np.pi * t / 7.3)
        y += 0.6 * (red(t, 2.0, generator) if seed % 2 else generator.normal(size=120))
        found = find_period(t, y, min_period=5.0, max_period=10.0, k=2)
        scores.append((found.period - 7.3) / found.error)
    assert 0.8 < np.std(scores) < 1.25
    assert abs(np.mean(scores)) < 0.4


def test_false_alarms_are_about_as_rare_as_said():
    rates = []
    for seed in range(40):
        generator = np.random.default_rng(seed)
        t = np.sort(generator.uniform(0, 40, 40))
        found = find_period(t, generator.normal(size=40), k=2)
        rates.append(found.candidates[0].false_alarm)
    rates = np.array(rates)
    assert 0.02 < (rates < 0.1).mean() < 0.35
    assert (rates < 1e-4).sum() == 0
    assert any("no period" in note for note in found.notes)


def test_columns_are_combined():
    generator = np.random.default_rng(5)
    t = np.sort(generator.uniform(0, 100, 150))
    waves = [np.sin(2 * np.pi * t / 6.1 + phase) for phase in (0, 1, 2)]
    y = np.stack(waves, 1) * [1, 100, 1e-3] + generator.normal(size=(150, 3)) * [1.5, 150, 1.5e-3]
    together = find_period(t, y)
    assert together.period == pytest.approx(6.1, rel=0.01)
    alone = [find_period(t, column, min_period=5.0, max_period=7.0).error for column in y.T]
    assert together.error < min(alone)


def test_what_does_not_change_the_period():
    generator = np.random.default_rng(0)
    t = np.sort(generator.uniform(0, 200, 150))
    y = np.sin(2 * np.pi * t / 9.7) + 0.3 * generator.normal(size=150)
    found = find_period(t, y)
    order = generator.permutation(150)
    others = {
        "order": find_period(t[order], y[order]),
        "unit and offset": find_period(t, 1e6 + 1e-3 * y, weights=np.full(150, 7.0)),
        "origin": find_period(t + 2**21, y),
        "tensor": find_period(torch.from_numpy(t)[:, None], torch.from_numpy(y)),
    }
    for name, other in others.items():
        assert other.period == pytest.approx(found.period, rel=1e-8), name
        assert other.error == pytest.approx(found.error, rel=1e-4), name
    milli = find_period(1000 * t, y)
    assert milli.period == pytest.approx(1000 * found.period, rel=1e-8)


def test_weights_silence_bad_samples():
    generator = np.random.default_rng(0)
    t = np.sort(generator.uniform(0, 100, 120))
    y = np.sin(2 * np.pi * t / 5.3) + 0.1 * generator.normal(size=120)
    bad = np.arange(0, 120, 3)
    y[bad] += 30 * generator.normal(size=len(bad))
    errors = np.full(120, 0.1)
    errors[bad] = 30.0
    assert find_period(t, y, 1 / errors**2).period == pytest.approx(5.3, rel=1e-3)
    zeros = np.ones(120)
    zeros[bad] = 0
    kept = find_period(np.delete(t, bad), np.delete(y, bad), min_period=1.0)
    assert find_period(t, y, zeros, min_period=1.0).period == pytest.approx(kept.period)


def test_noise_free_samples_and_few_of_them():
    t = np.arange(64.0)
    found = find_period(t, np.cos(2 * np.pi * t / 8) + 0.5 * np.cos(4 * np.pi * t / 8 + 1))
    assert found.period == pytest.approx(8.0, rel=1e-9)
    assert found.k == 2
    few = find_period([0, 1, 2, 3, 4, 5, 6, 7], [0, 1, 0, -1, 0, 1, 0, -1.1], trend=0)
    assert few.period == pytest.approx(4.0, rel=0.05)
    assert any("only" in note for note in few.notes)


def test_equal_positions():
    t = np.repeat(np.arange(80.0), 3)
    y = np.sin(2 * np.pi * t / 9) + 0.2 * np.random.default_rng(0).normal(size=240)
    found = find_period(t, y)
    assert found.period == pytest.approx(9.0, rel=0.01)
    assert found.noise_time == 0


def test_the_range_is_kept_and_its_end_is_named():
    t = np.arange(300.0)
    y = np.sin(2 * np.pi * t / 10) + 0.01 * np.random.default_rng(0).normal(size=300)
    found = find_period(t, y, min_period=10.2, max_period=30.0)
    assert all(10.2 * (1 - 1e-9) <= each.period <= 30.0 for each in found.candidates)
    other = find_period(t, y, min_period=10.05, max_period=15.0)
    assert other.period == pytest.approx(10.05)
    assert any("short end" in note for note in other.notes)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"k": 0}, "k must"),
        ({"candidates": 0}, "candidates"),
        ({"min_period": 1.0}, "two steps are 2"),
        ({"max_period": 1.5}, "min_period"),
        ({"trend": 1.5}, "trend"),
    ],
)
def test_what_is_refused(settings, says):
    with pytest.raises(cn.InputError, match=says):
        find_period(np.arange(30.0), np.sin(np.arange(30.0)), **settings)


def test_elimination_gives_the_residuals_of_least_squares():
    """In blocks, for every k at once, in white and in correlated noise."""
    generator = np.random.default_rng(0)
    t = np.sort(generator.uniform(0, 50, 90))
    series = Series(t, generator.normal(size=(90, 2)), generator.uniform(0.5, 2, 90), 1)
    for tau in (0.0, 3.0):
        likelihood = HarmonicLikelihood(series, tau)
        costs = likelihood.costs(0.21, 4)
        waves = [f(2 * np.pi * j * 0.21 * series.times) for j in (1, 2, 3, 4)
                 for f in (np.cos, np.sin)]  # fmt: skip
        columns = np.hstack([series.trend, series.root[:, None] * np.stack(waves, 1)])
        white = Whitening(series.times, tau)
        columns, values = white(columns), white(series.values)
        base = np.linalg.lstsq(columns[:, :2], values, rcond=None)[1]
        for k in (1, 2, 3, 4):
            left = np.linalg.lstsq(columns[:, : 2 + 2 * k], values, rcond=None)[1]
            expected = 90 * np.log(left / base).sum()
            assert costs[k - 1] == pytest.approx(expected, rel=1e-8)
            fit = likelihood.refined(0.21, k, 0.21 - 1e-9, 0.21 + 1e-9)
            assert fit.cost == pytest.approx(expected, rel=1e-6)


def test_whitening_in_parts_is_the_whole_and_finds_its_own_time():
    generator = np.random.default_rng(0)
    t = np.cumsum(generator.exponential(size=3000))
    noise = np.stack([red(t, 5.0, generator), red(t, 5.0, generator)], 1)
    assert noise_time(t, noise) == pytest.approx(5.0, rel=0.4)
    assert noise_time(t, generator.normal(size=(3000, 1))) == 0
    white = Whitening(t, 5.0)
    whole = white(noise)
    np.testing.assert_array_equal(white(noise[:100]), whole[:100])
    np.testing.assert_array_equal(white(noise[99:250], 100), whole[100:250])
    assert abs(np.corrcoef(whole[1:, 0], whole[:-1, 0])[0, 1]) < 0.05
    assert whole.std() == pytest.approx(1, abs=0.05)


def test_words():
    assert relation(2.001, 0.01) == "2 ×"
    assert relation(0.3333, 0.01) == "1/3 ×"
    assert relation(1.5, 0.01) == ""
    assert with_error(23.99949, 0.00016) == "23.99949 ± 0.00016"
    assert with_error(13271.4, 3140.0) == "13271 ± 3140"
    assert with_error(8.0, 0.0) == "8"
