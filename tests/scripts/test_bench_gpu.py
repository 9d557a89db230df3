import pytest
import torch

import coordnet as cn


def test_the_check_runs_without_a_gpu(script, tmp_path, read_json, check_picture, load):
    done = script("gpu_check.py", "--device", "cpu", "--quick", "--out", "r")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    content = read_json(tmp_path / "r" / "gpu_check.json")
    assert content["good"]
    assert content["machine"]["device"] == "cpu"
    assert len(content["contract"]) == 7
    for row in content["contract"]:
        assert row["state"]
        assert row["features"] <= 1e-6
        assert row["gradients"] <= 1e-5
    own = load("_fits").PRESETS
    steps = [row for row in content["methods"] if "floor_seconds" in row]
    assert [row["method"] for row in steps] == list(own)
    for row in steps:
        can = content["machine_can"]
        floor = max(row["moved"] / can["bandwidth"], row["operations"] / can[row["precision"]])
        assert row["floor_seconds"] == pytest.approx(floor)
        assert row["part_of_floor"] == pytest.approx(floor / row["seconds"])
        assert row["batch"] == 24 * 24
    assert content["encodings"]
    assert len(content["fits"]) == len(own) + 4  # one with the plain recipe's features, three plain
    check_picture(tmp_path / "r" / "gpu_check.png")


def test_the_least_work_of_a_step(load):
    count = load("_floor").count
    encoding = cn.FourierFeatures(2, 4)
    field = cn.Field(encoding, cn.MLP(16, 3, hidden_dim=8, num_hidden_layers=2))
    adam = cn.FitConfig(optimizer="adam")
    moved, operations = count(field, adam, 10, half=False)
    weights, biases = (16 * 8, 8 * 8, 8 * 3), 8 + 8 + 3
    assert operations == 10 * (4 * weights[0] + 6 * weights[1] + 6 * weights[2])
    activations = 4 * 10 * (3 + 16) + 5 * 4 * 10 * (8 + 8)
    assert moved == activations + 4 * 8 * (sum(weights) + biases)

    grid = cn.HashGrid(2, num_levels=4, log2_hashmap_size=6, base_resolution=4, max_resolution=16)
    field = cn.Field(grid, cn.MLP(8, 3, hidden_dim=8, num_hidden_layers=1))
    moved, operations = count(field, adam, 10, half=False)
    corners = 4 * 4 * 2  # corners, levels, features
    assert operations == 10 * (6 * (8 * 8 + 8 * 3) + 4 * corners)
    trained = grid.tables.numel() + 8 * 8 + 8 * 3 + 8 + 3
    activations = 4 * 10 * (3 + 2 + 3 * corners + 4 * 8) + 5 * 4 * 10 * 8
    assert moved == activations + 4 * 8 * trained


def test_muon_counts_its_own_products(load):
    count = load("_floor").count
    field = cn.Field(cn.FourierFeatures(1, 16), cn.MLP(32, 1, hidden_dim=64, num_hidden_layers=1))
    adam = count(field, cn.FitConfig(optimizer="adam"), 1, half=True)
    muon = count(field, cn.FitConfig(optimizer="muon"), 1, half=True)
    assert adam[0] - muon[0] == 4 * 2 * 32 * 64  # a moment less, read and written
    assert muon[1] - adam[1] == 5 * (4 * 32**2 * 64 + 2 * 32**3)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_the_check_runs_on_a_gpu(script, tmp_path, read_json):
    done = script("gpu_check.py", "--device", "cuda", "--quick", "--out", "r")
    assert done.returncode == 0, done.stderr
    assert read_json(tmp_path / "r" / "gpu_check.json")["good"]
