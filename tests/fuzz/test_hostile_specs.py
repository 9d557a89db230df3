"""Specs, cells and poses that nobody meant: built or refused, with no other error."""

import json

import pytest
import torch

hypothesis = pytest.importorskip("hypothesis")

from hypothesis import strategies as st  # noqa: E402

from coordnet import Field  # noqa: E402
from coordnet.checks import box  # noqa: E402
from coordnet.encodings import ENCODINGS, build_encoding  # noqa: E402
from coordnet.errors import InputError  # noqa: E402
from coordnet.networks import NETWORKS, build_network  # noqa: E402
from coordnet.scenes.cameras.poses import rigid_pose  # noqa: E402
from coordnet.series import read_table  # noqa: E402
from coordnet.series.arrays import as_float64  # noqa: E402

few = hypothesis.settings(max_examples=60, deadline=None, database=None, derandomize=True)

numbers = st.one_of(
    *(st.integers(-2, 4), st.floats(width=32), st.booleans(), st.none()),
    st.sampled_from([10**400, -(2**63), 1e308, -0.0]),
)
# small sizes alone: a spec that asks for much memory is refused where a file is loaded
values = st.recursive(
    numbers | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3), max_leaves=6
)
names = st.sampled_from(
    [
        *("in_dim", "out_dim", "k", "period", "degree", "hidden_dim", "num_hidden_layers"),
        *("skip", "activation", "encodings", "encoding", "axes", "lower", "upper", "seed"),
    ]
)


def specs(kinds):
    return st.builds(
        lambda name, settings: {**settings, "name": name},
        st.sampled_from([*kinds, "?"]),
        st.dictionaries(names, values, max_size=4),
    )


def taken(build, *arguments):
    """Whether it was built; any error but a refusal fails the test."""
    try:
        with torch.device("meta"):  # as a file is loaded: sizes without memory
            build(*arguments)
    except InputError:
        return False
    return True


@few
@hypothesis.given(specs(ENCODINGS) | values)
def test_encodings_are_built_or_refused(spec):
    taken(build_encoding, spec)


@few
@hypothesis.given(specs(NETWORKS) | values)
def test_networks_are_built_or_refused(spec):
    taken(build_network, spec)


@few
@hypothesis.given(specs(ENCODINGS), specs(NETWORKS), values)
def test_fields_are_built_or_refused(encoding, network, domain):
    spec = {"encoding": encoding, "network": network, "domain": domain}
    taken(Field.from_spec, spec)


@few
@hypothesis.given(st.lists(st.lists(numbers, max_size=4), max_size=4) | values)
@hypothesis.example([[10**400, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
def test_poses_are_taken_or_refused(matrix):
    taken(rigid_pose, matrix, "a frame")


@few
@hypothesis.given(st.text(max_size=60) | st.text("0123456789.,;-e \t\n\r\"'#nax:T", max_size=80))
def test_tables_of_any_text_are_read_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    taken(read_table, path)


def test_a_sound_spec_is_built():
    encoding = {"name": "polynomial", "in_dim": 1, "degree": 2}
    assert taken(build_encoding, json.loads(json.dumps(encoding)))


@pytest.mark.parametrize("huge", [10**400, -(10**400)])
def test_whole_numbers_beyond_float64_are_refused(huge):
    assert not taken(rigid_pose, [[huge, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], "a frame")
    assert not taken(box, [0, 0, 0], [huge, 1, 1], 3)
    assert not taken(as_float64, "x", [0, huge])
