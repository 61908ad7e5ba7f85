"""Distributed runs of TensorFlow programs: the entry points exist, TensorFlow for IPUs does not yet."""

from __future__ import annotations

from typing import Any, NoReturn

from ._other_front_ends import refuse

__all__ = ["set_ipu_config"]


def set_ipu_config(
    config: Any, ipus_per_replica: int | None = None, configure_device: bool = True
) -> NoReturn:
    """Not here yet: raises Error."""
    refuse("popdist.tensorflow.set_ipu_config", "TensorFlow")
