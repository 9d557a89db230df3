"""Checks of arguments: the plain form of what is right, rule and value of what is not."""

import copy
import math
import pickle

import numpy as np
import pytest
import torch

from coordnet import checks
from coordnet.errors import InputError, refuse


def test_an_input_error_survives_pickling_and_copies():
    for remedy, text in (("", ""), ("Pass k=1.", ". Pass k=1.")):
        with pytest.raises(InputError) as caught:
            refuse("k must be at least 1", 0, remedy)
        error = caught.value
        for again in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
            assert type(again) is InputError
            assert str(again) == str(error) == "k must be at least 1; got 0" + text
            assert (again.rule, again.got, again.remedy) == (error.rule, "0", remedy)


@pytest.mark.parametrize(
    ("check", "good", "plain"),
    [
        (lambda v: checks.integer("k", v, least=1), np.int64(3), 3),
        (lambda v: checks.integer("k", v), -3, -3),
        (lambda v: checks.number("r", v, least=0, below=1), 0, 0.0),
        (lambda v: checks.positive("r", v), torch.tensor(0.5), 0.5),
        (lambda v: checks.boolean("b", v), np.bool_(True), True),
        (checks.seed, 2**64 - 1, 2**64 - 1),
        (lambda v: checks.one_of("a", v, ["x", "y"]), "y", "y"),
        (lambda v: checks.per_axis("p", v, 2, checks.positive), 3, (3.0, 3.0)),
        (lambda v: checks.per_axis("p", v, 2, checks.positive), np.array([1, 2]), (1.0, 2.0)),
        (lambda v: checks.per_axis("p", v, 2, checks.boolean), [True, False], (True, False)),
        (lambda v: checks.box(v, [1, 1], 2, flat=True), [0, 1], ([0.0, 1.0], [1.0, 1.0])),
    ],
)
def test_what_is_right_comes_back_in_its_plain_form(check, good, plain):
    result = check(good)
    assert result == plain
    assert type(result) is type(plain)


@pytest.mark.parametrize(
    ("check", "bad", "words"),
    [
        (
            lambda v: checks.integer("k", v, least=1),
            0,
            "k must be an integer of at least 1; got k=0",
        ),
        (lambda v: checks.integer("k", v, least=1, most=7), 8, "of at least 1 and at most 7"),
        (lambda v: checks.integer("k", v, below=3), 3, "integer below 3"),
        (lambda v: checks.integer("k", v), 2.0, "k=2.0"),
        (lambda v: checks.integer("k", v), True, "k=True"),
        (lambda v: checks.number("r", v), "1", "r='1'"),
        (
            lambda v: checks.number("r", v, least=0, below=1),
            1,
            "of at least 0 and below 1; got r=1",
        ),
        (lambda v: checks.number("r", v), math.nan, "finite"),
        (lambda v: checks.number("r", v), 10**400, "finite"),
        (lambda v: checks.positive("r", v), 0, "r must be a finite number above 0"),
        (lambda v: checks.positive("r", v), None, "r=None"),
        (lambda v: checks.boolean("b", v), "False", "b='False'"),
        (checks.seed, 2**64, r"0 to 2\^64 - 1; got seed=18446744073709551616"),
        (checks.seed, -1, "seed=-1"),
        (lambda v: checks.one_of("a", v, ["x", "y"]), ["x"], r"one of x, y; got a=\['x'\]"),
        (lambda v: checks.per_axis("p", v, 2, checks.positive), [1], "each of 2 axes; got 1"),
        (lambda v: checks.per_axis("p", v, 2, checks.positive), [1, -1], "p=-1"),
        (lambda v: checks.per_axis("p", v, 2, checks.positive), "12", "p='12'"),
        (lambda v: checks.box(v, [1, 1], 2), [0, 1], "lower ones below"),
        (lambda v: checks.box(v, [1, 1], 2), [0, -math.inf], "2 finite numbers each"),
        (lambda v: checks.box(v, [1, 1], 2), 0, "got 0 and"),
        (checks.weights, np.array([1.0, -2.0]), "got -2.0"),
        (checks.weights, torch.tensor([[1.0, math.nan]]), "got nan"),
        (checks.weights, torch.zeros(3), "zeros alone"),
    ],
)
def test_what_is_wrong_is_refused_with_rule_and_value(check, bad, words):
    with pytest.raises(InputError, match=words):
        check(bad)


def test_weights_come_back_as_they_are():
    for values in (np.array([0.0, 2.0]), torch.tensor([[0.0, 2.0]])):
        assert checks.weights(values) is values


def test_a_spec_holds_one_value_where_all_axes_agree():
    assert checks.plain((2.0, 2.0)) == 2.0
    assert checks.plain((2.0, 3.0)) == [2.0, 3.0]


def test_a_readable_file(tmp_path):
    good = tmp_path / "a.png"
    good.write_bytes(b"1")
    assert checks.readable_file(str(good), "a picture") == good
    (tmp_path / "empty.png").touch()
    for name, fault in (("", "a folder"), ("b.png", "no such file"), ("empty.png", "0 bytes")):
        with pytest.raises(InputError, match=f"a picture must be a readable file; got .*{fault}"):
            checks.readable_file(tmp_path / name, "a picture")
    with pytest.raises(InputError, match="no such file"):
        checks.readable_file("a\0b", "a picture")
