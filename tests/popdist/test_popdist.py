"""What the launcher's variables say; what instances do with each other is in tests/distributed."""

from __future__ import annotations

import copy
import importlib
import os
import pickle
import subprocess
import sys
from typing import Any

import pytest
import torch

import popart
import popdist
import popdist.poptorch
from tremula.errors import Error


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("POPDIST_", "OMPI_", "MASTER_")):
            monkeypatch.delenv(name)


def launch(monkeypatch: pytest.MonkeyPatch, **variables: int) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(f"POPDIST_{name}", str(value))


def test_a_program_without_launcher_is_alone() -> None:
    assert not popdist.isPopdistEnvSet()
    assert popdist.getNumInstances() == popdist.getNumTotalReplicas() == popdist.getNumLocalReplicas() == 1
    assert (
        popdist.getInstanceIndex() == popdist.getReplicaIndexOffset() == popdist.getLocalInstanceIndex() == 0
    )
    assert popdist.getNumIpusPerReplica() == 1
    with pytest.raises(Error, match="POPDIST_NODE_DEVICE_ID"):
        popdist.getDeviceId()


def test_instances_follow_from_the_replicas(monkeypatch: pytest.MonkeyPatch) -> None:
    launch(
        monkeypatch,
        NUM_TOTAL_REPLICAS=8,
        NUM_LOCAL_REPLICAS=2,
        REPLICA_INDEX_OFFSET=6,
        NUM_IPUS_PER_REPLICA=4,
        LOCAL_INSTANCE_INDEX=1,
    )
    assert popdist.isPopdistEnvSet()
    assert (popdist.getNumInstances(), popdist.getInstanceIndex()) == (4, 3)
    assert popdist.getLocalInstanceIndex() == 1


@pytest.mark.parametrize(
    ("ipus", "replicas", "instance", "parent", "expected"),
    [
        (1, 1, 3, 120, 3),  # of the first sixteen of 64
        (1, 1, 3, 121, 19),
        (4, 1, 1, 120, 97),
        (4, 2, 1, 120, 113),
        (1, 3, 1, 120, 97),  # three IPUs need a device of four
        (16, 1, 0, 120, 120),
    ],
)
def test_an_instance_has_a_part_of_what_is_reserved_on_its_host(
    monkeypatch: pytest.MonkeyPatch, ipus: int, replicas: int, instance: int, parent: int, expected: int
) -> None:
    monkeypatch.setenv("TREMULA_SYSTEM", "bow-pod64")
    monkeypatch.delenv("TREMULA_VIRTUAL_IPUS", raising=False)
    launch(
        monkeypatch,
        NUM_TOTAL_REPLICAS=8 * replicas,
        NUM_LOCAL_REPLICAS=replicas,
        NUM_IPUS_PER_REPLICA=ipus,
        LOCAL_INSTANCE_INDEX=instance,
        NODE_DEVICE_ID=parent,
    )
    assert popdist.getDeviceId() == popdist.getDeviceId(ipus) == expected
    assert popdist.poptorch.Options().ipu_id == expected
    with pytest.raises(Error, match=f"uses {ipus + 1} IPUs per replica"):
        popdist.getDeviceId(ipus + 1)


def test_the_number_of_ipus_per_replica_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    assert popdist.checkNumIpusPerReplica(7)  # nobody said otherwise
    launch(monkeypatch, NUM_TOTAL_REPLICAS=1, NUM_IPUS_PER_REPLICA=2)
    assert popdist.checkNumIpusPerReplica(2)
    assert not popdist.checkNumIpusPerReplica(1)


def test_uneven_instances_are_counted_by_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    launch(monkeypatch, NUM_TOTAL_REPLICAS=5, NUM_LOCAL_REPLICAS=2, REPLICA_INDEX_OFFSET=3)
    with pytest.raises(Error, match="not a multiple"):
        popdist.getNumInstances()
    launch(monkeypatch, UNIFORM_REPLICAS_PER_INSTANCE=0)
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    assert (popdist.getNumInstances(), popdist.getInstanceIndex()) == (2, 1)


@pytest.mark.parametrize("value", ["many", "0", "-1"])
def test_nonsense_is_named(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("POPDIST_NUM_TOTAL_REPLICAS", value)
    with pytest.raises(Error, match=f"POPDIST_NUM_TOTAL_REPLICAS is set to '{value}'"):
        popdist.getNumTotalReplicas()


def test_one_instance_can_do_everything_alone() -> None:
    assert not popdist.isBackendInitialized()
    popdist.init()
    assert popdist.isBackendInitialized()
    popdist.synchronize()
    values = torch.tensor([1.0, 2.0])
    for alone in (popdist.allReduceSum, popdist.allReduceMean, popdist.broadcast):
        assert alone(values).tolist() == [1.0, 2.0]
        assert alone(values) is not values
    assert popdist.execute_on_instances({0}, int, "5") == 5
    popdist.finalizeBackend()
    assert not popdist.isBackendInitialized()


def test_functions_are_for_instances_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    launch(monkeypatch, NUM_TOTAL_REPLICAS=2, NUM_LOCAL_REPLICAS=1, REPLICA_INDEX_OFFSET=1)
    assert popdist.execute_on_instances({0}, int, "5") is None
    assert popdist.execute_on_instances({1}, int, "5") == 5
    with pytest.raises(Error, match="no instance 2"):
        popdist.execute_on_instances({0, 2}, int, "5")
    with pytest.raises(Error, match="at least one"):
        popdist.execute_on_instances(set(), int, "5")


def test_a_communicator_has_one_meaning(monkeypatch: pytest.MonkeyPatch) -> None:
    launch(monkeypatch, NUM_TOTAL_REPLICAS=2, NUM_LOCAL_REPLICAS=1)
    popdist.registerCommunicator({0}, "first")
    popdist.registerCommunicator([0], "first")
    popdist.synchronize("first")
    with pytest.raises(Error, match="communicator first already exists"):
        popdist.registerCommunicator({1}, "first")
    with pytest.raises(Error, match="communicator WORLD already exists"):
        popdist.registerCommunicator({1}, popdist.defaultCommunicatorId())
    popdist._communicators.clear()


def test_popart_sessions_get_the_replicas_of_this_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = importlib.import_module("popdist.popart")
    options = popart.SessionOptions()
    monkeypatch.setattr(popdist, "getNumLocalReplicas", lambda: 4)
    monkeypatch.setattr(popdist, "getNumTotalReplicas", lambda: 4)
    entries.configureSessionOptions(options)
    assert (options.replicatedGraphCount, options.globalReplicationFactor) == (4, 4)
    assert entries.getDevice(popart.DeviceConnectionType.OnDemand, ipusPerReplica=2).numIpus == 8


def test_popart_sessions_know_their_replicas_among_those_of_several_instances(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    launch(
        monkeypatch,
        NUM_TOTAL_REPLICAS=6,
        NUM_LOCAL_REPLICAS=2,
        REPLICA_INDEX_OFFSET=4,
        NUM_IPUS_PER_REPLICA=2,
        LOCAL_INSTANCE_INDEX=2,
    )
    entries = importlib.import_module("popdist.popart")
    options = popart.SessionOptions()
    entries.configureSessionOptions(options)
    assert (options.replicatedGraphCount, options.globalReplicaOffset) == (2, 4)
    assert options.getGlobalReplicationFactor() == 6
    on_demand = popart.DeviceConnectionType.OnDemand
    assert entries.getDevice(2, on_demand).numIpus == entries.getDevice(on_demand, 2).numIpus == 4
    with pytest.raises(TypeError, match="not a SessionOptions"):
        entries.getDevice(options)


@pytest.mark.parametrize("module", ["tensorflow", "keras"])
def test_without_tensorflow_the_error_says_what_to_install(
    module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("tremula.frontends.tensorflow")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    entry = importlib.import_module(f"popdist.{module}").set_ipu_config
    with pytest.raises(Error, match=r"tensorflow.* is not installed.*pip install 'tremula\[tensorflow\]'"):
        entry(None)


def test_horovod_beside_it_is_initialised_with_it() -> None:
    importlib.import_module("popdist.horovod").init()
    assert popdist.isBackendInitialized()
    popdist.finalizeBackend()


def test_importing_it_does_not_load_torch() -> None:
    program = "import popdist, sys; popdist.isPopdistEnvSet(); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def test_options_take_what_the_launcher_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    launch(monkeypatch, NUM_TOTAL_REPLICAS=4, NUM_LOCAL_REPLICAS=4, NUM_IPUS_PER_REPLICA=2)
    monkeypatch.setenv("POPDIST_EXECUTABLE_CACHE_PATH", str(tmp_path))
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "1")
    options = popdist.poptorch.Options(ipus_per_replica=2)
    assert options.replication_factor == 4
    assert (options.Distributed.processId, options.Distributed.numProcesses) == (0, 1)
    with pytest.raises(Error, match="IPUs per replica"):
        popdist.poptorch.Options(ipus_per_replica=1)
    for other in (copy.deepcopy(options), options.clone(), pickle.loads(pickle.dumps(options))):  # noqa: S301
        assert other.replication_factor == 4
        assert other.deviceIterations(3).device_iterations == 3


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("useIpuId", lambda o: o.useIpuId(1)),
        ("replicationFactor", lambda o: o.replicationFactor(1)),
        ("Distributed.disable", lambda o: o.Distributed.disable()),
        ("Distributed.setEnvVarNames", lambda o: o.Distributed.setEnvVarNames("A", "B")),
        ("Distributed.configureProcessId", lambda o: o.Distributed.configureProcessId(1)),
    ],
)
def test_what_the_launcher_decides_cannot_be_set(name: str, call: Any) -> None:
    with pytest.raises(RuntimeError, match=f"Cannot call `{name}` with popdist.poptorch.Options"):
        call(popdist.poptorch.Options())
