"""Text forms of modules that show where blocks begin."""

from __future__ import annotations

import builtins

import torch


def module_repr(m: torch.nn.Module) -> str:
    """`repr(m)` with the forward-pre-hooks (and so `BeginBlock`) before each module's name."""
    hooks = "".join(f"{hook!r} " for hook in m._forward_pre_hooks.values())
    own, name = m.extra_repr(), m._get_name()  # type: ignore[no-untyped-call]
    head = f"{hooks}{name}("
    if not m._modules and "\n" not in own:
        return f"{head}{own})"
    lines = own.split("\n") if own else []
    for name, child in m._modules.items():
        text = "None" if child is None else module_repr(child)
        lines.extend(f"({name}): {text}".split("\n"))
    return "\n".join([head, *(f"  {line}" for line in lines), ")"])


def print(m: object) -> None:
    """Print `m`; a module is shown with its blocks."""
    builtins.print(module_repr(m) if isinstance(m, torch.nn.Module) else m)
