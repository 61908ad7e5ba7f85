"""What is configured now, as plain answers for the rest of the front end.

A program that configures nothing has one TensorFlow device, `/device:IPU:0`, with one IPU, as on the real stack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tremula.frontends.tensorflow import flags
from tremula.frontends.tensorflow.device_errors import device_error
from tremula.settings.environment import env


@dataclass(frozen=True)
class Configured:
    """One configuration.

    Attributes:
        config: the `IPUConfig` that holds; it is a copy, so changes of the user's object come later or never.
        options: the same as an `IpuOptions` message.
        ipus: of each TensorFlow device.
    """

    config: Any
    options: Any
    ipus: tuple[int, ...]


_configured: Configured | None = None
_listeners: list[Any] = []


def set_configured(configured: Configured | None) -> None:
    """Make this the configuration; None: nothing is configured."""
    global _configured
    _configured = configured
    for listener in _listeners:
        listener()


def on_change(listener: Any) -> None:
    """Call `listener()` whenever IPUs are configured or reset."""
    _listeners.append(listener)


def configured() -> Configured | None:
    """The configuration that holds with its derived facts, or None."""
    return _configured


def active() -> Any:
    """The `IPUConfig` that holds, or None if the program has configured nothing."""
    return None if _configured is None else _configured.config


def option(name: str, default: Any) -> Any:
    """The value of a dotted option now; `default` if nothing is configured."""
    found = active()
    if found is None:
        return default
    for part in name.split("."):
        found = getattr(found, part)
    return found


def device_count() -> int:
    """How many TensorFlow devices there are: /device:IPU:0, /device:IPU:1, ..."""
    return 1 if _configured is None else len(_configured.ipus)


def ordinal_of(device: str) -> int:
    """The number of a TensorFlow device: 1 for `/device:IPU:1`.

    Raises:
        ValueError: it is not the name of an IPU.
    """
    kind, _, number = device.lower().rpartition("ipu:")
    if device.lower().endswith("ipu"):
        return 0
    if (kind or device.lower().startswith("ipu:")) and number.isdecimal():
        return int(number)
    raise ValueError(f"{device!r} is not an IPU device; such names look like '/device:IPU:0'.")


def ipus_of_device(ordinal: int = 0) -> int:
    """The number of IPUs of a TensorFlow device.

    Raises:
        DeviceError: there is no such device.
    """
    if _configured is None:
        return 1
    if not 0 <= ordinal < len(_configured.ipus):
        raise device_error(
            f"There is no device /device:IPU:{ordinal}: {len(_configured.ipus)} device(s) are configured. "
            "auto_select_ipus takes a list with the number of IPUs of each device."
        )
    return _configured.ipus[ordinal]


def ipus_for_shards(shards: int) -> int:
    """How many IPUs one replica of `shards` shards takes: the next power of two."""
    return 1 << max(0, shards - 1).bit_length()


def replica_count(shards: int = 1, ordinal: int = 0) -> int:
    """How many replicas of a program with `shards` shards (or pipeline IPUs) this process runs on a device.

    Raises:
        DeviceError: the IPUs of the device are not a multiple of those that one replica needs.
    """
    ipus, needed = ipus_of_device(ordinal), ipus_for_shards(shards)
    if ipus % needed:
        fit = max(needed, ipus // needed * needed)
        raise device_error(
            f"Trying to compile a graph for an IPU device with {ipus} IPU(s), and one replica of it takes {needed}: it "
            f"uses {shards}, and IPUs are handed out in powers of two. The IPUs of the device must be a multiple of "
            f"that: config.auto_select_ipus = {fit}."
        )
    return ipus // needed


def process_count() -> int:
    """How many processes run the program together (popdist); 1 without."""
    return max(1, int(option("experimental.multi_replica_distribution.process_count", 0)))


def process_index() -> int:
    """Which of them this process is."""
    return int(option("experimental.multi_replica_distribution.process_index", 0))


def global_replica_count(shards: int = 1, ordinal: int = 0) -> int:
    """How many replicas all processes run together."""
    return replica_count(shards, ordinal) * process_count()


def on_ipu_model() -> bool:
    """Whether programs run on an IPU model, so that no device is taken."""
    return bool(flags.flag("use_ipu_model"))


def connection() -> str:
    """How devices are connected: ALWAYS, ON_DEMAND, NEVER or PRE_COMPILE."""
    kind = option("device_connection.type", None)
    return "ALWAYS" if kind is None else str(kind.name)


def stochastic_rounding() -> str:
    """OFF, ON or REPLICA_IDENTICAL_ONLY."""
    behaviour = option("floating_point_behaviour.esr", None)
    return "OFF" if behaviour is None else str(behaviour.name)


def prng_stability() -> bool:
    """Whether replicas draw the same random numbers for what must stay equal on all of them."""
    return bool(option("experimental.enable_prng_stability", False))


def floating_point_exceptions() -> frozenset[str]:
    """Which floating-point events stop a program: a subset of inv, div0 and oflo."""
    return frozenset(
        name for name in ("inv", "div0", "oflo") if option(f"floating_point_behaviour.{name}", False)
    )


def nan_on_overflow() -> bool:
    """Whether a half-precision overflow gives NaN rather than the largest number."""
    return bool(option("floating_point_behaviour.nanoo", False))


def batch_norm_group_size() -> int:
    """Over how many replicas batch statistics are taken."""
    return int(option("norms.experimental.distributed_batch_norm_replica_group_size", 1))


def use_synthetic_data(category: str | None = None) -> bool:
    """Whether data of this category (seed, infeed, outfeed, hostembedding, parameters) is synthetic; any, if None."""
    return flags.use_synthetic_data(category)


def engine_options() -> dict[str, str]:
    """Poplar's options that hold: those of the environment replace the program's."""
    own = option("compilation_poplar_options", {})
    return {**_report_options(), **own, **env.get("POPLAR_ENGINE_OPTIONS")}


def _report_options() -> dict[str, str]:
    """What the older configuration says about reports, as options of the engine."""
    trace = None if _configured is None else getattr(_configured.options, "profiling", None)
    if trace is None or not (
        trace.enable_ipu_trace_events or trace.enable_poplar_reports_text or trace.enable_poplar_reports_cbor
    ):
        return {}
    return {"autoReport.all": "true", "autoReport.directory": trace.report_directory or "."}
