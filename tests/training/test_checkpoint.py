"""Checkpoints from Python: fits that go on as if they had never been stopped."""

import pytest
import torch
from torch import nn

import coordnet as cn
from coordnet.training import Checkpoint, Objective, minimize
from coordnet.training.checkpoint_file import read_checkpoint, write_checkpoint

from .square_wave import X, Y, field, same, stop_after


def settings(steps, **more):
    return cn.FitConfig(steps=steps, batch_size=48, device="cpu", evaluate=False, **more)


@pytest.mark.parametrize("optimizer", ["muon", "adam"])
@pytest.mark.parametrize("precision", ["float32", "bf16"])
@pytest.mark.parametrize("grid", [False, True])
def test_a_fit_goes_on_bit_for_bit(tmp_path, optimizer, precision, grid):
    # 21 steps end within an epoch: the place in it matters
    config = settings(60, optimizer=optimizer, precision=precision)

    def start(seed=0):
        build = cn.HashGrid(1, num_levels=3, log2_hashmap_size=8, max_resolution=64, seed=0)
        return field(encoding=build if grid else None, seed=seed)

    whole = start()
    expected = cn.fit(whole, X, Y, config)
    path = tmp_path / "fit.checkpoint"
    first = cn.fit(start(), X, Y, config, stop=stop_after(21), checkpoint=Checkpoint(path, 500))
    assert first.stop_reason == "stopped"
    assert 0 < first.steps < 60
    with read_checkpoint(path) as file:
        assert file.integer("step") == first.steps
        assert file.about["precision"] == precision
    # nothing of the new field's start may matter
    second = start(seed=1)
    found = cn.fit(second, X, Y, config, checkpoint=Checkpoint(path, 500, resume=True))
    assert found.losses == expected.losses
    assert found.steps == expected.steps == 60
    assert same(second, whole)


@pytest.mark.parametrize(
    "make",
    [
        lambda: cn.HashGrid(1, num_levels=3, log2_hashmap_size=8, max_resolution=64, seed=0),
        lambda: cn.FourierFeatures.gaussian(1, k=8),
        lambda: cn.FourierFeatures(k=4, include_input=True),
    ],
)
def test_a_checkpoint_of_version_0_1_0(tmp_path, make):
    """In which what normalizes the coordinates stands in the place of the encoding."""
    config, path = settings(60, ema=0.9), tmp_path / "fit.checkpoint"
    whole = field(encoding=make())
    expected = cn.fit(whole, X, Y, config)
    bounds = (torch.tensor(bound, dtype=torch.float64) for bound in whole.domain)
    former = field(encoding=make().on_domain(*bounds))
    cn.fit(former, X, Y, config, stop=stop_after(21), checkpoint=Checkpoint(path))
    with read_checkpoint(path) as file:
        tensors = {n: t for n, t in file.items() if not n.endswith("domain_bounds")}
        about = {**file.about, "config": {**file.about["config"], "keep_memory": True}}
    write_checkpoint(path, tensors, {**about, "version": "0.1.0"})
    second = field(seed=1, encoding=make())
    resumed = cn.fit(second, X, Y, config, checkpoint=Checkpoint(path, resume=True))
    assert resumed.losses == expected.losses
    assert same(second, whole)


class Noisy(Objective):
    """Draws from a generator of its own, which belongs to the state of the fit."""

    precision, peak, chunk_size = "float32", 2.0, 32
    device = torch.device("cpu")

    def __init__(self):
        torch.manual_seed(0)
        hidden = (nn.Linear(8, 8), nn.BatchNorm1d(8), nn.GELU())
        self.module = nn.Sequential(cn.FourierFeatures(k=4), *hidden, nn.Linear(8, 1))
        self.generator = torch.Generator().manual_seed(3)

    def __len__(self):
        return len(X)

    def losses(self, which, rows):
        noise = torch.rand(X[which].shape, generator=self.generator)
        square = (self.module(X[which]) - Y[which] + noise).square().sum() / rows
        return square, square.detach()

    def evaluate(self):
        return 0.0, 0.0

    def state_dict(self):
        return {"generator": self.generator.get_state()}

    def load_state_dict(self, state):
        self.generator.set_state(state["generator"])


def test_an_objective_with_a_state_of_its_own_goes_on_too(tmp_path):
    whole, first, second = Noisy(), Noisy(), Noisy()
    expected = minimize(whole, settings(40))
    path = tmp_path / "own.checkpoint"
    minimize(first, settings(40), stop=stop_after(13), checkpoint=Checkpoint(path))
    found = minimize(second, settings(40), checkpoint=Checkpoint(path, resume=True))
    assert found.losses == expected.losses
    assert same(second.module, whole.module)  # the running means of the normalization as well


def test_the_state_of_another_objective_is_refused(tmp_path):
    path = tmp_path / "own.checkpoint"
    minimize(Noisy(), settings(20), stop=stop_after(5), checkpoint=Checkpoint(path))
    stateless = Noisy()
    stateless.load_state_dict = lambda state: Objective.load_state_dict(stateless, state)
    with pytest.raises(cn.InputError, match="generator is not known here"):
        minimize(stateless, settings(20), checkpoint=Checkpoint(path, resume=True))


def test_where_and_when_it_is_written(tmp_path):
    path = tmp_path / "a.checkpoint"
    keep = Checkpoint(path, 20, about={"of": "a test"})
    said = []
    cn.fit(field(), X, Y, settings(50), checkpoint=keep, notify=said.append)
    with read_checkpoint(path) as file:
        assert file.integer("step") == 50  # after 20 and 40, and at the end
        assert file.about["about"] == {"of": "a test"}
    assert sum("checkpoint at step 20" in notice.text for notice in said) == 1
    cn.fit(field(), X, Y, settings(50), checkpoint=Checkpoint(tmp_path / "n", "never"))
    assert not (tmp_path / "n").exists()
    with pytest.raises(cn.InputError, match="resume=True"):
        Checkpoint(path)
    assert Checkpoint(path, resume=True).resumable
    assert not Checkpoint(path, overwrite=True).resumable


def test_a_save_that_fails_is_a_warning_and_the_fit_goes_on(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    keep = Checkpoint(folder / "a.checkpoint", 10)
    folder.rmdir()
    whole = cn.fit(field(), X, Y, settings(30))
    with pytest.warns(RuntimeWarning, match=r"could not be written.*there is none yet"):
        found = cn.fit(field(), X, Y, settings(30), checkpoint=keep)
    assert found.losses == whole.losses


def test_what_a_fit_cannot_go_on_from(tmp_path):
    path = tmp_path / "a.checkpoint"
    cn.fit(field(), X, Y, settings(20), checkpoint=Checkpoint(path, 10))

    def go_on(field, x, y, config):
        return cn.fit(field, x, y, config, checkpoint=Checkpoint(path, resume=True))

    with pytest.raises(cn.InputError, match=r"learning_rate=0.5, not"):
        go_on(field(), X, Y, settings(40, learning_rate=0.5))
    with pytest.raises(cn.InputError, match="samples=128, not 127"):
        go_on(field(), X[1:], Y[1:], settings(40))
    with pytest.raises(cn.InputError, match="shape"):
        go_on(field(encoding=cn.FourierFeatures(k=5)), X, Y, settings(40))
    with pytest.raises(cn.InputError, match="steps=15 after 20 steps"):
        go_on(field(), X, Y, settings(15))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(cn.InputError, match="safetensors"):
        go_on(field(), X, Y, settings(40))
