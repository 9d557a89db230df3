"""What every encoding in the tables promises."""

import copy
import functools
import json
import math
import pickle

import pytest
import torch
from small_encodings import AXES, FACTORIES, hash_grid

from coordnet.encodings import (
    COMBINATORS,
    ENCODINGS,
    Concat,
    Damped,
    Encoding,
    FourierFeatures,
    Identity,
    Normalized,
    build_encoding,
)
from coordnet.errors import InputError

NAMES = [*ENCODINGS, *COMBINATORS]
LINES = [(name, i, make) for name in NAMES for i, make in enumerate(FACTORIES.get(name, []))]
EVERY_AXIS = [
    pytest.param(functools.partial(make, d), id=f"{name}{i}-{d}d")
    for name, i, make in LINES
    for d in AXES.get(name, (1, 2))
]
ONCE = [
    pytest.param(functools.partial(make, AXES.get(name, (2,))[-1]), id=f"{name}{i}")
    for name, i, make in LINES
]
FLOATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


def rebuilt(encoding, spec):
    """The encoding built from a spec; what is trained, and is no part of it, is copied."""
    again = build_encoding(spec)
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


@pytest.fixture(params=ONCE)
def make(request):
    return request.param


@pytest.fixture
def encoding(make):
    return make()


@pytest.fixture
def x(encoding, uniform):
    return uniform((6, encoding.in_dim), -3.0, 3.0).float()


@pytest.mark.parametrize("name", NAMES)
def test_every_line_of_the_tables_is_tested_here(name):
    assert FACTORIES.get(name), f"add a small {name!r} encoding to FACTORIES in small_encodings.py"
    for make in FACTORIES[name]:
        assert make(AXES.get(name, (2,))[0]).spec()["name"] == name


@pytest.mark.parametrize("make", EVERY_AXIS)
def test_any_leading_axes(make, uniform, same_bits):
    encoding = make()
    assert type(encoding.out_dim) is type(encoding.in_dim) is int
    assert len(encoding.periods) == encoding.in_dim
    for lead in [(), (4,), (2, 3), (2, 1, 3), (0,), (2, 0), (0, 3, 2)]:
        x = uniform((*lead, encoding.in_dim)).float()
        features = encoding(x)
        assert features.shape == (*lead, encoding.out_dim)
        rows = encoding(x.reshape(-1, encoding.in_dim))
        assert same_bits(rows.reshape(features.shape), features), lead


def test_dtype_and_exact_input(encoding, x):
    for dtype in (*FLOATS, torch.int64, torch.uint8):
        given = (x.abs() if dtype == torch.uint8 else x).to(dtype)
        features = encoding(given)
        assert features.dtype == (torch.float64 if dtype == torch.float64 else torch.float32)
        wide = encoding(given.double())
        assert (features - wide).abs().max() <= 1e-6 * wide.abs().max().clamp(min=1), dtype


@pytest.mark.parametrize("make", EVERY_AXIS)
def test_gradients_are_finite_in_the_dtype_and_shape_of_the_input(make, uniform):
    encoding = make()
    x = torch.zeros(2, encoding.in_dim, requires_grad=True)
    (first,) = torch.autograd.grad(encoding(x).sum(), x, create_graph=True)
    assert first.isfinite().all()
    if first.requires_grad:
        (second,) = torch.autograd.grad(first.sum(), x, materialize_grads=True)
        assert second.isfinite().all()
    for dtype in FLOATS:
        for rows in (0, 6):
            given = uniform((rows, encoding.in_dim), -3.0, 3.0).to(dtype).requires_grad_()
            encoding(given).sum().backward()
            assert given.grad.dtype == dtype
            assert given.grad.shape == given.shape
            assert given.grad.isfinite().all()


@pytest.mark.parametrize("make", EVERY_AXIS)
def test_specs_states_copies_and_pickles(make, uniform, same_bits):
    encoding = make()
    x = uniform((6, encoding.in_dim), -3.0, 3.0).float()
    text = json.dumps(encoding.spec(), allow_nan=False)
    from_state = build_encoding(encoding.spec())
    for buffer in from_state.buffers():
        if buffer.is_floating_point():
            buffer.fill_(0.5)
    from_state.load_state_dict(encoding.state_dict(), strict=True)
    from_spec = rebuilt(encoding, json.loads(text))
    copies = (copy.deepcopy(encoding), pickle.loads(pickle.dumps(encoding)))
    for again in (from_spec, from_state, *copies):
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
        exact = buffer.dtype == torch.float64  # integers follow from the settings
        assert exact or buffer.dtype == torch.int32, name
        assert not buffer.requires_grad, name
        assert (name in encoding.state_dict()) == exact


@pytest.mark.parametrize("make", EVERY_AXIS)
def test_periods_are_those_of_the_features(make, uniform):
    encoding = make()
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


def test_repr_shows_the_settings_and_sizes(encoding):
    text = repr(encoding)
    for part in encoding.modules():
        if isinstance(part, Encoding) and not isinstance(part, Concat):
            assert f"{type(part).__name__}(" in text
            assert part.extra_repr().endswith(f" → out_dim={part.out_dim}")
            for key, value in part.spec().items():
                assert key == "name" or f"{key}={value!r}" in text


def test_what_is_no_tensor_of_real_coordinates_is_refused(encoding):
    d = encoding.in_dim
    rows = torch.zeros(2, d)
    for bad, word in [
        *((torch.zeros(5, wrong), str(wrong)) for wrong in (d - 1, d + 1, d + 4)),
        (torch.tensor(1.0), "no axes"),
        (rows.bool(), "bool"),
        (rows.cfloat(), "complex"),
        ([[0.0]], "list"),
        (None, "NoneType"),
    ]:
        with pytest.raises(InputError) as caught:
            encoding(bad)
        assert word in caught.value.got
        assert f"in_dim={d}" in caught.value.rule or not word.isdigit()


def test_casts_of_the_module_set_the_dtype_and_nothing_else(make, x, same_bits):
    for casts in ("bfloat16", "half", "float", "double", "bfloat16 float", "half double"):
        encoding, expected = make(), rounded(make(), *casts.split())
        for cast in casts.split():
            encoding = getattr(encoding, cast)()
        dtype = getattr(torch.empty(0), casts.split()[-1])().dtype
        for batch in (x, x.double()):
            assert same_bits(encoding(batch), expected.encode(batch, dtype)), casts
        if trained := list(encoding.parameters()):
            encoding(x).sum().backward()
            assert all(p.grad.dtype == dtype and p.grad.isfinite().all() for p in trained)
        parent = torch.nn.Sequential(make(), torch.nn.Linear(encoding.out_dim, 1))
        values = getattr(parent, cast)()(x)  # the next layer's dtype
        assert values.dtype == parent[1].weight.dtype == dtype
        assert values.isfinite().all()


def test_autocast_changes_no_bit(encoding, x, same_bits):
    x.requires_grad_()
    trained = [x, *encoding.parameters()]
    features = encoding(x)
    slopes = torch.autograd.grad(features.sum(), trained)
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast("cpu", dtype):
            inside = encoding(x)
            slopes_inside = torch.autograd.grad(inside.sum(), trained)
        assert same_bits(inside, features), dtype
        assert all(same_bits(a, b) for a, b in zip(slopes, slopes_inside, strict=True)), dtype


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


def test_rows_depend_neither_on_the_batch_nor_on_the_threads(
    encoding, uniform, same_bits, set_threads
):
    x = uniform((5003, encoding.in_dim), -3, 3).float()
    for batch in (x, x.double()):
        features = encoding(batch)
        for a, b in [(0, 1), (5, 8), (100, 137), (1001, 4000), (5002, 5003)]:
            assert same_bits(encoding(batch[a:b]), features[a:b])
    features = encoding(x)
    for threads in (1, 3, 5):
        set_threads(threads)
        assert same_bits(encoding(x), features)


def test_global_state_is_left_alone_and_changes_no_bit(make, uniform, same_bits):
    random, dtype = torch.get_rng_state(), torch.get_default_dtype()
    device, threads = torch.get_default_device(), torch.get_num_threads()
    x = uniform((4, make().in_dim)).float()
    expected = make()(x)
    if not list(make().parameters()):  # a spec has no seed for what is trained
        build_encoding(make().spec())
    assert torch.equal(torch.get_rng_state(), random)
    assert (torch.get_default_dtype(), torch.get_default_device()) == (dtype, device)
    assert torch.get_num_threads() == threads
    with torch.random.fork_rng():
        torch.manual_seed(987)
        try:
            for dtype in (torch.float64, torch.bfloat16):
                torch.set_default_dtype(dtype)
                assert same_bits(make()(x), expected)
        finally:
            torch.set_default_dtype(torch.float32)


def test_function_transforms_agree(encoding, uniform, same_bits):
    x = uniform((4, encoding.in_dim), -1, 1)
    per_row = torch.func.vmap(encoding)(x)
    torch.testing.assert_close(per_row, encoding(x), rtol=0, atol=0)
    reverse = torch.func.vmap(torch.func.jacrev(encoding))(x)
    forward = torch.func.vmap(torch.func.jacfwd(encoding))(x)
    plain = torch.stack([torch.autograd.functional.jacobian(encoding, row) for row in x])
    torch.testing.assert_close(reverse, plain, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(forward, plain, rtol=1e-12, atol=1e-12)
    x = uniform((3, 5, encoding.in_dim)).float()
    outer = torch.func.vmap(encoding, in_dims=1, out_dims=1)(x)
    assert same_bits(outer, encoding(x))
    assert same_bits(torch.func.vmap(torch.func.vmap(encoding))(x), encoding(x))


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


def test_gradcheck_twice(encoding, uniform):
    x = uniform((2, encoding.in_dim), -1, 1).requires_grad_()
    check, check_twice = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    assert check(encoding, x, check_forward_ad=True, check_batched_grad=True, fast_mode=True)
    assert check_twice(encoding, x, check_fwd_over_rev=True, fast_mode=True)


def test_a_device_without_float64_leaves_the_sines_to_the_cpu(encoding, x, same_bits, monkeypatch):
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


def test_constants_stay_on_the_cpu_where_the_device_has_no_float64(make, monkeypatch):
    monkeypatch.setattr("coordnet.constants.supports_float64", lambda device: device.type == "cpu")
    with torch.device("meta"):
        built = make()
    moved = make().to("meta")
    for encoding in (built, moved):
        for buffer in encoding.buffers():
            assert buffer.device.type == "cpu"
            assert buffer.dtype in (torch.float64, torch.int32)


def test_built_on_the_meta_device(make, uniform, same_bits):
    expected = make()
    x = uniform((4, expected.in_dim)).float()
    for assign in (False, True):
        with torch.device("meta"):
            encoding = make()
        assert all(buffer.is_meta for buffer in encoding.buffers())
        assert encoding.spec() == expected.spec()
        assert encoding(x.to("meta")).shape == (4, expected.out_dim)
        if not assign:
            encoding.to_empty(device="cpu")
        encoding.load_state_dict(expected.state_dict(), assign=assign)
        assert same_bits(encoding(x), expected(x))


@pytest.mark.cuda
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


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("k", [1, 2, 3, 5, 16, 37, 64, 100, 1024])
def test_many_harmonics_do_not_depend_on_batch_or_threads(d, k, uniform, same_bits, set_threads):
    """Large enough for PyTorch to split a product among threads, in the midst of a row."""
    x = uniform((min(20_001, 2_000_000 // k), d), -3, 3).float() * 1e4
    encoding = FourierFeatures(d, k, period=24.0)
    set_threads(1)
    features = encoding(x)
    for threads in (2, 3, 5):
        set_threads(threads)
        assert same_bits(encoding(x), features)
        for rows in (slice(7, 1010), slice(1), slice(16), slice(-63, None)):
            assert same_bits(encoding(x[rows]), features[rows])
