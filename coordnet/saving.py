"""Saving and loading of models: a safetensors file with the spec as JSON."""

from __future__ import annotations

import contextlib
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import nn

from ._lazy import Table
from .errors import InputError, refuse
from .files import json_values
from .tensor_files import TensorFile, TensorFileKind, write_tensors
from .version import __version__

__all__ = ["load", "load_settings", "save"]

_SMALL = 1 << 20


def _damaged(path: Path, what: str) -> NoReturn:
    raise InputError(
        f"a model file must hold what its description says: {str(path)!r}",
        " ".join(what.split())[:200],
        "The file is damaged or was not written by coordnet.",
    )


_MODEL_FILE = TensorFileKind(
    noun="a model",
    key="coordnet",
    number=1,
    damaged=_damaged,
)

# kind of model in a file → its class, which has spec() and from_spec(spec)
MODELS: Table[Any] = Table(
    "coordnet",
    {
        "field": "field:Field",
        "radiance": "scenes.radiance.occupancy_model:OccupancyModel",
        "unbounded": "scenes.radiance.unbounded:UnboundedModel",
        "hierarchical": "scenes.radiance.hierarchical:HierarchicalModel",
    },
)


def save(
    field: nn.Module, path: str | os.PathLike[str], settings: dict[str, Any] | None = None
) -> None:
    """Write a model to a safetensors file, atomically, one tensor at a time.

    Args:
        field: a `Field` or a `RadianceModel`, compiled or not, on any device.
        path: the file, which is replaced where it exists.
        settings: plain JSON values to keep with it.

    Raises:
        InputError: no such model, or one whose network has no spec.
        OSError: the file cannot be written.
    """
    model: Any = getattr(field, "_orig_mod", field)
    about = {**describe(model), "settings": json_values(settings or {})}
    tensors = {
        name.replace("_orig_mod.", ""): tensor for name, tensor in model.state_dict().items()
    }
    text = json.dumps(about, allow_nan=False, sort_keys=True)
    write_tensors(path, tensors, {_MODEL_FILE.key: text})


def load(path: str | os.PathLike[str], device: str | torch.device = "cpu") -> Any:
    """Build the `Field` or `RadianceModel` that `save` wrote. No code from the file is run.

    The model owns its memory: what becomes of the file later does not change it.

    Args:
        path: the file.
        device: where the field goes, whatever device it was saved from.

    Raises:
        InputError: the file is missing, is no model of coordnet, or is damaged; or the device is
            not there.
    """
    path = Path(path)
    _check_device(device)
    with _opened(path) as file:
        tensors = {name: file.tensor(name) for name in file.names}
    return build(path, file.about, tensors).to(device)


def describe(model: Any) -> dict[str, Any]:
    """Return what a model is built from again, besides its tensors, as plain JSON values.

    Raises:
        InputError: no model that `save` takes.
    """
    kind = _kind_of(model)
    return {
        "format": _MODEL_FILE.number,
        "version": __version__,
        **({} if kind == "field" else {"kind": kind}),
        "field": model.spec(),
    }


def build(path: Path, about: dict[str, Any], tensors: dict[str, torch.Tensor]) -> Any:
    """Build a model, on the CPU, from what `describe` returned and its tensors.

    Args:
        path: the file that they come from, for messages.
        about: what `describe` returned, perhaps.
        tensors: by their names in the model; it keeps them.

    Raises:
        InputError: they do not fit together.
    """
    former = _former_names(about)
    renamed = {_current_name(name, former): tensor for name, tensor in tensors.items()}
    if len(renamed) != len(tensors):
        _damaged(path, "a tensor under two names")
    tensors = renamed
    field = _empty_model(path, about, tensors)
    if hasattr(field, "add_former"):
        field.add_former(tensors)
    expected = field.state_dict()
    constants = {name for name, _ in field.named_buffers()}
    if expected.keys() != tensors.keys():
        odd = sorted(expected.keys() ^ tensors.keys())[:3]
        _damaged(path, f"tensors {', '.join(odd)} missing or left over")
    for name, tensor in tensors.items():
        like = expected[name]
        if tensor.shape != like.shape:
            _damaged(path, f"{name} of shape {tuple(tensor.shape)}, not {tuple(like.shape)}")
        exact = name in constants and like.dtype == torch.float64
        number = like.is_floating_point() and tensor.is_floating_point()
        alike = tensor.dtype == like.dtype or (number and not exact)
        if not alike:
            _damaged(path, f"{name} of dtype {tensor.dtype}")
    field.load_state_dict(tensors, assign=True)
    return field


def load_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what was passed to `save` as settings.

    Raises:
        InputError: as `load` does.
    """
    with _opened(Path(path)) as file:
        settings = file.about.get("settings", {})
    return settings if isinstance(settings, dict) else {}


def _kind_of(model: nn.Module) -> str:
    """Return the name in MODELS of a model's class."""
    kinds = {model_class: kind for kind, model_class in MODELS.items()}
    for base in type(model).__mro__:
        if base in kinds:
            return kinds[base]
    remedy = "Use torch.save for other modules."
    return refuse("save takes a Field or a RadianceModel", type(model).__name__, remedy)


def _check_device(device: str | torch.device) -> None:
    try:
        torch.empty(0, device=device)
    # an AssertionError where PyTorch was built without CUDA
    except (RuntimeError, AssertionError, TypeError, ValueError) as error:
        first = (str(error).splitlines() or [type(error).__name__])[0]
        got = f"device={str(device)!r} ({' '.join(first.split())[:120]})"
        refuse("the device must be there", got, "Pass device='cpu'.")


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[TensorFile]:
    with _MODEL_FILE.open(path) as file:
        if "field" not in file.about:
            _damaged(path, "no description of a field")
        yield file


def _empty_model(path: Path, about: dict[str, Any], tensors: dict[str, torch.Tensor]) -> Any:
    """Build the model that a file describes on the meta device, without memory for weights."""
    spec, kind = about["field"], about.get("kind", "field")
    if not isinstance(kind, str) or kind not in MODELS:
        _damaged(path, f"a model of an unknown kind, {kind!r}")
    try:
        most = max(_SMALL, sum(tensor.numel() for tensor in tensors.values()))
        _check_sizes(path, spec, most, len(tensors))
        spec = _with_current_keys(spec, _former_names(about))
        with torch.device("meta"):
            return MODELS[kind].from_spec(spec)
    except InputError:
        raise
    except (ArithmeticError, LookupError, MemoryError, RuntimeError, TypeError, ValueError):
        _damaged(path, "a description that cannot be followed")


def _former_names(about: dict[str, Any]) -> dict[str, str]:
    """Return {former name: current name} of a model's class, its attribute ``former_names``.

    Keys of its spec and parts of its tensors' names had these names in earlier versions.
    """
    kind = about.get("kind", "field")
    known = isinstance(kind, str) and kind in MODELS
    return getattr(MODELS[kind], "former_names", {}) if known else {}


def _current_name(name: str, former: dict[str, str]) -> str:
    return ".".join(former.get(part, part) for part in name.split("."))


def _with_current_keys(spec: Any, former: dict[str, str]) -> Any:
    if isinstance(spec, dict):
        return {former.get(k, k): _with_current_keys(v, former) for k, v in spec.items()}
    return spec


def _check_sizes(path: Path, spec: Any, most: int, most_layers: int) -> None:
    """Refuse sizes that the tensors beside the spec cannot have, before anything is built.

    Constants are computed on the CPU, the meta device or not: k = 10^12 would ask for 8 TB.
    """
    if isinstance(spec, dict):
        sizes = {k: v for k, v in spec.items() if isinstance(v, int) and k != "seed"}
        product = math.prod(max(1, sizes.get(name, 1)) for name in ("in_dim", "k"))
        layers = sizes.get("num_hidden_layers", 0)
        if max((product, *sizes.values())) > most or layers > most_layers:
            _damaged(path, "sizes that its tensors do not have")
        spec = list(spec.values())
    if isinstance(spec, list):
        for entry in spec:
            if isinstance(entry, int) and entry > most:
                _damaged(path, "sizes that its tensors do not have")
            _check_sizes(path, entry, most, most_layers)
