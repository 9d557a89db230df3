"""Saved fields: one safetensors file that holds tensors, and the spec as JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NoReturn

import torch
from torch import nn

from . import __version__
from .errors import InputError, refuse
from .field import Field
from .files import json_values, write_atomic

__all__ = ["load", "load_settings", "save"]

_FORMAT = 1
_KEY = "coordnet"


def save(
    field: nn.Module, path: str | os.PathLike[str], settings: dict[str, Any] | None = None
) -> None:
    """Write a field to a safetensors file, whole or not at all.

    Args:
        field: a `Field`, compiled or not, on any device.
        path: the file, which is replaced where it exists.
        settings: plain JSON values to keep with it.

    Raises:
        InputError: no field, or one whose network has no spec.
        OSError: the file cannot be written.
    """
    from safetensors.torch import save as to_bytes

    field = getattr(field, "_orig_mod", field)
    if not isinstance(field, Field):
        refuse("save takes a Field", type(field).__name__, "Use torch.save for other modules.")
    about = {
        "format": _FORMAT,
        "version": __version__,
        "field": field.spec(),
        "settings": json_values(settings or {}),
    }
    tensors = {
        name.replace("_orig_mod.", ""): tensor.detach().cpu().contiguous()
        for name, tensor in field.state_dict().items()
    }
    text = json.dumps(about, allow_nan=False, sort_keys=True)
    write_atomic(path, to_bytes(tensors, metadata={_KEY: text}))


def load(path: str | os.PathLike[str], device: str | torch.device = "cpu") -> Field:
    """Build the field that `save` wrote. No code from the file is run.

    Args:
        path: the file.
        device: where the field goes, whatever device it was saved from.

    Raises:
        InputError: the file is missing, is no model of coordnet, or is damaged.
    """
    path = Path(path)
    about, tensors = _read(path)
    # on the meta device a spec with absurd sizes costs no memory before it is found out
    with torch.device("meta"):
        field = Field.from_spec(about["field"])
    expected = {name: tensor.shape for name, tensor in field.state_dict().items()}
    if expected.keys() != tensors.keys():
        odd = sorted(expected.keys() ^ tensors.keys())[:3]
        _damaged(path, f"tensors {', '.join(odd)} missing or left over")
    for name, tensor in tensors.items():
        if tensor.shape != expected[name]:
            _damaged(path, f"{name} of shape {tuple(tensor.shape)}, not {tuple(expected[name])}")
        if not tensor.is_floating_point():
            _damaged(path, f"{name} of dtype {tensor.dtype}")
    field.load_state_dict(tensors, assign=True)
    return field.to(device)


def load_settings(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what was passed to `save` as settings.

    Raises:
        InputError: as `load` does.
    """
    settings = _read(Path(path))[0].get("settings", {})
    return settings if isinstance(settings, dict) else {}


def _read(path: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        kind = "a folder" if path.is_dir() else "no file"
        refuse(f"a model must be a file: {str(path)!r}", kind, "Pass a run folder or its model.")
    try:
        with safe_open(path, framework="pt", device="cpu") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError) as error:
        refuse(
            f"a model must be a safetensors file: {str(path)!r}",
            " ".join(str(error).split())[:120],
            "Only files that coordnet wrote are read; nothing in this one was run.",
        )
    try:
        about = json.loads(metadata[_KEY])
        number = about["format"]
    except (KeyError, ValueError, TypeError, RecursionError):
        _damaged(path, "no description of a field")
    if number != _FORMAT:
        refuse(
            f"a model's format must be {_FORMAT}: {str(path)!r}",
            f"format {number!r}",
            "Load it with the version of coordnet that wrote it.",
        )
    if "field" not in about:
        _damaged(path, "no description of a field")
    return about, tensors


def _damaged(path: Path, what: str) -> NoReturn:
    raise InputError(
        f"a model file must hold what its description says: {str(path)!r}",
        what,
        "The file is damaged or was not written by coordnet.",
    )
