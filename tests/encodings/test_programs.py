"""Encodings inside other people's programs: compiled, exported, traced, stacked, cast, moved."""

import copy
import io

import pytest
import torch
from small_encodings import AXES, FACTORIES
from torch import nn

import coordnet as cn
from coordnet import modes
from coordnet.encodings import COMBINATORS, ENCODINGS, Identity, Normalized

TOLERANCE = 1e-6


def field():
    encoding = cn.FourierFeatures(2, k=5, period=1.0)
    return cn.Field(encoding, cn.MLP(encoding.out_dim, 3, hidden_dim=8, seed=0))


MODULES = {name: FACTORIES[name][0] for name in (*ENCODINGS, *COMBINATORS)}
MODULES["field"] = lambda axes: field()
# what compilers and exporters say of themselves
quiet = pytest.mark.filterwarnings("ignore")


@pytest.fixture(params=MODULES)
def module(request):
    return MODULES[request.param](AXES.get(request.param, (2,))[-1])


def rows(module, number, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(number, module.in_dim, generator=generator) * 4 - 2


def close(values, expected):
    assert values.shape == expected.shape
    return (values - expected).abs().max() <= TOLERANCE * max(1.0, float(expected.abs().max()))


@quiet
def test_compiled_whole_in_two_graphs_for_all_sizes(module):
    torch._dynamo.reset()
    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(module, fullgraph=True, backend=backend)
    for number in (6, 11, 33, 64, 7):
        x = rows(module, number)
        assert close(compiled(x), module(x))
    assert len(graphs) <= 2


@quiet
def test_exported_with_any_number_of_rows(module):
    sizes = ({0: torch.export.Dim("n")},)
    for strict in (False, True):
        program = torch.export.export(
            module, (rows(module, 6),), dynamic_shapes=sizes, strict=strict
        )
        for number in (2, 11):
            x = rows(module, number)
            assert close(program.module()(x), module(x))


@quiet
def test_traced_and_saved(module):
    file = io.BytesIO()
    torch.jit.save(torch.jit.trace(module, (rows(module, 6),)), file)
    file.seek(0)
    again = torch.jit.load(file)
    for number in (1, 11):
        assert close(again(rows(module, number)), module(rows(module, number)))


@quiet
def test_torch_script_is_refused_in_words():
    for module in (cn.FourierFeatures(1, 2), cn.HashGrid(2, 2), field()):
        with pytest.raises(cn.InputError, match=r"torch\.jit\.script") as caught:
            torch.jit.script(module)
        assert "torch.export" in caught.value.remedy


@quiet
@pytest.mark.parametrize("exporter", ["new", "older"])
def test_onnx(module, exporter):
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnxscript")
    x, file = rows(module, 6), io.BytesIO()
    names = {"input_names": ["x"], "output_names": ["y"], "opset_version": 18}
    if exporter == "new":
        sizes = {"dynamic_shapes": ({0: torch.export.Dim("n")},), "verbose": False}
        torch.onnx.export(module, (x,), file, dynamo=True, **sizes, **names)
    else:
        sizes = {"dynamic_axes": {"x": {0: "n"}, "y": {0: "n"}}}
        if isinstance(module, cn.HashGrid):
            with pytest.raises(cn.InputError, match="exclusive or"):
                torch.onnx.export(module, (x,), file, dynamo=False, **sizes, **names)
            return
        torch.onnx.export(module, (x,), file, dynamo=False, **sizes, **names)
    session = runtime.InferenceSession(file.getvalue())
    (entry,) = session.get_inputs()  # no constant without input
    x = rows(module, 11, seed=1)
    (y,) = session.run(None, {entry.name: x.numpy()})
    assert close(torch.from_numpy(y), module(x))


@quiet
def test_positions_of_any_length_in_two_graphs():
    torch._dynamo.reset()
    graphs = []

    def backend(graph, _):
        graphs.append(graph)
        return graph.forward

    pe = cn.SinusoidalPositionalEncoding(8)
    compiled = torch.compile(pe, fullgraph=True, backend=backend)
    for length in (5, 9, 33, 12, 70):
        tokens = torch.zeros(2, length, 8)
        assert close(compiled(tokens), pe(tokens))
    assert len(graphs) <= 2


def test_the_questions_to_pytorch_are_answered():
    """Private names of PyTorch: where one goes, a slower way is taken, and this test says so."""
    assert torch._C._are_functorch_transforms_active() is False
    assert torch.autograd.forward_ad._current_level == -1
    seen = []

    def look(x):
        seen.append((modes.is_forward_mode(), modes.is_transformed()))
        return x.sum()

    look(torch.ones(2))
    torch.func.vmap(look)(torch.ones(2, 2))
    with torch.autograd.forward_ad.dual_level():
        look(torch.ones(2))
    torch.func.jvp(lambda x: torch.func.vmap(look)(x), (torch.ones(2, 2),), (torch.ones(2, 2),))
    assert seen == [(False, False), (False, True), (True, False), (True, True)]


def test_features_may_be_changed_in_place(module):
    x = rows(module, 5).requires_grad_()
    values = module(x)
    expected = values.detach() * 2
    assert torch.equal(nn.functional.relu(values * 1).detach(), values.detach().relu())
    if not isinstance(module, Identity):  # a leaf's own memory
        doubled = values.mul_(2)
        assert torch.equal(doubled.detach(), expected)
        doubled.sum().backward()
        assert x.grad.isfinite().all()


@pytest.mark.parametrize("k", [2, 9, 64])
def test_harmonics_whose_buffers_are_swapped(k):
    expected = cn.FourierFeatures(2, k, period=3.0)
    base, state = copy.deepcopy(expected).to("meta"), expected.state_dict()
    x = torch.rand(4, 2, generator=torch.Generator().manual_seed(0))

    def swapped(x):
        return torch.func.functional_call(base, state, (x,))

    for _ in range(2):
        assert torch.equal(swapped(x), expected(x))
        gradient = torch.func.grad(lambda x: swapped(x).sum())(x)
        assert torch.equal(gradient, torch.func.grad(lambda x: expected(x).sum())(x))
    base.load_state_dict(state, assign=True)
    assert torch.equal(base(x), expected(x))
    assert torch.equal(base.to("cpu")(x), expected(x))


class TestIntegers:
    def test_beyond_2_to_the_53_the_phase_is_exact(self):
        encoding = cn.FourierFeatures(1, 1024, period=24.0)
        near, far = torch.tensor([[6]]), torch.tensor([[6 + 24 * 2**50]])
        assert torch.equal(encoding(near), encoding(far))
        assert torch.equal(encoding(-near), encoding(-far))
        ends = torch.tensor([[2**63 - 1], [-(2**63)]])
        small = torch.tensor([[(2**63 - 1) % 24], [-(2**63) % 24]])
        assert torch.equal(encoding(ends), encoding(small))

    def test_unsigned_ones_do_not_wrap_around(self):
        encoding = cn.FourierFeatures(1, 3, period=24.0)
        large = torch.tensor([[2**63 + 2**20]], dtype=torch.uint64)
        assert (encoding(large) - encoding(large.double())).abs().max() <= TOLERANCE

    def test_nanosecond_stamps(self):
        day = 86_400 * 10**9
        start = 1_790_000_000 * 10**9 + 7
        encoding = cn.FourierFeatures(1, 1024, period=float(day))
        x = start + torch.arange(0, day, day // 97)[:, None]
        exact = encoding((x % day).double())  # whole numbers below 2^53
        assert (encoding(x) - exact).abs().max() <= TOLERANCE

    def test_normalized_stamps_keep_their_digits(self):
        start = 2**60 + 3
        unit = Normalized(Identity(1), [float(2**60)], [float(2**60 + 2**20)])
        x = start + torch.arange(5)[:, None]
        expected = (3 + torch.arange(5, dtype=torch.float64)[:, None]) / 2**20
        assert torch.equal(unit.encode(x, torch.float64), expected)


class TestGrids:
    @pytest.fixture
    def grid(self):
        grid = cn.HashGrid(2, 3, 2, 6, 3, 20, seed=0)
        with torch.no_grad():
            grid.tables.mul_(1e4)
        return grid

    def test_batched_gradients_of_the_tables(self, grid):
        values = grid(rows(grid, 7))
        directions = torch.randn(4, *values.shape, generator=torch.Generator().manual_seed(0))
        (batched,) = torch.autograd.grad(
            values, grid.tables, directions, is_grads_batched=True, retain_graph=True
        )
        one_by_one = [
            torch.autograd.grad(values, grid.tables, each, retain_graph=True)[0]
            for each in directions
        ]
        torch.testing.assert_close(batched, torch.stack(one_by_one))

    def test_gradients_of_the_tables_do_not_differ_from_call_to_call(self, grid, set_threads):
        set_threads(2)
        x = rows(grid, 8_000).requires_grad_()

        def slope():
            return torch.autograd.grad(grid(x).sin().sum(), grid.tables)[0]

        first = slope()
        assert all(torch.equal(slope(), first) for _ in range(4))

    def test_models_stacked_by_torch_func(self):
        def model(seed):
            grid = cn.HashGrid(2, 3, 2, 6, 3, 20, seed=seed)
            return nn.Sequential(grid, nn.Linear(grid.out_dim, 1))

        models = [model(seed) for seed in range(3)]
        parameters, buffers = torch.func.stack_module_state(models)
        base = copy.deepcopy(models[0]).to("meta")
        x = rows(models[0][0], 9)

        def value(parameters, buffers):
            return torch.func.functional_call(base, (parameters, buffers), (x,))

        stacked = torch.func.vmap(value)(parameters, buffers)
        torch.testing.assert_close(stacked, torch.stack([each(x) for each in models]))

    def test_one_level_has_one_resolution(self):
        assert cn.HashGrid(2, num_levels=1, base_resolution=8).spec()["max_resolution"] == 8
        with pytest.raises(cn.InputError, match="one level"):
            cn.HashGrid(2, num_levels=1, base_resolution=8, max_resolution=64)


def test_a_move_that_fails_changes_nothing(module):
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}

    def fail(tensor):
        raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        module._apply(fail)
    after = module.state_dict()
    assert before.keys() == after.keys()
    assert all(torch.equal(after[name], value) for name, value in before.items())
    assert close(module(rows(module, 3)), module(rows(module, 3)))


class TestSettings:
    def test_sigma_for_each_axis(self):
        one = cn.FourierFeatures.gaussian(2, 500, sigma=1.0, seed=4)
        two = cn.FourierFeatures.gaussian(2, 500, sigma=[3.0, 0.5], seed=4)
        scale = torch.tensor([3.0, 0.5], dtype=torch.float64)
        assert torch.equal(two.cycles, one.cycles * scale)
        assert two.spec()["sigma"] == [3.0, 0.5]
        whole = cn.FourierFeatures.gaussian(2, 500, sigma=[30.0, 5.0], seed=4, period=1.0)
        assert whole.cycles[0].std(0).tolist() == pytest.approx([30.0, 5.0], rel=0.1)
        with pytest.raises(cn.InputError, match="sigma"):
            cn.FourierFeatures.gaussian(2, 5, sigma=[1.0, 2.0, 3.0])

    @pytest.mark.parametrize("value", ["False", 0, None, "yes"])
    def test_include_input_is_a_bool(self, value):
        with pytest.raises(cn.InputError, match="include_input"):
            cn.FourierFeatures(1, 2, include_input=value)

    def test_frequencies_that_repeat_are_told(self):
        with pytest.warns(UserWarning, match="3 of 64 Gaussian frequencies"):
            cn.FourierFeatures.gaussian(1, 64, sigma=1.0, period=1.0)

    def test_features_that_are_constant_are_told(self):
        encoding = cn.FourierFeatures.geometric(1, 64)
        with pytest.warns(UserWarning, match="constant"):
            cn.Field(encoding, nn.Linear(encoding.out_dim, 1), domain=([0.0], [1.0]))
        cn.Field(encoding, nn.Linear(encoding.out_dim, 1), domain=([0.0], [1000.0]))


@pytest.mark.parametrize("d", [64, 784])
def test_many_dimensions_are_projected_exactly(d):
    encoding = cn.FourierFeatures.gaussian(d, 32, sigma=1.0)
    x = rows(encoding, 300)
    turns = x.double() @ encoding.cycles[0].T
    exact = (turns - turns.round()) * 2 * torch.pi
    pairs = encoding(x).unflatten(-1, (-1, 2))
    assert (pairs[..., 0] - exact.sin()).abs().max() <= TOLERANCE
    assert (pairs[..., 1] - exact.cos()).abs().max() <= TOLERANCE
