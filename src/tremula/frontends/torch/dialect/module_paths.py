"""How Python names a submodule."""

from __future__ import annotations

import keyword
from typing import TYPE_CHECKING

from tremula.formatting import quoted

if TYPE_CHECKING:
    import torch


def access(path: str, module: torch.nn.Module | None = None, name: str = "model") -> str:
    """How Python names the submodule at dotted `path` of `module`, which is called `name`.

    Without the module, numbers are taken for places in a list and other names for attributes.
    """
    written, owner = name, module
    for part in path.split("."):
        holds = _container(owner)
        if holds == "dict" or not (part.isdigit() or _is_name(part)):
            if holds not in ("dict", "anything"):
                return f"{name}.get_submodule({quoted(path)})"  # added under a name that Python cannot write
            written += f"[{quoted(part)}]"
        elif part.isdigit():
            if holds not in ("list", "anything"):
                return f"{name}.get_submodule({quoted(path)})"
            written += f"[{part}]"
        else:
            written += f".{part}"
        owner = None if owner is None else owner._modules.get(part)
    return written


def _container(owner: torch.nn.Module | None) -> str:
    """How a module holds others: by name in a dict, by number in a list, as attributes; without one: anything."""
    if owner is None:  # a saved program, read without torch
        return "anything"
    from torch import nn

    if isinstance(owner, nn.ModuleDict):
        return "dict"
    return "list" if isinstance(owner, nn.ModuleList | nn.Sequential) else "attributes"


def _is_name(part: str) -> bool:
    # others than ASCII may be read as another name: Python normalises identifiers
    return part.isascii() and part.isidentifier() and not keyword.iskeyword(part)
