"""Errors that the device would raise while a program runs."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch._subclasses.fake_tensor import FakeTensor

from tremula.errors import Error


def _plain(text: str) -> Exception:
    return Error(text, type="poplar_application_runtime_error")


_make: Callable[[str], Exception] = _plain


def raise_as(make: Callable[[str], Exception]) -> None:
    """Have `application_error` return what `make` makes of a text."""
    global _make
    _make = make


def application_error(text: str) -> Exception:
    """An error of the running program. It is returned, not raised."""
    return _make(text)


def check_log2_scale(scale: torch.Tensor, op: object) -> None:
    """Refuse scales that float8 products do not have.

    Raises:
        Error: it is outside of [-32, 32).
    """
    if not getattr(getattr(op, "ir", None), "checks_log2_scale", False):
        return
    if isinstance(scale, FakeTensor) or scale.device.type == "meta":
        return
    value = int(scale)
    if not -32 <= value < 32:
        raise application_error(f"The log2 scale is {value}; it must lie in [-32, 32).")
