"""Name scopes from the module tree: ops are named by the modules whose forward calls them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from tremula.capture.context import Capture


@contextlib.contextmanager
def module_scopes(module: torch.nn.Module, capture: Capture, *, enabled: bool) -> Iterator[None]:
    """While inside, calling a submodule opens a scope with the name of its attribute."""
    handles: list[Any] = []
    if enabled:
        for path, submodule in module.named_modules():
            if not path:
                continue
            name = path.rpartition(".")[2]

            def enter(_module: Any, _inputs: Any, name: str = name) -> None:
                capture.push_scope(name)

            def leave(_module: Any, _inputs: Any, _outputs: Any) -> None:
                capture.pop_scope()

            handles.append(submodule.register_forward_pre_hook(enter, prepend=True))
            handles.append(submodule.register_forward_hook(leave))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
