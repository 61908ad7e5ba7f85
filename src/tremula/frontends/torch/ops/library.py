"""The torch.library namespace `tremula` and the one way in which ops are added to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

NAMESPACE = "tremula"
_library = torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]

Kernel = Callable[..., Any]


def add_op(
    schema: str,
    kernel: Kernel,
    fake: Kernel,
    *,
    backward: Kernel | None = None,
    setup_context: Kernel | None = None,
    random: bool = False,
) -> Any:
    """Define an op and return its callable overload.

    Args:
        schema: torch schema without the namespace.
        kernel: computes on real tensors; must not return its inputs or views of them.
        fake: gives empty results of the right shapes and dtypes.
        backward: gradient, as for `torch.library.register_autograd`; without it the op has none.
        setup_context: keeps what `backward` needs.
        random: the op draws from torch's random state.
    """
    name = schema.partition("(")[0]
    tags = (torch.Tag.nondeterministic_seeded,) if random else ()
    _library.define(schema, tags=tags)  # type: ignore[no-untyped-call]
    _library.impl(name, kernel, "CompositeExplicitAutograd")  # type: ignore[no-untyped-call]
    torch.library.register_fake(f"{NAMESPACE}::{name}", fake, lib=_library)
    if backward is not None:
        torch.library.register_autograd(
            f"{NAMESPACE}::{name}", backward, setup_context=setup_context, lib=_library
        )
    return getattr(getattr(torch.ops, NAMESPACE), name).default
