"""What programs ask of devices, and the seed that they set."""

from __future__ import annotations

from typing import Any

from tremula.frontends.tensorflow import random_seed
from tremula.frontends.tensorflow.config import active, messages


def get_num_of_ipus_in_device(ipu_device: str, device: str = "cpu") -> int:
    """How many IPUs a TensorFlow device has.

    Args:
        ipu_device: its name, such as `/device:IPU:0`.
        device: the CPU device that the IPUs belong to; there is one.
    """
    return active.ipus_of_device(active.ordinal_of(ipu_device))


def reset_ipu_seed(
    seed: int,
    device: str = "/device:IPU:0",
    cpu_device: str = "cpu",
    experimental_identical_replicas: bool = False,
) -> None:
    """Set the seed of the device's random numbers; their streams begin anew.

    Args:
        seed: a whole number.
        device: the IPU device.
        cpu_device: the CPU device that the IPUs belong to; there is one.
        experimental_identical_replicas: whether all replicas draw the same numbers.
    """
    random_seed.set_seed(int(seed), active.ordinal_of(device), experimental_identical_replicas)


def use_synthetic_data_for(synthetic_data_category: Any) -> bool:
    """Whether data of a `SyntheticDataCategory` is synthetic (TF_POPLAR_FLAGS)."""
    return active.use_synthetic_data(messages.SyntheticDataCategory.Name(synthetic_data_category).lower())
