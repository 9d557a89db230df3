"""Files of version 0.1.0, whose specs, tensors and settings had other names."""

import json

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

import coordnet as cn

from .test_hierarchical import rays, tiny
from .test_models import small_model
from .test_unbounded import small_model as small_unbounded


def as_before(value):
    """Return a spec with the keys of 0.1.0."""
    if isinstance(value, dict):
        return {former(key): as_before(entry) for key, entry in value.items()}
    return value


def former(name):
    parts = {"color_network": "colour_network", "center": "centre"}
    return ".".join(parts.get(part, part) for part in name.split("."))


def rewritten(path, change=as_before):
    """Save a model's file again, its tensors under their former names, its spec changed."""
    with safe_open(path, "pt") as file:
        about = json.loads(file.metadata()["coordnet"])
        tensors = {former(name): file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    about["field"] = change(about["field"])
    save_file(tensors, path, {"coordnet": json.dumps(about)})
    return tensors


@pytest.mark.parametrize("build", [small_model, small_unbounded, tiny])
def test_a_model_of_0_1_0_is_the_same_model(tmp_path, build):
    path, model = tmp_path / "model.safetensors", build()
    cn.save(model, path)
    assert any("colour_network" in name for name in rewritten(path))
    again = cn.load(path)
    assert again.spec() == model.spec()
    with torch.no_grad():
        for one, other in zip(model.eval()(*rays()), again.eval()(*rays()), strict=True):
            assert torch.equal(one, other)


def test_a_tensor_under_both_names_is_refused(tmp_path):
    path = tmp_path / "model.safetensors"
    cn.save(tiny(), path)
    tensors = rewritten(path)
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    name = "fine.colour_network.layers.0.bias"
    save_file({**tensors, name.replace("colour", "color"): tensors[name].clone()}, path, metadata)
    with pytest.raises(cn.InputError, match="under two names"):
        cn.load(path)
