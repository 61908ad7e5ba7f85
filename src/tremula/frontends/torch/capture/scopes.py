"""Name scopes from the module tree: ops are named by the modules whose forward calls them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

from tremula.frontends.torch.capture.context import Capture


@contextlib.contextmanager
def calls_of_submodules(
    module: torch.nn.Module, before: Callable[[str], None], after: Callable[[], None] | None = None
) -> Iterator[None]:
    """While inside, `before(path)` and `after()` are called around the forward of each submodule."""
    handles: list[Any] = []
    for path, submodule in module.named_modules():
        if path:
            handles.append(
                submodule.register_forward_pre_hook(lambda *_, path=path: before(path), prepend=True)
            )
            if after is not None:
                handles.append(submodule.register_forward_hook(lambda *_: after()))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def module_scopes(module: torch.nn.Module, capture: Capture, *, enabled: bool) -> Iterator[None]:
    """While inside, calling a submodule notes its path and, if `enabled`, opens a scope named by its attribute."""

    def enter(path: str) -> None:
        capture.enter_module(path)
        if enabled:
            capture.push_scope(path.rpartition(".")[2])

    def leave() -> None:
        capture.leave_module()
        if enabled:
            capture.pop_scope()

    with calls_of_submodules(module, enter, leave):
        yield
