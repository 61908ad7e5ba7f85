"""The exceptions of PopART."""

from __future__ import annotations


class popart_exception(RuntimeError):
    """An error of PopART."""


__all__ = ["popart_exception"]
