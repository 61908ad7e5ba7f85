"""`register_custom_op`: Python implementations of the operators that programs bring as C++ for the device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def register_custom_op(
    domain: str,
    name: str,
    version: int,
    forward: Callable[..., Any],
    backward: Callable[..., Any] | None = None,
) -> None:
    """Register a Python implementation for `builder.customOp(name, version, domain, ...)`.

    `forward(*inputs, **attributes)` takes torch tensors and gives one or several; `backward(output_gradients, inputs,
    attributes)` gives a gradient or None for each input. Without it torch differentiates `forward`.
    """
    from tremula import custom_ops

    if version < 1:
        raise ValueError(f"version is {version}; versions of operators begin at 1.")
    custom_ops.register(domain, name, forward, backward=backward)


__all__ = ["register_custom_op"]
