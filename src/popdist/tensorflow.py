"""Distributed runs of TensorFlow programs: their configuration."""

from __future__ import annotations

from typing import Any

from ._tensorflow_config import configure

__all__ = ["set_ipu_config"]


def set_ipu_config(config: Any, ipus_per_replica: int | None = None, configure_device: bool = True) -> Any:
    """Set up a configuration for this instance of a distributed run.

    Args:
        config: an `IPUConfig`, or an `IpuOptions` message of programs for TensorFlow 1. It is changed.
        ipus_per_replica: checked against what the launcher was given, if given.
        configure_device: whether the device of this instance is selected, too. A program that selects it by itself
            says no.

    Returns:
        The configuration.

    Raises:
        Error: the number of IPUs per replica is not the launcher's.
        TypeError: it is not a configuration.
    """
    return configure(config, ipus_per_replica, configure_device)
