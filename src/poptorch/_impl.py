"""Private names that programs import from `poptorch._impl`. They are implemented elsewhere."""

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
    """Make `isRunningOnIpu` return `val`; False restores the real value."""
    _force("ipu", val)


def isDispatchTracing() -> bool:
    """True while a model is being captured."""
    return _forced_context.get("dispatch", context.current() is not None)


def setDispatchTracing(val: bool) -> None:
    """Make `isDispatchTracing` return `val`; False restores the real value."""
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


isWrapped = _wrapping.is_wrapped
unwrapIfWrapped = _wrapping.unwrap
unwrapModelIfNecessary = _wrapping.unwrap_model
rewrapModelIfNecessary = _wrapping.rewrap_model
registerWrapperType = _wrapping.register


def _restoreWrapperIfNecessary(obj: Any) -> Any:  # pickles refer to it by this name
    return _wrapping.restore(obj)


def forEachParameterAndBuffer(model: torch.nn.Module, fn: Callable[[str, torch.Tensor], Any]) -> None:
    """Call `fn(name, tensor)` for every buffer, then for every parameter."""
    for name, tensor in getBufferAndParameterTensors(model).items():
        fn(name, tensor)


def getBufferAndParameterTensors(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Buffers and parameters by name."""
    return {**dict(model.named_buffers()), **dict(model.named_parameters())}
