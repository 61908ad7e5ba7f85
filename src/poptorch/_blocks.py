"""Blocks: marks in a model that group ops and assign them to an IPU."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable
from types import TracebackType
from typing import Any

import torch

from tremula.errors import Error
from tremula.frontends.torch.capture.context import current


def _begin(owner: object, user_id: str | None, ipu_id: int | None) -> None:
    """Open the block of an annotation that may run several times in one capture."""
    capture = current()
    if capture is None:
        return
    if user_id is None:
        capture.rule.begin_owned(owner, ipu_id)
    else:
        capture.rule.begin(user_id, ipu_id)


class Block(torch.nn.Module):
    """Context whose ops form a block.

    Args:
        user_id: name of the block; blocks with the same name are one block. None gives it the next number.
        ipu_id: IPU to run on, counted within the model.
    """

    @staticmethod
    def useAutoId() -> None:
        """Number the blocks without a name from 0 again; call it where `forward` begins."""
        capture = current()
        if capture is not None:
            capture.rule.reset_auto_ids()

    @staticmethod
    def start(user_id: str | None = None, ipu_id: int | None = None) -> None:
        """Begin a block that ends when another begins."""
        capture = current()
        if capture is not None:
            capture.rule.begin(user_id, ipu_id)

    def __init__(self, user_id: str | None = None, ipu_id: int | None = None) -> None:
        super().__init__()
        self._user_id = user_id
        self._ipu_id = ipu_id

    def __enter__(self) -> None:
        Block.start(self._user_id, self._ipu_id)

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        capture = current()
        if capture is not None:
            capture.rule.end()


class LegacyBeginBlockFn(torch.nn.Module):
    """A plain function wrapped so that it begins a block when called."""

    def __init__(
        self, layer_to_call: Callable[..., Any], user_id: str | None = None, ipu_id: int | None = None
    ) -> None:
        super().__init__()
        self._user_id = user_id
        self._layer_to_call = layer_to_call
        self._ipu_id = ipu_id

    def forward(self, *input: Any, **kwargs: Any) -> Any:
        """Begin the block and call the function."""
        _begin(self, self._user_id, self._ipu_id)
        return self._layer_to_call(*input, **kwargs)


class _BlockHook:
    """Forward-pre-hook that begins a block when its module is called."""

    def __init__(self, user_id: str | None, ipu_id: int | None) -> None:
        self._user_id = user_id
        self._ipu_id = ipu_id

    def __call__(self, module: torch.nn.Module, input: Any) -> None:
        _begin(self, self._user_id, self._ipu_id)

    def __repr__(self) -> str:
        return f"BeginBlock(user_id={self._user_id}, ipu_id={self._ipu_id})"


def BeginBlock(layer_to_call: Any, user_id: str | None = None, ipu_id: int | None = None) -> Any:
    """Begin a block when a module is called; the block ends when another begins.

    Args:
        layer_to_call: the module, which gets a hook. A function gives a module that wraps it.
        user_id: name of the block; blocks of the same name are one. None gives it the next number.
        ipu_id: IPU to run on, counted within the model.

    Returns:
        The module itself.
    """
    if not isinstance(layer_to_call, torch.nn.Module):
        if callable(layer_to_call):
            return LegacyBeginBlockFn(layer_to_call, user_id, ipu_id)
        raise Error(f"BeginBlock takes a torch.nn.Module or a function, not {type(layer_to_call)}.")
    if any(isinstance(hook, _BlockHook) for hook in layer_to_call._forward_pre_hooks.values()):
        name = layer_to_call._get_name()  # type: ignore[no-untyped-call]
        raise Error(
            f"module has already been assigned to a block: {name} can have only one. "
            "Call poptorch.removeBlocks first to assign it again."
        )
    layer_to_call.register_forward_pre_hook(_BlockHook(user_id, ipu_id))
    return layer_to_call


def BlockFunction(
    user_id: str | None = None, ipu_id: int | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorator for functions whose ops form a block.

    Args:
        user_id: name of the block; blocks with the same name are one block. None gives it the next number.
        ipu_id: IPU to run on, counted within the model.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run_in_block(*args: Any, **kwargs: Any) -> Any:
            with Block(user_id, ipu_id):
                return function(*args, **kwargs)

        return run_in_block

    return decorate


def removeBlocks(module: torch.nn.Module) -> None:
    """Remove all `BeginBlock` marks from a module and its submodules."""
    if not isinstance(module, torch.nn.Module):
        raise AssertionError(f"removeBlocks takes a module, not {type(module).__name__}")
    for inner in module.modules():
        kept = [item for item in inner._forward_pre_hooks.items() if not isinstance(item[1], _BlockHook)]
        inner._forward_pre_hooks = OrderedDict(kept)
