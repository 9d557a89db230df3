import numpy as np
import pytest

import coordnet as cn
from coordnet.series.harmonics import fit_harmonics
from coordnet.series.holdout import choose_k


def noisy(k, number=600, noise=0.5, seed=0):
    generator = np.random.default_rng(seed)
    x = np.sort(generator.uniform(0, 300, number))
    y = sum(np.cos(2 * np.pi * j * x / 10 - j) for j in range(1, k + 1))
    return x, y + noise * generator.normal(size=number)


@pytest.mark.parametrize("k", [1, 3, 6])
def test_it_finds_the_number_that_was_put_in(k):
    found = choose_k(*noisy(k), 10.0)
    assert found.k == k
    assert found.best >= k
    # the noise alone is left, and what it costs to fit to it
    assert 0.45 < found.error[k - 1] < 0.56
    rest = found.candidates != found.best
    assert (found.standard_error[rest] > 0).all()
    assert found.standard_error[~rest] == 0
    # the rule, from what is reported: small differences of squares are twice those of roots
    near = found.error - found.error.min() <= 1.02 * found.standard_error
    assert found.candidates[near][0] == k


def test_noise_gets_one_harmonic():
    generator = np.random.default_rng(0)
    assert choose_k(np.arange(500.0), generator.normal(size=500), 17.0).k == 1


def test_the_error_of_a_fold_is_that_of_a_fit_to_the_others():
    x, y = noisy(2, 200)
    found = choose_k(x, y, 10.0, candidates=[1, 4], folds=2)
    # ten blocks of three periods, dealt to two folds
    fold = np.floor((x - x[0]) / 30.0).astype(int) % 2
    for i, k in enumerate((1, 4)):
        square = 0.0
        for f in (0, 1):
            model = fit_harmonics(x[fold != f], y[fold != f], 10.0, k)
            square += np.square(model.predict(x[fold == f])[:, 0] - y[fold == f]).sum()
        assert found.error[i] == pytest.approx((square / 200) ** 0.5, rel=1e-8)


def test_correlated_noise_does_not_leak():
    # a random walk looks like many harmonics to points drawn at random among their neighbors
    generator = np.random.default_rng(3)
    x = np.arange(1000.0)
    walk = np.cumsum(generator.normal(size=1000)) * 0.1
    walk -= np.linspace(walk[0], walk[-1], 1000)
    y = np.cos(2 * np.pi * x / 100) + walk
    assert choose_k(x, y, 100.0).k <= 3


def test_never_above_the_limit():
    x = np.arange(240.0)
    y = np.sign(np.sin(2 * np.pi * x / 24))
    found = choose_k(x, y, 24.0)
    assert found.candidates.max() == 11
    assert found.limit == 11
    with pytest.raises(cn.InputError, match="from 1 to 11"):
        choose_k(x, y, 24.0, candidates=[12])


def test_too_little_to_hold_out():
    with pytest.raises(cn.InputError, match="samples"):
        choose_k([0.0, 1.0, 2.0], [1.0, 2.0, 1.0], 3.0)
