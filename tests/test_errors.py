"""Errors that say what is wrong in three parts."""

import copy
import pickle

import pytest

from coordnet.errors import InputError, refuse


def test_an_input_error_survives_pickling_and_copies():
    with pytest.raises(InputError) as caught:
        refuse("k must be at least 1", 0, "Pass k=1.")
    error = caught.value
    for again in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
        assert type(again) is InputError
        assert str(again) == str(error) == "k must be at least 1; got 0. Pass k=1."
        assert (again.rule, again.got, again.remedy) == (error.rule, "0", "Pass k=1.")
