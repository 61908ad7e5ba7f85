"""Options of the device's recurrent layers, which change how it plans them but not what they compute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow.compat.v2 as tf


def check(options: Mapping[str, Any]) -> None:
    """Refuse options with which the device would not build a program.

    Raises:
        InternalError: an option has a value that it cannot have.
    """
    name = "availableMemoryProportion"
    value = options.get(name)
    if value is None:
        return
    try:
        negative = float(value) < 0
    except (TypeError, ValueError):
        raise _refused(name, value, "Value must be a number") from None
    if negative:
        raise _refused(name, value, "Value must be greater than or equal to 0")


def _refused(name: str, value: Any, reason: str) -> Exception:
    return tf.errors.InternalError(
        None, None, f"[Poplar][Build graph] invalid_option: {name}={value!r} of a recurrent layer. {reason}."
    )
