"""One call of a model as the engine captures it: a micro-batch of its arguments, and the model made plain."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from tremula.frontends.torch.dtypes import device_dtype
from tremula.frontends.torch.errors import compile_error
from tremula.frontends.torch.structure import flattenTensorStructure, reconstructTensorStructure
from tremula.program.loops import Loops
from tremula.program.source import user_line

from . import _wrapping
from ._logging import logger

PRECOMPILE_HOOKS: dict[int, Callable[[], Any]] = collections.OrderedDict()
POSTCOMPILE_HOOKS: dict[int, Callable[[], Any]] = collections.OrderedDict()


class _OverwriteContextManager:
    """Lets extensions replace functions while a model is captured (the spelling below is the public one)."""

    _substitution_managers: list[type] = []

    def __enter__(self) -> _OverwriteContextManager:
        self._active = [kind() for kind in self._substitution_managers]
        for manager in self._active:
            manager.replace()
        return self

    def __exit__(self, *_error: object) -> None:
        for manager in reversed(self._active):
            manager.restore()

    @classmethod
    def registerSubsitutionManager(cls, type: type) -> None:
        """Use `type()`, which has `replace()` and `restore()`, around every capture from now on."""
        if type not in cls._substitution_managers:
            cls._substitution_managers.append(type)


@contextlib.contextmanager
def ready_for_capture(model: torch.nn.Module, user_model: torch.nn.Module, strategy: Any) -> Iterator[None]:
    """While inside, the model is a plain one, with what extensions and the strategy do around a capture."""
    with unwrapped(model), unwrapped(user_model), _OverwriteContextManager():
        for hook in list(PRECOMPILE_HOOKS.values()):
            hook()
        strategy.onStartTracing()
        try:
            yield
        finally:
            strategy.onEndTracing()
            for hook in list(POSTCOMPILE_HOOKS.values()):
                hook()


@contextlib.contextmanager
def unwrapped(model: torch.nn.Module) -> Iterator[None]:
    """While inside, the module and its state have their plain classes."""
    _wrapping.unwrap_model(model)
    try:
        yield
    finally:
        _wrapping.rewrap_model(model)


def micro_batch_of(
    bound: Any, loops: Loops, model: torch.nn.Module
) -> tuple[list[torch.Tensor], Callable[[list[torch.Tensor]], Any]]:
    """One micro-batch of bound arguments in device dtypes, and how to call the model with its tensors."""
    structure = bound.clone()
    structure.forEach(lambda tensor: _one_micro_batch(tensor, loops))
    structure.forEach(_without_gradient)
    nested = (structure.args, structure.kwargs)

    def call(values: list[torch.Tensor]) -> Any:
        args, kwargs = reconstructTensorStructure(nested, values)
        return model(*args, **kwargs)

    return [as_device(tensor) for tensor in flattenTensorStructure(nested)], call


def _one_micro_batch(tensor: torch.Tensor, loops: Loops) -> torch.Tensor:
    if tensor.numel() == 0:
        raise compile_error(
            f"Zero-sized tensors are unsupported (Got shape {list(tensor.shape)}).",
        )
    size = tensor.shape[0] if tensor.dim() else 1
    if size % loops.factor != 0:
        raise AssertionError(
            f"Invalid batch dimension: In the input {tensor.shape}, the batch dimension ({size}) must be a multiple "
            f"of Options.deviceIterations({loops.device_iterations}) * "
            f"(Options.replicationFactor({loops.replicas}) / "
            f"Options.inputReplicaGrouping.input_group_size({loops.input_group_size})) * "
            f"Options.Training.gradientAccumulation({loops.gradient_accumulation}) = {loops.factor}: one call takes "
            f"a combined batch. Use {loops.factor - size % loops.factor} more samples or {size % loops.factor} fewer. "
            "DataLoader(drop_last=True) drops an incomplete batch at the end of an epoch."
        )
    return tensor if tensor.dim() == 0 else tensor.narrow(0, 0, size // loops.factor)


def _without_gradient(tensor: torch.Tensor) -> torch.Tensor:
    if not tensor.requires_grad:
        return tensor
    logger.warning(
        "an input has requires_grad=True%s: a wrapped model returns no gradients of inputs, so it is a constant",
        f" (at {line})" if (line := user_line()) else "",
    )
    return tensor.detach()


def as_device(tensor: torch.Tensor) -> torch.Tensor:
    """An input as the device takes it: dense, narrowed, without gradient; itself where that is so already."""
    if tensor.requires_grad:
        tensor = tensor.detach()
    dtype = device_dtype(tensor.dtype)
    if dtype != tensor.dtype:
        tensor = tensor.to(dtype)
    return tensor.contiguous()


def _register(hooks: dict[int, Callable[[], Any]], hook: Callable[[], Any], name: str) -> Any:
    if not callable(hook):
        raise RuntimeError(f"{name} hook must be callable")
    handle = torch.utils.hooks.RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def registerPreCompileHook(hook: Callable[[], Any]) -> Any:
    """Call `hook()` before every compilation. The returned handle removes the hook."""
    return _register(PRECOMPILE_HOOKS, hook, "Pre-compile")


def registerPostCompileHook(hook: Callable[[], Any]) -> Any:
    """Call `hook()` after every compilation. The returned handle removes the hook."""
    return _register(POSTCOMPILE_HOOKS, hook, "Post-compile")
