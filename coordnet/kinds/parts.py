"""The encoding and the network that the options of a fit ask for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..encodings import ENCODINGS, Encoding
from ..errors import InputError, refuse
from ..networks import NETWORKS, Network
from ..specs import names_with, setting_names
from .options import EncodingOptions
from .parsing import plain_value
from .recipe import Recipe

__all__ = ["build_encoding", "build_network", "require_period"]


def build_encoding(
    name: str,
    in_dim: int,
    options: EncodingOptions,
    defaults: Mapping[str, object],
    network: str,
) -> Encoding:
    """Build an encoding of ENCODINGS by name.

    Args:
        name: its name.
        in_dim: number of coordinates.
        options: what the user set: k, C, sigma, the seed and ``--set``.
        defaults: the kind's settings for this encoding.
        network: the network's name, whose settings ``--set`` may hold too.

    Raises:
        InputError: an option that this encoding has no use for, or a value it does not take.
    """
    settings, known = dict(defaults), setting_names(ENCODINGS[name])
    for option in ("k", "C", "sigma"):
        value = getattr(options, option)
        if value is not None:
            if option not in known:
                able = names_with(ENCODINGS, option)
                refuse(
                    f"--{option} belongs to --encoding {' or '.join(able)}",
                    f"--{option} {value} with {name}",
                    "Leave it away, or choose another encoding.",
                )
            settings[option] = value
    if "seed" in known:
        settings["seed"] = options.seed
    settings |= _asked_for(options, name, network)[0]
    return _built(ENCODINGS[name], (in_dim,), settings, f"--encoding {name}")


def build_network(in_dim: int, out_dim: int, options: EncodingOptions, recipe: Recipe) -> Network:
    """Build a network of NETWORKS by name.

    Args:
        in_dim: number of features.
        out_dim: number of values.
        options: what the user set: the name, the width, the layers, the seed and ``--set``.
        recipe: the width and the layers where the user set none.

    Raises:
        InputError: an option that this network has no use for, or a value it does not take.
    """
    name = options.network
    build = NETWORKS[name]
    known = setting_names(build)
    settings: dict[str, object] = {}
    sizes = {
        "hidden_dim": ("--hidden-dim", options.hidden_dim, recipe.hidden_dim),
        "num_hidden_layers": ("--layers", options.layers, recipe.layers),
    }
    for setting, (flag, value, default) in sizes.items():
        if setting in known:
            settings[setting] = default if value is None else value
        elif value is not None:
            refuse(f"{flag} means nothing for --network {name}", f"{flag} {value}", "")
    if "seed" in known:
        settings["seed"] = options.seed
    settings |= _asked_for(options, recipe.encoding, name)[1]
    return _built(build, (in_dim, out_dim), settings, f"--network {name}")


def require_period(
    encoding: Encoding, periods: Sequence[float | None], flag: str, name: str
) -> None:
    """Raise `InputError` unless an encoding repeats as a signal does.

    Args:
        encoding: the encoding.
        periods: for each axis the period of the signal, None where it has none.
        flag: the option that asks for the period.
        name: the encoding's name in ENCODINGS.
    """
    for wanted, period in zip(periods, encoding.periods, strict=True):
        if wanted is not None and not (period and math.isclose(period, wanted)):
            # a grid that wraps around does so after one unit
            able = names_with(ENCODINGS, "period", *(["periodic"] if wanted == 1.0 else []))
            refuse(
                f"{flag} needs an encoding that repeats",
                f"--encoding {name}",
                f"Choose --encoding {' or '.join(able)}, or leave {flag} away.",
            )


def _asked_for(
    options: EncodingOptions, encoding: str, network: str
) -> tuple[dict[str, object], dict[str, object]]:
    """Return what ``--set`` sets of the encoding and of the network."""
    parts = {
        "encoding": (setting_names(ENCODINGS[encoding]), {}),
        "network": (setting_names(NETWORKS[network]) if network in NETWORKS else [], {}),
    }
    for text in options.settings:
        name, _, value = text.partition("=")
        part, _, setting = name.rpartition(".")
        owners = [p for p, (known, _) in parts.items() if setting in known and part in ("", p)]
        if len(owners) != 1:
            known = ", ".join(f"{p}.{s}" for p, (names, _) in parts.items() for s in names)
            both = f"Pass --set network.{text}, or encoding.{text}." if owners else ""
            rule = f"--set sets one setting of {encoding} or {network}: {known}"
            refuse(rule, f"--set {text}", both)
        parts[owners[0]][1][setting] = plain_value(value)
    return parts["encoding"][1], parts["network"][1]


def _built(
    build: Callable[..., Any], sizes: tuple[int, ...], settings: Mapping[str, object], what: str
) -> Any:
    try:
        return build(*sizes, **settings)
    except InputError:
        raise
    except (TypeError, ValueError) as error:
        given = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        refuse(f"{what} must be able to take its settings", f"{given}: {error}"[:200])
