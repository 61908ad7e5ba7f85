"""How Python names a submodule."""

from __future__ import annotations

import keyword

import torch


def access(path: str, module: torch.nn.Module | None = None, name: str = "model") -> str:
    """How Python names the submodule at dotted `path` of `module`, which is called `name`.

    Without the module, numbers are taken for places in a list and other names for attributes.
    """
    written, owner = name, module
    for part in path.split("."):
        if isinstance(owner, torch.nn.ModuleDict) or not (part.isdigit() or _is_name(part)):
            if owner is not None and not isinstance(owner, torch.nn.ModuleDict):
                return f"{name}.get_submodule({quoted(path)})"  # added under a name that Python cannot write
            written += f"[{quoted(part)}]"
        elif part.isdigit():
            if owner is not None and not isinstance(owner, torch.nn.ModuleList | torch.nn.Sequential):
                return f"{name}.get_submodule({quoted(path)})"
            written += f"[{part}]"
        else:
            written += f".{part}"
        owner = None if owner is None else owner._modules.get(part)
    return written


def quoted(text: str) -> str:
    """`text` as Python reads it back, whatever is in it."""
    simple = text.isprintable() and not set(text) & {'"', "\\"}
    return f'"{text}"' if simple else repr(text)


def _is_name(part: str) -> bool:
    # others than ASCII may be read as another name: Python normalises identifiers
    return part.isascii() and part.isidentifier() and not keyword.iskeyword(part)
