"""What the launcher's variables say, and what is refused until instances can talk."""

from __future__ import annotations

import copy
import os
import pickle
from typing import Any

import pytest

import popdist
import popdist.poptorch
from tremula.errors import Error


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("POPDIST_", "OMPI_")):
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
        NODE_DEVICE_ID=120,
        LOCAL_INSTANCE_INDEX=1,
    )
    assert popdist.isPopdistEnvSet()
    assert (popdist.getNumInstances(), popdist.getInstanceIndex()) == (4, 3)
    assert popdist.getLocalInstanceIndex() == 1
    assert popdist.getDeviceId(4) == 120
    with pytest.raises(Error, match="uses 2 IPUs per replica"):
        popdist.getDeviceId(2)


def test_uneven_instances_are_counted_by_mpi(monkeypatch: pytest.MonkeyPatch) -> None:
    launch(monkeypatch, NUM_TOTAL_REPLICAS=5, NUM_LOCAL_REPLICAS=2, REPLICA_INDEX_OFFSET=3)
    with pytest.raises(Error, match="no multiple"):
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


def test_one_instance_can_be_initialised() -> None:
    popdist.init()
    assert popdist.isBackendInitialized()
    popdist.finalizeBackend()
    assert not popdist.isBackendInitialized()


def test_several_instances_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    launch(monkeypatch, NUM_TOTAL_REPLICAS=2, NUM_LOCAL_REPLICAS=1, REPLICA_INDEX_OFFSET=1)
    with pytest.raises(Error, match="instance 1 of 2"):
        popdist.init()
    with pytest.raises(Error, match="instance 1 of 2"):
        popdist.poptorch.Options()
    assert popdist.execute_on_instances({0}, int, "5") is None
    assert popdist.execute_on_instances({1}, int, "5") == 5


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
