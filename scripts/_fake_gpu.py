"""A GPU that is not there: PyTorch's fake tensors on "cuda", and gradients through them.

Fake tensors have a shape, a dtype and a device, and no memory. In a CUDA build of PyTorch they run
through everything that coordnet does, without a driver, but for a few things that `pretended`
replaces while it lasts:

* what says whether there is a GPU, and which;
* CUDA's random generators, which cannot be made without one;
* ``numpy()`` and ``tolist()``, since there are no numbers: they give zeros;
* ``backward()``: the autograd engine asks CUDA for the context of the graph's device and raises
  "hasPrimaryContext expects a valid device index" where there is none (AOTAutograd and ``make_fx``
  use the same engine). Here the nodes of the graph are called one by one, each with the derivative
  that PyTorch or coordnet wrote for it, in the engine's order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
import torch
from torch import Tensor
from torch._subclasses import fake_tensor  # there is no public way to fake a tensor
from torch.autograd.function import BackwardCFunction, FunctionCtx

__all__ = ["backward", "is_fake", "missing", "pretended", "set_materialize_grads"]


def missing() -> str | None:
    """Return why no GPU can be pretended here, or None where one can be."""
    if torch.version.cuda is None:
        return f"PyTorch {torch.__version__} is not a CUDA build"
    if torch.cuda.is_available():
        return "there is a GPU: run gpu_check.py"
    return None


def is_fake(value: object) -> bool:
    """Whether something is a fake tensor."""
    return isinstance(value, fake_tensor.FakeTensor)


class _Mode(fake_tensor.FakeTensorMode):
    """Fake tensors that are never made on a GPU, whatever says that there is one."""

    avoid_device_init = True  # type: ignore[assignment]  # a property there


class _Generator(torch.Generator):
    """A random generator of the CPU, wherever it is asked for."""

    def __new__(cls, device: Any = "cpu") -> _Generator:
        del device
        return super().__new__(cls, "cpu")  # type: ignore[call-arg]  # the stub has none


def _numpy(tensor: Tensor) -> np.ndarray:
    """Return zeros in the shape and the dtype of a fake tensor on the CPU."""
    if tensor.device.type != "cpu":
        raise TypeError("a tensor of the GPU has no numpy(): call cpu() first")
    return np.zeros(tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."))


def _tolist(tensor: Tensor) -> Any:
    """Return zeros; as for a tensor of the GPU, all are fetched at once."""
    return _numpy(tensor.cpu()).tolist()


def set_materialize_grads(context: Any, value: bool) -> None:
    """As in PyTorch, which does not let the setting be read again."""
    context.materialize_grads = value
    context.leaves_undefined = not value


@contextlib.contextmanager
def pretended(capability: tuple[int, int] = (9, 0)) -> Iterator[None]:
    """Let there be a GPU of this compute capability; its tensors are fake."""
    answers = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "get_device_capability": lambda device=None: capability,
        "is_bf16_supported": lambda *args, **kwargs: True,
        "empty_cache": lambda: None,
    }
    replaced: list[tuple[Any, str, Any]] = [
        *((torch.cuda, name, answer) for name, answer in answers.items()),
        # makes a tensor on the GPU that is said to be there
        (fake_tensor, "init_gpu_context", lambda device: None),
        (torch, "Generator", _Generator),
        (fake_tensor.FakeTensor, "numpy", _numpy),
        (fake_tensor.FakeTensor, "tolist", _tolist),
        (FunctionCtx, "set_materialize_grads", set_materialize_grads),
        (Tensor, "backward", backward),
    ]
    with contextlib.ExitStack() as stack:
        for owner, name, instead in replaced:
            stack.enter_context(mock.patch.object(owner, name, instead, create=True))
        # real tensors of one number may stand beside fake ones, as they may beside a GPU's
        stack.enter_context(_Mode(allow_non_fake_inputs=True))
        yield


def backward(root: Tensor, gradient: Tensor | None = None) -> None:
    """Add to the leaves of a graph their gradients, as `Tensor.backward` does.

    A node is called once all that flows into it has arrived; of several, the youngest first.

    Args:
        root: a tensor with a graph; a single number where ``gradient`` is None.
        gradient: what flows into it; 1 where None.
    """
    first: Any = root.grad_fn
    if first is None:
        raise RuntimeError("there is no graph to go back through")
    expected = _edges_into(first)
    arrived: dict[Any, dict[int, Tensor]] = {
        first: {root.output_nr: torch.ones_like(root) if gradient is None else gradient}
    }
    ready = [first]
    with torch.no_grad():
        while ready:
            ready.sort(key=lambda node: node._sequence_nr())
            node = ready.pop()
            for after, place, grad in _call(node, arrived.pop(node, {})):
                if grad is not None:
                    grad = _fitting(grad, after._input_metadata[place])
                    slots = arrived.setdefault(after, {})
                    slots[place] = slots[place] + grad if place in slots else grad
                expected[after] -= 1
                if not expected[after]:
                    ready.append(after)


def _edges_into(first: Any) -> dict[Any, int]:
    """Return the nodes behind one, each with the number of edges that lead into it."""
    number: dict[Any, int] = {first: 0}
    left = [first]
    while left:
        for node, _ in left.pop().next_functions:
            if node is None:
                continue
            if node not in number:
                number[node] = 0
                left.append(node)
            number[node] += 1
    return number


def _call(node: Any, slots: dict[int, Tensor]) -> list[tuple[Any, int, Tensor | None]]:
    """Return the edges that leave a node: where to, the place there, and the gradient."""
    edges = [(after, place) for after, place in node.next_functions if after is not None]
    if not slots:
        return [(after, place, None) for after, place in edges]
    grads = [slots.get(i) for i in range(len(node._input_metadata))]
    if hasattr(node, "variable"):  # a leaf
        (grad,) = grads
        before = node.variable.grad
        node.variable.grad = grad if before is None else before.add_(grad)
        return []
    if isinstance(node, BackwardCFunction):
        results = _of_function(node, grads)
    else:
        results = node(*grads)
        results = results if isinstance(results, tuple) else (results,)
        pairs = zip(node.next_functions, results, strict=True)
        results = [result for (after, _), result in pairs if after is not None]
    return [(*edge, result) for edge, result in zip(edges, results, strict=True)]


def _of_function(node: Any, grads: list[Tensor | None]) -> list[Tensor | None]:
    """Return what an `autograd.Function` written in Python returns for what needs a gradient."""
    if not getattr(node, "leaves_undefined", False):
        pairs = zip(grads, node._input_metadata, strict=True)
        grads = [_zeros(about) if grad is None else grad for grad, about in pairs]
    results = node.apply(*grads)
    results = results if isinstance(results, tuple) else (results,)
    pairs = zip(results, node.needs_input_grad, strict=False)  # Nones at the end may be left out
    return [result for result, needed in pairs if needed]


def _zeros(about: Any) -> Tensor:
    """Return the gradient of an output that nothing came of."""
    return torch.zeros(about.shape, dtype=about.dtype, device=about.device)


def _fitting(grad: Tensor, about: Any) -> Tensor:
    """Return a gradient in the shape and the dtype of the output that it belongs to."""
    if grad.shape != about.shape:
        grad = grad.sum_to_size(about.shape)
    return grad.to(about.dtype)
