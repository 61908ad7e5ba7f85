"""Name scopes from the module tree: ops are named by the modules whose forward calls them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from tremula.frontends.torch.capture.context import Capture


@contextlib.contextmanager
def module_scopes(module: torch.nn.Module, capture: Capture, *, enabled: bool) -> Iterator[None]:
    """While inside, calling a submodule notes its path and, if `enabled`, opens a scope named by its attribute."""
    handles: list[Any] = []
    for path, submodule in module.named_modules():
        if not path:
            continue

        def enter(_module: Any, _inputs: Any, path: str = path) -> None:
            capture.enter_module(path)
            if enabled:
                capture.push_scope(path.rpartition(".")[2])

        def leave(_module: Any, _inputs: Any, _outputs: Any) -> None:
            capture.leave_module()
            if enabled:
                capture.pop_scope()

        handles.append(submodule.register_forward_pre_hook(enter, prepend=True))
        handles.append(submodule.register_forward_hook(leave))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
