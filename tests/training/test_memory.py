"""Fits that run out of memory: smaller chunks, or a clear end."""

import pytest
import torch
from torch import nn

import coordnet as cn
from coordnet.training import Checkpoint, Objective, minimize
from coordnet.training.checkpoint_file import group, read_checkpoint
from coordnet.training.minimizing import is_out_of_memory
from coordnet.training.optimizers import Optimizer

ERRORS = (
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB"),
    MemoryError(),
    RuntimeError("[enforce fail at alloc_cpu.cpp:119] err == 0. DefaultCPUAllocator: "
                 "can't allocate memory: you tried to allocate 67108864 bytes."),
    RuntimeError("could not create a memory object"),
    RuntimeError("std::bad_alloc"),
)  # fmt: skip


def test_what_says_that_memory_ran_out():
    assert all(is_out_of_memory(error) for error in ERRORS)
    assert not is_out_of_memory(RuntimeError("mat1 and mat2 shapes cannot be multiplied"))
    assert not is_out_of_memory(OSError("not enough memory"))


class Limited(Objective):
    """Linear regression over 256 items, in which no more than ``room`` fit into memory."""

    device, precision, peak, chunk_size = torch.device("cpu"), "float32", 1.0, 256

    def __init__(self, room, error=ERRORS[0], fails_in=("losses", "evaluate")):
        self.room, self.error, self.fails_in = room, error, fails_in
        self.x = torch.linspace(-1, 1, 256)[:, None]
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.module = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 1))

    def __len__(self):
        return len(self.x)

    def losses(self, which, rows):
        x = self.x[which]
        square = (self.module(x) - x.square()).square().sum() / rows
        self.require("losses", len(x))
        return square, square.detach()

    def evaluate(self):
        self.require("evaluate", self.chunk_size)
        return 1.0, 1.0

    def require(self, where, number):
        if number > self.room and where in self.fails_in:
            raise self.error

    def parameters(self):
        return [p.detach().clone() for p in self.module.parameters()]


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: str(error)[:12])
def test_the_fit_goes_on_with_smaller_chunks(error):
    enough, little, notices = Limited(256), Limited(70, error), []
    expected = minimize(enough, steps=3)
    result = minimize(little, steps=3, notify=notices.append)
    assert result.losses == pytest.approx(expected.losses, rel=1e-5)
    assert little.chunk_size == 64
    assert [(n.warning, n.text) for n in notices] == [
        (True, "not enough memory for 256 samples at once: going on with 128"),
        (True, "not enough memory for 128 samples at once: going on with 64"),
    ]
    for one, other in zip(enough.parameters(), little.parameters(), strict=True):
        torch.testing.assert_close(one, other)


def test_nobody_listens():
    with pytest.warns(RuntimeWarning, match="256 samples at once: going on with 128"):
        minimize(Limited(128), steps=1)


def test_the_measurement_needs_smaller_chunks_too():
    objective = Limited(64, fails_in=("evaluate",))
    with pytest.warns(RuntimeWarning, match="not enough memory"):
        result = minimize(objective, steps=2, ema=0.9)
    assert (result.psnr, objective.chunk_size) == (1.0, 64)


def test_no_chunk_is_small_enough(tmp_path):
    objective, start = Limited(256), Limited(256).parameters()
    path = tmp_path / "a.checkpoint"

    def shrink():
        """Leave no memory from the third step on, in which nothing of a step is left behind."""
        if objective.room == 256 and next(steps) == 2:
            objective.room = 10
        return False

    steps = iter(range(9))
    with (
        pytest.warns(RuntimeWarning, match="not enough memory"),
        pytest.raises(RuntimeError, match="not even for 32 samples at once"),
    ):
        minimize(objective, steps=9, stop=shrink, checkpoint=Checkpoint(path))
    assert not same(objective.parameters(), start)
    assert all(p.grad is None for p in objective.module.parameters())
    with read_checkpoint(path) as file:
        assert file.integer("step") == 2
        saved = group(file, "module")
    assert all(torch.equal(p, saved[name]) for name, p in objective.module.named_parameters())


@pytest.mark.parametrize("step", [1, 3])
def test_the_step_of_the_optimizer(step, monkeypatch):
    """The first takes memory for the moments; a later one may have moved some parameters."""
    objective, expected = Limited(256), Limited(256)
    start, real, calls = objective.parameters(), Optimizer.step, []

    def short(optimizer, fraction):
        calls.append(fraction)
        if len(calls) == step:
            real(optimizer, fraction)  # half a step, say
            raise ERRORS[0]
        real(optimizer, fraction)

    monkeypatch.setattr(Optimizer, "step", short)
    if step == 1:
        with pytest.warns(RuntimeWarning, match="not enough memory"):
            result = minimize(objective, steps=3)
        monkeypatch.setattr(Optimizer, "step", real)
        assert result.losses == pytest.approx(minimize(expected, steps=3).losses, rel=1e-5)
    else:
        with pytest.raises(RuntimeError, match=r"optimizer; the model keeps.*from step 0"):
            minimize(objective, steps=9)
        assert same(objective.parameters(), start)


def test_other_errors_are_not_touched():
    with pytest.raises(RuntimeError, match="shapes"):
        minimize(Limited(0, RuntimeError("shapes differ")), steps=1)
    with pytest.raises(cn.InputError, match="room"):
        minimize(Limited(0, cn.InputError("room", 1)), steps=1)
