import pytest
import torch

import coordnet as cn
from coordnet.scenes import PackedSamples
from coordnet.scenes.rendering import volume

needs_cuda_build = pytest.mark.skipif(
    torch.version.cuda is None or torch.cuda.is_available(),
    reason="needs a CUDA build of PyTorch, and no GPU",
)
FITS = ("picture, fast", "picture, quality", "picture, small", "picture, Adam and EMA",
        "picture, tiled", "table, network", "table, damped harmonics", "table, period and trend",
        "sound, fast", "sound, small", "scene, fast", "scene, unbounded", "scene, nerf",
        "weighted samples")  # fmt: skip


@pytest.mark.skipif(torch.version.cuda is not None, reason="is for builds without CUDA")
def test_it_says_that_it_is_skipped(script):
    done = script("gpu_dry_run.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("skipped: PyTorch ")
    assert "not a CUDA build" in done.stdout


@needs_cuda_build
def test_everything_runs_as_on_a_gpu(script):
    done = script("gpu_dry_run.py")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    for name in FITS:
        (line,) = (line for line in lines if line.startswith(f"{name}  "))
        precision, batch, launches, moved, flops = line.removeprefix(name).split()[:5]
        assert precision in ("bf16", "float32")
        assert int(batch.replace(",", "")) > 255
        assert int(launches.replace(",", "")) > 20
        assert float(moved.replace(",", "")) > 1
        assert float(flops.replace(",", "")) >= 0
    assert lines[-1].startswith("No mixed devices")


@needs_cuda_build
def test_a_case_that_is_not_there(error_of):
    assert "Known: encoding harmonic" in error_of("gpu_dry_run", "--only", "nothing")


def _row(x):
    return torch.ones(x.shape[1])


def _copied(x):
    return x.copy_(torch.ones(x.shape))


BAD = {
    "a tensor beside": (lambda x: x + _row(x), "beside"),
    "an index beside": (lambda x: x[torch.tensor([0, 1])], "beside"),
    "item": (lambda x: x.sum().item(), "numbers"),
    "truth": (lambda x: bool((x > 0).any()), "numbers"),
    "equal": (lambda x: torch.equal(x, x), "numbers"),
    "nonzero": (lambda x: (x > 0).nonzero(), "numbers"),
    "mask": (lambda x: x[x > 0], "numbers"),
    "values under a mask": (lambda x: x.index_put_((x[:, 0] > 0,), x[:2]), "numbers"),
    "numpy": (lambda x: x.cpu().numpy(), "cuda to cpu"),
    "tolist": (lambda x: x.tolist(), "cuda to cpu"),
    "a tensor of numbers": (lambda x: torch.tensor([1.0, 2.0], device=x.device), "cpu to cuda"),
    "a copy": (_copied, "cpu to cuda"),
}
GOOD = {
    "a number": lambda x: x * 2.0 + torch.tensor(3.0),
    "a number under a mask": lambda x: x.index_put_((x > 0,), torch.tensor(0.0)),
    "made there": lambda x: x + torch.arange(x.shape[1], device=x.device),
    "a copy that nobody waits for": lambda x: x + _row(x).to(x.device, non_blocking=True),
    "numbers of the CPU": lambda x: x * _row(x).sum().item() if _row(x).any() else None,
}


@needs_cuda_build
@pytest.mark.parametrize("name", [*BAD, *GOOD])
@pytest.mark.parametrize("phase", ["step", "end"])
def test_what_is_a_fault(load, name, phase):
    pretended, watching = load("_fake_gpu").pretended, load("_watch")
    watch = watching.Watch(0.5)
    with pretended(), watch:
        x = torch.zeros(4, 3, device="cuda")
        with watch.during(phase):
            (BAD[name][0] if name in BAD else GOOD[name])(x)
    kinds = [finding.kind for finding in watch.findings]
    is_fault = load("gpu_dry_run").is_fault
    if name in GOOD:
        assert not kinds
        return
    assert len(kinds) == 1
    assert BAD[name][1] in kinds[0]
    assert any(map(is_fault, watch.findings)) == (phase == "step" or kinds[0] == watching.MIXED)


@needs_cuda_build
def test_bytes_and_flops_of_a_layer(load):
    pretended, watch = load("_fake_gpu").pretended, load("_watch").Watch(0.5)
    layer = torch.nn.Linear(32, 16, bias=False)
    with pretended(), watch:
        layer.to("cuda")
        x = torch.empty(64, 32, device="cuda")
        watch.restart()
        with torch.autocast("cuda", torch.bfloat16):
            layer(x)
    totals = watch.restart()
    casts = (4 + 2) * (64 * 32 + 32 * 16)
    assert totals.moved == casts + 2 * (64 * 32 + 32 * 16 + 64 * 16)
    assert totals.launches == 3
    assert dict(totals.flops) == {torch.bfloat16: 2 * 64 * 32 * 16}
    assert watch.restart().launches == 0


def test_bytes_of_operations(load):
    bytes_of, aten = load("_watch").bytes_of, torch.ops.aten
    x, table = torch.ones(8, 2), torch.ones(1000, 2)
    rows = torch.arange(8)

    def moved(func, *args):
        out = func(*args)
        return bytes_of(func, args, {}, [out])

    assert moved(aten.add.Tensor, x, torch.ones(2)) == 4 * (16 + 2 + 16)
    assert moved(aten.mul.Tensor, x, x) == 4 * (16 + 16)
    assert moved(aten.mul_.Tensor, x, torch.ones(2)) == 4 * (2 * 16 + 2)
    assert moved(aten.fill_.Scalar, x, 1.0) == 4 * 16
    assert moved(aten.neg.default, torch.ones(1, 2).expand(8, 2)) == 4 * (2 + 16)
    assert moved(aten.index_select.default, table, 0, rows) == 8 * 8 + 2 * 4 * 16
    assert moved(aten.index_add_.default, table, 0, rows, x) == 8 * 8 + 4 * 16 + 2 * 4 * 16


class _Pair(torch.autograd.Function):
    """Two results, of which one is left unused."""

    @staticmethod
    def forward(ctx, x, times, y):
        ctx.save_for_backward(x, y)
        return times * x * y, x - y

    @staticmethod
    def backward(ctx, one, other):
        x, y = ctx.saved_tensors
        return 3 * one * y + other, None, 3 * one * x - other


def _grid():
    grid = cn.HashGrid(2, num_levels=3, log2_hashmap_size=6, seed=0)
    field = cn.Field(grid, cn.MLP(6, 2, hidden_dim=8, skip=2, seed=0))
    x = torch.rand(50, 2, generator=torch.Generator().manual_seed(0))
    return field(x).square().mean(), list(field.parameters())


def _waves():
    x = torch.linspace(0, 1, 20)[:, None].requires_grad_()
    shift = torch.ones(8, requires_grad=True)
    return (cn.FourierFeatures(1, k=4)(x) * shift).sum(), [x, shift]


def _functions():
    x, y = (torch.linspace(1, 2, 5).requires_grad_() for _ in range(2))
    first, _ = _Pair.apply(x, 3, y)
    _, second = _Pair.apply(first, 3, x)
    return (first + second.exp()).sum() + x[2], [x, y]


def _rays():
    edges = torch.linspace(0, 1, 9).expand(3, 9)
    samples = PackedSamples.of_edges(edges)
    densities = torch.linspace(0, 5, 24).requires_grad_()
    shares = volume.weights(densities, samples)  # one of three results of its function
    return volume.expected_depth(shares, samples).sum(), [densities]


@pytest.mark.parametrize("build", [_grid, _waves, _functions, _rays])
def test_gradients_are_those_of_the_engine(load, monkeypatch, build):
    module = load("_fake_gpu")
    instead = module.set_materialize_grads  # of which `pretended` makes use
    monkeypatch.setattr(torch.autograd.function.FunctionCtx, "set_materialize_grads", instead)
    backward = module.backward
    loss, leaves = build()
    loss.backward()
    expected = [leaf.grad for leaf in leaves]
    loss, leaves = build()
    backward(loss)
    for leaf, grad in zip(leaves, expected, strict=True):
        torch.testing.assert_close(leaf.grad, grad, rtol=1e-6, atol=1e-7)
    loss, _ = build()
    with pytest.raises(RuntimeError, match="no graph"):
        backward(loss.detach())
