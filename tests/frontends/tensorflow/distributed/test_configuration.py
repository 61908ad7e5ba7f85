"""What the launcher's numbers do to the configuration of a program."""

from __future__ import annotations

import pytest
from tensorflow.python import ipu
from tensorflow.python.ipu.config import IPUConfig

import popdist
import popdist.keras
import popdist.tensorflow
from tremula.errors import Error
from tremula.frontends.tensorflow.config import messages
from tremula.frontends.tensorflow.replicas import instances
from tremula.machine import device_ids


@pytest.fixture
def second_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of instance 1 of 2, with two replicas of two IPUs each."""
    for name, value in {
        "NUM_TOTAL_REPLICAS": 4,
        "NUM_LOCAL_REPLICAS": 2,
        "NUM_IPUS_PER_REPLICA": 2,
        "REPLICA_INDEX_OFFSET": 2,
        "LOCAL_INSTANCE_INDEX": 1,
    }.items():
        monkeypatch.setenv(f"POPDIST_{name}", str(value))


@pytest.mark.usefixtures("second_of_two")
@pytest.mark.parametrize("module", [popdist.tensorflow, popdist.keras])
def test_processes_and_ipus_are_set(module: object) -> None:
    config = IPUConfig()
    assert module.set_ipu_config(config, ipus_per_replica=2) is config  # type: ignore[attr-defined]
    distribution = config.experimental.multi_replica_distribution
    assert (distribution.process_count, distribution.process_index) == (2, 1)
    assert config.auto_select_ipus == 4


@pytest.mark.usefixtures("second_of_two")
def test_the_device_of_the_launcher_is_selected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TREMULA_SYSTEM", "bow-pod16")
    monkeypatch.setenv("POPDIST_NODE_DEVICE_ID", str(device_ids.of_size(8, 16)[0].id))
    config = popdist.tensorflow.set_ipu_config(IPUConfig())
    assert config.select_ipus == [popdist.getDeviceId()]
    config = popdist.tensorflow.set_ipu_config(IPUConfig(), configure_device=False)
    assert not config.select_ipus
    assert config.experimental.multi_replica_distribution.process_count == 2


@pytest.mark.usefixtures("second_of_two")
def test_options_of_tensorflow_1_are_set() -> None:
    options = popdist.tensorflow.set_ipu_config(ipu.utils.create_ipu_config(), 2)
    assert isinstance(options, messages.IpuOptions)
    assert (options.multi_replica_process_count, options.multi_replica_process_index) == (2, 1)
    assert [device.auto_count for device in options.device_config] == [4]


@pytest.mark.usefixtures("second_of_two")
def test_another_number_of_ipus_is_refused() -> None:
    with pytest.raises(Error, match="uses 1 IPUs per replica, but was started with 2"):
        popdist.tensorflow.set_ipu_config(IPUConfig(), ipus_per_replica=1)


def test_something_else_than_a_configuration_is_refused() -> None:
    with pytest.raises(TypeError, match=r"an IPUConfig.* not dict"):
        popdist.tensorflow.set_ipu_config({})


def test_without_a_launcher_it_is_one_process() -> None:
    config = popdist.tensorflow.set_ipu_config(IPUConfig(), ipus_per_replica=2)
    assert config.experimental.multi_replica_distribution.process_count == 1
    assert config.auto_select_ipus == 2


def test_more_processes_than_were_started_are_refused() -> None:
    config = IPUConfig()
    config.experimental.multi_replica_distribution.process_count = 2
    config.experimental.multi_replica_distribution.process_index = 0
    config.configure_ipu_system()
    try:
        with pytest.raises(Error, match=r"2 processes .* but 1 was started.*poprun --num-instances 2"):
            instances.Exchange(1)
    finally:
        ipu.config.reset_ipu_configuration()
