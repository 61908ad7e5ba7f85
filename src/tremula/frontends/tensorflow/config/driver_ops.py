"""The plugin's own ops about devices and their configuration, for programs that call them directly.

They act when they run: at once in eager mode, in `session.run` in graph mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow.compat.v2 as tf

from tremula import log
from tremula.frontends.tensorflow import device_queries
from tremula.frontends.tensorflow.config import active, configure, messages


def _acting(act: Callable[[], Any]) -> Any:
    """An op that acts and gives nothing back."""

    def run() -> np.int64:
        act()
        return np.int64(0)

    done = tf.numpy_function(run, [], tf.int64, stateful=True)
    return done if tf.executing_eagerly() else done.op


def _told(ask: Callable[[], Any], dtype: Any) -> Any:
    """An op that gives back a vector."""
    kind = object if dtype is tf.string else dtype.as_numpy_dtype
    answer = tf.numpy_function(lambda: np.array(ask(), dtype=kind), [], dtype, stateful=True)
    if not tf.executing_eagerly():
        answer.set_shape([None])
    return answer


def ipu_configure_hardware(config: bytes, name: str | None = None) -> Any:
    """Configure IPUs with a serialised `IpuOptions` message."""
    options = messages.IpuOptions.FromString(config)
    return _acting(lambda: configure.configure_ipu_system(options, reset_configuration=False))


def ipu_get_configuration(name: str | None = None) -> Any:
    """Serialised `IpuOptions` messages, one for each device; of nothing, an empty message."""

    def ask() -> list[bytes]:
        found = active.configured()
        return [b""] if found is None else [found.options.SerializeToString() for _ in found.ipus]

    return _told(ask, tf.string)


def ipu_get_num_devices(device: str, name: str | None = None) -> Any:
    """The number of IPUs of a device."""
    return _told(lambda: [device_queries.get_num_of_ipus_in_device(device)], tf.int32)[0]


def ipu_reset_devices(name: str | None = None) -> Any:
    """Forget the configuration and give devices back."""
    return _acting(configure.reset_ipu_configuration)


def ipu_clear_all_xla_compilation_caches(name: str | None = None) -> Any:
    """Forget compiled programs: TensorFlow's functions stay, since they do not depend on a device."""
    return _acting(lambda: None)


def ipu_reset_seed(device: str, seed: int, identical_replicas: bool = False, name: str | None = None) -> Any:
    """Set the seed of a device."""
    return _acting(
        lambda: device_queries.reset_ipu_seed(
            seed, device, experimental_identical_replicas=identical_replicas
        )
    )


def ipu_use_synthetic_data_for(synthetic_data_category: Any, name: str | None = None) -> Any:
    """Whether data of a category is synthetic."""
    return _told(lambda: [device_queries.use_synthetic_data_for(synthetic_data_category)], tf.bool)


def ipu_event_trace(name: str | None = None) -> Any:
    """Serialised `IpuTraceEvent` messages since the last call: none."""
    log.no_effect("ipu_event_trace", "IPU events are not traced yet")
    return _told(list, tf.string)
