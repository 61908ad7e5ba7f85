"""Configures the IPUs of this process: checks the options, gives back what was configured before, takes devices."""

from __future__ import annotations

from typing import Any

import tensorflow.compat.v2 as tf
from tensorflow.python.platform import tf_logging

from tremula import log
from tremula.frontends.tensorflow import devices, flags
from tremula.frontends.tensorflow.config import active, messages
from tremula.frontends.tensorflow.config.enums import DeviceConnectionType
from tremula.frontends.tensorflow.config.ipu_config import IPUConfig, from_message
from tremula.frontends.tensorflow.config.option_table import RECORDED
from tremula.settings import engine_options
from tremula.settings.poplar_flags import FLAGS


def configure_ipu_system(config: Any, device: str = "cpu", reset_configuration: bool = True) -> None:
    """Configure the IPUs of this process.

    Args:
        config: an `IPUConfig`, or an `IpuOptions` message.
        device: the CPU device that the IPUs belong to; there is one.
        reset_configuration: whether another configuration that holds may be given up for this one.

    Raises:
        TypeError, ValueError: it is not a configuration, or one whose options contradict each other.
        FailedPreconditionError: another configuration holds, and may not be given up.
        Error: the IPUs are not there or not free, or TF_POPLAR_FLAGS cannot be read.
    """
    options = config._create_protobuf() if isinstance(config, IPUConfig) else config
    if not isinstance(options, messages.IpuOptions):
        raise TypeError(
            f"`config` must be an IpuOptions instance or an IPUConfig, not {type(config).__name__}."
        )
    options = _effective(options)
    before = active.configured()
    if before is not None:
        if before.options == options:
            return
        if not reset_configuration:
            raise tf.errors.FailedPreconditionError(
                None,
                None,
                "IPUs are configured already, in another way. Call reset_ipu_configuration() first, or leave out "
                "reset_configuration=False.",
            )
        tf_logging.warn("Resetting existing IPU configuration before applying new configuration")
        reset_ipu_configuration()
    wanted = from_message(options)
    _check_engine_options(wanted)
    ipus = devices.take(wanted)
    active.set_configured(active.Configured(wanted, options, ipus))
    _say_effects(wanted)


def _effective(options: Any) -> Any:
    """The message with what the environment adds: a device where none is asked for, and --use_on_demand."""
    effective = messages.IpuOptions()
    effective.CopyFrom(options)
    if not effective.device_config:
        effective.device_config.add(auto_count=1)
    if flags.flag("use_on_demand") and effective.device_connection_type == DeviceConnectionType.ALWAYS.value:
        effective.device_connection_type = DeviceConnectionType.ON_DEMAND.value
    return effective


def _check_engine_options(config: IPUConfig) -> None:
    given = config.compilation_poplar_options
    if given:
        engine_options.validate(given, where="compilation_poplar_options")


def _say_effects(config: IPUConfig) -> None:
    """Say once of each option that was changed, and of each flag that is set, if it does not do what it says."""
    for node, name, metadata in config._options():
        if node.__dict__[name] == metadata.default:
            continue
        if metadata.effect == RECORDED:
            log.recorded(f"IPUConfig.{metadata.name}")
        elif metadata.effect.startswith("no effect: "):
            log.no_effect(f"IPUConfig.{metadata.name}", metadata.effect.removeprefix("no effect: "))
    for flag in FLAGS:
        if flags.is_set(flag.name) and flag.effect.startswith("no effect: "):
            log.no_effect(f"--{flag.name}", flag.effect.removeprefix("no effect: "))
    if flags.flag("help"):
        for flag in FLAGS:
            log.layer("tremula").warning(
                "--%s (%s): %s [%s]", flag.name, flag.kind, flag.meaning, flag.effect
            )


def reset_ipu_configuration() -> None:
    """Give the devices back and forget the configuration; nothing happens if there is none."""
    active.set_configured(None)
    devices.give_back()


def get_ipu_config(session: Any = None) -> list[Any]:
    """The configuration that holds, as one `IpuOptions` message for each TensorFlow device.

    Args:
        session: in graph mode, the session that is asked; it makes no difference.

    Raises:
        RuntimeError: nothing is configured.
        ValueError: a session is given in eager mode.
    """
    if session is not None and tf.executing_eagerly():
        raise ValueError("No session is required for eager execution.")
    found = active.configured()
    if found is None:
        raise RuntimeError("No IPU devices configured. Call configure_ipu_system() of an IPUConfig first.")
    copies = [messages.IpuOptions() for _ in found.ipus]
    for each in copies:
        each.CopyFrom(found.options)
    return copies


def running_on_ipu_model() -> bool:
    """Whether programs run on an IPU model: TF_POPLAR_FLAGS has --use_ipu_model."""
    return active.on_ipu_model()
