"""What operations on a GPU ask for: waits of the host, other devices, bytes and FLOPs."""

from __future__ import annotations

import contextlib
import inspect
import math
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from _fake_gpu import is_fake
from torch import Tensor
from torch.utils._mode_utils import no_dispatch  # these three have no public module
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.flop_counter import FlopCounterMode

import coordnet as cn

__all__ = ["MIXED", "WAIT", "Finding", "Totals", "Watch", "bytes_of"]

MIXED, WAIT = "a tensor of the CPU beside one of the GPU", "the host waits"

_PACKAGE = Path(inspect.getfile(cn.Field)).parent
_aten = torch.ops.aten
_INDEXED = (_aten.index, _aten.index_put, _aten.index_put_, _aten._index_put_impl_)
# no kernel
_FREE = {_aten.empty, _aten.empty_like, _aten.empty_strided, _aten.new_empty,
         _aten.new_empty_strided, _aten._unsafe_view, _aten.lift_fresh}  # fmt: skip
# what they change they do not read
_WRITTEN_ONLY = {_aten.copy_, _aten.fill_, _aten.zero_, _aten.uniform_, _aten.normal_,
                 _aten.random_, _aten._foreach_copy_, _aten._foreach_zero_}  # fmt: skip
# of their first argument they read as much as the result holds, or change as much as the source
_GATHERS = {_aten.gather, _aten.index, _aten.index_select, _aten.embedding, _aten.take,
            _aten._embedding_bag, _aten._embedding_bag_forward_only}  # fmt: skip
_SCATTERS = {_aten.scatter_add_, _aten.scatter_, _aten.index_add_, _aten.index_copy_,
             _aten.index_put_, _aten._index_put_impl_, _aten.scatter_reduce_}  # fmt: skip


class Finding(NamedTuple):
    """Something that was met.

    Attributes:
        phase: what was going on.
        kind: `MIXED`, or `WAIT` and for what.
        operation: its name.
        place: file and function of coordnet.
        line: in that file.
    """

    phase: str
    kind: str
    operation: str
    place: str
    line: int


@dataclass
class Totals:
    """What operations on the GPU amount to.

    Attributes:
        launches: operations that launch a kernel.
        moved: bytes read and written, each operation by itself.
        flops: of matrix products, by the dtype of the result.
    """

    launches: int = 0
    moved: float = 0.0
    flops: Counter[torch.dtype] = field(default_factory=Counter)


class Watch(TorchDispatchMode):
    """Looks at every operation; makes up what a GPU's numbers would decide.

    What is on the CPU alone is done for real.

    Args:
        share: the part of a mask of the GPU that is taken to be True.

    Attributes:
        number: what a real number of the GPU is taken to be.
        phase: what is going on; whoever runs something says so.
        findings: how often each was met.
        totals: since the last `restart`.
    """

    def __init__(self, share: float) -> None:
        super().__init__()
        self.share, self.number = share, 1.0
        self.phase = "preparation"
        self.findings: Counter[Finding] = Counter()
        self.totals = Totals()
        self._flops = FlopCounterMode(display=False)

    def __enter__(self) -> Watch:
        self._flops.__enter__()  # inside of this mode: it has counted when an operation returns
        return super().__enter__()

    def __exit__(self, *about: Any) -> None:
        super().__exit__(*about)
        self._flops.__exit__(*about)

    @contextlib.contextmanager
    def during(self, phase: str) -> Iterator[None]:
        """Let a phase last as long as the block."""
        before, self.phase = self.phase, phase
        try:
            yield
        finally:
            self.phase = before

    def restart(self) -> Totals:
        """Count from 0, and return what was counted so far."""
        totals, self.totals = self.totals, Totals()
        return totals

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Look at an operation and do it."""
        kwargs = kwargs or {}
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        target = torch.device(kwargs.get("device") or "cpu")
        if not any(map(is_fake, tensors)) and target.type == "cpu":
            with no_dispatch():
                return func(*args, **kwargs)
        if func.namespace == "prim":  # questions such as that for the device
            return func(*args, **kwargs)
        # there is no generator of a GPU, and a fake number needs none
        kwargs = {k: None if isinstance(v, torch.Generator) else v for k, v in kwargs.items()}
        on_gpu = any(tensor.device.type == "cuda" for tensor in tensors)
        if func.overloadpacket in (_aten._to_copy, _aten.copy_):
            self._look_at_copy(func, args, kwargs)
        elif on_gpu and any(map(_elsewhere, tensors)):
            self._note(MIXED, func)
            args, kwargs = tree_map(
                lambda leaf: leaf.to("cuda") if _elsewhere(leaf) else leaf, (args, kwargs)
            )
        if func.overloadpacket in _INDEXED:
            args = self._without_masks(func, args)
        elif {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape} & set(func.tags):
            if on_gpu:
                self._note(f"{WAIT} for numbers", func)
            return self._made_up(func, args[0])
        before = self._flops.get_total_flops()
        result = func(*args, **kwargs)
        flops = self._flops.get_total_flops() - before
        made = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        if on_gpu or any(tensor.device.type == "cuda" for tensor in made):
            self._count(func, args, kwargs, made, flops)
        return result

    def _note(self, kind: str, func: Any) -> None:
        place = _place()
        self.findings[Finding(self.phase, kind, str(func.overloadpacket), *place)] += 1

    def _look_at_copy(self, func: Any, args: Any, kwargs: Any) -> None:
        """Note a copy between CPU and GPU, unless the host goes on meanwhile."""
        if func.overloadpacket is _aten.copy_:
            source, target = args[1].device.type, args[0].device.type
            goes_on = len(args) > 2 and args[2]
        else:
            source = args[0].device.type
            target = torch.device(kwargs.get("device") or source).type
            goes_on = kwargs.get("non_blocking", False)
        if source != target and not (goes_on and target == "cuda"):
            self._note(f"{WAIT} for a copy from {source} to {target}", func)

    def _made_up(self, func: Any, first: Tensor) -> Any:
        """Return a result of what depends on numbers that nobody knows."""
        if func.overloadpacket is _aten.nonzero:
            return first.new_empty((self._some(first), first.ndim), dtype=torch.int64)
        if func.overloadpacket is _aten._local_scalar_dense:
            return self.number if first.dtype.is_floating_point else first.dtype == torch.bool or 1
        if func.overloadpacket is _aten.equal:
            return True
        raise NotImplementedError(f"nobody knows what {func} gives: see _watch.py")

    def _without_masks(self, func: Any, args: Any) -> Any:
        """Return the arguments with indices in place of masks, as the GPU makes them."""
        masks = [index for index in args[1] if index is not None and index.dtype == torch.bool]
        # a single number is put under a mask without looking
        if not masks or (func.overloadpacket is not _aten.index and args[2].numel() == 1):
            return args
        if masks[0].device.type == "cuda":
            self._note(f"{WAIT} for numbers", func)
        indices: list[Tensor | None] = []
        for index in args[1]:
            if index is None or index.dtype != torch.bool:
                indices.append(index)
                continue
            rows = self._some(index)
            indices += [index.new_empty(rows, dtype=torch.int64) for _ in range(index.ndim)]
        return (args[0], indices, *args[2:])

    def _some(self, mask: Tensor) -> int:
        return max(1, round(self.share * mask.numel()))

    def _count(self, func: Any, args: Any, kwargs: Any, made: list[Tensor], flops: int) -> None:
        if func.is_view or func.overloadpacket in _FREE:
            return
        self.totals.launches += 1
        self.totals.moved += bytes_of(func, args, kwargs, made)
        if flops:
            self.totals.flops[made[0].dtype] += flops


def bytes_of(func: Any, args: Any, kwargs: Any, made: list[Tensor]) -> float:
    """Return the bytes that an operation reads and writes, nothing twice.

    Args:
        func: the operation.
        args: its arguments.
        kwargs: likewise.
        made: the tensors that it returned.
    """
    packet, total = func.overloadpacket, 0.0
    counted: set[int] = set()
    for i, argument in enumerate(func._schema.arguments):
        value = args[i] if i < len(args) else kwargs.get(argument.name)
        written = argument.alias_info is not None and argument.alias_info.is_write
        times = 2 if written and not argument.is_out and packet not in _WRITTEN_ONLY else 1
        for tensor in tree_leaves(value):
            if not isinstance(tensor, Tensor) or id(tensor) in counted:
                continue
            counted.add(id(tensor))
            size = _size(tensor)
            if i == 0 and packet in _GATHERS:
                size = min(size, _size(made[0]))
            elif i == 0 and packet in _SCATTERS:
                sources = (leaf for leaf in tree_leaves(args[2:]) if isinstance(leaf, Tensor))
                size = min(size, max(map(_size, sources), default=0))
            total += times * size
    return total + sum(_size(tensor) for tensor in made if id(tensor) not in counted)


def _size(tensor: Tensor) -> int:
    """Return the bytes of a tensor's memory, what is expanded counting once."""
    if not tensor.numel():
        return 0
    sides = zip(tensor.shape, tensor.stride(), strict=True)
    return tensor.element_size() * math.prod(side for side, stride in sides if stride)


def _elsewhere(value: Any) -> bool:
    """Whether something is a tensor of the CPU; one number alone may stand beside the GPU's."""
    return isinstance(value, Tensor) and value.device.type == "cpu" and value.ndim > 0


def _place() -> tuple[str, int]:
    """Return the file and the function of coordnet that is being run, and the line."""
    frame = sys._getframe(2)
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(_PACKAGE):
            name = path.relative_to(_PACKAGE.parent).as_posix()
            return f"{name} {frame.f_code.co_name}", frame.f_lineno
        frame = frame.f_back
    return "the script", 0
