"""Faults of neighboring projects, and every refusal of the encoders."""

import itertools
import json
import math
import subprocess
import sys

import numpy as np
import pytest
import torch

from coordnet.encodings import (
    Concat,
    DenseGrid,
    FourierFeatures,
    Identity,
    Normalized,
    SinusoidalPositionalEncoding,
    build_encoding,
)
from coordnet.errors import InputError

FF = FourierFeatures
NOT_POSITIVE = [0, 0.0, -1.0, math.nan, math.inf, -math.inf, "1", None, True]
NOT_A_COUNT = [0, -1, 2.0, 1.5, "3", None, True]


def refused(call, name, value):
    """The call raises a ValueError with the rule and the value, on one line."""
    with pytest.raises(ValueError) as caught:
        call()
    error = caught.value
    assert isinstance(error, InputError)
    assert name in error.rule
    assert value in error.got
    assert "\n" not in str(error)


def test_sizes_that_are_none():
    for value in NOT_A_COUNT:
        for ladder in (FF, FF.octave, FF.geometric, FF.gaussian, FF.lattice):
            refused(lambda make=ladder, k=value: make(1, k), "k", f"k={value!r}")
            refused(lambda make=ladder, d=value: make(d, 2), "in_dim", f"in_dim={value!r}")
        refused(lambda d=value: Identity(d), "in_dim", f"in_dim={value!r}")
    assert FF(1, np.int64(3)).out_dim == 6


@pytest.mark.parametrize("value", NOT_POSITIVE, ids=repr)
def test_bad_period_scale_constant_sigma_and_seed(value):
    for make in (FF, FF.octave, FF.lattice):
        refused(lambda make=make: make(1, 2, period=value), "period", f"period={value!r}")
        refused(lambda make=make: make(2, 2, period=[1.0, value]), "period", f"period={value!r}")
    if value is not None:  # no period is a choice
        refused(lambda: FF.gaussian(1, 2, period=value), "period", f"period={value!r}")
    refused(lambda: FF.gaussian(1, 2, sigma=value), "sigma", f"sigma={value!r}")
    refused(lambda: FF.geometric(1, 2, C=value), "C", f"C={value!r}")
    refused(lambda: FF.geometric(1, 2, scale=value), "scale", f"scale={value!r}")
    refused(lambda: SinusoidalPositionalEncoding(4, C=value), "C", f"C={value!r}")
    for seed in (-1, 1.0, None, 1 << 64, True):
        refused(lambda seed=seed: FF.gaussian(1, 2, seed=seed), "seed", f"seed={seed!r}")
    assert FF.gaussian(1, 2, seed=(1 << 64) - 1).cycles.isfinite().all()


def test_one_period_or_one_per_axis():
    refused(lambda: FF(2, 3, period=[1.0]), "period", "[1.0]")
    refused(lambda: FF(2, 3, period=(1.0, 2.0, 3.0)), "period", "3 of them")
    refused(lambda: FF(2, 3, period=[]), "period", "0 of them")
    x = torch.tensor([[0.3, 0.4]])
    expected = FF(2, 3, period=[1.0, 2.0])(x)
    for period in ((1, 2), torch.tensor([1.0, 2.0]), np.array([1.0, 2.0])):
        assert torch.equal(FF(2, 3, period=period)(x), expected)
    assert FF(2, 3, period=np.float64(24)).spec()["period"] == 24.0


def test_frequencies_that_overflow():
    refused(lambda: FF.geometric(1, 100, C=1e-320), "C", "1e-320")
    refused(lambda: FF.geometric(1, 2, C=1e-3, scale=1e308), "finite", "scale=1e+308")
    refused(lambda: FF.gaussian(1, 99, sigma=1e308), "finite", "sigma=1e+308")
    refused(lambda: FF.gaussian(1, 99, sigma=1e308, period=9.0), "finite", "9.0")
    refused(lambda: FF.octave(1, 1001), "k", "k=1001")
    assert FF.octave(1, 1000)(torch.ones(1, 1)).isfinite().all()


def test_a_lattice_too_large_and_a_sigma_too_small():
    refused(lambda: FF.lattice(6, 8), "lattice", "12068784")
    refused(lambda: FF.lattice(10_000, k=1), "lattice", "about 1e4771")
    refused(lambda: FF.gaussian(1, 4, sigma=1e-3, period=1.0), "sigma", "0.001")


@pytest.mark.parametrize("make", [FF, FF.octave, FF.geometric, FF.gaussian, FF.lattice])
def test_ladders_too_long_for_any_memory_are_refused_at_once(make):
    for k in (10**9, 10**5000, 1 << 20):
        with pytest.raises(InputError, match="at most") as caught:
            make(2, k)
        assert len(str(caught.value)) < 200
        assert "\n" not in str(caught.value)


def test_a_domain_does_not_move_an_encoding_to_the_default_device(same_bits, uniform):
    lower, upper = torch.zeros(1), torch.full((1,), 3.0)
    grids = [DenseGrid(1, 4, periodic=wraps, seed=0) for wraps in (False, True)]
    makes = (
        lambda: FF(1, 3, include_input=True),
        lambda: FF.gaussian(1, 3),
        *(lambda grid=grid: grid for grid in grids),
    )
    x = uniform((5, 1), 0, 3).float()
    for make in makes:
        expected, encoding = make().on_domain(lower, upper)(x), make()
        with torch.device("meta"):
            found = encoding.on_domain(lower, upper)
        assert not any(buffer.is_meta for buffer in found.buffers())
        assert same_bits(found(x), expected)


def test_a_missing_axis_is_named_with_its_remedy():
    with pytest.raises(InputError, match=r"in_dim=1.*400.*x\[\.\.\., None\]"):
        FF(1, 3)(torch.linspace(0, 1, 400))


def test_eight_features_of_the_transformer():
    omega = FF.geometric(1, 4, C=1e4).frequencies[:, 0]
    assert omega.tolist() == pytest.approx([1.0, 0.1, 0.01, 0.001], rel=1e-15)


def test_the_constant_is_alive():
    x = torch.tensor([[3.0]])
    assert not torch.equal(FF.geometric(1, 4, C=100.0)(x), FF.geometric(1, 4, C=10_000.0)(x))
    assert FF.geometric(1, 4).spec()["C"] == 10_000.0


def test_scale_counts_positions():
    x = torch.linspace(0, 1, 9)[:, None].double()
    assert torch.equal(FF.geometric(1, 4, scale=8.0)(x), FF.geometric(1, 4)(x * 8))


def test_zero_gives_zero_one_zero_one():
    assert FF(1, k=2)(torch.zeros(1)).tolist() == [0.0, 1.0, 0.0, 1.0]


def test_negative_coordinates_are_not_clamped():
    x = torch.tensor([[-0.25], [-3.0], [1.375]])
    for encoding in (FF(1, 2, period=1.0), FF.gaussian(1, 4), FF.geometric(1, 4)):
        there, back = encoding(x), encoding(-x)
        assert torch.equal(there[:, ::2], -back[:, ::2])  # sines are odd
        assert torch.equal(there[:, 1::2], back[:, 1::2])  # cosines are even
    unit = Normalized(Identity(1), [0.0], [2.0])
    assert unit(x)[:, 0].tolist() == [-0.125, -1.5, 0.6875]


def test_what_is_not_finite_stays_visible():
    x = torch.tensor([[math.nan], [math.inf], [0.0]])
    for encoding in (FF(1, 4), FF.octave(1, 4), FF.geometric(1, 4), FF.lattice(1, 2)):
        features = encoding(x)
        assert features[:2].isnan().all()
        assert features[2].isfinite().all()


def test_an_optimizer_leaves_gaussian_frequencies_alone():
    encoding = FF.gaussian(2, 8, seed=4)
    before = encoding.cycles.clone()
    model = torch.nn.Sequential(encoding, torch.nn.Linear(16, 1))
    assert not list(encoding.parameters())
    model.requires_grad_(False)
    model.requires_grad_(True)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    model(torch.rand(5, 2)).square().mean().backward()
    optimizer.step()
    assert torch.equal(encoding.cycles, before)
    assert not encoding.cycles.requires_grad


LOAD = """
import json, sys, torch
from coordnet.encodings import build_encoding
torch.manual_seed(4321)
spec, weights, x, out = json.loads(sys.argv[1]), *sys.argv[2:]
x = torch.load(x, weights_only=True)
encoding = build_encoding(spec)
from_spec = encoding(x)
encoding = build_encoding({**spec, "seed": spec["seed"] + 1})
assert not torch.equal(encoding(x), from_spec)
encoding.load_state_dict(torch.load(weights, weights_only=True))
torch.save([from_spec, encoding(x), encoding.cycles], out)
"""


def test_a_saved_gaussian_in_a_new_process_under_another_seed(tmp_path, uniform, same_bits):
    encoding, x = FF.gaussian(2, 16, sigma=7.0, seed=11), uniform((9, 2)).float()
    torch.save(encoding.state_dict(), tmp_path / "weights.pt")
    torch.save(x, tmp_path / "x.pt")
    files = [str(tmp_path / name) for name in ("weights.pt", "x.pt", "out.pt")]
    subprocess.run([sys.executable, "-c", LOAD, json.dumps(encoding.spec()), *files], check=True)
    from_spec, from_state, cycles = torch.load(tmp_path / "out.pt", weights_only=True)
    assert same_bits(cycles, encoding.cycles)
    assert same_bits(from_spec, encoding(x))
    assert same_bits(from_state, encoding(x))


def test_casts_lose_nothing_of_the_frequencies():
    encoding = FF.gaussian(2, 64, seed=1)
    before = encoding.cycles.clone()
    for cast in (torch.bfloat16, torch.float16, torch.float32):
        encoding.to(cast)
        assert torch.equal(encoding.cycles, before)


def test_autocast_keeps_all_512_pixel_centers_apart():
    x = ((torch.arange(512) + 0.5) / 512)[:, None]
    encoding = FF(1, 4, period=2.0)
    with torch.autocast("cpu", torch.bfloat16):
        features = encoding(x)
    assert torch.equal(features, encoding(x))
    assert len(features.unique(dim=0)) == 512


# combinators


def test_concat_refuses_what_does_not_fit():
    one, two = FF(1, 2), FF(2, 2)
    refused(lambda: Concat([]), "at least one", "none")
    refused(lambda: Concat([one, two]), "in_dim", "[1, 2]")
    refused(lambda: Concat([one, two], axes=[[0]]), "axes", "[[0]]")
    refused(lambda: Concat([two], axes=[[0]]), "column per input axis", "[2]")
    refused(lambda: Concat([one], axes=[[-1]]), "column", "-1")
    refused(lambda: Concat([one], axes=[[0.5]]), "column", "0.5")


def test_concat_gives_each_encoding_its_columns(uniform):
    x = uniform((5, 3), -2, 2)
    hours, place = FF(1, 2, period=24.0), FF.lattice(2, 1, period=[1.0, 3.0])
    both = Concat([hours, place], axes=[[2], [1, 0]])
    assert (both.in_dim, both.out_dim) == (3, hours.out_dim + place.out_dim)
    assert torch.equal(both(x)[:, :4], hours(x[:, 2:]))
    assert torch.equal(both(x)[:, 4:], place(x[:, [1, 0]]))
    assert both.periods == (3.0, 1.0, 24.0)


def test_concat_repeats_only_where_all_its_parts_do():
    def periods(*parts, axes=None):
        return Concat(list(parts), axes).periods

    day, year = FF(1, 2, period=24.0), FF(1, 2, period=8766.0)
    assert periods(day, FF.octave(1, 3, period=24.0)) == (24.0,)
    assert periods(day, year) == (None,)
    assert periods(day, Identity(1)) == (None,)
    assert periods(Identity(1), day) == (None,)
    assert periods(FF(2, 1, period=[1.0, 2.0]), axes=[[0, 0]]) == (None,)
    assert periods(FF(2, 1, period=[2.0, 2.0]), axes=[[0, 0]]) == (2.0,)


def test_normalized_maps_the_box_to_the_unit_cube():
    encoding = Normalized(Identity(2), [-1.0, 10.0], [3.0, 20.0])
    corners = torch.tensor([[-1.0, 10.0], [3.0, 20.0], [1.0, 12.5]])
    assert encoding(corners).tolist() == [[0.0, 0.0], [1.0, 1.0], [0.5, 0.25]]
    flat = Normalized(Identity(1), [5.0], [5.0])
    assert flat(torch.tensor([[5.0], [5.5]])).tolist() == [[0.0], [0.5]]


def test_normalized_keeps_the_digits_of_unix_seconds():
    start = 1.7e9
    t = start + torch.arange(4, dtype=torch.float64)[:, None] / 4
    encoding = Normalized(Identity(1), [start], [start + 1])
    assert encoding(t)[:, 0].tolist() == [0.0, 0.25, 0.5, 0.75]
    assert encoding(torch.tensor([[1_700_000_001]])).item() == 1.0


def test_normalized_refuses_what_is_no_box():
    inner = Identity(2)
    refused(lambda: Normalized(inner, [0.0], [1.0]), "lower", "[0.0]")
    refused(lambda: Normalized(inner, [0.0, 0.0], [1.0, math.inf]), "upper", "inf")
    refused(lambda: Normalized(inner, [0.0, math.nan], [1.0, 1.0]), "lower", "nan")
    refused(lambda: Normalized(inner, [0.0, 2.0], [1.0, 1.0]), "upper", "[0.0, 2.0]")


def test_normalized_changes_unit_with_the_data(uniform):
    x = uniform((20, 1), 100, 200)
    seconds = Normalized(FF.gaussian(1, 8), [100.0], [200.0])
    millis = Normalized(FF.gaussian(1, 8), [1e5], [2e5])
    torch.testing.assert_close(seconds(x), millis(1000 * x), rtol=0, atol=1e-12)


@pytest.mark.parametrize("include_input", [False, True])
def test_on_domain_normalizes_what_is_measured_in_domain_lengths(uniform, include_input):
    lower, upper = torch.tensor([10.0, -5.0]), torch.tensor([30.0, 5.0])
    x = lower + (upper - lower) * uniform((6, 2)).float()
    unit = (x - lower) / (upper - lower)
    for make in (
        lambda: FF(2, 3, 24.0, include_input),
        lambda: FF.octave(2, 3, 24.0, include_input),
        lambda: FF.geometric(2, 3, include_input=include_input),
        lambda: FF.lattice(2, 1, 24.0, include_input),
        lambda: FF.gaussian(2, 5, 1.0, period=24.0, include_input=include_input),
    ):
        there = make().on_domain(lower, upper)
        assert there.out_dim == make().out_dim
        torch.testing.assert_close(there(x)[:, -6:], make()(x)[:, -6:])
        if include_input:
            torch.testing.assert_close(there(x)[:, :2], unit)
            assert build_encoding(there.spec()).spec() == there.spec()
        else:
            assert there.periods == make().periods
    free = FF.gaussian(2, 5, 1.0, include_input=include_input)
    torch.testing.assert_close(free.on_domain(lower, upper)(x), free(unit))
    assert torch.equal(Identity(2).on_domain(lower, upper)(x), unit)


def test_concat_on_domain_normalizes_its_parts(uniform):
    lower, upper = torch.tensor([10.0, -5.0]), torch.tensor([30.0, 5.0])
    x = lower + (upper - lower) * uniform((6, 2)).float()
    both = Concat([FF(1, 2, 24.0), Identity(2)], axes=[[1], [1, 0]]).on_domain(lower, upper)
    assert torch.equal(both(x)[:, :4], FF(1, 2, 24.0)(x[:, 1:]))
    torch.testing.assert_close(both(x)[:, 4:], ((x - lower) / (upper - lower))[:, [1, 0]])


def test_a_broken_spec_is_one_clear_line():
    identity = {"name": "identity", "in_dim": 1}
    for spec in (
        None,
        [],
        {},
        {"name": 3},
        {"name": "harmonics"},
        {"name": "harmonic", "in_dim": 1, "k": 2, "color": 3},
        {"name": "octave"},
        {"name": "harmonic", "in_dim": 1, "k": 0},
        {"name": "concat", "encodings": 5},
        {"name": "concat", "encodings": []},
        {"name": "concat", "encodings": [identity], "axes": 3},
        {"name": "concat", "encodings": [identity], "axes": [4]},
        {"name": "normalized", "encoding": None, "lower": [0.0], "upper": [1.0]},
        {"name": "normalized", "encoding": identity, "lower": "a"},
        {**identity, "encoding": identity},
    ):
        with pytest.raises(InputError) as caught:
            build_encoding(spec)
        assert "\n" not in str(caught.value)


def test_specs_are_plain_json_in_the_words_of_the_call():
    assert FF(2, 3, period=24).spec() == {
        "name": "harmonic",
        "in_dim": 2,
        "k": 3,
        "period": 24.0,
        "include_input": False,
    }
    for a, b in itertools.pairwise([FF(2, 3, [1.0, 2.0]), FF(2, 3, (1, 2))]):
        assert a.spec() == b.spec()
