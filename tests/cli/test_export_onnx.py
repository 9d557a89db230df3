"""Fitted fields as ONNX models, run by onnxruntime."""

import numpy as np
import pytest
import torch

import coordnet as cn


def values_of(path, x):
    session = pytest.importorskip("onnxruntime").InferenceSession(str(path))
    (put_in,) = session.get_inputs()
    assert put_in.name == "x"
    (values,) = session.run(["values"], {"x": x})
    return values


@pytest.mark.parametrize("kind", ["picture", "table"])
def test_a_run_gives_the_same_values_in_another_program(run, fitted, fitted_table, tmp_path, kind):
    pytest.importorskip("onnxscript")
    folder = (fitted if kind == "picture" else fitted_table) / "run"
    exported = run("export", folder, tmp_path / "m.onnx")
    assert (exported.status, exported.err) == (0, "")
    field = cn.load(folder / "model.safetensors")
    low, high = (np.array(bounds) for bounds in field.domain)
    dtype = np.float32 if kind == "picture" else np.float64
    for rows in (1, 5, 300):  # any number of rows
        unit = np.random.default_rng(rows).random((rows, field.in_dim))
        x = (low + (high - low) * unit).astype(dtype)
        expected = field(torch.from_numpy(x)).detach().numpy()
        values = values_of(tmp_path / "m.onnx", x)
        assert values.shape == expected.shape
        assert np.abs(values - expected).max() <= 1e-5 * max(1.0, np.abs(expected).max())


def test_what_is_refused(refused, fitted, monkeypatch):
    refused(
        "export", fitted / "run", "m.onnx", "--level", "3", words=["--level", "belongs to scenes"]
    )
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    refused("export", fitted / "run", "m.onnx", words=["pip install 'coordnet[onnx]'"])
