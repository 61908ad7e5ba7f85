"""Configuring takes virtual IPUs; resetting gives them back; what does not fit is an error that says what to do."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import textwrap

import pytest
import tensorflow as tf

from tremula import log
from tremula.frontends.tensorflow import devices
from tremula.frontends.tensorflow.config import active, configure, messages
from tremula.frontends.tensorflow.config.enums import DeviceConnectionType
from tremula.frontends.tensorflow.config.ipu_config import IPUConfig
from tremula.frontends.tensorflow.device_errors import DeviceError
from tremula.machine.occupancy import current_occupancy


def config_of(ipus=1, connection=DeviceConnectionType.ALWAYS):
    config = IPUConfig()
    config.auto_select_ipus = ipus
    config.device_connection.type = connection
    if connection in (DeviceConnectionType.NEVER, DeviceConnectionType.PRE_COMPILE):
        config.device_connection.version = "ipu2"
    return config


def held() -> int:
    """IPUs of the partition that some process holds."""
    found = current_occupancy()
    return sum(found.usage(ipu) is not None for ipu in range(found.partition.size))


def test_nothing_configured_is_one_device_of_one_ipu():
    assert active.active() is None
    assert active.ipus_of_device(0) == 1
    assert active.replica_count() == 1
    assert held() == 0
    with pytest.raises(RuntimeError, match="No IPU devices configured"):
        configure.get_ipu_config()


def test_each_device_takes_its_ipus_and_gives_them_back():
    config_of([1, 2, 4]).configure_ipu_system()
    assert held() == 7
    assert [active.ipus_of_device(ordinal) for ordinal in range(3)] == [1, 2, 4]
    assert len(configure.get_ipu_config()) == 3
    configure.reset_ipu_configuration()
    assert held() == 0
    assert active.active() is None


def test_devices_can_be_chosen_by_id():
    config = IPUConfig()
    config.select_ipus = [3, 16]
    config.configure_ipu_system()
    assert [active.ipus_of_device(0), active.ipus_of_device(1)] == [1, 2]
    found = current_occupancy()
    assert [ipu for ipu in range(16) if found.usage(ipu) is not None] == [0, 1, 3]


@pytest.mark.parametrize(
    ("ipus", "said"),
    [(32, "has 16"), ([8, 8, 1], "has 16"), (3, "reserve a minimum of 4")],
)
def test_what_the_system_does_not_have_is_an_error(ipus, said):
    with pytest.raises(DeviceError, match=said) as caught:
        config_of(ipus).configure_ipu_system()
    assert isinstance(caught.value, tf.errors.InternalError)
    assert held() == 0
    assert active.active() is None


def test_too_few_ipus_names_the_setting():
    with pytest.raises(DeviceError, match="TREMULA_SYSTEM"):
        config_of(64).configure_ipu_system()


def test_a_model_takes_no_device(monkeypatch):
    monkeypatch.setenv("TF_POPLAR_FLAGS", "--use_ipu_model")
    config_of(64).configure_ipu_system()
    assert active.ipus_of_device() == 64
    assert held() == 0
    assert devices.require_device()
    assert held() == 0
    assert configure.running_on_ipu_model()


def test_on_demand_takes_the_device_when_something_runs():
    config_of(2, DeviceConnectionType.ON_DEMAND).configure_ipu_system()
    assert held() == 0
    assert devices.require_device()
    assert held() == 2


def test_the_flag_makes_it_on_demand(monkeypatch):
    monkeypatch.setenv("TF_POPLAR_FLAGS", "--use_on_demand")
    config_of(2).configure_ipu_system()
    assert active.connection() == "ON_DEMAND"
    assert held() == 0


def test_never_compiles_only():
    config_of(64, DeviceConnectionType.NEVER).configure_ipu_system()
    assert active.replica_count() == 64
    with pytest.raises(tf.errors.InvalidArgumentError, match="configured for compilation only"):
        devices.require_device()


def test_pre_compile_runs_nothing():
    config_of(4, DeviceConnectionType.PRE_COMPILE).configure_ipu_system()
    assert devices.require_device() is False
    assert held() == 0


def test_a_program_without_a_configuration_gets_one_ipu():
    assert devices.require_device(0)
    assert held() == 1
    with pytest.raises(DeviceError, match="no device /device:IPU:1"):
        devices.require_device(1)


def test_another_configuration_replaces_the_first_only_if_it_may():
    config_of(1).configure_ipu_system()
    config_of(1).configure_ipu_system()
    other = config_of(2)
    with pytest.raises(tf.errors.FailedPreconditionError, match="reset_ipu_configuration"):
        configure.configure_ipu_system(other, reset_configuration=False)
    assert active.ipus_of_device() == 1
    other.configure_ipu_system()
    assert active.ipus_of_device() == 2


def test_later_changes_of_the_object_do_not_hold():
    config = config_of(2)
    config.configure_ipu_system()
    config.auto_select_ipus = 4
    config.floating_point_behaviour.inv = True
    assert active.ipus_of_device() == 2
    assert active.floating_point_exceptions() == frozenset()


def test_a_message_configures_as_well():
    message = config_of([2, 1])._create_protobuf()
    configure.configure_ipu_system(message)
    assert configure.get_ipu_config() == [message, message]
    assert active.active().auto_select_ipus == [2, 1]
    with pytest.raises(TypeError, match="must be an IpuOptions instance"):
        configure.configure_ipu_system({"auto_select_ipus": 1})
    assert isinstance(message, messages.IpuOptions)


@pytest.mark.parametrize(
    ("ipus", "shards", "replicas"), [(1, 1, 1), (8, 1, 8), (8, 2, 4), (8, 3, 2), (4, 4, 1), (16, 5, 2)]
)
def test_ipus_that_a_program_leaves_free_run_replicas(ipus, shards, replicas):
    config_of(ipus).configure_ipu_system()
    assert active.replica_count(shards) == replicas


def test_too_few_ipus_for_one_replica_is_an_error():
    config_of(2).configure_ipu_system()
    with pytest.raises(DeviceError, match=r"config.auto_select_ipus = 4"):
        active.replica_count(3)


def test_processes_multiply_replicas():
    config = config_of(4)
    config.experimental.multi_replica_distribution.process_count = 3
    config.experimental.multi_replica_distribution.process_index = 1
    config.configure_ipu_system()
    assert (active.replica_count(2), active.global_replica_count(2)) == (2, 6)
    assert (active.process_index(), active.process_count()) == (1, 3)


def test_an_unknown_engine_option_is_refused():
    config = config_of()
    config.compilation_poplar_options = {"debug.allowOutOfMemry": "true"}
    with pytest.raises(Exception, match=r"Did you mean debug\.allowOutOfMemory"):
        config.configure_ipu_system()
    assert held() == 0


def test_options_without_effect_say_so_once(caplog):
    layer = log.layer("tremula")
    layer.addHandler(caplog.handler)
    layer.setLevel(logging.WARNING)
    try:
        config = config_of()
        config.scheduling.maximum_scheduler_lookahead_depth = 7
        config.configure_ipu_system()
        configure.reset_ipu_configuration()
        config.configure_ipu_system()
    finally:
        layer.removeHandler(caplog.handler)
    said = [text for text in caplog.messages if "maximum_scheduler_lookahead_depth" in text]
    assert len(said) == 1
    assert "has no effect here: " in said[0]


def test_a_device_that_another_process_holds_is_not_free():
    script = textwrap.dedent("""
        import sys
        from tensorflow.python.ipu import config
        cfg = config.IPUConfig(); cfg.auto_select_ipus = 16; cfg.configure_ipu_system()
        print("held", flush=True); sys.stdin.read()
    """)
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    ) as other:  # fmt: skip
        assert other.stdout.readline() == "held\n"
        with pytest.raises(DeviceError, match=f"(?s)Failed to acquire 1 IPU.*process {other.pid}"):
            config_of(1).configure_ipu_system()
        other.stdin.close()
    config_of(1).configure_ipu_system()
    assert held() == 1


def test_an_on_demand_device_is_waited_for_as_long_as_the_flags_say(monkeypatch):
    monkeypatch.setenv("TF_POPLAR_FLAGS", "--on_demand_device_timeout=200 --on_demand_device_poll_time=100")
    config_of([8, 8], DeviceConnectionType.ON_DEMAND).configure_ipu_system()
    assert devices.require_device(0)
    taken = []
    monkeypatch.setattr("tremula.machine.attach.Attachment._take", lambda *_: taken.append(1) or _busy())
    with pytest.raises(DeviceError, match="busy"):
        devices.require_device(1)
    assert len(taken) >= 2


def _busy():
    from tremula.errors import Error

    raise Error("busy")


def test_a_simulated_fault_is_an_error_of_tensorflow(monkeypatch):
    monkeypatch.setenv(
        "GCDA_OPTIONS",
        '{"simulateSOCError.errorList": "IPUSOFTERR", "simulateSOCError.triggerCount": 2}',
    )
    config_of(1).configure_ipu_system()
    with pytest.raises(
        tf.errors.InternalError, match=r"recoverable_runtime_error: \[Recovery action: IPU_RESET\]"
    ):
        devices.require_device()


@pytest.mark.parametrize(
    ("name", "ordinal"),
    [("/device:IPU:0", 0), ("/job:localhost/replica:0/task:0/device:IPU:3", 3), ("IPU:1", 1)],
)
def test_names_of_devices(name, ordinal):
    assert active.ordinal_of(name) == ordinal


@pytest.mark.parametrize("name", ["", "/device:CPU:0", "/device:IPU:x", "IPU:-1"])
def test_other_names_are_refused(name):
    with pytest.raises(ValueError, match="is not an IPU device"):
        active.ordinal_of(name)
