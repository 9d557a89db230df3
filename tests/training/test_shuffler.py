"""Batches of sample numbers: whole epochs, one size, a state that goes on."""

import math

import pytest
import torch

from coordnet.training.shuffler import Shuffler


@pytest.mark.parametrize(("number", "size"), [(12, 4), (10, 3), (7, 5), (1001, 1000), (5, 1)])
def test_every_sample_once_an_epoch(number, size):
    batches = Shuffler(number, size, 0)
    epochs = 6
    drawn = torch.cat([next(batches) for _ in range(math.ceil(epochs * number / size))])
    for epoch in range(epochs):
        seen = drawn[epoch * number : (epoch + 1) * number]
        assert seen.sort().values.tolist() == list(range(number))


def test_batches_are_of_one_size_and_shuffled_afresh():
    batches = Shuffler(100, 30, 0)
    drawn = [next(batches) for _ in range(20)]
    assert {len(batch) for batch in drawn} == {30}
    flat = torch.cat(drawn)
    assert flat[:100].tolist() != flat[100:200].tolist()
    assert flat[:100].tolist() != list(range(100))


def test_the_seed_decides():
    first, same, other = (next(Shuffler(100, 30, seed)).tolist() for seed in (0, 0, 1))
    assert first == same != other


@pytest.mark.parametrize("size", [5, 6, 100])
def test_batches_as_large_as_the_data_take_all(size):
    batches = Shuffler(5, size, 0)
    assert [next(batches) for _ in range(3)] == [None] * 3


@pytest.mark.parametrize("taken", [0, 1, 3, 5, 17])
def test_a_shuffler_goes_on_where_it_stood(taken):
    def shuffler():
        return Shuffler(100, 24, 2)

    one, other = shuffler(), shuffler()
    for _ in range(taken):
        next(one)
    other.load_state_dict(one.state_dict())
    for _ in range(12):
        assert torch.equal(next(one), next(other))
