"""A field: the composition of an encoding and a network."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from . import checks
from .constants import ExactConstants, exact, supports_float64
from .encodings import build_encoding
from .encodings.combine import Normalized
from .encodings.encoding import Encoding
from .errors import refuse
from .networks import build_network
from .networks.network import Network, muon_parameters, out_dim_of

__all__ = ["Field"]

# float32 has 24 bits: with more than half of them in the mean, the rest are too few for the shape
_LARGEST_MEAN = 2.0**12

Bounds = tuple[Sequence[float] | Tensor, Sequence[float] | Tensor]


class Field(ExactConstants):
    """values(x) = mean + std · network(encoding(x)), for coordinates in their own unit.

    Coordinates. An encoding that knows a period (or counts positions) gets the coordinate
    untouched, in its own unit and dtype, so that float64 times keep their digits and
    periodicity stays exact. One that expects the unit cube (Gaussian features without a
    period, raw coordinates) gets it normalized from ``domain``, the box that holds the
    coordinates; `fit` measures the box where none is given.

    Values. The network learns (value - mean) / std; `fit` measures both, per value, where they
    are not set. They are constants, saved with the field.

    The features are cast to the network's dtype. The values come out as float32, or as float64
    where the network is float64 or float32 could not hold them, being far from 0 for their
    spread (1e7 ± 1); `value_dtype` says which. Inside `torch.autocast` the network runs in
    autocast's dtype, the encoding and the scale of the values do not.

    Args:
        encoding: an `Encoding`.
        network: a `Network`, or any module from ``(..., encoding.out_dim)`` to
            ``(..., out_dim)``; one without an attribute ``out_dim`` is tried on one row of
            zeros. Only a `Network` can be saved with its spec.
        domain: (lower bounds, upper bounds), one number per axis each.

    Shape:
        ``(..., encoding.in_dim)`` to ``(..., network.out_dim)``.

    Raises:
        InputError: sizes that do not fit together.

    Example:
        >>> encoding = FourierFeatures(in_dim=1, k=16)
        >>> field = Field(encoding, MLP(encoding.out_dim, out_dim=1))
    """

    encoding: Encoding
    domain_bounds: Tensor
    value_mean: Tensor
    value_std: Tensor

    def __init__(
        self, encoding: Encoding, network: nn.Module, domain: Bounds | None = None
    ) -> None:
        super().__init__()
        if not isinstance(encoding, Encoding):
            remedy = "Use Identity, and encode in your own network."
            refuse("a Field's encoding must be an Encoding", type(encoding).__name__, remedy)
        in_dim = getattr(network, "in_dim", encoding.out_dim)
        if in_dim != encoding.out_dim:
            refuse(
                "the network's in_dim must be the encoding's out_dim",
                f"in_dim={in_dim} and out_dim={encoding.out_dim}",
            )
        self.encoding = encoding
        self.network = network
        self.domain: tuple[list[float], list[float]] | None = None
        # the domain as a constant, which is saved; lower bounds above the upper ones stand for none
        self.register_constant("domain_bounds", exact([[1.0] * self.in_dim, [0.0] * self.in_dim]))
        # no submodule: its tensors are those of the encoding, and numbers that follow from bounds
        self._placed = (encoding,)
        self.standardized = False
        size = out_dim_of(network, encoding.out_dim)
        self.register_constant("value_mean", torch.zeros(size))
        self.register_constant("value_std", torch.ones(size))
        self._far_from_0 = False
        self.register_load_state_dict_post_hook(_follow_constants)
        if domain is not None:
            self.set_domain(*domain)

    @property
    def in_dim(self) -> int:
        """Number of coordinates."""
        return self.encoding.in_dim

    @property
    def out_dim(self) -> int:
        """Number of values."""
        return len(self.value_mean)

    @property
    def dtype(self) -> torch.dtype:
        """Dtype of the network's parameters."""
        weight = self._weight()
        return torch.get_default_dtype() if weight is None else weight.dtype

    @property
    def value_dtype(self) -> torch.dtype:
        """Dtype of the values: float64 where some |mean| is above 2^12 std, or as the network's.

        A device without float64 gives float32 all the same.
        """
        weight = self._weight()
        device = self.value_mean.device if weight is None else weight.device
        return self._value_dtype(self.dtype, device)

    def _value_dtype(self, dtype: torch.dtype, device: torch.device) -> torch.dtype:
        wide = self._far_from_0 and supports_float64(device)
        return torch.float64 if wide else torch.promote_types(dtype, torch.float32)

    def _weight(self) -> Tensor | None:
        return next((p for p in self.network.parameters() if p.is_floating_point()), None)

    def set_domain(self, lower: Sequence[float] | Tensor, upper: Sequence[float] | Tensor) -> None:
        """State the box of the coordinates, once, before the field is fitted.

        Args:
            lower: lower bounds, one per axis, in the coordinates' own unit.
            upper: upper bounds.
        """
        if self.domain is not None:
            refuse("a field's domain is set once", f"{self.domain}", "Build a new field.")
        domain = checks.box(lower, upper, self.in_dim, flat=True, name="a domain's bounds")
        self.domain_bounds.copy_(exact(domain))
        self._place(domain)

    @property
    def domain_encoding(self) -> Encoding:
        """The encoding of coordinates in the domain, made of `encoding` and on its tensors."""
        return self._placed[0]

    @property
    def periods(self) -> tuple[float | None, ...]:
        """For each axis the period of the features in the coordinate's own unit, None without."""
        return self.domain_encoding.periods

    def _place(self, domain: tuple[list[float], list[float]] | None) -> None:
        """Take over a domain, and the encoding as it is now."""
        self.domain, self._placed = domain, (self.encoding,)
        if domain is not None and not self.domain_bounds.is_meta:
            with torch.device("cpu"):  # where the bounds lie, whatever the default device
                self._placed = (self.encoding.on_domain(*(exact(bounds) for bounds in domain)),)
            self.derive()

    def derive(self) -> None:
        """Let the constants of `domain_encoding` lie where those of the field do."""
        shared, device = set(self.encoding.modules()), self.value_mean.device

        def move(tensor: Tensor) -> Tensor:
            return torch.empty_like(tensor, device=device) if tensor.is_meta else tensor.to(device)

        for part in self.domain_encoding.modules():
            if part not in shared:
                part._apply(move, recurse=False)

    def set_values(self, mean: Tensor | float, std: Tensor | float) -> None:
        """State the mean and the scale of the values, one number per value or one for all.

        Args:
            mean: what is subtracted before the network learns.
            std: what the values are divided by then; for a constant value (0, or what is left
                of 0 by rounding) a thousandth of its size, so that it comes out as it went in.
        """
        mean, std = exact(mean), exact(std)
        shapes = ((), (1,), (self.out_dim,))
        if mean.shape not in shapes or std.shape not in shapes:
            refuse(
                f"mean and std must be one number, or one for each of {self.out_dim} values",
                f"shapes {tuple(mean.shape)} and {tuple(std.shape)}",
            )
        if not bool((mean.isfinite() & std.isfinite() & (std >= 0)).all()):
            refuse(
                "mean and std of the values must be finite, std at least 0",
                f"mean={mean.tolist()}, std={std.tolist()}",
            )
        size = mean.abs()
        constant = torch.where(size > 0, 1e-3 * size, 1e-3)
        self.value_mean.copy_(mean)
        self.value_std.copy_(torch.where(std > 1e-14 * size, std, constant))
        self.standardized = True
        self._note_values()

    def _note_values(self) -> None:
        """Note whether the values need float64: not asked in `forward`, for compilers."""
        far = self.value_mean.abs() > _LARGEST_MEAN * self.value_std
        self._far_from_0 = not far.is_meta and bool(far.any())

    def prepare(self, coordinates: Tensor, values: Tensor) -> None:
        """Measure the domain and the values' mean and std, where they are not set yet."""
        flat = exact(coordinates).reshape(-1, self.in_dim)
        self.prepare_domain(flat.amin(0), flat.amax(0))
        if not self.standardized:
            flat = exact(values).reshape(-1, self.out_dim)
            self.set_values(flat.mean(0), flat.std(0, correction=0))

    def prepare_domain(
        self, lower: Sequence[float] | Tensor, upper: Sequence[float] | Tensor
    ) -> None:
        """Set the domain to the box of samples, or warn where they leave a domain that is set.

        The domain stays as it was set first, as what the network has learned belongs to it:
        outside of it a field extrapolates, which is a warning from a tenth of its length on.
        Encodings that take a coordinate in its own unit, and axes that repeat, do not depend on
        the domain.
        """
        if self.domain is None:
            self.set_domain(lower, upper)
            return
        low, high = (exact(bounds) for bounds in self.domain)
        slack = 0.1 * (high - low)
        outside = (exact(lower) < low - slack) | (exact(upper) > high + slack)
        repeats = torch.tensor([period is not None for period in self.periods], device="cpu")
        normalizes = any(isinstance(part, Normalized) for part in self.domain_encoding.modules())
        if normalizes and bool((outside & ~repeats).any()):
            box = [exact(bounds).tolist() for bounds in (lower, upper)]
            warnings.warn(
                f"coordinates from {box[0]} to {box[1]} leave the field's domain, from "
                f"{self.domain[0]} to {self.domain[1]}: it stays as it was set, and the encoding "
                "extrapolates. Build a new field for a new domain.",
                RuntimeWarning,
                stacklevel=2,
            )

    def encode(self, x: Tensor) -> Tensor:
        """Return the features of ``x``, in the network's dtype and on its device."""
        weight = self._weight()
        if weight is None:
            return self.domain_encoding.encode(x, self.encoding._cast)
        return self.domain_encoding.encode(x, weight.dtype).to(weight.device)

    def destandardize(self, output: Tensor) -> Tensor:
        """Return the values that belong to the network's output, in `value_dtype`."""
        wide = self._value_dtype(output.dtype, output.device)
        std, mean = (v.to(output.device, wide) for v in (self.value_std, self.value_mean))
        return output.to(wide) * std + mean

    def forward(self, x: Tensor) -> Tensor:
        """Return the values at the coordinates ``x``."""
        return self.destandardize(self.network(self.encode(x)))

    @property
    def learning_rate(self) -> float | None:
        """The learning rate that the network is best fitted with, None where it has no wish."""
        return getattr(self._own_network(), "learning_rate", None)

    def muon_parameters(self) -> list[nn.Parameter]:
        """Return the matrices that Muon may take: `Network.muon_parameters`."""
        network = self._own_network()
        if isinstance(network, Network):
            return network.muon_parameters()
        return muon_parameters(network)

    def _own_network(self) -> nn.Module:
        return getattr(self.network, "_orig_mod", self.network)  # compiled or not

    def add_former(self, state: dict[str, Tensor], prefix: str = "") -> None:
        """Add to a state what version 0.1.0 did not save: its encodings held the domain."""
        domain = self.domain or ([1.0] * self.in_dim, [0.0] * self.in_dim)
        state.setdefault(f"{prefix}domain_bounds", exact(domain))

    def _load_from_state_dict(
        self, state_dict: dict[str, Tensor], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        self.add_former(state_dict, prefix)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def spec(self) -> dict[str, Any]:
        """Return everything but the tensors, as plain JSON values.

        Raises:
            InputError: where the network is no `Network` and so cannot be described.
        """
        network = self._own_network()
        if not isinstance(network, Network):
            refuse(
                "only a field whose network is a coordnet Network can be described",
                type(network).__name__,
                "Subclass coordnet.networks.Network, or save state_dict() yourself.",
            )
        return {
            "encoding": self.encoding.spec(),
            "network": network.spec(),
            "domain": self.domain,
            "standardized": self.standardized,
        }

    @classmethod
    def from_spec(cls, spec: Any) -> Field:
        """Build a field with fresh weights from what `spec` returned.

        Raises:
            InputError: where it is no such thing.
        """
        if not isinstance(spec, dict) or not {"encoding", "network"} <= spec.keys():
            refuse("a field's spec has an encoding and a network", repr(spec)[:80])
        field = cls(build_encoding(spec["encoding"]), build_network(spec["network"]))
        domain = spec.get("domain")
        if domain is not None:
            pair = isinstance(domain, (list, tuple)) and len(domain) == 2
            field.set_domain(*(domain if pair else ([], [])))
        # "standardised" in models of version 0.1.0
        field.standardized = bool(spec.get("standardized", spec.get("standardised", False)))
        return field


def _follow_constants(field: Field, *_: object) -> None:
    """Take over the domain and the scale of the values from a state that was loaded."""
    field._note_values()
    if not field.domain_bounds.is_meta:
        lower, upper = field.domain_bounds.tolist()
        if (lower[0], upper[0]) == (1.0, 0.0):
            field._place(None)
        else:
            name = "a domain's bounds"
            field._place(checks.box(lower, upper, field.in_dim, flat=True, name=name))
