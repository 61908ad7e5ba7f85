"""`tremula::host_call`: Python code of the user, by the number of a registered callable, in a captured program. Shapes
of its results are found at capture by calling it once on zeros.
"""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from tremula.errors import Error
from tremula.frontends.torch.capture import context
from tremula.frontends.torch.ops.library import add_op


class HostFunction:
    """A Python callable that a captured program may call; registered as long as it lives."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.function = function
        self.name = name
        self._register()

    def _register(self) -> None:
        self.number = next(_numbers)
        _functions[self.number] = self

    def __getstate__(self) -> dict[str, Any]:
        return {"function": self.function, "name": self.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._register()

    def __call__(self, *inputs: torch.Tensor) -> Any:
        """Call from within a capture: records the op and gives its results, nested as the callable does."""
        single = not isinstance(self._example(inputs), list | tuple)
        results = host_call(list(inputs), self.name, self.number)
        return results[0] if single else tuple(results)

    def _example(self, inputs: Sequence[torch.Tensor]) -> Any:
        with outside_capture():
            zeros = [torch.zeros(tensor.shape, dtype=tensor.dtype) for tensor in inputs]
            return self.function(*zeros)


#: what an executable leaves out when it runs a captured program
_AUTOGRAD_KEYS = (
    torch._C.DispatchKey.AutogradFunctionality,
    torch._C.DispatchKey.AutogradOther,
    torch._C.DispatchKey.AutogradNestedTensor,
)
_numbers = itertools.count(1)
_functions: weakref.WeakValueDictionary[int, HostFunction] = weakref.WeakValueDictionary()


@contextlib.contextmanager
def outside_capture() -> Iterator[None]:
    """Run Python code on real tensors although a capture is under way; it leaves no trace there."""
    with context.suspended(), torch._C.DisableTorchFunction(), _disable_current_modes(), torch.no_grad():
        yield


@contextlib.contextmanager
def differentiating() -> Iterator[None]:
    """Let torch record gradients here, even in a program that is executed below its autograd."""
    excluded = torch._C._dispatch_tls_local_exclude_set()
    for key in _AUTOGRAD_KEYS:
        excluded = excluded.remove(key)
    included = torch._C._dispatch_tls_local_include_set()
    with torch._C._ForceDispatchKeyGuard(included, excluded), torch.enable_grad():
        yield


def detached_results(results: Any, inputs: Sequence[torch.Tensor], name: str) -> list[torch.Tensor]:
    """The results of user code as a list of tensors that share nothing with its inputs."""
    flat = list(results) if isinstance(results, list | tuple) else [results]
    for result in flat:
        if not isinstance(result, torch.Tensor):
            raise Error(f"{name} returned a {type(result).__name__}; it must return tensors.")
    taken = {tensor.untyped_storage().data_ptr() for tensor in inputs}
    separate: list[torch.Tensor] = []
    for result in flat:
        # an op must not hand out its inputs, nor one memory twice
        place = result.untyped_storage().data_ptr()
        separate.append(result.detach().clone() if place in taken else result.detach())
        taken.add(place)
    return separate


def empty_like(real: torch.Tensor) -> torch.Tensor:
    """A tensor of the mode in force (a fake one, in a capture) that looks like a real one."""
    return torch.empty(real.shape, dtype=real.dtype)


def _function(name: str, number: int) -> HostFunction:
    function = _functions.get(number)
    if function is None:
        raise Error(
            f"the program calls the host function {name}, which no longer exists in this process: keep the "
            "model with its poptorch.CPU object alive, and compile again after loading a program."
        )
    return function


def _call(inputs: list[torch.Tensor], name: str, number: int) -> list[torch.Tensor]:
    with torch.no_grad():
        results = _function(name, number).function(*inputs)
    return detached_results(results, inputs, f"the host function {name}")


def _fake(inputs: list[torch.Tensor], name: str, number: int) -> list[torch.Tensor]:
    results = _function(name, number)._example(inputs)
    return [empty_like(result) for result in (results if isinstance(results, list | tuple) else [results])]


host_call = add_op("host_call(Tensor[] inputs, str name, int number) -> Tensor[]", _call, _fake)
