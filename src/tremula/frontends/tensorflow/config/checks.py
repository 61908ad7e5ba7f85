"""Options that contradict each other, or that no system of IPUs could follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tremula.frontends.tensorflow import flags
from tremula.frontends.tensorflow.config.enums import DeviceConnectionType

_CHIPS = ("ipu1", "ipu2", "ipu21")
_NATURAL = range(1 << 63)
#: options of whole numbers that count something
_COUNTS = (
    "num_io_tiles",
    "tiles_per_ipu",
    "block_size",
    "buffer_size",
    "cluster_size",
    "tensor_size",
    "scheduler_",
)


def check(config: Any) -> None:
    """Raise a TypeError or a ValueError that says what to change, if the options of `config` cannot hold together."""
    _check_devices(config)
    _check_distribution(config)
    _check_connection(config)
    _check_tiles(config)
    for node, name, metadata in config._options():
        value = node.__dict__[name]
        if isinstance(value, Mapping):
            _check_texts(metadata.name, value)
        elif type(value) is int and any(word in name for word in _COUNTS) and value not in _NATURAL:
            raise ValueError(f"{metadata.name} is {value}: it takes a number from 0 on.")


def _check_devices(config: Any) -> None:
    if config.auto_select_ipus and config.select_ipus:
        raise ValueError(
            "Only one of `auto_select_ipus` and `select_ipus` can be set. The first says how many IPUs to take, the "
            "second which ones."
        )
    counts = config.auto_select_ipus
    for count in [counts] if isinstance(counts, int) else counts:
        if count < 1 or count > 1 << 16:
            raise ValueError(f"auto_select_ipus is {counts}: each device needs one IPU or more.")
    chosen = config.select_ipus
    chosen = [chosen] if isinstance(chosen, int) else chosen
    if len(set(chosen)) != len(chosen):
        raise ValueError("All MultiIPU indices in `select_ipus` must be unique: a device is taken once.")
    if any(index < 0 or index >= 1 << 31 for index in chosen):
        raise ValueError(f"select_ipus is {chosen}: ids of devices count from 0 (gc-info -l lists them).")
    if chosen and flags.flag("use_ipu_model"):
        raise ValueError(
            "When using the IPUModel, the devices to attach to have no ids: use `auto_select_ipus`, or leave "
            "--use_ipu_model out of TF_POPLAR_FLAGS."
        )


def _check_distribution(config: Any) -> None:
    distribution = config.experimental.multi_replica_distribution
    count, index = distribution.process_count, distribution.process_index
    prefix = "experimental.multi_replica_distribution"
    if count < 0:
        raise ValueError(f"{prefix}.process_count is {count}: it takes a number from 0 on.")
    if count and flags.flag("use_ipu_model"):
        raise ValueError(
            "Multi-replica distribution is not supported on the IPU model. Leave --use_ipu_model out of "
            "TF_POPLAR_FLAGS."
        )
    if count and not 0 <= index < count:
        raise ValueError(
            f"{prefix}.process_index must be in the range [0, {prefix}.process_count): it is {index} of {count}."
        )


def _check_connection(config: Any) -> None:
    connection = config.device_connection
    if not connection.version and connection.type in (
        DeviceConnectionType.NEVER,
        DeviceConnectionType.PRE_COMPILE,
    ):
        raise ValueError(
            f"device_connection.version must be set when device_connection.type is {connection.type}, since no device "
            "can be asked what it is. Set it to ipu1, ipu2 or ipu21."
        )
    for name, version in (
        ("device_connection.version", connection.version),
        ("ipu_model.version", config.ipu_model.version),
    ):
        if version and version not in _CHIPS:
            raise ValueError(f"{name} is {version!r}: it takes one of {', '.join(_CHIPS)}.")
    if not config.ipu_model.version and flags.flag("use_ipu_model"):
        raise ValueError(
            "ipu_model.version must be set on an IPU model (--use_ipu_model): to ipu1, ipu2 or ipu21."
        )


def _check_tiles(config: Any) -> None:
    tiles, group = config.io_tiles, config.norms.experimental.distributed_batch_norm_replica_group_size
    if tiles.place_ops_on_io_tiles and not tiles.num_io_tiles:
        raise ValueError(
            "Cannot place ops on I/O tiles when io_tiles.num_io_tiles == 0. Set it, or take the ops away."
        )
    if not 0.0 <= tiles.available_memory_proportion <= 1.0:
        raise ValueError(
            f"io_tiles.available_memory_proportion is {tiles.available_memory_proportion}: it takes 0 to 1."
        )
    name = "norms.experimental.distributed_batch_norm_replica_group_size"
    if group < 1:
        raise ValueError(f"{name} must be at least 1; it is {group}.")
    if group > 1 and tiles.num_io_tiles > 0:
        raise ValueError(f"{name} is not supported with I/O tiles. Set io_tiles.num_io_tiles to 0.")


def _check_texts(name: str, options: Mapping[Any, Any]) -> None:
    for option, value in options.items():
        if not isinstance(option, str) or not isinstance(value, str):
            raise TypeError(
                f"{name} has the entry {option!r}: {value!r}. Names and values of Poplar options are texts: "
                f"{str(option)!r}: {str(value).lower() if isinstance(value, bool) else str(value)!r}."
            )
