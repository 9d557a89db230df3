import itertools

import numpy as np
import pytest
import torch

import coordnet as cn


def test_every_encoding_is_measured_beside_plain_ones(script, tmp_path, read_json, check_picture):
    done = script("bench_encodings.py", "--quick", "--device", "cpu", "--out", "r")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    content = read_json(tmp_path / "r" / "bench_encodings.json")
    assert content["machine"]["threads"] == 1
    assert content["machine"]["torch"] == torch.__version__
    assert content["machine"]["cpu"] in done.stdout
    rows = {(row["encoding"], row["way"]): row for row in content["rows"]}
    ladders = ("harmonic", "octave", "geometric", "gaussian", "lattice")
    ways = {name: ["coordnet", "plain"] for name in ladders}
    ways |= {name: ["coordnet", "gather", "embedding_bag"] for name in ("hashgrid", "densegrid")}
    assert set(rows) == {(name, way) for name, each in ways.items() for way in each}
    for (_, way), row in rows.items():
        assert row["max_error"] < (1e-6 if way == "coordnet" else 1e-3)
        assert 1.0 <= row["peak_over_output"] < 100  # the output itself is held
        assert min(row["forward_ms"], row["forward_backward_ms"]) > 0
        mine = rows[row["encoding"], "coordnet"]
        for key in ("forward", "forward_backward"):
            expected = mine[f"{key}_ms"] / row[f"{key}_ms"]
            assert way == "coordnet" or row["ratios"][key] == pytest.approx(expected)
    # angle, sine, cosine and their stack: ½ + ½ + ½ + 1 outputs
    assert rows["geometric", "plain"]["peak_over_output"] == pytest.approx(2.5, abs=0.1)
    check_picture(tmp_path / "r" / "bench_encodings.png")


def test_bad_options_are_one_line(error_of):
    assert "--points must be at least 1" in error_of("bench_encodings", "--points", 0)
    assert "--threads must be at least 1" in error_of("bench_encodings", "--threads", 0)
    assert "device" in error_of("bench_encodings", "--device", "nonsense")


@pytest.mark.parametrize("way", ["grid_by_gather", "grid_by_embedding_bag"])
@pytest.mark.parametrize(
    ("in_dim", "sizes"),
    [
        (1, (4, 3, 40.0, 4)),
        (2, (16, 16, 512.0, 15)),
        (2, (5, 4, 33.5, 7)),
        (2, (4, [8, 3], [40.0, 21.5], 9)),
        (3, (4, 2, 20.0, 9)),
    ],
)
def test_the_plain_hash_grids_are_the_same_function(load, way, in_dim, sizes):
    plain = load("_plain")
    number, base, finest, log2_rows = sizes
    grid = cn.HashGrid(in_dim, number, 2, log2_rows, base, finest, seed=0).double()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        grid.tables.copy_(2 * torch.rand(grid.tables.shape, generator=generator) - 1)
    x = torch.rand(500, in_dim, generator=generator, dtype=torch.float64)
    x[:2] = torch.tensor([[0.0], [1.0]])
    levels = plain.grid_levels(in_dim, *sizes)
    assert any(level.dense for level in levels)
    assert not all(level.dense for level in levels)
    tables = grid.tables.detach().double().requires_grad_()
    found = getattr(plain, way)(x, tables, levels)
    expected = grid(x)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
    weights = torch.rand(found.shape, generator=generator, dtype=torch.float64)
    (slope,) = torch.autograd.grad(found, tables, weights)
    (mine,) = torch.autograd.grad(expected, grid.tables, weights)
    torch.testing.assert_close(slope, mine.double(), rtol=0, atol=1e-5)


def test_the_plain_ladders_are_the_same_function(load):
    bench = load("bench_encodings")
    cases = [build() for build in bench.cases(64, 16, torch.device("cpu"))]
    for case in cases:
        x = case.x.double()
        with torch.no_grad():
            mine = case.ways["coordnet"](x)
            torch.testing.assert_close(mine, case.exact(), rtol=0, atol=1e-6)
        assert mine.shape[1] == case.ways["coordnet"].out_dim
    assert float(cases[0].x.abs().max()) > 40
    assert float(cases[3].x.min()) >= 0


def test_memory_counts_what_pytorch_and_numpy_hold(load):
    measure = load("_measure")
    cpu = torch.device("cpu")

    def work():
        first = np.ones(1 << 20)  # 8 MB
        second = torch.ones(1 << 20)  # 4 MB
        del second
        third = torch.ones(1 << 19)  # 2 MB, after the 4 MB are given back
        return first, third

    peak = measure.peak_bytes(work, cpu)
    assert 12 << 20 <= peak < (12 << 20) + (1 << 18)


def test_ways_take_turns(load):
    order = []
    works = {name: lambda name=name: order.append(name) for name in "abc"}
    found = load("_measure").medians(works, torch.device("cpu"), 3)
    assert order == ["a", "b", "c"] * 4  # once unmeasured
    assert set(found) == {"a", "b", "c"}
    assert all(b >= 0 for b in itertools.chain(found.values()))
