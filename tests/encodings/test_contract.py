"""What every encoding in the tables promises. A new line in a table needs a line in FACTORIES."""

import copy
import functools
import json
import math
import pickle

import pytest
import torch

from coordnet.encodings import (
    COMBINATORS,
    ENCODINGS,
    Concat,
    Damped,
    DenseGrid,
    Encoding,
    FourierFeatures,
    HashGrid,
    Identity,
    Normalized,
    Polynomial,
    SphericalHarmonics,
    build_encoding,
)
from coordnet.errors import InputError


def hash_grid(d, **settings):
    return _with_large_tables(HashGrid(d, 3, 2, 4, 3, 9, seed=1, **settings))


def dense_grid(d, features=2, **settings):
    return _with_large_tables(DenseGrid(d, [5, 4, 3][:d], features, seed=1, **settings))


def _with_large_tables(grid):
    with torch.no_grad():
        grid.tables.mul_(1e4)  # U(-1, 1), so that a difference shows
    return grid


# name in the table → small encodings, each made from in_dim
FACTORIES = {
    "harmonic": [
        lambda d: FourierFeatures(d, k=5),
        lambda d: FourierFeatures(d, k=3, period=[24.0, 0.3, 1.0][:d], include_input=True),
    ],
    "octave": [lambda d: FourierFeatures.octave(d, k=4, period=2.0)],
    "geometric": [lambda d: FourierFeatures.geometric(d, k=4, C=100.0, scale=[3.0, 2.0, 1.0][:d])],
    "gaussian": [
        lambda d: FourierFeatures.gaussian(d, k=7, sigma=2.0, seed=3),
        lambda d: FourierFeatures.gaussian(d, k=7, sigma=2.0, seed=3, period=[1.0, 2.0, 3.0][:d]),
    ],
    "lattice": [lambda d: FourierFeatures.lattice(d, k=2, period=1.0)],
    "hashgrid": [
        hash_grid,
        lambda d: hash_grid(d, interpolation="smoothstep", periodic=[True, False, True][:d]),
    ],
    "densegrid": [
        lambda d: dense_grid(d, features=3),
        lambda d: dense_grid(d, interpolation="smoothstep", periodic=[True, False, True][:d]),
    ],
    "identity": [Identity],
    "polynomial": [lambda d: Polynomial(d, 3), Polynomial],
    "spherical": [SphericalHarmonics, lambda d: SphericalHarmonics(d, degree=1)],
    "concat": [
        lambda d: Concat([Identity(d), FourierFeatures(d, k=2), FourierFeatures.lattice(d, k=1)]),
        lambda d: Concat(
            [FourierFeatures(1, k=2, period=24.0), Identity(d)], axes=[[d - 1], list(range(d))]
        ),
        lambda d: Concat([Identity(d), hash_grid(d)]),
        lambda d: Concat(
            [FourierFeatures(d, k=2, period=24.0), FourierFeatures(d, k=1, period=[24.0, 7.0][:d])]
        ),
    ],
    "damped": [
        lambda d: Damped(FourierFeatures(d, k=3, period=[24.0, 0.3][:d])),
        lambda d: Damped(FourierFeatures.lattice(d, k=2, period=1.0), 2.0),
        lambda d: Damped(FourierFeatures.gaussian(d, k=7, sigma=2.0, seed=3), 0.5),
    ],
    "normalized": [
        lambda d: Normalized(
            FourierFeatures.gaussian(d, k=3, period=[0.5, 0.25][:d]), [-2.0] * d, [5.0] * d
        ),
        lambda d: Normalized(Normalized(Identity(d), [0.0] * d, [2.0] * d), [-1.0] * d, [1.0] * d),
        lambda d: Normalized(hash_grid(d), [-3.0] * d, [3.0] * d),
    ],
}
# encodings of a particular in_dim; the others are tested on 1 and 2 axes
AXES = {"spherical": (3,)}
NAMES = [*ENCODINGS, *COMBINATORS]
KNOWN = [
    pytest.param(functools.partial(make, d), id=f"{name}{i}-{d}d")
    for name in NAMES
    for i, make in enumerate(FACTORIES.get(name, []))
    for d in AXES.get(name, (1, 2))
]
# each line of FACTORIES once, on all of its axes: for what does not turn on their number
ONCE = [
    pytest.param(functools.partial(make, AXES.get(name, (2,))[-1]), id=f"{name}{i}")
    for name in NAMES
    for i, make in enumerate(FACTORIES.get(name, []))
]
once = pytest.mark.parametrize("encoding", ONCE, indirect=True)
made_once = pytest.mark.parametrize("make", ONCE)


def rebuilt(encoding, spec=None):
    """The encoding built from its spec; what is trained, and is no part of a spec, is copied."""
    again = build_encoding(encoding.spec() if spec is None else spec)
    with torch.no_grad():
        for mine, theirs in zip(again.parameters(), encoding.parameters(), strict=True):
            mine.copy_(theirs)
    return again


def rounded(encoding, *casts):
    """A copy whose trained tables, and nothing else, went through the casts."""
    again = copy.deepcopy(encoding)
    for parameter in again.parameters():
        for cast in casts:
            parameter.data = getattr(parameter.data, cast)()
    return again


@pytest.fixture(params=KNOWN)
def encoding(request):
    return request.param()


@pytest.fixture
def x(encoding, uniform):
    return uniform((6, encoding.in_dim), -3.0, 3.0).float()


@pytest.mark.parametrize("name", NAMES)
def test_every_line_of_the_tables_is_tested_here(name):
    assert FACTORIES.get(name), f"add a small {name!r} encoding to FACTORIES in {__file__}"
    for make in FACTORIES[name]:
        assert make(AXES.get(name, (2,))[0]).spec()["name"] == name


def test_any_leading_axes(encoding, uniform, same_bits):
    for lead in [(), (4,), (2, 3), (2, 1, 3), (0,), (2, 0), (0, 3, 2)]:
        x = uniform((*lead, encoding.in_dim)).float()
        features = encoding(x)
        assert features.shape == (*lead, encoding.out_dim)
        rows = encoding(x.reshape(-1, encoding.in_dim))
        assert same_bits(rows.reshape(features.shape), features), lead


FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def test_dtype_and_exact_input(encoding, x):
    for dtype in (*FLOATS, torch.int64, torch.uint8):
        given = (x.abs() if dtype == torch.uint8 else x).to(dtype)
        features = encoding(given)
        assert features.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        wide = encoding(given.double())
        assert (features - wide).abs().max() <= 1e-6 * wide.abs().max().clamp(min=1), dtype


def test_gradients_at_zero_are_finite(encoding):
    x = torch.zeros(2, encoding.in_dim, requires_grad=True)
    (first,) = torch.autograd.grad(encoding(x).sum(), x, create_graph=True)
    assert first.isfinite().all()
    if first.requires_grad:
        (second,) = torch.autograd.grad(first.sum(), x, materialize_grads=True)
        assert second.isfinite().all()


def test_gradients_come_in_the_dtype_and_shape_of_the_input(encoding, x):
    for dtype in FLOATS:
        for rows in (x, x[:0]):
            given = rows.to(dtype, copy=True).requires_grad_()
            encoding(given).sum().backward()
            assert given.grad.dtype == dtype
            assert given.grad.shape == rows.shape
            assert given.grad.isfinite().all()


def test_state_dict_round_trip(encoding, x, same_bits):
    fresh = build_encoding(encoding.spec())
    for buffer in fresh.buffers():
        if buffer.is_floating_point():
            buffer.fill_(0.5)
    fresh.load_state_dict(encoding.state_dict(), strict=True)
    assert same_bits(fresh(x), encoding(x))


def test_spec_survives_json(encoding, x, same_bits):
    text = json.dumps(encoding.spec(), allow_nan=False)
    again = rebuilt(encoding, json.loads(text))
    assert json.dumps(again.spec()) == text
    assert type(again) is type(encoding)
    assert again.periods == encoding.periods
    assert same_bits(again(x), encoding(x))
    assert same_bits(again(x.double()), encoding(x.double()))


def test_constants_are_buffers_in_float64(encoding):
    for name, parameter in encoding.named_parameters():
        assert parameter.dtype == torch.float32, name
        assert parameter.requires_grad, name
        assert name in encoding.state_dict()
    for name, buffer in encoding.named_buffers():
        exact = buffer.dtype == torch.float64  # whole numbers follow from the settings
        assert exact or buffer.dtype == torch.int32, name
        assert not buffer.requires_grad, name
        assert (name in encoding.state_dict()) == exact


@once
def test_copies_and_pickles(encoding, x, same_bits):
    for again in (copy.deepcopy(encoding), pickle.loads(pickle.dumps(encoding))):
        assert same_bits(again(x), encoding(x))
        assert again.spec() == encoding.spec()
        assert again.periods == encoding.periods


def test_sizes(encoding):
    assert type(encoding.out_dim) is int
    assert type(encoding.in_dim) is int
    assert isinstance(encoding, Encoding)
    assert len(encoding.periods) == encoding.in_dim


def test_periods_are_those_of_the_features(encoding, uniform):
    x = uniform((20, encoding.in_dim), -1.0, 1.0)
    features = encoding(x)
    if torch.equal(features, features[:1].expand_as(features)):
        return  # spherical harmonics of degree 0: a constant
    for axis, period in enumerate(encoding.periods):
        for shift in (1.0, 2.0, 7.0, math.tau) if period is None else (period, -3 * period):
            moved = x.clone()
            moved[:, axis] += shift
            change = (encoding(moved) - features).abs().max()
            assert change > 1e-3 if period is None else change < 1e-9, (axis, period, shift)


def test_combinations_are_made_of_their_parts(uniform, same_bits):
    x = uniform((6, 3), -3.0, 3.0)
    parts = [Identity(2), FourierFeatures(2, k=3), hash_grid(1)]
    columns = [[2, 0], [0, 1], [1]]
    separate = [part(x[:, chosen]) for part, chosen in zip(parts, columns, strict=True)]
    assert same_bits(Concat(parts, columns)(x), torch.cat(separate, -1))
    side_by_side = Concat([Identity(3), parts[1]], [[0, 1, 2], [1, 2]])(x)
    assert same_bits(side_by_side, torch.cat([x, parts[1](x[:, 1:])], -1))
    lower, upper = torch.tensor([[-3.0, 1.0], [-1.0, 5.0]]).double()
    unit = (x[:, :2] - lower) / (upper - lower)
    assert same_bits(Normalized(parts[1], lower, upper)(x[:, :2]), parts[1](unit))
    harmonic = torch.tensor([1.0, 1.0, 2.0, 2.0, 3.0, 3.0]).double().repeat(2)
    damped = Damped(parts[1], 2.0)(x[:, :2])
    torch.testing.assert_close(damped, parts[1](x[:, :2]) / harmonic**2, rtol=1e-15, atol=0)


def test_repr_shows_the_sizes(encoding):
    shown = repr(encoding)
    for part in encoding.modules():
        if isinstance(part, Encoding) and not isinstance(part, Concat):
            assert f"{type(part).__name__}(" in shown
            assert f" → out_dim={part.out_dim}" in shown
            assert part.extra_repr().endswith(f" → out_dim={part.out_dim}")
            for key, value in part.spec().items():
                assert key == "name" or f"{key}={value!r}" in shown


def test_wrong_last_axis_names_both_numbers(encoding):
    d = encoding.in_dim
    for wrong in (d - 1, d + 1, d + 4):
        with pytest.raises(InputError) as caught:
            encoding(torch.zeros(5, wrong))
        assert f"in_dim={d}" in caught.value.rule
        assert str(wrong) in caught.value.got


def test_what_is_not_a_tensor_of_real_numbers_is_refused(encoding):
    rows = torch.zeros(2, encoding.in_dim)
    for bad, word in [
        (torch.tensor(1.0), "no axes"),
        (rows.bool(), "bool"),
        (rows.cfloat(), "complex"),
        ([[0.0]], "list"),
        (1.0, "float"),
        (None, "NoneType"),
    ]:
        with pytest.raises(InputError) as caught:
            encoding(bad)
        assert word in caught.value.got


@pytest.mark.parametrize(
    "casts",
    [("bfloat16",), ("half",), ("float",), ("double",), ("bfloat16", "float"), ("half", "double")],
    ids="-".join,
)
def test_casts_of_the_module_set_the_dtype_and_nothing_else(encoding, x, same_bits, casts):
    dtype = getattr(torch.empty(0), casts[-1])().dtype
    same = rounded(encoding, *casts)
    for cast in casts:
        encoding = getattr(encoding, cast)()
    for batch in (x, x.double()):
        assert same_bits(encoding(batch), same.encode(batch, dtype))


@once
def test_casts_of_a_parent_fit_the_next_layer(encoding, x):
    for cast in ("half", "bfloat16", "double"):
        parent = torch.nn.Sequential(encoding, torch.nn.Linear(encoding.out_dim, 1))
        values = getattr(parent, cast)()(x)
        assert values.dtype == parent[1].weight.dtype
        assert values.isfinite().all()


@once
def test_autocast_changes_no_bit(encoding, x, same_bits):
    x.requires_grad_()
    features = encoding(x)
    (slope,) = torch.autograd.grad(features.sum(), x)
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype):
            inside = encoding(x)
            (slope_inside,) = torch.autograd.grad(inside.sum(), x)
        assert same_bits(inside, features), dtype
        assert same_bits(slope_inside, slope), dtype


@once
def test_memory_layout_of_the_input_changes_no_bit(encoding, uniform, same_bits):
    d = encoding.in_dim
    x = uniform((8, d)).float()
    transposed = x.T.contiguous().T
    strided = torch.zeros(16, 2 * d)
    strided[::2, ::2] = x
    assert same_bits(encoding(transposed), encoding(x))
    assert same_bits(encoding(strided[::2, ::2]), encoding(x))
    one = x[:1].expand(5, 3, d)
    assert same_bits(encoding(one), encoding(one.contiguous()))
    assert same_bits(encoding(x.flip(0)), encoding(x).flip(0))


@once
def test_rows_do_not_depend_on_the_batch(encoding, uniform, same_bits):
    x = uniform((5003, encoding.in_dim), -3, 3).float()
    for batch in (x, x.double()):
        features = encoding(batch)
        for a, b in [(0, 1), (5, 8), (100, 137), (1001, 4000), (5002, 5003)]:
            assert same_bits(encoding(batch[a:b]), features[a:b])


@once
def test_rows_do_not_depend_on_the_thread_count(encoding, uniform, same_bits, set_threads):
    x = uniform((5003, encoding.in_dim), -3, 3).float()
    features = encoding(x)
    for threads in (1, 3, 5):
        set_threads(threads)
        assert same_bits(encoding(x), features)


@made_once
def test_global_state_is_left_alone(make):
    random, dtype = torch.get_rng_state(), torch.get_default_dtype()
    device, threads = torch.get_default_device(), torch.get_num_threads()
    encoding = make()
    encoding(torch.zeros(2, encoding.in_dim))
    if not list(encoding.parameters()):  # a spec has no seed for what is trained
        build_encoding(encoding.spec())
    assert torch.equal(torch.get_rng_state(), random)
    assert torch.get_default_dtype() == dtype
    assert torch.get_default_device() == device
    assert torch.get_num_threads() == threads


@made_once
def test_the_default_dtype_and_the_global_seed_change_no_bit(make, uniform, same_bits):
    x = uniform((4, make().in_dim)).float()
    expected = make()(x)
    with torch.random.fork_rng():
        torch.manual_seed(987)
        try:
            for dtype in (torch.float64, torch.bfloat16):
                torch.set_default_dtype(dtype)
                assert same_bits(make()(x), expected)
        finally:
            torch.set_default_dtype(torch.float32)


@once
def test_function_transforms_agree(encoding, uniform):
    x = uniform((4, encoding.in_dim), -1, 1)
    per_row = torch.func.vmap(encoding)(x)
    torch.testing.assert_close(per_row, encoding(x), rtol=0, atol=0)
    reverse = torch.func.vmap(torch.func.jacrev(encoding))(x)
    forward = torch.func.vmap(torch.func.jacfwd(encoding))(x)
    plain = torch.stack([torch.autograd.functional.jacobian(encoding, row) for row in x])
    torch.testing.assert_close(reverse, plain, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(forward, plain, rtol=1e-12, atol=1e-12)


@once
def test_second_derivatives_in_every_mode_agree(encoding, uniform):
    point = uniform(encoding.in_dim, -1, 1)
    weights = uniform(encoding.out_dim, -1, 1, seed=1)

    def value(x):
        return (encoding(x) * weights).sum() ** 2

    mixed = torch.func.hessian(value)(point)
    reverse = torch.func.jacrev(torch.func.jacrev(value))(point)
    forward = torch.func.jacfwd(torch.func.jacfwd(value))(point)
    plain = torch.autograd.functional.hessian(value, point)
    scale = 1e-12 * (1 + plain.abs().max().item())
    for other in (mixed, reverse, forward):
        torch.testing.assert_close(other, plain, rtol=0, atol=scale)


@once
def test_vmap_over_other_axes(encoding, uniform, same_bits):
    x = uniform((3, 5, encoding.in_dim)).float()
    outer = torch.func.vmap(encoding, in_dims=1, out_dims=1)(x)
    assert same_bits(outer, encoding(x))
    nested = torch.func.vmap(torch.func.vmap(encoding))(x)
    assert same_bits(nested, encoding(x))


@once
def test_gradcheck_twice(encoding, uniform):
    x = uniform((2, encoding.in_dim), -1, 1).requires_grad_()
    check, check_twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    assert check(encoding, x, check_forward_ad=True, check_batched_grad=True, fast_mode=True)
    assert check_twice(encoding, x, check_fwd_over_rev=True, fast_mode=True)


@once
def test_a_device_without_float64(encoding, x, same_bits, monkeypatch):
    """The first question per call is answered as such a device would, the next as the CPU."""
    expected = encoding(x)
    asked = []

    def supports(device):
        asked.append(device)
        return len(asked) % 2 == 0

    monkeypatch.setattr("coordnet.encodings.phase.supports_float64", supports)
    x.requires_grad_()
    features = encoding(x)
    assert same_bits(features, expected)
    features.sum().backward()
    assert x.grad.isfinite().all()
    has_sines = any(isinstance(module, FourierFeatures) for module in encoding.modules())
    assert bool(asked) == has_sines


@made_once
def test_constants_stay_on_the_cpu_where_the_device_has_no_float64(make, monkeypatch):
    monkeypatch.setattr("coordnet.constants.supports_float64", lambda device: device.type == "cpu")
    with torch.device("meta"):
        built = make()
    moved = make().to("meta")
    for encoding in (built, moved):
        for buffer in encoding.buffers():
            assert buffer.device.type == "cpu"
            assert buffer.dtype in (torch.float64, torch.int32)


@made_once
def test_built_on_the_meta_device(make, uniform, same_bits):
    expected = make()
    with torch.device("meta"):
        encoding = make()
    assert all(buffer.is_meta for buffer in encoding.buffers())
    assert encoding.out_dim == expected.out_dim
    assert encoding.spec() == expected.spec()
    d = encoding.in_dim
    assert encoding(torch.empty(3, d, device="meta")).shape == (3, encoding.out_dim)
    encoding.to_empty(device="cpu")
    encoding.load_state_dict(expected.state_dict())
    x = uniform((4, d)).float()
    assert same_bits(encoding(x), expected(x))


@pytest.mark.cuda
@once
def test_moves_to_a_cuda_device(encoding, x):
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    same = rounded(encoding, "bfloat16")
    expected = same(x)
    wide = same(x.double())
    encoding.to("cuda", torch.bfloat16)
    assert all(b.is_cuda and b.dtype == torch.float64 for b in encoding.buffers())
    features = encoding(x.cuda())
    assert features.is_cuda
    torch.testing.assert_close(features.cpu(), expected, rtol=0, atol=2e-6)
    torch.testing.assert_close(encoding(x.double().cuda()).cpu(), wide, rtol=0, atol=1e-12)
    with torch.autocast("cuda", torch.bfloat16):
        assert torch.equal(encoding(x.cuda()), features)


@pytest.mark.parametrize(("d", "k"), [(1, 64), (1, 100), (2, 37), (1, 1024)])
def test_many_harmonics_do_not_depend_on_batch_or_threads(d, k, uniform, same_bits, set_threads):
    """Large enough for PyTorch to split a product among threads, in the midst of a row."""
    x = uniform((min(20_001, 2_000_000 // k), d), -3, 3).float()
    encoding = FourierFeatures(d, k)
    set_threads(1)
    features = encoding(x)
    for threads in (2, 3, 5):
        set_threads(threads)
        assert same_bits(encoding(x), features)
        assert same_bits(encoding(x[7:1010]), features[7:1010])
