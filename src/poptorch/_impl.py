"""Private names that programs in the wild import from `poptorch._impl`; the work is elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tremula.errors import Error
from tremula.frontends.torch.capture import context

from . import _wrapping

_forced_context: dict[str, bool] = {}


def createPoptorchError(msg: str) -> Error:
    """An error of the Python front end. It is returned, not raised."""
    return Error(msg, type="poptorch_py_error")


def isRunningOnIpu() -> bool:
    """True while a wrapped model's `forward` runs for the device, so that a model can differ there.

    While a model is being built, and on the host, it is False.
    """
    return _forced_context.get("ipu", context.current() is not None)


def setIpuContext(val: bool) -> None:
    """Make `isRunningOnIpu` answer `val`, or with False go back to what is the case."""
    _force("ipu", val)


def isDispatchTracing() -> bool:
    """True while a model is being captured."""
    return _forced_context.get("dispatch", context.current() is not None)


def setDispatchTracing(val: bool) -> None:
    """Make `isDispatchTracing` answer `val`, or with False go back to what is the case."""
    _force("dispatch", val)


def _force(name: str, val: bool) -> None:
    _forced_context.pop(name, None)
    if val:
        _forced_context[name] = True


def internal_cast(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """`tensor` as float32 or float16."""
    if dtype not in (torch.float32, torch.float16):
        raise ValueError(f"Invalid poptorch.cast target type {dtype}: expecting torch.float or torch.half")
    return tensor.to(dtype)


def isWrapped(obj: Any) -> bool:
    """Whether a module, parameter or buffer belongs to a live training model."""
    return _wrapping.is_wrapped(obj)


def unwrapIfWrapped(obj: Any) -> Any:
    """`obj` with its plain class; what it contains is left alone."""
    return _wrapping.unwrap(obj)


def unwrapModelIfNecessary(model: torch.nn.Module) -> None:
    """Give a module and its state their plain classes, for the time being."""
    _wrapping.unwrap_model(model)


def rewrapModelIfNecessary(model: torch.nn.Module) -> None:
    """Undo `unwrapModelIfNecessary`."""
    _wrapping.rewrap_model(model)


def _restoreWrapperIfNecessary(obj: Any) -> Any:
    return _wrapping.restore(obj)


def registerWrapperType(wrapper_type: type) -> None:
    """Copy and pickle objects of this class as objects of its base."""
    _wrapping.register(wrapper_type)


def forEachParameterAndBuffer(model: torch.nn.Module, fn: Callable[[str, torch.Tensor], Any]) -> None:
    """Call `fn(name, tensor)` for every buffer, then for every parameter."""
    for name, buffer in model.named_buffers():
        fn(name, buffer)
    for name, parameter in model.named_parameters():
        fn(name, parameter)


def getBufferAndParameterTensors(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Buffers and parameters by name."""
    tensors: dict[str, torch.Tensor] = {}
    forEachParameterAndBuffer(model, tensors.__setitem__)
    return tensors
