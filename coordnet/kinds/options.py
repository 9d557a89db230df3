"""The options of a fit, and how the command line reads them; without importing torch.

An option is a field of a dataclass: its name, its default, its help and how its text is read
stand in one place. A kind of signal adds the fields of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..encodings import ENCODINGS
from ..errors import InputError, refuse
from ..networks import NETWORKS
from ..text import readable
from .parsing import intervals, positive, setting, whole

if TYPE_CHECKING:
    from ..training import FitConfig

__all__ = [
    "EncodingOptions",
    "FitOptions",
    "Option",
    "Options",
    "RenderOptions",
    "as_typed",
    "option",
    "options_of",
]

T = TypeVar("T")
Self = TypeVar("Self", bound="Options")

Reader = Callable[[str], object]


@dataclass(frozen=True)
class Option:
    """How the command line shows and reads one option.

    Attributes:
        help: what it does.
        read: makes a value of its text, or raises ValueError; None for a switch.
        choices: the texts that it takes; None for any.
        flag: as it is typed.
        metavar: what stands for the value in the help.
        group: the heading in the help.
        several: whether it may be given again, for a tuple of values.
        reading: whether it says how a file is read, so that `coordnet evaluate` takes it too.
    """

    help: str
    read: Reader | None = str
    choices: Callable[[], Iterable[str]] | None = None
    flag: str = ""
    metavar: str | None = None
    group: str = "training"
    several: bool = False
    reading: bool = False

    def takes(self, value: object) -> bool:
        """Whether a text or a plain value is one of this option."""
        if self.read is None or isinstance(value, bool):
            return self.read is None and isinstance(value, bool)
        for text in map(str, value if isinstance(value, (list, tuple)) else [value]):
            if self.choices is not None and text not in self.choices():
                return False
            try:
                self.read(text)
            except ValueError:
                return False
        return True


def option(
    default: T,
    help: str,
    *,
    read: Reader | None = str,
    choices: Callable[[], Iterable[str]] | None = None,
    flag: str = "",
    metavar: str | None = None,
    group: str = "training",
    several: bool = False,
    reading: bool = False,
) -> T:
    """Declare an option as a field of a dataclass of options; see `Option`."""
    shown = Option(help, read, choices, flag, metavar, group, several, reading)
    return field(default=default, metadata={"option": shown})


def options_of(options: type[Options]) -> Iterator[tuple[str, Option]]:
    """Yield the name and the `Option` of every field, in order."""
    for each in fields(options):
        shown: Option = each.metadata["option"]
        flag = shown.flag or "--" + each.name.replace("_", "-")
        yield each.name, dataclasses.replace(shown, flag=flag)


@dataclass(frozen=True)
class Options:
    """The base of options."""

    def given(self) -> dict[str, object]:
        """Return the options that differ from their defaults, as plain JSON values."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        plain = {name: readable(v) if isinstance(v, Path) else v for name, v in values.items()}
        return {each.name: plain[each.name] for each in fields(self)
                if plain[each.name] != each.default}  # fmt: skip

    @classmethod
    def read(cls: type[Self], given: Mapping[str, object], noun: str) -> Self:
        """Return options from plain values: texts as they are typed, or JSON values.

        Args:
            given: name to value, a list where an option may be given again.
            noun: what takes the options, for messages ("a picture").

        Raises:
            InputError: an option that these are not, or a value that it does not take.
        """
        known = dict(options_of(cls))
        values: dict[str, object] = {}
        for name, value in given.items():
            if name not in known:
                flag = "--" + {"periods": "period"}.get(name, name).replace("_", "-")
                refuse(f"{flag} means nothing for {noun}", as_typed(flag, value), "")
            shown = known[name]
            if shown.several:
                parts = value if isinstance(value, (list, tuple)) else [value]
                values[name] = tuple(_read(shown, part, noun) for part in parts)
            else:
                values[name] = _read(shown, value, noun)
        return cls(**values)


def _read(shown: Option, value: object, noun: str) -> object:
    if shown.read is None:
        if not isinstance(value, bool):
            refuse(f"{shown.flag} is on or off", as_typed(shown.flag, value), "")
        return value
    if isinstance(value, bool) or not isinstance(value, (str, int, float, Path, tuple)):
        got = as_typed(shown.flag, value)
        refuse(f"{shown.flag} must be a word or a number", got, "Leave it out, and type it.")
    if isinstance(value, tuple):
        return value
    text = str(value)
    if shown.choices is not None and text not in (choices := list(shown.choices())):
        rule = f"{noun} takes {shown.flag} {', '.join(choices)}"
        refuse(rule, as_typed(shown.flag, value), "")
    try:
        return shown.read(text)
    except InputError as error:
        refuse(f"{shown.flag}: {error.rule}", error.got, error.remedy)
    except ValueError as error:
        refuse(f"{shown.flag} of {noun} {error}", as_typed(shown.flag, value), "")


def as_typed(flag: str, value: object) -> str:
    """Return an option with its value as they are typed."""
    if value is True:
        return flag
    text = " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    return f"{flag} {text}"[:120]


@dataclass(frozen=True)
class FitOptions(Options):
    """What the user may set for a fit from a file, whatever its kind; None leaves it to the kind.

    Each attribute's meaning is its option's help.
    """

    out: Path | None = option(
        None, "run folder (default: runs/<name of the input>)", read=Path, group=""
    )
    overwrite: bool = option(False, "replace an earlier run in --out", read=None, group="")
    checkpoint_every: str = option(
        "auto",
        "keep the state of the fit in the run folder every 30s, 5min, 500 (steps), or never "
        "(default: 30s, and at most 2%% of the time)",
        read=intervals,
        metavar="INTERVAL",
        group="",
    )
    network: str = option(
        "mlp", "default: mlp", choices=lambda: list(NETWORKS), group="encoding and network"
    )
    hidden_dim: int | None = option(
        None, "width of the network", read=whole(1), group="encoding and network"
    )
    layers: int | None = option(None, "hidden layers", read=whole(0), group="encoding and network")
    steps: int | None = option(
        None, "budget in steps (default: by preset, 1000 to 2000)", read=whole(1)
    )
    seconds: float | None = option(None, "budget in seconds", read=positive)
    target_psnr: float | None = option(None, "stop at this PSNR in dB", read=positive)
    batch_size: int | None = option(None, "samples a step (4096, or all)", read=whole(1))
    learning_rate: float | None = option(None, "largest learning rate (0.004)", read=positive)
    optimizer: str | None = option(
        None, "default: muon, or what the network asks for", choices=lambda: ["muon", "adam"]
    )
    ema: float | None = option(
        None,
        "end with an exponential moving average of the parameters, of this decay (0.99, say)",
        read=positive,
        metavar="DECAY",
    )
    seed: int = option(0, "default: 0", read=whole(0))
    device: str = option("auto", "cpu, cuda, cuda:1, mps (default: the fastest there is)")
    precision: str = option(
        "auto",
        "default: bf16 where it is fast and the values are many, else float32",
        choices=lambda: ["auto", "float32", "bf16"],
    )
    compile: bool = option(
        False, "compile the step first, half a minute: for long fits on a GPU", read=None
    )

    def fit_config(self, default_steps: int, **settings: Any) -> FitConfig:
        """Return the settings of the fit.

        Args:
            default_steps: the budget where neither steps nor seconds are set.
            settings: what the kind adds, such as the peak of the PSNR.
        """
        from ..training import FitConfig

        steps = self.steps
        if steps is None and self.seconds is None:
            steps = default_steps
        network = NETWORKS.get(self.network)  # None where the network is not of this table
        if (wish := getattr(network, "learning_rate", None)) is not None:
            settings["learning_rate"] = wish
        for name in ("batch_size", "learning_rate", "optimizer", "ema"):
            if getattr(self, name) is not None:
                settings[name] = getattr(self, name)
        return FitConfig(
            steps=steps,
            seconds=self.seconds,
            target_psnr=self.target_psnr,
            seed=self.seed,
            device=self.device,
            precision=self.precision,
            compile=self.compile,
            **settings,
        )


@dataclass(frozen=True)
class EncodingOptions(FitOptions):
    """The options of a fit of a `Field`, whose encoding can be chosen."""

    encoding: str | None = option(
        None, "", choices=lambda: list(ENCODINGS), group="encoding and network"
    )
    k: int | str | None = option(
        None,
        "number of frequencies of the encoding (pictures: 64 harmonics, 256 gaussian)",
        read=whole(1),
        group="encoding and network",
    )
    C: float | None = option(
        None,
        "constant of the geometric frequencies (10000)",
        read=positive,
        group="encoding and network",
    )
    sigma: float | None = option(
        None,
        "spread of the Gaussian frequencies, in cycles per domain, or per --period (pictures: 30, "
        "tables: 8)",
        read=positive,
        group="encoding and network",
    )
    settings: tuple[str, ...] = option(
        (),
        "any setting of the encoding or the network (coordnet info encodings, … networks); again "
        "for several; network.NAME where both have it",
        read=setting,
        flag="--set",
        metavar="NAME=VALUE",
        several=True,
        group="encoding and network",
    )


@dataclass(frozen=True)
class RenderOptions(Options):
    """What every kind takes when a run is rendered or exported: nothing."""
