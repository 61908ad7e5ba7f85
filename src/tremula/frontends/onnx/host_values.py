"""Values that are computed there and then, although torch records."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
from torch.utils._python_dispatch import _disable_current_modes


@contextlib.contextmanager
def host() -> Iterator[None]:
    """Inside, torch neither records nor differentiates: real tensors are computed."""
    with torch._C.DisableTorchFunction(), _disable_current_modes(), torch.no_grad():
        yield
